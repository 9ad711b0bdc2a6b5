"""CPythons of this machine, and processes of theirs that stand or work."""
import os
import pathlib
import subprocess
import time

from . import native, parts, rootfs

TARGETS = parts.ROOT / "tests/python/targets"
READER = [*sorted((native.SRC / "py").glob("*.c")), *(native.SRC / f for f in ("base/buf.c", "base/err.c"))]


def sid():
    """Debian's newest: 3.14, in a root of its own."""
    return rootfs.debian("rootfs-sid-python314", "sid", ["python3.14", "libpython3.14-dev", "libpython3.14"], "extract")


def installed():
    """version → command, of pyenv and Debian; pyenv's are shared libraries, Debian's are one stripped program."""
    found = {}
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    for python in sorted(pyenv.glob("versions/3.*/bin/python3.*[0-9]")):
        minor = int(python.name.split(".")[1])
        if minor >= 8:
            found[f"3.{minor}"] = [str(python)]
    found["debian"] = ["/usr/bin/python3"]
    return found


class Process:
    """A Python that printed "ready"."""

    def __init__(self, python, script, *args, root=None, cwd=None):
        self.out = open(os.memfd_create("stdout"), "w+b", buffering=0)
        script = pathlib.Path(script)
        if root:  # the script goes in by a place that the root has
            inside = pathlib.Path(root, "tmp", f"{os.getpid()}-{script.name}")
            inside.write_bytes(script.read_bytes())
            command = ["chroot", str(root), *python, f"/tmp/{inside.name}", *args]
        else:
            command = [*python, str(script), *args]
        self.proc = subprocess.Popen(command, stdout=self.out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=cwd)
        self.pid = self.proc.pid
        end = time.monotonic() + 30
        while b"ready" not in self.stdout():
            assert self.proc.poll() is None and time.monotonic() < end, self.stdout()
            time.sleep(0.01)

    def stdout(self):
        return os.pread(self.out.fileno(), 1 << 20, 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.proc.kill()
        self.proc.wait()


def pymem_record():
    """Writes what the reader reads of a process: how tests/data/py was made."""
    return native.program("pymem_record", READER, "-lelf")
