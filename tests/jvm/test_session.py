"""Recordings as launchers run them: collect, start, dump, stop, two at once, and every way to end early."""
import json
import os
import pty
import pwd
import re
import signal
import subprocess
import time

import pytest

from kit import jvm, parts, recording
from kit.parts import SPARKPROF
from kit.traces import droppings, mapped, our_threads, wait_until

WALL = ["-e", "wall", "-i", "10ms"]


def agents(t):
    return [n for n in t.threads().values() if n.startswith("sparkprof")]


def events(path):
    with recording.still(path) as copy:
        r = subprocess.run([parts.jdk(17) / "bin/jfr", "summary", copy], capture_output=True, text=True)
    return int(re.search(r"profiler.WallClockSample +(\d+)", r.stdout)[1])


def sampled(path):
    """Has a stack been flushed? The main thread of the target reads its standard input."""
    return path.exists() and b"FileInputStream" in path.read_bytes()


def samples(sparkprof, t):
    return json.loads(sparkprof("status", "--json", t.pid).stdout)[0]["samples"]


def collect(t, out, *more):
    p = subprocess.Popen([SPARKPROF, *WALL, "-d", "200s", "-f", out, *more, str(t.pid)],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(agents(t)) > 1)
    return p


@pytest.mark.parametrize("jdk", jvm.every())
def test_collect_leaves_a_recording_and_nothing_else(target, sparkprof, tmp_path, jdk):
    t = target("Idle", jdk=jdk, jvm=["-XX:+EnableDynamicAgentLoading"] if jdk >= 21 else [])
    out = tmp_path / "x.jfr"
    r = sparkprof(*WALL, "-d", "500ms", "-f", out, t.pid)
    assert r.returncode == 0, r.stderr
    assert events(out) > 0
    wait_until(lambda: not agents(t))
    assert (t.stdout(), t.stderr()) == ("ready\n", "")
    assert droppings(t.pid) == []
    assert not [f for f in t.fds().values() if "x.jfr" in f or "perf_event" in f]


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_early_and_writes(target, tmp_path, sig):
    t = target("Idle")
    p = collect(t, tmp_path / "x.jfr")
    wait_until(lambda: sampled(tmp_path / "x.jfr"))
    p.send_signal(sig)
    assert p.wait(100) == 0, p.stderr.read()
    assert events(tmp_path / "x.jfr") > 0
    wait_until(lambda: not agents(t))


def test_a_killed_launcher_leaves_nothing_running(target, sparkprof, tmp_path):
    t = target("Idle")
    assert sparkprof("status", t.pid).returncode == 0
    wait_until(lambda: not our_threads(t))
    fds = sorted(t.fds().values())
    p = collect(t, tmp_path / "x.jfr")
    p.kill()
    p.wait()
    wait_until(lambda: not agents(t))
    wait_until(lambda: sorted(t.fds().values()) == fds)
    assert t.stdout() == "ready\n"
    assert sparkprof("status", "--json", t.pid).stdout.count('"recording": false') == 1


def test_a_target_that_dies_gives_exit_4_and_what_there_is(target, tmp_path):
    t = target("Idle")
    p = collect(t, tmp_path / "x.jfr")
    wait_until(lambda: sampled(tmp_path / "x.jfr"))
    os.kill(t.pid, signal.SIGKILL)
    assert p.wait(100) == 4
    assert "ended" in p.stderr.read()
    assert events(tmp_path / "x.jfr") > 0


def test_the_second_collect_is_told_who_records(target, sparkprof, tmp_path):
    t = target("Idle")
    p = collect(t, tmp_path / "x.jfr")
    r = sparkprof(*WALL, "-d", "1s", "-f", tmp_path / "y.jfr", t.pid)
    assert r.returncode == 3
    assert re.search(rf"by pid {p.pid}, user {pwd.getpwuid(os.getuid()).pw_name}, host \S+, since \d{{4}}-\d\d-\d\d ", r.stderr), r.stderr
    assert not (tmp_path / "y.jfr").exists()
    r = sparkprof("stop", t.pid)
    assert r.returncode == 3 and f"pid {p.pid}" in r.stderr, "another launcher's collect is not ours to stop"
    r = sparkprof("status", t.pid)
    assert re.search(r"recording \w+ since 2", r.stdout) and f"by pid {p.pid}" in r.stdout
    p.send_signal(signal.SIGINT)
    assert p.wait(100) == 0
    assert events(tmp_path / "x.jfr") > 0


def test_start_goes_on_dump_shows_and_stop_ends(target, sparkprof, tmp_path):
    t = target("Idle")
    out = tmp_path / "x.jfr"
    assert sparkprof("start", *WALL, "-f", out, t.pid).returncode == 0
    assert "(goes on by itself)" in sparkprof("status", t.pid).stdout
    wait_until(lambda: sampled(out))
    assert sparkprof("dump", t.pid).returncode == 0
    first = events(out)
    assert first > 0
    seen = samples(sparkprof, t)
    wait_until(lambda: samples(sparkprof, t) > seen)
    assert sparkprof("stop", t.pid).returncode == 0
    assert events(out) > first
    wait_until(lambda: not agents(t))
    r = sparkprof("stop", t.pid)
    assert r.returncode == 0 and "nothing is being recorded; this is the last recording" in r.stderr
    r = sparkprof("dump", "-f", tmp_path / "none" / "x.jfr", t.pid)
    assert r.returncode == 1 and "/none/x.jfr: cannot be written" in r.stderr.splitlines()[-1], r.stderr


