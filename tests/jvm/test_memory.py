"""A guest in the target's memory cgroup: it looks before it eats."""
import subprocess

import pytest

from kit import cgroup, container
from kit.parts import SPARKPROF


def test_32_megabytes_left_is_too_little_unless_forced(target):
    with cgroup.Memory() as group:
        t = target("Idle", wrap=group.wrap(), jvm=["-Xms64m", "-Xmx64m", "-XX:+AlwaysPreTouch"])
        group.leave(32 << 20)

        def inside(*args):
            return subprocess.run([*group.wrap(), str(SPARKPROF), *args, str(t.pid)], capture_output=True, text=True, timeout=60)
        r = inside("status")
        assert r.returncode == 3 and "--force" in r.stderr and "MB" in r.stderr and r.stderr.count("\n") == 1, r.stderr
        assert not any("libsparkprof" in m or "sparkprof" in m for m in t.maps())
        r = inside("status", "--force")
        assert r.returncode == 0, r.stderr
        assert t.alive() and group.killed() == 0
        t.close()


def test_enough_left_needs_no_force(target):
    with cgroup.Memory() as group:
        t = target("Idle", wrap=group.wrap())
        group.leave(256 << 20)
        r = subprocess.run([*group.wrap(), str(SPARKPROF), "status", str(t.pid)], capture_output=True, text=True, timeout=60)
        assert r.returncode == 0, r.stderr
        assert t.alive() and group.killed() == 0
        t.close()


@pytest.mark.parametrize("userns", [False, True])
def test_in_a_pod_with_32_megabytes_left(userns):
    """As with kubectl exec: the container sees its own part of the hierarchy, mounted read-only."""
    with container.Pod("Idle", userns=userns, options=["--memory", "512m"]) as pod:
        pod.put(SPARKPROF, "/tmp/sparkprof")
        java = pod.exec("pgrep", "-x", "java").stdout.strip()
        group = cgroup.Memory(pod.pid)
        group.leave(32 << 20)
        r = pod.exec("/tmp/sparkprof", "status", java)
        assert r.returncode == 3 and "--force" in r.stderr and r.stderr.count("\n") == 1, r.stderr
        r = pod.exec("/tmp/sparkprof", "status", "--force", java)
        assert r.returncode == 0, r.stderr
        assert pod.alive() and group.killed() == 0


def test_from_outside_the_target_lives_too(sparkprof):
    """The launcher's memory is charged to its own group; the agent's few pages are the target's."""
    with container.Pod("Idle", options=["--memory", "512m"]) as pod:
        group = cgroup.Memory(pod.pid)
        group.leave(32 << 20)
        r = sparkprof("status", "--force", pod.pid)
        assert r.returncode == 0, r.stderr
        assert pod.alive() and group.killed() == 0
