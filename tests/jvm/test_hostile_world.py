"""JVMs in places that nobody planned for: replaced programs, native hosts, other rights, limits, filters, clocks, lies in /tmp."""
import contextlib
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import tempfile
import time

import pytest

from kit import cgroup, deny, jvm, native, parts, recording
from kit.parts import SPARKPROF
from kit.terminal import Terminal
from kit.traces import droppings, our_threads, wait_until
from test_attach_hostile import in_bwrap, java_below

USER, OTHER, HIDDEN = 4241, 4243, 54325  # no other file of tests has a JVM of HIDDEN: it takes its directory in /tmp
HERE = pathlib.Path(__file__).parent


def record(sparkprof, pid, out, *args, **kw):
    return sparkprof("-e", "wall", "-i", "10ms", "-d", "300ms", *args, "-f", out, pid, **kw)


def assert_recorded(r, out):
    assert r.returncode == 0, r.stderr
    assert int(out.read_text().rpartition(" ")[2]) > 0


def unharmed(t):
    wait_until(lambda: not our_threads(t))
    assert t.alive() and t.stdout() == "ready\n" and t.stderr() == ""


# The program of a JVM

@pytest.fixture
def jdk_of_links(tmp_path):
    """A JDK whose java is a copy that can be replaced."""
    (tmp_path / "bin").mkdir()
    shutil.copy(parts.jdk(17) / "bin/java", tmp_path / "bin/java")
    for name in ("lib", "conf", "release"):
        (tmp_path / name).symlink_to((parts.jdk(17) / name).resolve())
    return tmp_path


@pytest.mark.parametrize("how", ["removed", "replaced", "a link"])
def test_a_program_that_was_replaced(target, sparkprof, jdk_of_links, tmp_path, how):
    """As an upgrade does, or somebody who hopes that it is run again: by root."""
    t = target("Idle", home=jdk_of_links)
    java, proof = jdk_of_links / "bin/java", tmp_path / "proof"
    java.unlink()
    if how == "replaced":
        java.write_text(f"#!/bin/sh\ntouch {proof}\n")
        java.chmod(0o755)
    elif how == "a link":
        java.symlink_to("/etc/shadow")
    assert_recorded(record(sparkprof, t.pid, tmp_path / "x.collapsed"), tmp_path / "x.collapsed")
    rows = json.loads(sparkprof("ps", "--json").stdout)
    assert [r["attachable"] for r in rows if r["pid"] == t.pid] == ["yes"]
    assert not proof.exists()
    unharmed(t)


@pytest.fixture(scope="module")
def embedder():
    """Where every user can run it."""
    include = parts.jdk(17) / "include"
    d = pathlib.Path(tempfile.mkdtemp(prefix="sparkprof-embedder-"))
    d.chmod(0o755)
    subprocess.run(["gcc", "-O1", "-isystem", include, "-isystem", include / "linux", "-o", d / "embedder", HERE / "native/embedder.c", "-ldl"],
                   check=True)
    shutil.copytree(jvm.compiled(), d / "classes")
    yield d
    shutil.rmtree(d)


class Embedded(jvm.Target):
    """A native program with a JVM in it."""

    def __init__(self, d, jdk=17, user=None, options=()):
        libjvm = (parts.jdk(jdk) / "lib/server/libjvm.so").resolve()
        super().__init__("unused", wrap=[d / "embedder", libjvm, d / "classes", *options], user=user, cwd="/", jdk=jdk)


@pytest.mark.parametrize("jdk", jvm.every(11, 17, 25))
def test_a_jvm_in_a_native_program(embedder, sparkprof, tmp_path, jdk):
    with Embedded(embedder, jdk, options=["-XX:+EnableDynamicAgentLoading"] if jdk > 17 else []) as t:
        for event in ("cpu", "wall"):
            r = sparkprof("-e", event, "-d", "200ms", "-f", tmp_path / "x.txt", t.pid)
            assert r.returncode == 0, r.stderr
        assert_recorded(record(sparkprof, t.pid, tmp_path / "x.collapsed"), tmp_path / "x.collapsed")
        assert "Idle.main" in (tmp_path / "x.collapsed").read_text()
        unharmed(t)
        assert droppings(t.pid) == []