def test_dump_into_a_directory_that_is_not_there_says_so(target, sparkprof, tmp_path):
    """A file that cannot be made is not the answer that nothing is recorded."""
    t = target("Idle")
    assert sparkprof("start", *WALL, t.pid).returncode == 0
    for action in ("dump", "stop"):
        r = sparkprof(action, "-f", tmp_path / "none" / "x.jfr", t.pid)
        assert r.returncode == 1 and "/none/x.jfr: cannot be written" in r.stderr, r.stderr
        assert "two outputs" not in r.stderr and "nothing is being recorded" not in r.stderr, r.stderr


def test_odd_names_of_files(target, sparkprof, tmp_path):
    """A line break stands between names where they are kept for `stop`."""
    t = target("Idle")
    for name in ("-x ü.jfr", "a\nb.jfr"):
        assert sparkprof(*WALL, "-d", "100ms", "-f", name, t.pid, cwd=tmp_path).returncode == 0
    r = sparkprof("start", *WALL, "-f", "c\nd.jfr", t.pid, cwd=tmp_path)
    assert r.returncode == 2 and "line break" in r.stderr and r.stderr.count("\n") == 1, r.stderr
    assert sparkprof("start", *WALL, "-f", "-y ü.jfr", t.pid, cwd=tmp_path).returncode == 0
    assert sparkprof("stop", t.pid).returncode == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["-x ü.jfr", "-y ü.jfr", "a\nb.jfr"]


def test_start_ends_by_its_own_timeout(target, sparkprof, tmp_path):
    t = target("Idle")
    assert sparkprof("start", *WALL, "--timeout", "1s", "-f", tmp_path / "x.jfr", t.pid).returncode == 0
    assert agents(t)
    wait_until(lambda: not agents(t))
    assert events(tmp_path / "x.jfr") > 0
    assert not [f for f in t.fds().values() if "x.jfr" in f]


def test_root_stops_a_users_recording_only_to_files_it_names(target, sparkprof, tmp_path):
    t = target("Idle", user=185, cwd="/")
    out = tmp_path / "x.jfr"
    assert sparkprof("start", *WALL, "-f", out, t.pid).returncode == 0
    assert out.stat().st_uid == 0, "the file belongs to the user who asked"
    wait_until(lambda: json.loads(sparkprof("status", "--json", t.pid).stdout)[0]["samples"] > 100)
    r = sparkprof("stop", t.pid)
    assert r.returncode == 0, r.stderr
    shown = sparkprof("report", "--all-threads", "-f", "-", "-o", "collapsed", out).stdout
    assert events(out) > 0 and "Idle.main" in shown, "the file is the recording, whole"
    text = tmp_path / "evil.txt"
    assert sparkprof("start", *WALL, "-f", text, t.pid).returncode == 0
    r = sparkprof("stop", t.pid)
    assert r.returncode == 0 and "-f" in r.stderr
    assert not text.exists(), "the target's word is not enough for root"


def test_ten_recordings_without_growth(target, sparkprof, tmp_path):
    t = target("Idle", jvm=["-Xint", "-XX:+UseSerialGC"])

    def count():
        wait_until(lambda: not agents(t))
        return sorted(t.fds().values()), len(mapped(t)), droppings(t.pid)
    for i in range(10):
        assert sparkprof(*WALL, "-d", "200ms", "-f", tmp_path / "x.jfr", t.pid).returncode == 0
        if i == 1:
            second = count()
    wait_until(lambda: count() == second)


def test_progress_on_a_terminal_only(target, tmp_path):
    t = target("Idle")

    def run(*more):
        main, side = pty.openpty()
        p = subprocess.Popen([SPARKPROF, *WALL, "-d", "2s", "-f", tmp_path / "x.jfr", *more, str(t.pid)], stderr=side)
        p.wait(100)
        os.close(side)
        text = b""
        try:
            while chunk := os.read(main, 4096):
                text += chunk
        except OSError:
            pass
        os.close(main)
        return text.decode()
    assert re.search(r"\[#*\.*\] \d+ m?s left, \d+ samples, \d+ lost", run())
    assert "left" not in run("-q")
    r = subprocess.run([SPARKPROF, *WALL, "-d", "1s", "-f", tmp_path / "y.jfr", str(t.pid)], capture_output=True, text=True, timeout=100)
    assert r.returncode == 0 and "left" not in r.stderr


def other_build(tmp_path, claimed):
    """A library as another build of the agent would be: its owner record is claimed or not."""
    source = tmp_path / "other.c"
    source.write_text('struct { char magic[8]; unsigned size, claimed; unsigned long since; char who[232]; } '
                      'sparkprof_owner = {"sprkown1", 256, %d, 1700000000000000000ul, "pid 9, user bob, host h"};'
                      'int Agent_OnAttach(void *a, char *b, void *c) { return 0; }' % claimed)
    lib = tmp_path / "libsparkprof-other.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", lib, source], check=True)
    return lib


