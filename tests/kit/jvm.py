"""Starts tiny Java programs (tests/jvm/targets/*.java) as targets and looks at them through /proc."""
import os
import pathlib
import signal
import subprocess
import time

import pytest

from . import parts

TARGETS = parts.ROOT / "tests/jvm/targets"


def every(*jdks, short=(17, 25)):
    """For parametrize: of these JDKs, or of all, those that are not @short only in the long run."""
    return [n if n in short else pytest.param(n, marks=pytest.mark.long) for n in jdks or (11, 17, 21, 25)]


def compiled():
    """A directory of classes, compiled for Java 11 whenever a source is newer."""
    out = parts.ROOT / "build/targets"
    sources = sorted([*TARGETS.glob("*.java"), *parts.ROOT.glob("api/**/*.java")])

    def make():
        subprocess.run([parts.jdk(17) / "bin/javac", "--release", "11", "-nowarn", "-d", out, *sources], check=True)
        (out / "stamp").touch()
    return parts.fresh(out / "stamp", sources, make).parent


class Target:
    """A running Java program that printed "ready" on its stdout."""

    def __init__(self, main, *args, jdk=17, jvm=(), home=None, wrap=(), wait=True, cwd=None, env=None, user=None,
                 classes=None):
        if user:
            parts.needs_other_users("start a JVM of another user")
        self.home = home or parts.jdk(jdk)
        self.dir = pathlib.Path(cwd or os.getcwd())
        self.out = open(os.memfd_create("stdout"), "w+b", buffering=0)
        self.err = open(os.memfd_create("stderr"), "w+b", buffering=0)
        cmd = [*wrap, str(self.home / "bin/java"), *jvm, "-cp", str(classes or compiled()), main, *map(str, args)]
        if env is not None:  # the tree may lie below a name that is not ASCII
            env = {"LC_ALL": os.environ.get("LC_ALL", "C.UTF-8"), **env}
        self.proc = subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=self.out, stderr=self.err,
                                     cwd=cwd, env=env, user=user, group=user, extra_groups=[] if user else None)
        self.pid = self.proc.pid
        # Numbers come again: what a killed JVM of this number left is not this one's.
        for name in (".java_pid{}", ".attach_pid{}", ".sparkprof-{}.lock"):
            pathlib.Path("/tmp", name.format(self.pid)).unlink(missing_ok=True)
        if wait:
            try:
                self.wait_for("ready")
            except BaseException:
                self.close()  # nobody else can
                raise

    def stdout(self):
        return os.pread(self.out.fileno(), 1 << 24, 0).decode(errors="replace")

    def stderr(self):
        return os.pread(self.err.fileno(), 1 << 24, 0).decode(errors="replace")

    def wait_for(self, text, timeout=300, times=1):
        end = time.monotonic() + timeout
        while self.stdout().count(text) < times:
            if self.proc.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"target: no {text!r}; exit {self.proc.poll()}\n{self.stdout()}{self.stderr()}")
            time.sleep(0.02)

    def send(self, line):
        self.proc.stdin.write(line.encode() + b"\n")
        self.proc.stdin.flush()

    def does(self, line):
        """Of programs that answer a line with "did" and the line: returns when it has done it, also what it has done before."""
        answer = f"did {line}\n"
        before = self.stdout().count(answer)
        self.send(line)
        self.wait_for(answer, times=before + 1)

    def alive(self):
        return self.proc.poll() is None

    def threads(self):
        found = {}
        for t in os.listdir(f"/proc/{self.pid}/task"):
            try:
                found[t] = pathlib.Path(f"/proc/{self.pid}/task/{t}/comm").read_text().strip()
            except (FileNotFoundError, ProcessLookupError):
                pass  # ended meanwhile
        return found

    def fds(self):
        found = {}
        for f in os.listdir(f"/proc/{self.pid}/fd"):
            try:
                found[f] = os.readlink(f"/proc/{self.pid}/fd/{f}")
            except FileNotFoundError:
                pass  # closed meanwhile
        return found

    def maps(self):
        return pathlib.Path(f"/proc/{self.pid}/maps").read_text().splitlines()

    def close(self):
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGCONT)
            self.proc.kill()
        self.proc.wait()
        # A killed JVM leaves its attach socket, which would bar a later one of another user with this pid.
        pathlib.Path(f"/tmp/.java_pid{self.pid}").unlink(missing_ok=True)
        self.proc.stdin.close()
        self.out.close()
        self.err.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
