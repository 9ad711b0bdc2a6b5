"""A Linux of its own: Debian's user-mode kernel, a program like any other, which has what this machine's kernel may lack (yama).
It sees this machine's files, read-only, with a /tmp and /run of its own, and boots in seconds."""
import pathlib
import subprocess

from . import parts


def kernel():
    """Its program, out of the package, which is not installed."""
    def make(tmp):
        subprocess.run(["apt-get", "download", "-q", "user-mode-linux"], cwd=tmp, check=True, capture_output=True)
        subprocess.run(["dpkg", "-x", next(tmp.glob("*.deb")), tmp], check=True)
        next(tmp.glob("*.deb")).unlink()
    return parts._once("user-mode-linux", make) / "usr/bin/linux.uml"


BEGIN = """#!/bin/bash
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
    """Runs lines of bash in it, as root, in this tree's directory. Returns what they printed, and the kernel's own lines."""
    init = pathlib.Path(tmp_path, "init")
    init.write_text(BEGIN.format(tree=parts.ROOT, script=script))
    init.chmod(0o755)
    command = [kernel(), "mem=768M", "rootfstype=hostfs", "rootflags=/", "ro", f"init={init}", "con=null", "con0=null,fd:1", "ssl=null", "quiet"]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=timeout,
                          env={"TMPDIR": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}).stdout.replace("\r", "")
