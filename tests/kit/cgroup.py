"""A memory cgroup of our own, v1 or v2, whichever hierarchy this machine has the memory controller in."""
import os
import pathlib
import time

import pytest


def _parent():
    """(directory, version) under which a memory cgroup can be made."""
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        _, where, kind, options = line.split()[:4]
        where = pathlib.Path(where)
        if kind == "cgroup" and "memory" in options.split(","):
            return where, 1
        if kind == "cgroup2" and "memory" in (where / "cgroup.subtree_control").read_text().split():
            return where, 2
    return None, 0


class Memory:
    """with cgroup.Memory() as g: start things with g.wrap(), then g.leave(32 << 20). Memory(pid) is the group that the
    process has already, as a container runtime made it."""

    def __init__(self, pid=None):
        parent, self.version = _parent()
        if not parent or os.geteuid() != 0:
            pytest.skip("no memory cgroup can be made here")
        self.made = pid is None
        if self.made:
            self.dir = parent / f"sparkprof-test-{os.getpid()}"
            self.dir.mkdir(exist_ok=True)
        else:
            self.dir = parent / self._path(pid)

    def _path(self, pid):
        for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if ("memory" in controllers.split(",")) == (self.version == 1):
                return path.lstrip("/")
        raise FileNotFoundError(f"process {pid} has no memory cgroup")

    def wrap(self):
        """Words before a command that put it into the group."""
        return ["sh", "-c", f'echo $$ >{self.dir}/cgroup.procs && exec "$@"', "sh"]

    def usage(self):
        return int((self.dir / ("memory.usage_in_bytes", "memory.current")[self.version - 1]).read_text())

    def leave(self, margin):
        """Limits the group to what it uses now, file pages given back, and @margin bytes more."""
        if self.version == 1:
            (self.dir / "memory.force_empty").write_text("0")
        (self.dir / ("memory.limit_in_bytes", "memory.max")[self.version - 1]).write_text(str(self.usage() + margin))

    def killed(self):
        """How many processes the kernel has killed here for memory."""
        text = (self.dir / ("memory.oom_control", "memory.events")[self.version - 1]).read_text()
        return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("oom_kill "))

    def close(self):
        for _ in range(50 if self.made else 0):
            try:
                self.dir.rmdir()
                return
            except OSError:  # a process of it is not quite gone
                time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