def test_a_target_with_the_rights_of_another(embedder, sparkprof, tmp_path):
    """A setuid program: who started it is not its owner. The owner it runs as is let in by the JVM, root by everybody."""
    parts.needs_other_users("make a setuid program")
    program = embedder / "embedder"
    os.chown(program, OTHER, OTHER)
    program.chmod(0o6755)
    try:
        with Embedded(embedder, user=USER) as t:
            status = pathlib.Path(f"/proc/{t.pid}/status").read_text()
            assert f"Uid:\t{USER}\t{OTHER}\t{OTHER}" in status
            for user in (USER, OTHER):
                r = sparkprof("status", "--attach-timeout", "2s", t.pid, user=user, group=user, extra_groups=[])
                assert r.returncode == 3 and ("sudo" in r.stderr or "as root" in r.stderr) and r.stderr.count("\n") == 1, (user, r)
            r = sparkprof("status", t.pid)
            assert r.returncode == 0 or (r.returncode == 3 and r.stderr.count("\n") == 1), r
            unharmed(t)
            assert droppings(t.pid) == []
    finally:
        os.chown(program, 0, 0)
        program.chmod(0o755)


# Limits

@pytest.mark.parametrize("megabytes", [8, 16, 32, 64, 256])
def test_a_launcher_with_little_memory(target, tmp_path, megabytes):
    """It works or says that it cannot; the target has nothing of it."""
    t = target("Idle")
    subprocess.run([native.jfr_long(), tmp_path / "in.jfr", "1", "4", "2", "20"], check=True)
    for call in (["status", t.pid], ["ps"], ["-d", "100ms", "-f", tmp_path / "x.html", t.pid],
                 ["report", tmp_path / "in.jfr", "-f", tmp_path / "y.html"]):
        r = subprocess.run(["prlimit", f"--as={megabytes << 20}", SPARKPROF, *map(str, call)], capture_output=True, text=True, timeout=300)
        assert r.returncode in (0, 1, 3, 4), (call, r)
        assert r.returncode == 0 or r.stderr, call
    unharmed(t)
    assert droppings(t.pid) == []


def limit_room(t, limit, megabytes):
    """Lets @t map so much more and no more."""
    field = {"as": 0, "data": 5}[limit]
    used = int(pathlib.Path(f"/proc/{t.pid}/statm").read_text().split()[field]) * os.sysconf("SC_PAGESIZE")
    subprocess.run(["prlimit", "--pid", str(t.pid), f"--{limit}={used + (megabytes << 20)}:"], check=True)


