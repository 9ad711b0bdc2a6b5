"""A JVM that records by its own -agentpath to something else than a recording: reports made at the end by the launcher beside the library,
and recordings that only stop and dump ask for."""
import os
import re
import shutil

import pytest

from kit import recording
from kit.recording import Recording
from kit.traces import mapped, our_threads, wait_until


def option(words, library=recording.AGENT):
    return f"-agentpath:{library}=start,event=wall,{words}".rstrip(",")


def ends(t):
    t.proc.stdin.close()
    assert t.proc.wait(timeout=100) == 0


@pytest.fixture
def alone(tmp_path):
    """The library with no launcher beside it, by a name that is not its own."""
    (tmp_path / "lib").mkdir()
    return shutil.copy(recording.AGENT, tmp_path / "lib/libasyncProfiler.so")


@pytest.fixture
def place(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.mark.parametrize("words, file, holds", [
    ("file=flame.html,flamegraph,threads,simple,title=My run", "flame.html", "<title>My run"),
    ("file=x.svg,title=a\\,b", "x.svg", "<svg"),
    ("file=a.collapsed,include=*Idle.main*", "a.collapsed", r"\A[^\n]*Idle.main[^\n]* \d+\n"),
    ("file=top.TXT,traces=1,flat=2", "top.TXT", r"(?s)Hot methods.*--- .*\[ 0\] "),
    ("file=traces.txt,collapsed,total", "traces.txt", r"Idle.main[^\n]* \d{6,}\n"),
    ("file=plain,tree", "plain", "<html"),
])
def test_reports_are_made_at_the_end(target, place, sparkprof, words, file, holds):
    """By async-profiler's words; nothing is left beside, and nothing said."""
    t = target("Idle", jvm=[option(words)], cwd=place)
    wait_until(lambda: "Idle.main" in sparkprof("dump", "-o", "collapsed", t.pid).stdout)
    ends(t)
    assert [f.name for f in place.iterdir()] == [file] and t.stderr() == "", (list(place.iterdir()), t.stderr())
    assert re.search(holds, (place / file).read_text())


@pytest.mark.parametrize("words, file", [
    ("svg=total,file=bench-%n.svg,interval=1ms,framebuf=15000000", "bench-1.jfr"),
    ("flamegraph,file=flame.html,threads,simple,title=x", "flame.jfr"),
    ("summary,traces=100,flat=20,file=top.TXT", "top.jfr"),
    ("file=a.collapsed.pb.gz", "a.collapsed.jfr"),
    ("collapsed,file=plain", "plain.jfr"),
])
def test_without_a_launcher_the_recording_is_kept(target, place, alone, words, file):
    """Options as they stand in people's configurations; one line tells the name that the recording has."""
    t = target("Idle", jvm=[option(words, alone)], cwd=place)
    ends(t)
    assert t.stderr().count("\n") == 1 and "file: no sparkprof lies beside the library, so a JVM is recorded as JFR: " in t.stderr(), t.stderr()
    assert [f.name for f in place.iterdir()] == [file] and Recording(place / file).wall()


def test_a_report_that_cannot_be_made_keeps_the_recording(target, place, alone):
    """Here by a launcher that fails. Never a recording by a report's name."""
    launcher = os.path.join(os.path.dirname(alone), "sparkprof")
    with open(launcher, "w") as f:
        f.write("#!/bin/sh\nexit 1\n")
    os.chmod(launcher, 0o755)
    t = target("Idle", jvm=[option("file=x.html", alone)], cwd=place)
    wait_until(lambda: len(our_threads(t)) > 0)
    ends(t)
    assert "x.html could not be made; the recording is x.jfr" in t.stderr() and t.stderr().count("\n") == 1
    assert [f.name for f in place.iterdir()] == ["x.jfr"] and Recording(place / "x.jfr").wall()


def test_a_report_for_each_loop(target, place, sparkprof):
    """Made while the JVM runs; the child has none of its descriptors, and no thread and no process stays."""
    t = target("Idle", jvm=[option("file=own-%n.collapsed,loop=1s,flush=200ms")], cwd=place)
    wait_until(lambda: (place / "own-2.collapsed").exists())
    assert "Idle.main" in (place / "own-1.collapsed").read_text()
    assert sparkprof("stop", "-f", place / "stopped.txt", t.pid).returncode == 0
    wait_until(lambda: not our_threads(t))
    assert not list(place.glob("*.jfr")) and not list(place.glob("*.jfr.*")), list(place.iterdir())
    assert open(f"/proc/{t.pid}/task/{t.pid}/children").read() == ""


def test_without_file_it_waits_for_dump_and_stop(target, place, sparkprof):
    t = target("Idle", jvm=[option("")], cwd=place)
    wait_until(lambda: "Idle.main" in sparkprof("dump", "-o", "collapsed", t.pid).stdout)
    before = mapped(t)
    assert sparkprof("stop", "-f", place / "x.jfr", t.pid).returncode == 0
    assert Recording(place / "x.jfr").wall() and mapped(t) <= before
    wait_until(lambda: not our_threads(t))
    assert [f.name for f in place.iterdir()] == ["x.jfr"] and t.stderr() == ""
    assert not [f for f in t.fds().values() if f.startswith(str(place))]


def test_a_library_by_another_name_is_known(target, place, alone, sparkprof):
    """The launcher's own copy finds the recording of the one that the JVM was started with."""
    t = target("Idle", jvm=[option("", alone)], cwd=place)
    wait_until(lambda: "recording wall" in sparkprof("status", t.pid).stdout)
    r = sparkprof("-d", "1s", "-f", place / "x.jfr", t.pid)
    assert r.returncode == 3 and "recorded already, by the JVM's own option -agentpath" in r.stderr, r.stderr
    assert sparkprof("stop", "-f", place / "own.jfr", t.pid).returncode == 0 and Recording(place / "own.jfr").wall()
