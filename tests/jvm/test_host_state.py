"""What a process shares among all who live in it is after a recording as it was before: the table in HOST.md."""
import os
import pathlib
import re
import struct
import subprocess

import pytest

from kit import parts, recording
from kit.traces import mapped, our_threads, wait_until

ENGINES = ("cpu", "wall", "ctimer", "itimer", "alloc", "live", "lock", "nativelock", "nativemem", "HostState.touch")
GUARD = 64 << 10  # below each stack of ours: agent/host/own_thread.c
MOST_ARENAS = 2   # of the thread that starts others, and of the one that HotSpot allocates for


@pytest.fixture(scope="module", params=[17, 25])
def host(request):
    """A JVM in which everything of ours may be a new arena, whatever the number of cores."""
    from kit import jvm
    with jvm.Target("HostState", recording.native("hoststate"), jdk=request.param, jvm=["-Xmx128m"],
                    env={**os.environ, "MALLOC_ARENA_MAX": "400"}) as t:
        # The thread that answers attaches is HotSpot's, and so is its arena.
        subprocess.run([parts.jdk(17) / "bin/jcmd", str(t.pid), "VM.version"], check=True, capture_output=True)
        t.asked = 0
        yield t


def proc(t, *names):
    return pathlib.Path(f"/proc/{t.pid}", *names)


def inside(t):
    """What tests/jvm/native/hoststate.c says, from the thread that reads the input."""
    t.asked += 1
    t.send(str(t.asked))
    pattern = re.compile(rf"state {t.asked} (.*) end")
    wait_until(lambda: pattern.search(t.stdout()))
    return dict(part.split(" ", 1) for part in pattern.search(t.stdout())[1].split(";"))


def field(status, name):
    return re.search(rf"^{name}:\s*(.*)$", status, re.M)[1]


def threads(t):
    """Blocked signals, and scheduling, of every thread that is not the JIT's, which come and go."""
    found = {}
    for task in proc(t, "task").iterdir():
        try:
            status, stat = (task / "status").read_text(), (task / "stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        after = stat[stat.rindex(")") + 2:].split()
        if "Compiler" not in field(status, "Name"):
            found[task.name] = field(status, "SigBlk"), after[15], after[16], after[38]
    return found


def state(t):
    told = inside(t)
    status = proc(t, "status").read_text()
    signals = dict(s.split(":", 1) for s in told.pop("signals").split())
    return {"arenas": int(told.pop("arenas")), "signals": signals, "threads": threads(t), "cwd": os.readlink(proc(t, "cwd")),
            "umask": field(status, "Umask"), "limits": proc(t, "limits").read_text(), "timers": proc(t, "timers").read_text(),
            "environment": proc(t, "environ").read_bytes(), "dumpable": proc(t, "maps").stat().st_uid,
            "oom": proc(t, "oom_score_adj").read_text(), **told}


def guards(t):
    """Mappings that look like the guard of a stack of ours."""
    found = []
    for line in t.maps():
        lo, hi = (int(x, 16) for x in line.split()[0].split("-"))
        if line.split()[1] == "---p" and hi - lo == GUARD and len(line.split()) == 5:
            found.append(line)
    return found


def heap_bytes(t):
    """What the agent's own heap has mapped: its variable, read in the target."""
    beside = recording.AGENT.with_name(recording.AGENT.name + ".debug")
    symbols = subprocess.run(["nm", beside if beside.exists() else recording.AGENT], capture_output=True, text=True, check=True).stdout
    offset = int(re.search(r"^(\w+) [bB] mapped_bytes$", symbols, re.M)[1], 16)
    base = min(int(line.split("-")[0], 16) for line in mapped(t))
    with open(proc(t, "mem"), "rb", buffering=0) as f:
        return struct.unpack("Q", os.pread(f.fileno(), 8, base + offset))[0]


def record(sparkprof, t, tmp_path, event):
    r = sparkprof("-e", event, "-d", "0.3", "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 0, r.stderr
    wait_until(lambda: not our_threads(t))


def test_every_engine_leaves_the_host_as_it_was(host, sparkprof, tmp_path):
    before = state(host)
    for event in ENGINES:
        record(sparkprof, host, tmp_path, event)
        after = state(host)
        # Under SIG_DFL a late SIGPROF would end the JVM: an empty handler stays.
        if before["signals"]["27"].startswith("(nil)"):
            after["signals"].pop("27")
        common = before["threads"].keys() & after["threads"].keys()
        assert len(common) > 10
        for one in before.keys() - {"arenas", "threads"}:
            was = {k: v for k, v in before[one].items() if k in after[one]} if one == "signals" else before[one]
            assert after[one] == was, (event, one)
        assert {k: after["threads"][k] for k in common} == {k: before["threads"][k] for k in common}, event


def test_stacks_and_heap_go_with_the_recording(host, sparkprof, tmp_path):
    file = tmp_path / "x.jfr"
    assert sparkprof("start", "-e", "wall", "--alloc", "1k", "-f", file, host.pid).returncode == 0
    assert len(guards(host)) >= 3, "control, collector, JVM side"
    assert heap_bytes(host) > 0
    assert sparkprof("stop", host.pid).returncode == 0
    wait_until(lambda: not our_threads(host))
    wait_until(lambda: not guards(host))
    wait_until(lambda: heap_bytes(host) == 0)


def test_arenas_do_not_become_more(target, sparkprof, tmp_path):
    t = target("HostState", recording.native("hoststate"), jvm=["-Xmx128m", "-Xint", "-XX:+UseSerialGC"], env={**os.environ, "MALLOC_ARENA_MAX": "400"})
    subprocess.run([parts.jdk(17) / "bin/jcmd", str(t.pid), "VM.version"], check=True, capture_output=True)
    t.asked = 0
    before = int(inside(t)["arenas"])
    counts = []
    for event in ("cpu", "wall", "alloc", "lock", "cpu", "wall", "cpu", "wall"):
        record(sparkprof, t, tmp_path, event)
        counts.append(int(inside(t)["arenas"]))
    # Whether both are used in one recording depends on which threads are there at once.
    assert max(counts) <= before + MOST_ARENAS, (before, counts)
