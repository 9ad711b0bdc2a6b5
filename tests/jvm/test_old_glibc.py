"""The agent in a JVM whose libc is older than the one it was built on."""
import re
import subprocess

import pytest

from kit import container, rootfs


def libc_version(root):
    text = subprocess.run(["strings", "-n", "20", *root.glob("lib/x86_64-linux-gnu/libc.so.6")], check=True,
                          capture_output=True, text=True).stdout
    return tuple(map(int, re.search(r"GNU C Library .* version (\d+)\.(\d+)", text).groups()))


def enter(sparkprof, root):
    assert libc_version(root) < (2, 34)  # from there on pthread_create and dlsym carry the newer version
    with container.Bubble("Idle", root=root, options=("--unshare-pid",)) as b:
        for args in (["status"], ["list"], ["status"]):
            r = sparkprof(*args, b.pid)
            assert r.returncode == 0, r.stderr
        assert b.alive() and b.stdout() == "ready\n" and b.stderr() == ""


def test_bullseye_jdk_11(sparkprof):
    enter(sparkprof, rootfs.old_glibc())


@pytest.mark.long
def test_bullseye_jdk_17(sparkprof):
    enter(sparkprof, rootfs.debian("rootfs-bullseye-jdk17", "bullseye", ["openjdk-17-jre-headless"], "extract"))
