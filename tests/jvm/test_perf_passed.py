"""A launcher that may sample the kernel, a target that may not: the events are opened outside and passed in."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess

import pytest

import test_deep_stacks
from kit import container
from kit.parts import SPARKPROF
from kit.recording import Recording
from kit.traces import wait_until

USER = 12345
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to sample the kernel of another user's JVM")


def engine(r):
    return re.search(r'name = "engine"\s+value = "([^"]*)"', " ".join(r.others["jdk.ActiveSetting"]))[1]


def in_kernel(r):
    return [s for s in r.cpu() if s.stack and s.stack[0].endswith("[Kernel]")]


def perf_fds(t):
    return [f for f in t.fds().values() if "perf_event" in f]


def test_root_sees_the_kernel_of_a_plain_users_jvm(target, sparkprof, tmp_path):
    t = target("Syscalls", 60, user=USER, cwd="/")
    r = sparkprof("-e", "cpu", "-i", "1ms", "-d", "3s", "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 0 and "instead" not in r.stderr, r.stderr
    rec = Recording(tmp_path / "x.jfr")
    assert engine(rec) == "perf rings"
    kernel = in_kernel(rec)
    assert kernel and rec.share(kernel, "Syscalls.kernel")[0] > 0.8
    assert perf_fds(t) == []


def test_new_threads_get_theirs(target, tmp_path):
    t = target("Late", user=USER, cwd="/")
    p = subprocess.Popen([SPARKPROF, "-e", "cpu", "-i", "1ms", "-d", "60s", "-f", tmp_path / "x.jfr", str(t.pid)])
    wait_until(lambda: len(perf_fds(t)) > 10)
    for name in ("late-1", "late-2"):
        t.send(name)
    # their events cannot be counted: others of the JVM's threads go, or get longer windows
    wait_until(lambda: all(n in (tmp_path / "x.jfr").read_bytes() for n in (b"late-1", b"late-2")))
    p.send_signal(signal.SIGINT)
    assert p.wait(100) == 0
    r = Recording(tmp_path / "x.jfr")
    assert engine(r) == "perf rings"
    assert {"late-1", "late-2"} <= {s.thread for s in r.cpu()}
    wait_until(lambda: perf_fds(t) == [])


def test_stacks_that_get_long_later_are_whole(target, sparkprof, tmp_path):
    """A thread's window has become short by then: its events are opened anew, outside, and must signal it as others do."""
    t = target("Ways", 1, test_deep_stacks.DEPTH, "small", 3000, 1.5, user=USER, cwd="/", jvm=[*test_deep_stacks.MODES["interpreted"], "-Xss32m"])
    # To the end of the program, which needs 2.5 s of CPU.
    r = sparkprof("-e", "cpu", "-i", "1ms", "--capture", "ring", "-d", "10m", "-f", tmp_path / "x.jfr", t.pid, timeout=700)
    assert "what was recorded until then" in r.stderr, r
    assert engine(Recording(tmp_path / "x.jfr")) == "perf rings"
    total, whole = test_deep_stacks.judge(tmp_path / "x.jfr", test_deep_stacks.DEPTH)
    assert total >= 300 and whole >= 0.95 * total, (whole, total)


def test_a_plain_user_is_told_and_gets_timers(target, sparkprof, tmp_path):
    t = target("Split", 60, user=USER, cwd="/")
    r = sparkprof("-e", "cpu", "-d", "500ms", "-f", "-", t.pid, user=USER, group=USER, extra_groups=[])
    assert r.returncode == 0 and "using ctimer instead" in r.stderr, r.stderr


def test_start_says_why_it_does_not(target, sparkprof, tmp_path):
    t = target("Split", 60, user=USER, cwd="/")
    r = sparkprof("start", "-e", "cpu", "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 0 and "using ctimer instead (collect sees the kernel" in r.stderr, r.stderr
    assert sparkprof("stop", "-f", tmp_path / "x.txt", t.pid).returncode == 0
    assert engine(Recording(tmp_path / "x.jfr")) == "ctimer"


def test_never_more_than_a_quarter_of_the_descriptors(target, sparkprof, tmp_path):
    t = target("Split", 60, user=USER, cwd="/", wrap=["prlimit", "--nofile=120:120"])
    r = sparkprof("-e", "cpu", "-d", "500ms", "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 0 and "more than a quarter of the" in r.stderr, r.stderr
    assert engine(Recording(tmp_path / "x.jfr")) != "perf rings"


def test_locked_memory_of_the_targets_user_is_the_limit(target, sparkprof, tmp_path):
    """Rings are mapped by the target, so its user's limit counts: they get smaller, or timers do the work."""
    t = target("Split", 60, user=USER, cwd="/", wrap=["prlimit", "--memlock=0:0"])
    r = sparkprof("-e", "cpu", "-d", "500ms", "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 0, r.stderr
    assert Recording(tmp_path / "x.jfr").cpu()


@pytest.mark.parametrize("userns", [False, True])
def test_a_pod_whose_seccomp_denies_perf(sparkprof, tmp_path, userns):
    """Another pid namespace: the records carry the host's thread ids, the recording the pod's."""
    with container.Pod("Syscalls", 600, userns=userns) as pod:
        def recorded():
            """Rings hold a quarter of a second: more is lost when the collector has no core for longer than that."""
            r = sparkprof("-e", "cpu", "-i", "1ms", "-d", "3s", "-f", tmp_path / "x.jfr", pod.pid)
            assert r.returncode == 0 and "instead" not in r.stderr, r.stderr
            rec = Recording(tmp_path / "x.jfr")
            return rec if rec.counts()["lost"] <= 0.1 * rec.counts()["samples"] + 1 else None
        rec = wait_until(recorded)
        assert engine(rec) == "perf rings"
        assert rec.share(in_kernel(rec), "Syscalls.kernel")[0] > 0.8
        inner = set()
        for task in pathlib.Path(f"/proc/{pod.pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                inner.add(int(re.search(r"^NSpid:.*\t(\d+)$", (task / "status").read_text(), re.M)[1]))
        assert {s.tid for s in rec.cpu() if s.thread == "main"} <= inner
