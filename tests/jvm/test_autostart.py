"""A JVM that records by its own -agentpath, and launchers that come later: one recording, whoever asks."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from kit import jvm, recording
from kit.recording import Recording
from kit.traces import mapped, our_threads, wait_until


@pytest.fixture
def recorded(target, tmp_path):
    t = target("Idle", jvm=[recording.option(tmp_path / "own.jfr", event="wall")])
    wait_until(lambda: len(our_threads(t)) > 0)
    return t


def state(sparkprof, t):
    r = sparkprof("status", "--json", t.pid)
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)[0]


def test_status_knows_it(recorded, sparkprof):
    wait_until(lambda: state(sparkprof, recorded)["samples"] > 0)
    s = state(sparkprof, recorded)
    assert s["recording"] and s["detached"]
    assert "-agentpath" in s["by"] and "event=wall" in s["options"]


def test_never_two_samplers(recorded, sparkprof, tmp_path):
    for call in (["collect", "-d", "1s", "-f", tmp_path / "x.jfr"], ["start", "-f", tmp_path / "x.jfr"]):
        r = sparkprof(*call, recorded.pid)
        assert r.returncode == 3 and "recorded already, by the JVM's own option -agentpath" in r.stderr, r.stderr
    assert not (tmp_path / "x.jfr").exists()


def test_dump_then_stop_write_what_it_recorded(recorded, sparkprof, tmp_path):
    wait_until(lambda: state(sparkprof, recorded)["samples"] > 0)
    r = sparkprof("dump", "-f", tmp_path / "dump.collapsed", recorded.pid)
    assert r.returncode == 0, r.stderr
    assert "Idle.main" in (tmp_path / "dump.collapsed").read_text()
    before = mapped(recorded)
    r = sparkprof("stop", "-f", tmp_path / "stop.txt", recorded.pid)
    assert r.returncode == 0, r.stderr
    assert "Samples" in (tmp_path / "stop.txt").read_text()
    assert Recording(tmp_path / "own.jfr").wall()
    wait_until(lambda: not our_threads(recorded))
    assert not state(sparkprof, recorded)["recording"]
    assert mapped(recorded) == before
    r = sparkprof("-e", "wall", "-d", "300ms", "-f", tmp_path / "next.jfr", recorded.pid)
    assert r.returncode == 0, r.stderr
    assert (recorded.stdout(), recorded.stderr()) == ("ready\n", "")


def test_stop_without_a_name_finishes_its_own_file(recorded, sparkprof, tmp_path):
    wait_until(lambda: state(sparkprof, recorded)["samples"] > 0)
    r = sparkprof("stop", recorded.pid)
    assert r.returncode == 0, r.stderr
    assert Recording(tmp_path / "own.jfr").wall()


def test_another_build_beside_is_told_who_records(target, sparkprof, tmp_path):
    """The library of another build, as an older -agentpath would be: only its owner record is shared."""
    other = tmp_path / "libsparkprof-old.so"
    shutil.copy(recording.AGENT, other)
    build = subprocess.run(["readelf", "-n", other], capture_output=True, text=True).stdout.split("Build ID:")[1].split()[0]
    image = other.read_bytes()
    assert image.count(bytes.fromhex(build)) == 1
    other.write_bytes(image.replace(bytes.fromhex(build), os.urandom(20)))
    t = target("Idle", jvm=[recording.option(tmp_path / "own.jfr", event="wall", agent=other)])
    r = sparkprof("-e", "wall", "-d", "300ms", "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 3 and "by the JVM's own option -agentpath" in r.stderr, r.stderr
    r = sparkprof("status", t.pid)
    assert "by the JVM's own option -agentpath" in r.stdout


def test_two_agentpaths_record_once(target, tmp_path):
    other = shutil.copy(recording.AGENT, tmp_path / "libsparkprof-two.so")
    t = target("Idle", jvm=[recording.option(tmp_path / "one.jfr", event="wall"),
                            recording.option(tmp_path / "two.jfr", event="wall", agent=other)])
    assert t.stderr().count("\n") == 1 and "recorded already" in t.stderr(), t.stderr()
    assert len(list(tmp_path.glob("*.jfr"))) == 1


def test_its_time_limit_ends_it(target, sparkprof, tmp_path):
    t = target("Idle", jvm=[recording.option(tmp_path / "own.jfr", event="wall", timeout="1s")])
    wait_until(lambda: not our_threads(t))
    assert not state(sparkprof, t)["recording"]
    assert Recording(tmp_path / "own.jfr").wall()


def futex_waits(t):
    """Operation and time-out in seconds of each thread of ours that sits in futex(2)."""
    found = []
    for tid in (tid for tid, name in t.threads().items() if name == "sparkprof"):
        words = pathlib.Path(f"/proc/{t.pid}/task/{tid}/syscall").read_text().split()
        if words[0] == "202" and int(words[4], 16):  # x86-64's futex
            with open(f"/proc/{t.pid}/mem", "rb") as mem:
                mem.seek(int(words[4], 16))
                found.append((int(words[2], 16), int.from_bytes(mem.read(8), "little")))
    return found


def test_no_step_of_the_wall_clock_moves_the_end(target, sparkprof, tmp_path):
    """What the agent waits with, as the kernel sees it: a relative wait, which follows the monotonic clock."""
    t = target("Idle")
    r = sparkprof("start", "-e", "wall", "--timeout", "1h", "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 0, r.stderr
    wait_until(lambda: any(seconds > 3000 for _, seconds in futex_waits(t)))
    ops = [op for op, seconds in futex_waits(t) if seconds > 3000]
    assert len(ops) == 1 and ops[0] & 0x7f == 0 and not ops[0] & 256, ops  # FUTEX_WAIT, no FUTEX_CLOCK_REALTIME
    assert sparkprof("stop", t.pid).returncode == 0
    wait_until(lambda: not our_threads(t))


def test_spark_that_comes_up_later_is_named(target, sparkprof, tmp_path):
    """A JVM that records from its start is asked what it is before Spark has its configuration."""
    file = tmp_path / "own.jfr"
    t = target("org.apache.spark.SparkEnv", jvm=[recording.option(file, event="wall")],
               classes=f"{jvm.compiled()}:/nowhere/spark-core_2.13-4.3.0.jar")
    applications = lambda: Recording(file).others["sparkprof.Application"]
    wait_until(lambda: file.exists() and len(applications()) == 2, 60)
    assert "came later" not in applications()[0] and "app-late" in applications()[1] and "came later" in applications()[1]
    assert sparkprof("stop", t.pid).returncode == 0
    r = sparkprof("report", file, "-f", tmp_path / "x.txt")
    assert 'driver of app-late "came later"' in (tmp_path / "x.txt").read_text(), r.stderr
