"""The walls that other tests attach through are really there."""

import subprocess

import pytest

from kit import cgroup, container, deny

TRY_CALL = """import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(int(sys.argv[1]), 0, 0, 0, 0, 0)
print(ctypes.get_errno())"""
EPERM, ENOSYS = "1\n", "38\n"


@pytest.mark.parametrize("userns", [False, True])
def test_pod_is_as_poor_as_a_real_one(userns):
    with container.Pod("Idle", userns=userns) as pod:

        def sh(script):
            return pod.exec("sh", "-c", script).stdout

        assert sh("id -u; cat /proc/1/comm") == "185\ntini\n"
        assert sh("grep -c :185: /etc/passwd") == "0\n"
        assert sh("touch /x 2>/dev/null || echo read-only") == "read-only\n"
        assert sh("which jcmd jps jattach || echo none") == "none\n"
        status = sh("cat /proc/self/status").split()
        assert status[status.index("CapBnd:") + 1] == "0" * 16 and status[status.index("NoNewPrivs:") + 1] == "1"
        assert status[status.index("Seccomp:") + 1] == "2"
        inside, here = (
            subprocess.run(["readlink", f"/proc/{p}/ns/user"], capture_output=True).stdout for p in (pod.pid, "self")
        )
        assert (inside != here) == userns


def call(number, *rules):
    return subprocess.run(
        [*deny.wrap(*rules), "/usr/bin/python3", "-c", TRY_CALL, str(number)], capture_output=True, text=True
    ).stdout


def test_denied_calls_fail_as_told():
    openat2, pidfd_open = deny.NUMBERS["openat2"], deny.NUMBERS["pidfd_open"]
    assert call(openat2, "openat2=ENOSYS") == ENOSYS
    assert call(openat2, "openat2=EPERM", "pidfd_open=ENOSYS") == EPERM
    assert call(pidfd_open, "openat2=EPERM", "pidfd_open=ENOSYS") == ENOSYS
    assert call(pidfd_open, "openat2=EPERM") not in (EPERM, ENOSYS)
    assert call(deny.NUMBERS["sched_setattr"], "3.10") == ENOSYS
    assert call(deny.NUMBERS["kcmp"], "3.10") != ENOSYS


def test_memory_group_kills_what_takes_more():
    with cgroup.Memory() as group:
        group.leave(32 << 20)
        eat = subprocess.run([*group.wrap(), "/usr/bin/python3", "-c", "b'x' * (64 << 20)"], capture_output=True)
        assert eat.returncode != 0 and group.killed() == 1