def room(t):
    used = int(pathlib.Path(f"/proc/{t.pid}/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")
    line, = (li for li in pathlib.Path(f"/proc/{t.pid}/limits").read_text().splitlines() if li.startswith("Max address space"))
    return int(line.split()[3]) - used


@pytest.mark.parametrize("limit", ["as", "data"])
@pytest.mark.parametrize("jdk", [17, 25])
def test_a_target_with_little_address_space(target, sparkprof, tmp_path, limit, jdk):
    """Recorded where the JVM keeps enough for itself: one that cannot allocate 32 bytes ends, as JDK 25 did with 110 MB."""
    t = target("Idle", jdk=jdk, jvm=["-Xmx64m", "-XX:+UseSerialGC", "-XX:+EnableDynamicAgentLoading"])
    assert sparkprof("status", t.pid).returncode == 0
    answers = []
    for megabytes in (70, 110, 150, 190, 500):
        limit_room(t, limit, megabytes)
        for events in (["--all"], ["-e", "wall"]):
            r = sparkprof(*events, "-d", "100ms", "-f", tmp_path / "x.jfr", t.pid)
            answers.append(r.returncode)
            assert r.returncode == 0 or (r.returncode in (1, 3) and "ulimit -v" in r.stderr), r
    assert answers[0] == answers[1] != 0 and answers[-1] == answers[-2] == 0, answers
    unharmed(t)


def test_a_recording_leaves_addresses_to_its_host(target, sparkprof, tmp_path):
    """With the least that a recording is content with."""
    t = target("Idle", jvm=["-Xmx64m", "-XX:+UseSerialGC"])
    for megabytes in range(72, 600, 8):
        limit_room(t, "as", megabytes)
        r = sparkprof("start", "--all", "-f", tmp_path / "x.jfr", t.pid)
        if r.returncode == 0:
            break
        assert "ulimit -v" in r.stderr, r
    assert r.returncode == 0 and room(t) >= 48 << 20, room(t)
    assert sparkprof("stop", t.pid).returncode == 0
    unharmed(t)


def test_a_cgroup_at_its_limit(target, sparkprof, tmp_path):
    """From outside of it: nothing is loaded where the kernel would have to kill."""
    with cgroup.Memory() as group:
        t = target("Idle", wrap=group.wrap(), jvm=["-Xms64m", "-Xmx64m", "-XX:+AlwaysPreTouch"])
        group.leave(2 << 20)
        r = record(sparkprof, t.pid, tmp_path / "x.collapsed")
        assert r.returncode in (1, 3) and "--force" in r.stderr, r
        assert t.alive() and group.killed() == 0
        t.close()


# Filters of system calls

@pytest.mark.parametrize("names", [["perf_event_open"], ["memfd_create", "timer_create"], ["process_vm_readv", "sched_setattr", "getrandom"]],
                         ids="-".join)
@pytest.mark.parametrize("event", ["cpu", "wall"])
def test_a_jvm_with_a_filter_of_its_own(target, sparkprof, tmp_path, names, event):
    t = target("Idle", wrap=deny.wrap(*(f"{n}=EPERM" for n in names)))
    r = sparkprof("-e", event, "-d", "200ms", "-f", tmp_path / "x.txt", t.pid)
    assert r.returncode == 0 or r.stderr, r
    unharmed(t)


@pytest.mark.parametrize("capture", [[], ["--capture=signal"]], ids=["", "signal"])
def test_a_jvm_whose_filter_kills(target, sparkprof, tmp_path, capture):
    """Where what only profilers do is death, the agent does not do it: systemd's SystemCallFilter= kills by default."""
    t = target("Idle", wrap=deny.wrap(*(f"{n}=KILL" for n in ("perf_event_open", "process_vm_readv", "sched_setattr", "kcmp", "ptrace"))))
    for call in (["status"], ["list"], ["stack"]):
        r = sparkprof(*call, t.pid)
        assert r.returncode == 0 and t.alive(), (call, r.stderr)
    assert "Idle.main" in r.stdout
    for event in ("cpu", "wall", "ctimer", "itimer", "alloc", "lock", "nativemem", "Idle.main"):
        by = [*capture, "-i", "1ms"] if event in ("cpu", "wall") else []
        r = sparkprof("-e", event, *by, "-d", "200ms", "-f", tmp_path / f"{event}.collapsed", t.pid)
        assert t.alive() and r.returncode == 0, (event, r.stderr)
    assert "Idle.main" in (tmp_path / "wall.collapsed").read_text()
    assert sparkprof("start", "-e", "cpu", "-f", tmp_path / "x.jfr", t.pid).returncode == 0 and t.alive()
    assert sparkprof("stop", t.pid).returncode == 0
    unharmed(t)


# Lies in /tmp

@pytest.fixture(scope="module")
def without_perf_data():
    parts.needs_other_users("start a JVM of another user")
    with jvm.Target("Idle", user=HIDDEN, cwd="/tmp", jvm=["-XX:-UsePerfData"]) as t, jvm.Target("Idle") as honest:
        d = pathlib.Path(f"/tmp/hsperfdata_{HIDDEN}")
        shutil.rmtree(d, ignore_errors=True)
        d.mkdir()
        os.chown(d, HIDDEN, HIDDEN)
        yield t, d / str(t.pid), pathlib.Path(f"/tmp/hsperfdata_root/{honest.pid}").read_bytes()
        shutil.rmtree(d)


def lies(true):
    """Files that are no performance data, or say wrong things of themselves."""
    def patched(at, *values):
        data = bytearray(true)
        struct.pack_into(f"<{len(values)}I", data, at, *values)
        return bytes(data)
    first = struct.unpack_from("<I", true, 24)[0]
    yield from (b"", true[:3], true[:31], true[:first + 10], true[:len(true) // 2])
    yield from (patched(8, v) for v in (0, 31, 33, 2**32 - 1))  # bytes used
    yield from (patched(24, v) for v in (0, 2**31, 2**32 - 1))  # the first entry
    yield from (patched(28, v) for v in (0, 2**32 - 1))  # how many
    yield from (patched(first + at, v) for at in range(0, 20, 4) for v in (0, 1, 19, 2**31, 2**32 - 1))
    rng = random.Random(20)
    for _ in range(20):
        data = bytearray(true)
        for _ in range(20):
            data[rng.randrange(len(data))] = rng.randrange(256)
        yield bytes(data)


def look(sparkprof, pid):
    for form in ([], ["--json"]):
        r = sparkprof("ps", *form)
        assert r.returncode == 0 and r.stderr == "" and "\x1b" not in r.stdout, r
    row, = (r for r in json.loads(r.stdout) if r["pid"] == pid)
    return row


def test_performance_data_that_lies(without_perf_data, sparkprof):
    t, file, true = without_perf_data
    for lie in lies(true):
        file.write_bytes(lie)
        os.chown(file, HIDDEN, HIDDEN)
        assert look(sparkprof, t.pid)["user"] == str(HIDDEN)


def test_performance_data_without_end(without_perf_data, sparkprof):
    t, file, true = without_perf_data
    file.write_bytes(true)
    os.truncate(file, 1 << 40)
    os.chown(file, HIDDEN, HIDDEN)
    assert look(sparkprof, t.pid)["jdk"] == 17
    r = sparkprof("status", t.pid)
    assert r.returncode == 0, r.stderr


@pytest.mark.parametrize("kind", ["loop", "up and out", "FIFO"])
def test_tmp_that_is_no_directory(target, sparkprof, tmp_path, kind):
    os.mkfifo(tmp_path / "fifo")
    instead = {"loop": ["--symlink", "/tmp", "/tmp"], "up and out": ["--symlink", "../../../../../../tmp", "/tmp"],
               "FIFO": ["--bind", tmp_path / "fifo", "/tmp"]}[kind]
    before = set(os.listdir("/tmp"))
    t = target("Idle", jvm=["-XX:-UsePerfData"], cwd="/", classes="/classes",
               wrap=in_bwrap("--unshare-pid", "--tmpfs", "/home", "--chdir", "/home", *instead))
    pid, = java_below(t.pid) or [t.pid]
    look(sparkprof, pid)
    r = sparkprof("status", "--attach-timeout", "1s", pid)
    assert r.returncode == 3 and r.stderr.count("\n") == 1, r
    left = {f for f in set(os.listdir("/tmp")) - before if f.startswith(".sparkprof-") or f"pid{pid}" in f}
    wait_until(lambda: not left & set(os.listdir("/tmp")))  # what another test has there at this moment goes soon
    assert t.alive()


def test_tmp_that_is_full_of_links(target, sparkprof, tmp_path):
    """In a mount namespace of its own, where names cost nobody else anything."""
    t = target("Idle", cwd="/", classes="/classes", wrap=in_bwrap("--unshare-pid", "--tmpfs", "/tmp", "--chdir", "/"))
    pid, = java_below(t.pid) or [t.pid]
    root = pathlib.Path(f"/proc/{pid}/root/tmp")
    for n in range(3000):
        os.symlink(("/etc", "/proc/self/fd", f"hsperfdata_x{n + 1}", "/dev")[n % 4], root / f"hsperfdata_x{n}")
    os.symlink("/etc/shadow", root / f".sparkprof-{pid}.lock")
    look(sparkprof, pid)
    for _ in range(2):
        r = sparkprof("status", pid)
        assert (r.returncode, r.stderr) == (0, "")
    assert t.alive() and t.stdout() == "ready\n"


# Clocks

def stacks(sparkprof, path, **env):
    r = sparkprof("report", path, "-o", "collapsed", "-f", "-", env={**os.environ, **env})
    assert r.returncode == 0, r.stderr
    return sorted(r.stdout.splitlines())


@pytest.mark.parametrize("step", [-10**9 * 86400 * 365 * 20, 10**9 * 86400 * 365 * 150], ids=["20 years back", "150 years on"])
def test_a_clock_that_jumps_while_it_is_recorded(target, sparkprof, tmp_path, step):
    """The target's time of day is another than the launcher's, and steps; the span of the recording does not."""
    shift = tmp_path / "shift"
    shift.write_bytes(struct.pack("q", 0))
    t = target("Idle", env={**os.environ, "LD_PRELOAD": str(recording.native("clockstep")), "CLOCKSTEP": str(shift)})
    out = tmp_path / "x.jfr"
    r = sparkprof("start", "-e", "wall", "-i", "10ms", "-f", out, t.pid)
    assert r.returncode == 0, r.stderr
    wait_until(lambda: json.loads(sparkprof("status", "--json", t.pid).stdout)[0]["samples"] > 20)
    with open(shift, "r+b") as f:
        f.write(struct.pack("q", step))
    before = json.loads(sparkprof("status", "--json", t.pid).stdout)[0]["samples"]
    wait_until(lambda: json.loads(sparkprof("status", "--json", t.pid).stdout)[0]["samples"] > before + 20)
    assert sparkprof("stop", t.pid).returncode == 0
    assert any("Idle.main" in line for line in stacks(sparkprof, out))
    r = sparkprof("report", out, "-f", tmp_path / "x.html", "-f", tmp_path / "x.json", "-f", tmp_path / "x.txt")
    assert r.returncode == 0, r.stderr
    unharmed(t)


def test_another_zone_and_a_file_of_another_time(target, sparkprof, tmp_path):
    """What a report counts depends on neither; its times are the recording's."""
    t, out = target("Idle"), tmp_path / "x.jfr"
    assert record(sparkprof, t.pid, out).returncode == 0
    want = stacks(sparkprof, out, TZ="UTC")
    assert want
    for zone in ("Pacific/Kiritimati", "America/St_Johns", ":/etc/shadow", "/dev/zero", "x" * 5000):
        assert stacks(sparkprof, out, TZ=zone) == want
    for seconds in (0, 2**31 + 5, time.time() + 10**9):
        os.utime(out, (seconds, seconds))
        assert stacks(sparkprof, out) == want
    pages = []
    for zone in ("UTC", "Pacific/Kiritimati"):
        assert sparkprof("report", out, "-f", tmp_path / "x.html", env={**os.environ, "TZ": zone}).returncode == 0
        pages.append((tmp_path / "x.html").read_bytes())
    assert pages[0] == pages[1]


# Terminals

def test_a_terminal_that_is_resized(target, tmp_path):
    """A line never reaches the last column of the window as it was when it was drawn: it would begin another one."""
    t = target("Idle")
    sizes, drawn = [120, 30, 3, 0, 65535], []
    with Terminal([SPARKPROF, "-e", "wall", "-d", "1h", "-f", tmp_path / "x.txt", t.pid], columns=sizes[0]) as term:
        for columns in sizes:
            term.resize(columns)
            wait_until(term.drained)
            at = len(term.seen)  # what was being drawn meanwhile may have either width: the first three are left out
            wait_until(lambda: term.seen[at:].count(b"\r") >= 6)
            lines = term.seen[at:].split(b"\r")[4:-1]
            drawn.append((columns, [line.removesuffix(b"\x1b[K") for line in lines]))
        term.proc.terminate()
        seen = term.end()
    for columns, lines in drawn:
        width = columns - 1 if columns > 1 else 79
        assert lines and all(0 < len(line) <= min(width, 120) and b"\n" not in line for line in lines), (columns, lines)
    assert term.code == 0 and (tmp_path / "x.txt").exists()
    assert b"\r\x1b[K" in seen
    unharmed(t)


# Outputs of what records

FOE = 4242


@pytest.fixture(scope="module")
def idle():
    parts.needs_root("be two users")
    with jvm.Target("Idle") as t:
        yield t


@pytest.fixture
def laid():
    """A directory like /tmp and in it another user's link to a file of ours."""
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as d:
        precious, link = pathlib.Path(home, "precious.jfr"), pathlib.Path(d, "out.jfr")
        os.chmod(d, 0o1777)
        precious.write_bytes(b"mine")
        precious.chmod(0o600)

        def lay(name):
            os.symlink(precious, link.with_name(name))
            os.chown(link.with_name(name), FOE, FOE, follow_symlinks=False)
            return link.with_name(name)
        yield lay
        assert precious.read_bytes() == b"mine" and precious.stat().st_mode & 0o777 == 0o600
        assert os.listdir(home) == ["precious.jfr"]


def refused(r, path):
    assert r.returncode in (1, 2, 3) and str(path) in r.stderr and "another user (uid 4242)" in r.stderr, r


@contextlib.contextmanager
def going_on(sparkprof, t, *outputs):
    r = sparkprof("start", "-e", "wall", *outputs, t.pid)
    assert r.returncode == 0, r.stderr
    yield
    sparkprof("stop", "-f", "/dev/null", "-o", "text", t.pid)
    wait_until(lambda: not our_threads(t))


@pytest.mark.parametrize("action", [["collect", "-d", "100ms"], ["start"], ["resume"]], ids=lambda a: a[0])
def test_a_link_of_another_where_a_recording_begins(idle, sparkprof, laid, action):
    link = laid("out.jfr")
    refused(sparkprof(*action, "-e", "wall", "-f", link, idle.pid), link)
    assert link.is_symlink() and os.listdir(link.parent) == ["out.jfr"]
    assert "nothing is being recorded" in sparkprof("status", idle.pid).stdout


@pytest.mark.parametrize("action", ["dump", "stop"])
@pytest.mark.parametrize("name", ["out.jfr", "out.html"])
def test_a_link_of_another_where_a_recording_is_written(idle, sparkprof, laid, tmp_path, action, name):
    link = laid(name)
    with going_on(sparkprof, idle, "-f", tmp_path / "own.jfr"):
        refused(sparkprof(action, "-f", link, idle.pid), link)
        assert link.is_symlink() and os.listdir(link.parent) == [name]
        assert (tmp_path / "own.jfr").read_bytes()[:4] == b"FLR\0", "what there was is not lost"


def test_a_link_laid_between_start_and_stop(idle, sparkprof, laid, tmp_path):
    """The name is the start's own; at the stop another user has a link there."""
    link = laid("late.html")
    aside = link.with_name("aside")
    link.rename(aside)
    with going_on(sparkprof, idle, "-f", link):
        aside.rename(link)
        refused(sparkprof("stop", idle.pid), link)
        assert link.is_symlink()


def test_a_half_of_another_user_is_not_read(idle, sparkprof, laid):
    """Older versions left a recording of Python workers beside one that was killed: another's of the same time would be shown as ours."""
    out = laid("link").with_name("x.jfr")
    assert record(sparkprof, idle.pid, out).returncode == 0
    want = stacks(sparkprof, out)
    half = out.with_name("x.jfr.python.jfr")
    shutil.copy(out, half)
    assert stacks(sparkprof, out) != want, "of our own it is read"
    os.chown(half, FOE, FOE)
    assert stacks(sparkprof, out) == want


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_modes_of_recordings(idle, sparkprof, tmp_path, umask):
    for n, action in enumerate((["collect", "-d", "100ms"], ["start"])):
        out = tmp_path / f"{n}.jfr"
        r = sparkprof(*action, "-e", "wall", "-f", out, idle.pid, umask=umask)
        assert r.returncode == 0, r.stderr
        assert out.stat().st_mode & 0o7777 == 0o600
    for n, action in enumerate(("dump", "stop")):
        copy = tmp_path / f"copy{n}.jfr"
        r = sparkprof(action, "-f", copy, idle.pid, umask=umask)
        assert r.returncode == 0, r.stderr
        assert copy.stat().st_mode & 0o7777 == 0o600
    wait_until(lambda: not our_threads(idle))
    r = sparkprof("resume", "-e", "wall", "-f", out, idle.pid, umask=umask)
    assert r.returncode == 0, r.stderr
    assert out.stat().st_mode & 0o7777 == 0o600
    assert sparkprof("stop", idle.pid).returncode == 0
    wait_until(lambda: not our_threads(idle))


def test_mode_of_a_recording_from_the_start_of_a_jvm(target, tmp_path):
    """YARN's log aggregation and the group of the application read it; others do not."""
    out = tmp_path / "own.jfr"
    t = target("Idle", jvm=[recording.option(out, event="wall")], wrap=["sh", "-c", 'umask 0; exec "$@"', "sh"])
    wait_until(out.exists)
    assert out.stat().st_mode & 0o7777 == 0o640
    t.proc.stdin.close()
    assert t.proc.wait(timeout=100) == 0 and out.stat().st_mode & 0o7777 == 0o640
