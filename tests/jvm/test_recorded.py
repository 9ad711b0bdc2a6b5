"""What stands in a recording beside its samples: the JVM, the threads' whole names, what was lost and why."""
import json
import re
import subprocess

import pytest
from kit import parts, peers
from kit.recording import Recording
from kit.traces import wait_until
from test_engines import record


def field(text, name):
    found = re.search(rf'\b{name} = (?:"([^"]*)"|(\S+))', text)
    return found[1] if found[1] is not None else found[2]


def seconds(clock):
    """Of "08:47:58.945"."""
    return sum(float(x) * m for x, m in zip(clock.split(":"), (3600, 60, 1)))


def settings(r, name):
    return [field(s, "value") for s in r.others["jdk.ActiveSetting"] if field(s, "name") == name]


@pytest.mark.parametrize("jdk", [11, 17, 25])
def test_the_jvm_speaks_of_itself(target, tmp_path, jdk):
    t, r = record(target, tmp_path, "Leave", 0.2, "exit", 3, jdk=jdk, jvm=["-Xmx77m", "-XX:-UsePerfData"])
    info = r.others["jdk.JVMInformation"][0]
    assert "Server VM" in field(info, "jvmName")
    assert field(info, "jvmVersion").startswith(f"{field(info, 'jvmName')} ({jdk}.")
    assert "-Xmx77m -XX:-UsePerfData" in field(info, "jvmArguments")
    assert field(info, "javaArguments") == "Leave 0.2 exit 3"
    assert int(field(info, "pid").replace(",", "")) == t.pid
    began, recorded = (seconds(field(info, k)) for k in ("jvmStartTime", "startTime"))
    assert (recorded - began) % 86400 < 30, info


def test_async_profilers_converter_keeps_cpu_and_wall_apart(target, tmp_path):
    _, r = record(target, tmp_path, "Waits", 1.5, 1, event="cpu", interval="5ms", wall="20ms")
    assert {s.state for s in r.cpu()} == {"STATE_DEFAULT"}
    assert "STATE_DEFAULT" not in {s.state for s in r.wall()}
    text = {}
    for what in ("--cpu", "--wall"):
        subprocess.run([*peers.converter(), what, "-o", "collapsed", r.path, tmp_path / "out"], check=True)
        text[what] = (tmp_path / "out").read_text()
    assert "Spinners.spin" in text["--cpu"] and "Waits.parked" not in text["--cpu"]
    assert "Waits.parked" in text["--wall"]


def test_compiler_threads_have_their_whole_name(target, tmp_path):
    _, r = record(target, tmp_path, "Unload", 2, event="cpu", interval="2ms")
    names = {s.thread for s in r.cpu()}
    assert names & {"C1 CompilerThread", "C2 CompilerThread"}, names
    assert not [n for n in names if n.endswith("CompilerThre")]


@pytest.mark.long
def test_losses_have_their_reason(target, sparkprof, tmp_path):
    _, r = record(target, tmp_path, "Deep", 1.5, 900, event="cpu", interval="100us", capture="signal", memory="2m",
                  jvm=["-Xint", "-Xss4m"])
    lost = r.counts()["lost"]
    reasons = {field(s, "reason"): int(field(s, "count").replace(",", "")) for s in r.others["sparkprof.Lost"]}
    assert lost > 0 and sum(reasons.values()) == lost, reasons
    out = sparkprof("report", "-o", "text", "-f", "-", r.path).stdout
    line = next(x for x in out.splitlines() if x.startswith("Lost"))
    assert all(reason in line for reason in reasons), line


def test_new_stacks_by_the_thousand_find_room(target, tmp_path):
    """They fill the dictionary several times in a second: then a chunk ends at once, not with the next flush."""
    _, r = record(target, tmp_path, "Branches", 3, event="cpu", interval="500us", memory="2m", flush="3s")
    stacks = {tuple(s.stack) for s in r.cpu()}
    assert len(stacks) > 500
    assert not [s for s in r.others["sparkprof.Lost"] if "--memory" in s]


def test_stacks_deeper_than_asked_for_are_told_from_others(target, sparkprof, tmp_path):
    _, r = record(target, tmp_path, "Deep", 1.5, 300, event="ctimer", interval="4ms", depth=100, jvm=["-Xint"])
    counts = r.others["sparkprof.Counts"][-1]
    deep, cut = (int(field(counts, k).replace(",", "")) for k in ("tooDeep", "truncated"))
    assert 0 < deep <= cut
    assert all(len(s.stack) <= 100 for s in r.cpu())
    out = sparkprof("report", "-o", "text", "-f", "-", r.path).stdout
    assert "deeper than could be kept" in next(x for x in out.splitlines() if x.startswith("Truncated"))


@pytest.mark.parametrize("how", ["attached", "from the start"])
def test_of_deeper_stacks_fewer_frames_are_kept_where_asked_for(target, sparkprof, tmp_path, how):
    """-j 100/40: whole up to 100 frames, else the newest 40, marked; the settings say so."""
    file = tmp_path / "x.jfr"
    words = f"-agentpath:{parts.ROOT}/build/libsparkprof.so=start,event=ctimer,interval=4ms,jstackdepth=100/40,file={file}"
    t = target("Deep", 600 if how == "attached" else 2, 300, jvm=["-Xint", *([words] if how != "attached" else [])])
    if how == "attached":
        r = sparkprof("start", "-e", "ctimer", "-i", "4ms", "-j", "100/40", "-f", file, t.pid)
        assert r.returncode == 0 and "jstackdepth=100/40" in sparkprof("status", "--json", t.pid).stdout, r.stderr
        wait_until(lambda: json.loads(sparkprof("status", "--json", t.pid).stdout)[0]["samples"] > 200)
        assert sparkprof("stop", t.pid).returncode == 0
    else:
        assert t.proc.wait(timeout=300) == 0
    found = Recording(file).cpu()
    assert all(len(s.stack) <= (40 if s.truncated else 100) for s in found)
    cut = [s for s in found if s.truncated]
    assert len(cut) > 20 and {len(s.stack) for s in cut} == {40}
    assert all(s.stack[-1].startswith("Deep.down ") for s in cut)
    out = sparkprof("report", file).stdout
    assert "deeper than could be kept" in next(x for x in out.splitlines() if x.startswith("Truncated"))


def test_what_is_said_after_the_start_is_in_the_recording(target, tmp_path):
    """More threads than there may be timers, but only once it records."""
    tmp_path.chmod(0o777)
    _, r = record(target, tmp_path, "Waits", 2, 40, event="ctimer", interval="4ms", user=4244,
                  wrap=["prlimit", "--sigpending=8", "--"])
    notes = settings(r, "note")
    assert [n for n in notes if "refuses timers" in n], notes
    assert len(notes) == len(set(notes))


@pytest.mark.parametrize("how", [{"chunktime": "1s"}, pytest.param({"chunksize": "64k"}, marks=pytest.mark.long)])
def test_chunks_are_cut_as_asked(target, tmp_path, how):
    _, r = record(target, tmp_path, "Split", 5, event="cpu", interval="300us", capture="signal", flush="500ms", **how)
    chunks = r.path.read_bytes().count(b"FLR\0\0\2")
    assert chunks >= (3 if "chunktime" in how else 2)
    assert len(settings(r, "engine")) == chunks  # each speaks for itself
    times = sorted(s.time for s in r.cpu())
    assert max(b - a for a, b in zip(times, times[1:])) < 1_500_000_000  # no gap between two
