"""-F vtable,comptask: the class of the object on top of a stub for calls by table, and the method that a compiler compiles, on each JDK."""
import collections
import re

import pytest
from kit import jvm, recording

ENTRIES = ("libjvm.so.Compiler::compile_method", "libjvm.so.C2Compiler::compile_method")
CLASSES = {f"Receivers${c}" for c in "ABCD"}
WAYS = {"byInterface": "itable stub", "byClass": "vtable stub"}
# With a heap in which receivers are moved, and what was theirs is used again, a hundred times a second.
COLLECTORS = {"G1": ["-XX:+UseG1GC"], "Serial": ["-XX:+UseSerialGC"], "Parallel": ["-XX:+UseParallelGC"], "Z": ["-XX:+UseZGC"]}
SMALL = ["-Xmx64m", "-Xmn8m"]


def frame(text):
    """Name and type of "Class.name [type]"; a frame that is a class has no name."""
    name, kind = text.rsplit(" [", 1)
    return name.strip("."), kind.rstrip("]")


def receivers(file):
    """By method of Receivers.java: how often each class was on top of its stub; "" for none."""
    found = collections.defaultdict(collections.Counter)
    for s in recording.Recording(file).cpu():
        names = [frame(f) for f in s.stack]
        for way, stub in WAYS.items():
            if any(n == f"Receivers.{way}" for n, _ in names):
                if names[0][0] == stub:
                    found[way][""] += 1
                elif len(names) > 1 and names[1][0] == stub:
                    assert names[0][1] == "Inlined", s.stack
                    found[way][names[0][0]] += 1
    return found


def record(target, tmp_path, main, *args, jdk, features, options=()):
    file = tmp_path / "x.jfr"
    t = target(main, *args, jdk=jdk, jvm=[recording.option(file, interval="1ms", features=features), *options], wait=False)
    assert t.proc.wait(timeout=200) == 0, t.stderr()
    return file


@pytest.mark.parametrize("jdk", jvm.every())
def test_receivers_by_their_mix(target, tmp_path, jdk):
    rarely = ["-Xms400m", "-Xmn300m"]  # collections: a sample beside one has no class
    found = receivers(record(target, tmp_path, "Receivers", 1.5, jdk=jdk, features="vtable", options=rarely))
    for way in WAYS:
        assert set(found[way]) - {""} <= CLASSES, found
    # Half of the calls are for A, a sixteenth for D: of 100 samples, that D has more is a chance below one in a million.
    both = sum(found.values(), collections.Counter())
    assert sum(both.values()) >= 100, found
    assert both["Receivers$A"] > both["Receivers$D"], found
    # without a class: what was taken while the JVM had not told the stub's name, and while a collection went on
    assert both[""] <= 0.2 * sum(both.values()), found


@pytest.mark.parametrize("collector", [pytest.param(c, marks=() if c == "G1" else pytest.mark.long) for c in COLLECTORS])
@pytest.mark.parametrize("jdk", jvm.every(17, 21, short=(17,)))
def test_no_class_is_guessed_where_objects_move(target, tmp_path, jdk, collector):
    found = receivers(record(target, tmp_path, "Receivers", 1.5, jdk=jdk, features="vtable", options=[*SMALL[:1 if collector == "Z" else 2], *COLLECTORS[collector]]))
    assert sum(sum(c.values()) for c in found.values()) >= 50, found
    for way in WAYS:
        assert set(found[way]) - {""} <= CLASSES, found
    assert set(found["byClass"]) - {""}, found  # from a register, whatever the collector


def test_no_class_without_the_word(target, tmp_path):
    found = receivers(record(target, tmp_path, "Receivers", 0.5, jdk=17, features="mixed"))
    assert all(set(c) == {""} for c in found.values()), found


def compiled(file):
    """Of stacks of a compiler's entry: how often which methods are above it, by compiler; "" for none."""
    found = collections.defaultdict(collections.Counter)
    for s in recording.Recording(file).cpu():
        names = [frame(f) for f in s.stack]
        for i, (name, _) in enumerate(names):
            if i and name in ENTRIES:
                java = [n for n, kind in names if kind == "JIT compiled"]
                assert len(java) <= 1, s.stack
                assert not java or names[i - 1][0] == java[0], s.stack
                found["C2" if "C2Compiler" in name else "C1"][java[0] if java else ""] += 1
    return found


@pytest.mark.parametrize("jdk", jvm.every())
def test_the_method_that_is_compiled(target, tmp_path, jdk):
    """Only methods of Compiles$Body are, so each frame is known; tasks follow each other in memory that is used again, and classes are unloaded."""
    found = compiled(record(target, tmp_path, "Compiles", 40, jdk=jdk, features="comptask", options=["-XX:CompileCommand=quiet", "-XX:CompileCommand=compileonly,Compiles$Body::*"]))
    body = {"Compiles$Body.mixed", "Compiles$Body.other", "Compiles$Body.run"}
    assert set(found["C1"]) | set(found["C2"]) <= body | {""}, found
    assert sum(found["C2"].values()) >= 50, found
    # What had ended before the collector looked at it, and was another's task by then, is left out: not more than half of C2's.
    assert found["C2"][""] <= 0.5 * sum(found["C2"].values()), found


def test_by_the_launcher(sparkprof, target, tmp_path):
    t = target("Receivers", 60)
    run = sparkprof("-d", "2", "-i", "1ms", "-F", "vtable,comptask,mixed", "-o", "collapsed", "-f", tmp_path / "x.collapsed", t.pid)
    assert run.returncode == 0, run.stderr
    text = (tmp_path / "x.collapsed").read_text()
    assert re.search(r"byClass;vtable stub;Receivers\$A[ ;]", text), text
    run = sparkprof("-d", "1", "-F", "pcaddr", t.pid)
    assert run.returncode == 2 and "there are vtable and comptask" in run.stderr, run.stderr
