"""Which native frames a recording keeps: --cstack, --kernel and --all-user, the words as async-profiler means them."""
import re

import pytest
from kit import recording
from kit.traces import wait_until

COMPILED = ("Interpreted", "JIT compiled", "Inlined", "C1 compiled")


def record(target, tmp_path, **options):
    """Stacks of a program that is in the kernel half of its time, a list of (name, type) each; and of its thread main."""
    file = tmp_path / f"{len(list(tmp_path.iterdir()))}.jfr"
    t = target("Syscalls", 1, jvm=[recording.option(file, interval="1ms", **options)], wait=False)
    assert t.proc.wait(timeout=300) == 0, t.stderr()
    r = recording.Recording(file)
    split = [(s.thread, [re.fullmatch(r"(.*) \[(.*)\]", f).groups() for f in s.stack]) for s in r.cpu()]
    return [s for _, s in split], [s for thread, s in split if thread == "main"], r


def is_java(frame):
    """Java's native methods are Java frames, too."""
    name, kind = frame
    return kind in COMPILED or kind == "Native" and name.startswith(("java.", "jdk.", "sun.", "Syscalls."))


def has_java(stack):
    return any(map(is_java, stack))


@pytest.mark.parametrize("word", [None, "vmx"])
def test_all_frames_are_kept(target, tmp_path, word):
    every, main, _ = record(target, tmp_path, **({"cstack": word} if word else {}))
    assert sum(not is_java(s[-1]) for s in main) > 0.9 * len(main) > 90
    assert any(not has_java(s) for s in every)


@pytest.mark.parametrize("word", ["vm", "fp", "dwarf"])
def test_no_native_frame_below_the_first_java_frame(target, tmp_path, word):
    every, main, _ = record(target, tmp_path, cstack=word)
    java = [s for s in main if has_java(s)]
    assert len(java) > 90
    for s in java:
        first = next(i for i, frame in enumerate(s) if is_java(frame))
        assert all(map(is_java, s[first:])), s
    assert any(not is_java(s[0]) for s in java)  # those above it stay
    assert any(not has_java(s) and len(s) > 2 for s in every)  # and threads of native code


def test_no_native_frame_at_all(target, tmp_path):
    every, main, r = record(target, tmp_path, cstack="no")
    assert sum(has_java(s) for s in main) > 90
    for s in every:
        # What is not known may be Java code that changed since the sample: it stays, and is counted.
        known = [frame for frame in s if frame[0].lstrip(".") != "[unknown]"]
        assert all(map(is_java, known)) or [name.lstrip(".") for name, _ in s] == ["[no_Java_frame]"], s
    assert any(not has_java(s) for s in every)
    assert r.counts()["unknown"] <= 0.01 * r.counts()["samples"] + 2


def is_kernel(stack):
    return stack[0][1] == "Kernel"


def test_kernel_frames_on_or_off(target, tmp_path):
    _, main, r = record(target, tmp_path)
    if not any(is_kernel(s) for s in main):
        pytest.skip("kernel frames cannot be sampled here")
    share, whole = sum(is_kernel(s) for s in main) / len(main), len(main) + r.counts()["lost"]
    assert share > 0.2
    every, off, r = record(target, tmp_path, kernel="off")
    assert not any(kind == "Kernel" for s in every for _, kind in s)
    assert len(off) + r.counts()["lost"] > 0.6 * len(main)  # their time is still there
    every, user, _ = record(target, tmp_path, jstackdepth="2048,alluser")
    assert not any(kind == "Kernel" for s in every for _, kind in s)
    # The same program takes as much CPU time each time; what is in the kernel is left out.
    assert len(user) < (1 - share / 2) * whole


def test_the_launcher_hands_them_on(sparkprof, target, tmp_path):
    t = target("Syscalls", 600)
    def both_seen():
        """Threads of the JVM's own may have nothing to do for a second."""
        run = sparkprof("-d", "1", "-i", "1ms", "--cstack", "no", "-o", "collapsed", t.pid)
        assert run.returncode == 0 and "start_thread" not in run.stdout, run.stderr
        return "Syscalls" in run.stdout and "[no_Java_frame]" in run.stdout
    wait_until(both_seen)
    run = sparkprof("-d", "1", "-i", "1ms", "--cstack=vm", "--kernel", "off", "--all-user", "-o", "collapsed", t.pid)
    assert run.returncode == 0 and "_[k]" not in run.stdout, run.stderr
    for line in run.stdout.splitlines():
        if "Syscalls.main" in line:
            assert line.startswith("Syscalls.main"), line
