"""collect, start, stop and dump, as a user calls them, on a JVM that spins."""
import contextlib
import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
from kit import outputs, recording
from kit.parts import SPARKPROF
from kit.traces import open_to_all


@pytest.fixture
def spinner(target):
    return target("Split", 60)


def left_behind(t):
    """Threads of the agent, its descriptors and its writable mappings."""
    threads = [n for n in t.threads().values() if n.startswith("sparkprof")]
    fds = [f for f in t.fds().values() if "perf_event" in f or "sparkprof" in f or ".jfr" in f]
    return threads + fds


def eventually(what, seconds=300):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def begin(*args, **kw):
    """A launcher that goes on; returns once the agent records."""
    return subprocess.Popen([str(SPARKPROF), *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **kw)


def pending(pid, sig):
    """Whether a signal of a process has not been taken yet."""
    waiting = re.search(r"^ShdPnd:\s*(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1]
    return int(waiting, 16) >> sig - 1 & 1


def schedstats(t):
    """Nanoseconds that each thread has run."""
    found = {}
    for task in pathlib.Path(f"/proc/{t.pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            found[task.name] = int((task / "schedstat").read_text().split()[0])
    return found


def recording_grows(path):
    return lambda: path.exists() and b"spin" in path.read_bytes()  # a method: samples have been flushed


@pytest.mark.parametrize("event", ["cpu", pytest.param("itimer", marks=pytest.mark.long), "ctimer", "wall"])
def test_all_outputs_of_one_run(sparkprof, spinner, tmp_path, event):
    files = [tmp_path / f"x.{ext}" for ext in ("jfr", "collapsed", "txt", "csv", "html", "json", "pb.gz", "speedscope.json")]
    said = {}

    def nothing_lost():
        """A collector that waits long for a core finds its rings full."""
        r = said["r"] = sparkprof("-e", event, "-i", "5ms", "-d", 2, *[w for f in files for w in ("-f", f)], spinner.pid)
        assert r.returncode == 0 and r.stdout == "", r.stderr
        return " 0 lost" in r.stderr
    eventually(nothing_lost)
    r = said["r"]
    assert str(files[0]) in r.stderr
    assert sorted(os.listdir(tmp_path)) == sorted(f.name for f in files)
    assert ";Split.main;Split.half" in files[1].read_text()
    text = files[2].read_text()
    assert "Split.spin" in text and "Lost" in text and "Truncated" in text and "Unknown" in text
    assert max(map(len, text.splitlines())) <= 80
    assert any("Split.main " in f for s in recording.Recording(files[0]).samples for f in s.stack)
    eventually(lambda: not left_behind(spinner))
    said = {"end line": outputs.number(re.search(r"([\d,]+) samples, ", r.stderr)[1]), **outputs.samples(tmp_path, event)}
    sparkprof("report", tmp_path / "x.pb.gz", "-f", tmp_path / "y.collapsed")
    said["pprof"] = outputs.collapsed(tmp_path / "y.collapsed")
    r = sparkprof("report", tmp_path / "x.jfr", "-f", tmp_path / "y.svg")
    said["report"] = outputs.number(re.search(r"([\d,]+) samples, ", r.stderr)[1])
    assert len(set(said.values())) == 1 and said["text, all"] > 0, said


def test_all_outputs_of_nothing(sparkprof, spinner, tmp_path):
    """A program that waits for no lock: each output is written, and is whole."""
    names = [tmp_path / f"x.{e}" for e in ("jfr", "collapsed", "txt", "html", "svg", "pb.gz", "speedscope.json", "csv", "json")]
    r = sparkprof("-e", "lock", "-d", "300ms", *[x for n in names for x in ("-f", n)], spinner.pid)
    assert r.returncode == 0 and "0 samples" in r.stderr, r.stderr
    assert sorted(tmp_path.iterdir()) == sorted(names)
    for n in names[1:]:
        r = sparkprof("report", "-f", n, names[0])
        assert r.returncode == 0, (n, r.stderr)


def test_native_functions_have_names_in_all_outputs(sparkprof, spinner, tmp_path):
    sparkprof("-e", "wall", "-i", "5ms", "-d", 1, "-f", tmp_path / "x.jfr", "-f", tmp_path / "x.collapsed", spinner.pid)
    assert "start_thread;" in (tmp_path / "x.collapsed").read_text()
    frames = {f for s in recording.Recording(tmp_path / "x.jfr").samples for f in s.stack}
    assert any("thread_native_entry" in f for f in frames)


def test_the_recording_stands_beside_until_the_output_is_whole(spinner, tmp_path):
    p = begin("-d", 30, "-f", tmp_path / "x.txt", spinner.pid)
    eventually(recording_grows(tmp_path / "x.txt.jfr"))
    assert not (tmp_path / "x.txt").exists()
    p.send_signal(signal.SIGINT)
    assert p.wait(100) == 0, p.stderr.read()
    assert os.listdir(tmp_path) == ["x.txt"]


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_signal_stops_early_and_writes(spinner, tmp_path, sig):
    p = begin("-d", 60, "-f", tmp_path / "x.jfr", "-f", tmp_path / "x.txt", spinner.pid)
    eventually(recording_grows(tmp_path / "x.jfr"))
    p.send_signal(sig)
    assert p.wait(100) == 0, p.stderr.read()
    assert "Split.spin" in (tmp_path / "x.txt").read_text()
    eventually(lambda: not left_behind(spinner))


def test_two_signals_leave_at_once_and_the_target_is_clean(spinner, tmp_path):
    p = begin("-d", 60, "-f", tmp_path / "x.jfr", spinner.pid)
    eventually(recording_grows(tmp_path / "x.jfr"))
    os.kill(spinner.pid, signal.SIGSTOP)  # so that an orderly stop would have to wait
    p.send_signal(signal.SIGINT)
    eventually(lambda: not pending(p.pid, signal.SIGINT))  # two that wait are one
    p.send_signal(signal.SIGINT)
    assert p.wait(100) == 1
    os.kill(spinner.pid, signal.SIGCONT)
    eventually(lambda: not left_behind(spinner))
    assert recording.Recording(tmp_path / "x.jfr").samples


def test_a_stopped_target_is_said_and_waited_for(spinner, tmp_path):
    """In mid-recording, and again where the recording cannot end because of it."""
    p = begin("-d", 60, "-f", tmp_path / "x.jfr", spinner.pid)
    eventually(recording_grows(tmp_path / "x.jfr"))
    os.kill(spinner.pid, signal.SIGSTOP)
    stopped = f"sparkprof: pid {spinner.pid}: it is stopped (SIGSTOP), so "
    while not (line := p.stderr.readline()).startswith(stopped):
        assert line and "using ctimer instead" in line, line  # of a plain user
    assert line == f"{stopped}nothing in it is sampled; kill -CONT {spinner.pid} lets it go on\n"
    p.send_signal(signal.SIGINT)
    assert p.stderr.readline().startswith(f"{stopped}its agent cannot answer") and p.poll() is None
    os.kill(spinner.pid, signal.SIGCONT)
    assert p.wait(100) == 0, p.stderr.read()
    assert recording.Recording(tmp_path / "x.jfr").samples


def collectors(t):
    """The agent's threads that record; the one of the connection is there as long as its launcher."""
    return [n for n in t.threads().values() if n.startswith("sparkprof")][1:]


def test_a_launcher_that_is_stopped_does_not_prolong_its_recording(sparkprof, spinner, tmp_path):
    """Ctrl-Z: the recording ends by its own clock, is whole then, and another one can begin. Who goes on later ends as usual."""
    p = begin("-d", 2, "-f", tmp_path / "x.jfr", "-f", tmp_path / "x.txt", spinner.pid)
    eventually(recording_grows(tmp_path / "x.jfr"))
    p.send_signal(signal.SIGSTOP)
    try:
        eventually(lambda: not collectors(spinner))
        assert recording.Recording(tmp_path / "x.jfr").others["sparkprof.Counts"]
        r = sparkprof("-d", "200ms", "-f", tmp_path / "y.jfr", spinner.pid)
        assert r.returncode == 0, r.stderr
    finally:
        p.send_signal(signal.SIGCONT)
    assert p.wait(100) == 0, p.stderr.read()
    assert "Split.spin" in (tmp_path / "x.txt").read_text()
    eventually(lambda: not left_behind(spinner))


@pytest.mark.long
def test_a_launcher_that_is_stopped_keeps_its_recording(spinner, tmp_path):
    """Nobody reads how far it is, and after a minute there is no room for more of that."""
    p = begin("-d", 100, "-f", tmp_path / "x.jfr", "-f", tmp_path / "x.txt", spinner.pid)
    eventually(recording_grows(tmp_path / "x.jfr"))
    p.send_signal(signal.SIGSTOP)
    try:
        eventually(lambda: not collectors(spinner), 300)
    finally:
        p.send_signal(signal.SIGCONT)
    assert p.wait(100) == 0, p.stderr.read()
    times = [s.time for s in recording.Recording(tmp_path / "x.jfr").samples]
    assert max(times) - min(times) > 95e9


def test_a_target_stopped_past_the_end_is_left_by_one_signal(spinner, tmp_path):
    for seconds in (2, 8, 30):  # on a busy machine it may have ended before it is looked at
        p = begin("-d", seconds, "-f", tmp_path / "x.jfr", spinner.pid)
        eventually(lambda: recording_grows(tmp_path / "x.jfr")() or p.poll() is not None)
        os.kill(spinner.pid, signal.SIGSTOP)
        while "its agent cannot answer" not in (line := p.stderr.readline()) and line:
            pass
        if line:
            break
        os.kill(spinner.pid, signal.SIGCONT)
        p.wait(100)
        (tmp_path / "x.jfr").unlink()
    assert line
    p.send_signal(signal.SIGINT)
    assert p.wait(100) == 4
    assert "what was flushed before is written" in p.stderr.read()
    os.kill(spinner.pid, signal.SIGCONT)
    assert recording.Recording(tmp_path / "x.jfr").samples
    eventually(lambda: not left_behind(spinner))


def test_a_killed_launcher_leaves_nothing_running(spinner, tmp_path):
    p = begin("-d", 60, "-f", tmp_path / "x.jfr", spinner.pid)
    eventually(recording_grows(tmp_path / "x.jfr"))
    assert left_behind(spinner)
    p.kill()
    p.wait()
    eventually(lambda: not left_behind(spinner))
    assert spinner.alive() and recording.Recording(tmp_path / "x.jfr").samples


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_target_that_dies_is_exit_4_with_what_there_was(spinner, tmp_path, how):
    p = begin("-d", 60, "-f", tmp_path / "x.jfr", "-f", tmp_path / "x.collapsed", spinner.pid)
    eventually(recording_grows(tmp_path / "x.jfr"))
    os.kill(spinner.pid, how)
    spinner.proc.wait()
    assert p.wait(100) == 4, p.stderr.read()
    assert "Split.main" in (tmp_path / "x.collapsed").read_text()
    assert recording.Recording(tmp_path / "x.jfr").samples


def test_stdout_carries_the_format_and_nothing_else(sparkprof, spinner, tmp_path):
    def printed():
        r = sparkprof("-d", 1, "-o", "collapsed", "-f", "-", spinner.pid, cwd=tmp_path)
        assert r.returncode == 0
        assert all(line.rsplit(" ", 1)[1].isdigit() for line in r.stdout.splitlines())
        return "Split.main" in r.stdout
    eventually(printed)  # beside others it may not have a core for a second
    assert os.listdir(tmp_path) == []


def test_a_streamed_recording_is_whole_chunks(spinner, tmp_path):
    p = begin("-d", 3, "-o", "jfr", "-f", "-", spinner.pid)
    p.stdout.close()
    assert p.wait(100) == 1 and "roken pipe" in p.stderr.read()  # nobody reads
    out = tmp_path / "x.jfr"
    subprocess.run(f"{SPARKPROF} -d 3 -o jfr -f - {spinner.pid} | cat >{out}", shell=True, check=True)
    assert out.read_bytes().count(b"FLR\0") >= 2
    assert recording.Recording(out).samples


def test_start_dump_stop(sparkprof, spinner, tmp_path):
    r = sparkprof("start", "-e", "cpu", "--lock", "1ms", "--alloc", "2m", "-f", "x.jfr", spinner.pid, cwd=tmp_path)
    assert r.returncode == 0, r.stderr
    assert str(tmp_path / "x.jfr") in r.stderr and "1 h" in r.stderr
    again = sparkprof("start", spinner.pid)
    assert again.returncode == 3 and "is being recorded already" in again.stderr
    told = " ".join(sparkprof("status", spinner.pid).stdout.split())
    assert ": recording cpu, alloc, lock since 2" in told and f" to {tmp_path}/x.jfr; ends by itself at 2" in told, told
    told, = json.loads(sparkprof("status", "--json", spinner.pid).stdout)
    assert (told["events"], told["files"], told["detached"]) == ("cpu, alloc, lock", [f"{tmp_path}/x.jfr"], True)
    since, ends = (datetime.datetime.strptime(told[k], "%Y-%m-%d %H:%M:%S UTC") for k in ("since", "ends"))
    assert (ends - since).total_seconds() == pytest.approx(3600, abs=60)  # the JVM may have to wait for a core between the two
    eventually(recording_grows(tmp_path / "x.jfr"))
    first = sparkprof("dump", "-o", "collapsed", spinner.pid)
    assert first.returncode == 0 and "Split.main" in first.stdout
    inode = (tmp_path / "x.jfr").stat().st_ino
    assert sparkprof("dump", "-f", tmp_path / "d.txt", spinner.pid).returncode == 0
    assert (tmp_path / "x.jfr").stat().st_ino == inode  # the agent still writes to it
    r = sparkprof("stop", "-f", tmp_path / "s.txt", spinner.pid)
    assert r.returncode == 0, r.stderr
    assert sorted(os.listdir(tmp_path)) == ["d.txt", "s.txt", "x.jfr"]
    assert any("start_thread" in f for s in recording.Recording(tmp_path / "x.jfr").samples for f in s.stack)
    eventually(lambda: not left_behind(spinner))
    r = sparkprof("stop", spinner.pid)
    assert r.returncode == 0 and "nothing is being recorded; this is the last recording" in r.stderr


def test_start_without_a_file_is_written_by_stop(sparkprof, spinner, tmp_path):
    assert sparkprof("start", "-e", "wall", spinner.pid, cwd=tmp_path).returncode == 0
    eventually(lambda: json.loads(sparkprof("status", "--json", spinner.pid).stdout)[0]["samples"] > 0)
    r = sparkprof("stop", spinner.pid, cwd=tmp_path)
    assert r.returncode == 0 and "Thread states" in r.stdout and os.listdir(tmp_path) == []


def test_stop_into_a_directory_that_is_not_there_loses_nothing(sparkprof, spinner, tmp_path):
    """Without a file at the start there is no other copy of what was recorded."""
    assert sparkprof("start", "-e", "wall", spinner.pid).returncode == 0
    eventually(lambda: json.loads(sparkprof("status", "--json", spinner.pid).stdout)[0]["samples"] > 0)
    r = sparkprof("stop", "-f", tmp_path / "none/x.txt", spinner.pid)
    assert r.returncode == 1 and "none/x.txt" in r.stderr, r
    assert json.loads(sparkprof("status", "--json", spinner.pid).stdout)[0]["recording"]
    r = sparkprof("stop", "-f", tmp_path / "x.txt", spinner.pid)
    assert r.returncode == 0 and "Thread states" in (tmp_path / "x.txt").read_text(), r


def test_targets_that_ctrl_c_leaves_out_are_named(spinner, target, tmp_path):
    """The first one is stopped, so that it is waited for."""
    other = target("Idle")
    os.kill(spinner.pid, signal.SIGSTOP)
    eventually(lambda: ") T " in open(f"/proc/{spinner.pid}/stat").read())
    p = begin("start", "--attach-timeout", "5m", "-f", tmp_path / "%p.jfr", spinner.pid, other.pid)
    while "waiting for that" not in (line := p.stderr.readline()):
        assert line
    p.send_signal(signal.SIGINT)
    assert p.wait(100) == 1
    os.kill(spinner.pid, signal.SIGCONT)
    assert f"pid {other.pid}: left out: interrupted before its turn" in p.stderr.read()


def test_start_ends_by_itself(sparkprof, spinner, tmp_path):
    assert sparkprof("start", "--timeout", "3s", "-f", tmp_path / "x.jfr", spinner.pid).returncode == 0
    eventually(lambda: not left_behind(spinner))
    assert "nothing is being recorded" in sparkprof("status", spinner.pid).stdout
    assert recording.Recording(tmp_path / "x.jfr").samples


def test_start_goes_on_when_its_launcher_is_gone_until_the_jvm_ends(sparkprof, target, tmp_path):
    t = target("Late")
    t.send("spins")
    assert sparkprof("start", "-f", tmp_path / "x.jfr", t.pid).returncode == 0
    eventually(recording_grows(tmp_path / "x.jfr"))
    seen = max(s.time for s in recording.Recording(tmp_path / "x.jfr").samples)
    eventually(lambda: max(s.time for s in recording.Recording(tmp_path / "x.jfr").samples) > seen)
    before = time.time_ns()
    ran = max(schedstats(t).values())
    eventually(lambda: max(schedstats(t).values()) > ran + 100_000_000)
    t.proc.stdin.close()
    assert t.proc.wait(280) == 0
    assert max(s.time for s in recording.Recording(tmp_path / "x.jfr").samples) > before, "to the end, not to the last flush"


def test_several_targets_side_by_side(sparkprof, target, tmp_path):
    a, b = target("Split", 60), target("Split", 60, jdk=25)
    r = sparkprof("-d", 2, "-f", tmp_path / "x.txt", a.pid, b.pid)
    assert r.returncode == 2 and "%p" in r.stderr
    r = sparkprof("-d", 2, "-f", tmp_path / "%p.txt", a.pid, b.pid)
    assert r.returncode == 0, r.stderr
    assert sorted(os.listdir(tmp_path)) == sorted([f"{a.pid}.txt", f"{b.pid}.txt"])


def test_as_the_targets_own_plain_user(target, tmp_path):
    open_to_all(tmp_path)
    t = target("Split", 60, user=12346, cwd="/")
    r = subprocess.run([SPARKPROF, "-d", "2", "-f", tmp_path / "x.collapsed", str(t.pid)], capture_output=True, text=True,
                       user=12346, group=12346, extra_groups=[])
    assert r.returncode == 0, r.stderr
    assert "Split.main;Split.half" in (tmp_path / "x.collapsed").read_text()
    assert "perf_event_paranoid" in r.stderr  # the step down is said, with the remedy
    assert (tmp_path / "x.collapsed").stat().st_uid == 12346


def test_target_hears_nothing(sparkprof, spinner, tmp_path):
    before = spinner.stdout(), spinner.stderr()
    for event in ("cpu", "wall"):
        sparkprof("-e", event, "-d", 1, "-f", tmp_path / "x.txt", spinner.pid)
    assert (spinner.stdout(), spinner.stderr()) == before


def test_rounds_do_not_grow_the_target(sparkprof, target, tmp_path):
    """Of a JVM that starts no thread and maps nothing by itself: no JIT."""
    seen, spinner = [], target("Split", 600, jvm=["-Xint", "-XX:+UseSerialGC"])
    for _ in range(6):
        assert sparkprof("-d", "0.2s", "-e", "wall", "-f", tmp_path / "x.txt", spinner.pid).returncode == 0
        eventually(lambda: not left_behind(spinner))
        seen.append((len(spinner.threads()), len(spinner.fds()), len(spinner.maps())))
    assert max(s[0] for s in seen[2:]) <= seen[1][0] and max(s[1] for s in seen[2:]) <= seen[1][1]
    assert max(s[2] for s in seen[3:]) <= seen[2][2] + 4  # malloc and JIT move some
