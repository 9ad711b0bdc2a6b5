"""Routines that the JVM generates (copies, digests, checksums, calls by table) have their names, on each JDK."""
import collections
import re

import pytest
from kit import jvm, peers, recording

# By method of Stubs.java: what its routine is called. Those of ALWAYS are on each CPU that these JDKs run on and that tests meet;
# the others depend on both.
ROUTINES = {"copy": r"\w*arraycopy\w*", "crc": r"updateBytesCRC32", "crcC": r"updateBytesCRC32C", "md5": r"md5_implCompress(MB)?",
            "sha": r"sha256_implCompress(MB)?", "base64": r"(base64_)?encodeBlock", "byInterface": r"itable stub", "byClass": r"vtable stub"}
ALWAYS = {"copy", "crc", "byInterface", "byClass"}
BLOBS = re.compile(r"StubRoutines.*|vtable chunks|.*\(\w+ ?stubs\).*")
# The JVM makes a stub for calls by table when a call first needs it, and tells of it later, from its service thread: samples in it may come before its name.
TOLD_LATER = "vtable chunks"


def name_of(frame):
    """The name in "Class.name [type]"; generated code has no class."""
    return frame.rsplit(" [", 1)[0].rsplit(".", 1)[-1]


def tops(path):
    """By method of Stubs.java: how often each frame was on top of a stack with it."""
    found = collections.defaultdict(collections.Counter)
    for s in recording.Recording(path).cpu():
        for method in ROUTINES:
            if any(f.startswith(f"Stubs.{method} ") for f in s.stack):
                found[method][name_of(s.stack[0])] += 1
    return found


def blobs_after_names(path):
    """Blobs' names on top of a method's stacks where the routine has, or should have, its own; in the order of time."""
    named, found = set(), []
    for s in sorted(recording.Recording(path).cpu(), key=lambda s: s.time):
        name = name_of(s.stack[0]) if s.stack else ""
        for method in ROUTINES:
            if any(f.startswith(f"Stubs.{method} ") for f in s.stack):
                if re.fullmatch(ROUTINES[method], name):
                    named.add(method)
                elif BLOBS.fullmatch(name) and (name != TOLD_LATER or method in named):
                    found.append((method, name))
    return found


def routines(found):
    return {m: {name for name in found[m] if re.fullmatch(ROUTINES[m], name)} for m in ROUTINES}


@pytest.mark.parametrize("jdk", jvm.every())
def test_generated_routines_have_their_names(target, tmp_path, jdk):
    file = tmp_path / "x.jfr"
    t = target("Stubs", 2, jdk=jdk, jvm=[recording.option(file, interval="1ms")], wait=False)
    assert t.proc.wait(timeout=300) == 0, t.stderr()
    found = tops(file)
    for method in ROUTINES:
        # In equal parts of the thread's CPU time, some 250 samples each, but for those that are lost. An eighth or more of a method's time is in its routine:
        # that none of 105 samples is there has a chance below one in a million.
        assert sum(found[method].values()) >= 105, found
    assert not blobs_after_names(file), found
    names = routines(found)
    assert all(names[m] for m in ALWAYS), found
    stacks = [s.stack for s in recording.Recording(file).cpu() if s.thread == "main"]
    bottoms = {name for s in stacks for name in map(name_of, s) if name == "call_stub" or name.startswith("StubRoutines")}
    assert bottoms == {"call_stub"}, bottoms


@pytest.mark.parametrize("jdk", [17, 25])
def test_async_profiler_has_no_name_that_we_have_not(target, tmp_path, jdk):
    file = tmp_path / "x.jfr"
    t = target("Stubs", 1.5, jdk=jdk, jvm=[recording.option(file, interval="1ms")], wait=False)
    assert t.proc.wait(timeout=300) == 0, t.stderr()
    ours, theirs = tops(file), tops(peers.recording(tmp_path / "peer.jfr", "event=cpu,interval=1ms", "Stubs", 1.5, jdk=jdk))
    often = {m: {n for n in names if theirs[m][n] >= 0.3 * sum(theirs[m].values())} for m, names in routines(theirs).items()}
    assert often["copy"] and often["crc"], theirs
    for method, names in often.items():
        assert names <= routines(ours)[method], (method, ours[method], theirs[method])


def test_a_routine_made_while_it_records_has_its_name(sparkprof, target, tmp_path):
    """Stubs for calls by table are made when a call site first needs them: here after the recording began."""
    t = target("Stubs", 1.5, "late")
    run = sparkprof("start", "-i", "1ms", "-f", tmp_path / "x.jfr", t.pid)
    assert run.returncode == 0, run.stderr
    t.send("go")
    t.wait_for("done")
    run = sparkprof("stop", t.pid)
    assert run.returncode == 0, run.stderr
    names = routines(tops(tmp_path / "x.jfr"))
    assert names["byInterface"] and names["byClass"], names
    t.send("end")
    assert t.proc.wait(timeout=200) == 0
