"""Stacks of thousands of frames, longer than what a ring's record holds: whole, or said to be cut; never with a frame that was not there."""
import collections
import os
import pathlib
import re
import signal

import pytest
from kit import parts, recording

MODES = {"interpreted": ["-Xint"], "C1": ["-XX:TieredStopAtLevel=1"], "C2": ["-XX:-TieredCompilation"]}
DEPTH = 2000


def ways(file):
    """Of stacks of Ways.java that are down the recursion, in the order of time: a Counter of its methods, and whether it is said to be cut."""
    for s in sorted(recording.Recording(file).cpu(), key=lambda s: s.time):
        has = collections.Counter(f.split(" ")[0].removeprefix("Ways.") for f in s.stack if f.startswith("Ways."))
        if s.thread == "main" and has["down"] + has["big"] >= 20:
            yield has, s.truncated


def judge(file, depth, c2=False):
    """How many stacks from the first whole one on that is too long for a ring, and how many of them are whole: those of a ring are cut until the
    collector has seen one, and it may have to wait for a core. Fails on one that never was. Two ways lead down, and the end says which it was.
    Not of C2: its notes of code that it moved are of something inlined further down, an end or one call more of the recursion, and
    AsyncGetCallTrace has the same leaf (test_unwind.py compares with it)."""
    total = whole = 0
    for has, cut in ways(file):
        frames = has["down"] + has["big"]
        total += total > 0 or has["main"] > 0 and not cut and frames > 0.9 * depth
        ends = has["firstEnd"] or has["secondEnd"]
        leaf = ends and (frames != depth + 1 or has["firstEnd"] and has["second"] or has["secondEnd"] and has["first"])
        assert frames <= depth + 1 + c2, has
        if has["main"] == 0:
            assert cut, has  # it says so
            continue
        whole += total > 0 and not cut
        assert has["first"] + has["second"] == 1, has
        assert c2 or not leaf, has
    return total, whole


def run(target, tmp_path, *args, jdk=17, mode="interpreted", **options):
    file = tmp_path / "x.jfr"
    t = target("Ways", *args, jdk=jdk, wait=False, jvm=[recording.option(file, **options), *MODES[mode], "-Xss32m"])
    assert t.proc.wait(timeout=500) == 0, t.stderr()
    return file


@pytest.mark.parametrize("mode", [pytest.param(m, marks=pytest.mark.long if m == "C1" else ()) for m in MODES])
@pytest.mark.parametrize("capture", [pytest.param("ring", marks=pytest.mark.alone), "signal"])
def test_two_thousand_frames_are_whole_and_two_ways_are_not_mixed_up(target, tmp_path, capture, mode):
    total, whole = judge(run(target, tmp_path, 1, DEPTH, mode=mode, capture=capture, interval="1ms"), DEPTH, c2=mode == "C2")
    # By ring the first are cut, until the collector has seen one of them and the kernel signals the thread: with a core for it that
    # are two samples, of a thousand; it may have to wait for one.
    assert total >= 300
    assert whole >= (0.95 if capture == "ring" else 0.99) * total, (whole, total)


def catches(pid, number):
    caught = re.search(r"^SigCgt:\s*(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1]
    return int(caught, 16) >> number - 1 & 1


def test_no_handler_comes_back_after_the_end(target, sparkprof, tmp_path):
    """A thread's first long stack may be read when the engine has stopped already."""
    parts.needs_perf()
    t = target("Ways", 600, DEPTH, jvm=[*MODES["interpreted"], "-Xss32m"])
    rounds = 0
    while rounds < 40 or rounds < 400 and not catches(t.pid, signal.SIGPROF):
        rounds += 1
        r = sparkprof("-e", "cpu", "-i", "1ms", "--capture", "ring", "-d", "3ms", "-f", tmp_path / "x.jfr", t.pid)
        assert r.returncode == 0, r
        if catches(t.pid, signal.SIGPROF):  # else it would end the JVM by itself
            os.kill(t.pid, signal.SIGPROF)
    assert catches(t.pid, signal.SIGPROF), "no stack was too long for a ring: this is no test"
    assert t.alive()


@pytest.mark.parametrize("capture", ["ring", "signal"])
def test_frames_of_many_variables(target, tmp_path, capture):
    """Half a megabyte of stack."""
    total, whole = judge(run(target, tmp_path, 1, DEPTH, "big", capture=capture, interval="2ms"), DEPTH)
    assert total >= 100  # of 500; a ring holds a few of them, and the collector may have to wait for a core
    assert whole >= (0.95 if capture == "ring" else 0.99) * total, (whole, total)


@pytest.mark.long
@pytest.mark.parametrize("jdk", [11, 17, 21, 25])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("interval", ["1ms", "10ms"])
@pytest.mark.parametrize("capture", ["ring", "signal"])
def test_each_jdk_and_tier(target, tmp_path, capture, interval, mode, jdk):
    """Of thousands of stacks, by ring, only those from before the collector saw the first of them may be cut."""
    file = run(target, tmp_path, {"1ms": 10, "10ms": 25}[interval], DEPTH, jdk=jdk, mode=mode, capture=capture, interval=interval)
    total, whole = judge(file, DEPTH, c2=mode == "C2")
    assert total >= 2000
    assert whole >= 0.999 * total, (whole, total)
