"""A guest in the target's memory cgroup: it looks before it eats."""
import os
import subprocess
import sys

import pytest

from kit import cgroup, container, peers
from kit.parts import SPARKPROF

MARGIN = 32 << 20
RECORD = ["collect", "-e", "cpu", "-d", "0.5"]


def assert_refused(r):
    assert r.returncode in (1, 3) and "--force" in r.stderr and r.stderr.count("\n") == 1, r.stderr


def test_32_megabytes_left_is_too_little_unless_forced(target, tmp_path):
    with cgroup.Memory() as group:
        t = target("Idle", wrap=group.wrap(), jvm=["-Xms64m", "-Xmx64m", "-XX:+AlwaysPreTouch"])

        def inside(*args):
            group.leave(MARGIN)
            return subprocess.run([*group.wrap(), SPARKPROF, *RECORD, "-f", tmp_path / "a.collapsed", *args, str(t.pid)],
                                  capture_output=True, text=True, timeout=300)
        assert_refused(inside())
        assert not any("sparkprof" in m for m in t.maps())
        r = inside("--force")
        assert r.returncode == 0, r.stderr
        assert t.alive() and group.killed() == 0
        t.close()


def test_enough_left_needs_no_force(target, tmp_path):
    with cgroup.Memory() as group:
        t = target("Idle", wrap=group.wrap())
        group.leave(512 << 20)
        r = subprocess.run([*group.wrap(), SPARKPROF, *RECORD, "-f", tmp_path / "a.collapsed", str(t.pid)],
                           capture_output=True, text=True, timeout=300)
        assert r.returncode == 0, r.stderr
        assert t.alive() and group.killed() == 0
        t.close()


def test_pages_of_files_are_not_memory_that_is_short(target, tmp_path):
    """A pod that wrote shuffle files is at its limit all the time; the kernel drops their pages where memory is needed."""
    with cgroup.Memory() as group:
        t = target("Idle", wrap=group.wrap())
        group.leave(300 << 20)
        subprocess.run([*group.wrap(), "dd", "if=/dev/zero", f"of={tmp_path}/shuffle", "bs=1M", "count=290"], check=True, capture_output=True)
        r = subprocess.run([SPARKPROF, *RECORD, "-f", tmp_path / "a.collapsed", str(t.pid)], capture_output=True, text=True, timeout=300)
        assert r.returncode == 0 and "cgroup" not in r.stderr, r.stderr
        assert t.alive() and group.killed() == 0
        t.close()


def test_a_report_beside_the_target_takes_one_thread_and_little_memory(target, tmp_path):
    one = peers.recording(tmp_path / "one.jfr", "event=cpu,interval=200us,alloc=16k,lock=1us,wall=1ms", "Mixture", 3).read_bytes()
    big, page, several = tmp_path / "big.jfr", tmp_path / "x.html", min(2, os.cpu_count()) - 1
    with big.open("wb") as f:
        while f.tell() < 50 << 20:
            f.write(one)

    def report(*before):
        """Megabytes that it took, and threads that it started. A process counts the memory of whoever forked it as its own."""
        cmd = [SPARKPROF, "report", "-q", big, "-f", page]
        asks = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); " \
               "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        kilobytes = subprocess.run([*before, sys.executable, "-c", asks, *cmd], check=True, capture_output=True, text=True).stdout
        subprocess.run([*before, "strace", "-f", "-qq", "-e", "trace=clone,clone3", "-o", tmp_path / "clones", *cmd], check=True)
        return int(kilobytes) >> 10, (tmp_path / "clones").read_text().count("clone")
    with cgroup.Memory() as group:
        t = target("Idle", wrap=group.wrap())
        assert report(*group.wrap())[1] >= several, "a terminal's group, without a limit"
        group.leave(2 << 30)
        megabytes, threads = report(*group.wrap())
        assert megabytes <= 64 and threads == 0, (megabytes, threads)
        t.close()
    with cgroup.Memory() as alone:
        assert report(*alone.wrap())[1] >= several


@pytest.mark.parametrize("userns", [False, True])
def test_in_a_pod_with_32_megabytes_left(userns):
    """As with kubectl exec: the container sees its own part of the hierarchy, mounted read-only."""
    with container.Pod("Idle", userns=userns, options=["--memory", "512m"]) as pod:
        pod.put(SPARKPROF, "/tmp/sparkprof")
        java = pod.exec("pgrep", "-x", "java").stdout.strip()
        group = cgroup.Memory(pod.pid)
        for force in ([], ["--force"]):
            group.leave(MARGIN)
            r = pod.exec("/tmp/sparkprof", *RECORD, "-f", "/tmp/a.collapsed", *force, java)
            if force:
                assert r.returncode == 0, r.stderr
            else:
                assert_refused(r)
        assert pod.alive() and group.killed() == 0
