"""A Linux of its own: Debian's user-mode kernel, a program like any other, which has what this machine's kernel may lack (yama).
It sees this machine's files, read-only, with a /tmp and /run of its own, and boots in seconds."""
import pathlib
import re
import subprocess

import pytest

from . import parts


def kernel():
    """Its program, out of the package, which is not installed."""
    def make(tmp):
        parts.fetch(["apt-get", "download", "-q", "user-mode-linux"], cwd=tmp, capture_output=True)
        subprocess.run(["dpkg", "-x", next(tmp.glob("*.deb")), tmp], check=True)
        next(tmp.glob("*.deb")).unlink()
    return parts._once("user-mode-linux", make) / "usr/bin/linux.uml"


UP = "its init runs"
BEGIN = """#!/bin/bash
echo "{up}"
mount -t proc proc /proc
mount -t tmpfs run /run
mkdir /run/tree
mount --bind {tree} /run/tree
mount -t tmpfs tmp /tmp
cd /run/tree
{script}
exec /usr/bin/python3 -c 'import ctypes; ctypes.CDLL(None).reboot(0x4321fedc)'
"""


def run(tmp_path, script, timeout=240):
    """Runs lines of bash in it, as root, in this tree's directory. Returns what they printed, and the kernel's own lines. Where it does
    not get as far as these lines the test is skipped: on some new CPUs (seen on one with AMX) its init ends with SIGSEGV."""
    init = pathlib.Path(tmp_path, "init")
    init.write_text(BEGIN.format(up=UP, tree=parts.ROOT, script=script))
    init.chmod(0o755)
    command = [kernel(), "mem=768M", "rootfstype=hostfs", "rootflags=/", "ro", f"init={init}", "con=null", "con0=null,fd:1", "ssl=null", "quiet"]
    out = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=timeout,
                         env={"TMPDIR": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}).stdout.replace("\r", "")
    if UP not in out:
        why = re.search(r"Kernel panic[^\n]*", out)
        pytest.skip(f"user-mode Linux does not start a program on this CPU: {why[0] if why else out[-200:]}")
    return out