@pytest.mark.parametrize("claimed", [0, 1])
def test_another_build_beside(target, sparkprof, tmp_path, claimed):
    t = target("Idle")
    lib = other_build(tmp_path, claimed)
    subprocess.run([parts.jdk(17) / "bin/jcmd", str(t.pid), "JVMTI.agent_load", str(lib)], check=True, capture_output=True)
    r = sparkprof(*WALL, "-d", "300ms", "-f", tmp_path / "x.jfr", t.pid)
    if claimed:
        assert r.returncode == 3
        assert "pid 9, user bob, host h, since 2023-11-14" in r.stderr
    else:
        assert r.returncode == 0, r.stderr


def test_launchers_killed_in_mid_conversation(target, sparkprof):
    t = target("Idle")
    for _ in range(5):
        p = subprocess.Popen([SPARKPROF, "list", str(t.pid)], stdout=subprocess.PIPE)
        time.sleep(0.03)
        p.kill()
        p.communicate()
    wait_until(lambda: not our_threads(t))
    assert sparkprof("status", t.pid).returncode == 0
    assert t.stdout() == "ready\n"


@pytest.mark.parametrize("jdk", jvm.every(11, 17, 25))
def test_a_jvm_that_is_still_starting_is_waited_for(target, tmp_path, jdk):
    """It can be attached to before others may have its tool interface: as an executor that its node has no core for."""
    held = tmp_path / "held"
    t = target("Idle", jdk=jdk, wait=False, jvm=[f"-agentpath:{recording.native('starting')}={held}"])
    wait_until(held.exists)
    p = subprocess.Popen([SPARKPROF, *WALL, "-d", "1s", "-f", tmp_path / "x.jfr", str(t.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 2  # JDK 25 does not answer before it can be entered
    while p.poll() is None and "sparkprof-jvm" not in agents(t) and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.2)
    held.unlink()
    _, err = p.communicate(timeout=100)
    assert p.returncode == 0, err
    assert events(tmp_path / "x.jfr") > 0 and t.alive()


def test_stack_shows_every_thread_once_and_leaves_nothing(target, sparkprof):
    t = target("Idle")
    before = t.threads()
    r = sparkprof("stack", t.pid)
    assert r.returncode == 0, r.stderr
    assert re.match(rf"pid {t.pid}, JDK 17\.\S+: \d+ threads", r.stdout)
    heads = re.findall(r'^  thread (\d+) "(.*)", ', r.stdout, re.M)
    stayed = before.keys() & t.threads().keys()
    assert len({tid for tid, _ in heads}) == len(heads) and {tid for tid, _ in heads} >= stayed and len(stayed) > 8, (before, heads)
    main = r.stdout.partition('"main", ')[2].partition("  thread ")[0].splitlines()
    assert any(re.match(r"    Idle\.main:\d+$", f) for f in main) and any("libc.so.6`" in f for f in main), main
    wait_until(lambda: not agents(t))
    assert not droppings(t.pid) and t.alive()


def test_a_start_that_fails_leaves_no_recording(target, sparkprof, tmp_path):
    """The JVM stands still while it is asked, and the launcher is ended: nothing bars the next recording."""
    t, failed = target("Idle"), 0
    while failed < 3:
        p = subprocess.Popen([SPARKPROF, "start", *WALL, "-f", tmp_path / "x.jfr", str(t.pid)], stderr=subprocess.DEVNULL)
        while p.poll() is None and not our_threads(t):
            pass
        os.kill(t.pid, signal.SIGSTOP)
        p.send_signal(signal.SIGINT)
        p.send_signal(signal.SIGINT)
        p.wait(100)
        os.kill(t.pid, signal.SIGCONT)
        if p.returncode == 0:  # it came too late
            sparkprof("stop", t.pid)
            continue
        failed += 1
        wait_until(lambda: not our_threads(t))
        r = sparkprof("start", *WALL, "-f", tmp_path / "x.jfr", t.pid)
        assert r.returncode == 0, r.stderr
        assert sparkprof("stop", t.pid).returncode == 0


def test_stack_beside_a_recording_says_so(target, sparkprof, tmp_path):
    """Native functions are named here too, which that recording leaves to its launcher."""
    t = target("Idle")
    assert sparkprof("start", *WALL, "-f", tmp_path / "x.jfr", t.pid).returncode == 0
    wait_until(lambda: samples(sparkprof, t) > 200)
    r = sparkprof("stack", t.pid)
    assert r.returncode == 0 and "is being recorded already, by pid" in r.stderr, r.stdout + r.stderr
    main = r.stdout.partition('"main", ')[2].partition("  thread ")[0].splitlines()
    assert any(re.match(r"    Idle\.main:\d+$", f) for f in main) and any("libc.so.6`" in f for f in main), main
    assert sparkprof("stop", t.pid).returncode == 0
