"""Python processes below a JVM in what collect records: one file at every moment, whoever reads them."""
import os
import pathlib
import signal
import subprocess

import pytest

from kit import parts, recording
from kit.python import TARGETS
from kit.traces import wait_until

PYTHON = ("setpriv", "--pdeathsig", "KILL", "/usr/bin/python3")  # it ends with the JVM
EVENTS = ("--attach-timeout=60s", "-e", "cpu", "-i", "5ms", "--python=on")


def works(file):
    """CPU samples of work.py."""
    if not file.exists():
        return 0
    return sum(any(f.startswith(("work.py.a ", "work.py.b ", "work.py.c ")) for f in s.stack) for s in recording.Recording(file).cpu())


def collect(file, pid, *more):
    return subprocess.Popen([str(parts.SPARKPROF), "-q", *EVENTS, *more, "-d", "100", "-f", str(file), str(pid)], stderr=subprocess.PIPE, text=True)


def beside(pid):
    """CPU samples of work.py that a launcher has in a file without a name."""
    found = 0
    for fd in (f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd") if int(fd) > 2):
        try:
            found += works(pathlib.Path(fd)) if os.readlink(fd).endswith(" (deleted)") and os.stat(fd).st_size else 0
        except FileNotFoundError:
            pass  # closed meanwhile
    return found


def own_threads(t):
    return [name for name in t.threads().values() if name.startswith("sparkprof")]


def test_the_agent_samples_them_into_the_one_file(target, tmp_path):
    """They are there while it records, and after the launcher was killed."""
    file = tmp_path / "x.jfr"
    t = target("Parent", *PYTHON, TARGETS / "work.py")
    with collect(file, t.pid) as run:
        wait_until(lambda: works(file) > 20)
        assert [p.name for p in tmp_path.iterdir()] == ["x.jfr"] and "sparkprof-py" in own_threads(t)
        seen = works(file)
        run.kill()
    wait_until(lambda: not own_threads(t))
    assert works(file) >= seen and t.alive()


@pytest.mark.parametrize("ending", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_what_the_launcher_samples_is_in_it_at_the_end(target, tmp_path, ending):
    """--blocking stops threads, which only the launcher does. Where it is killed, the agent adds what it had."""
    file = tmp_path / "x.jfr"
    t = target("Parent", *PYTHON, TARGETS / "work.py")
    with collect(file, t.pid, "--blocking") as run:
        wait_until(lambda: run.poll() is not None or beside(run.pid) > 20)
        assert [p.name for p in tmp_path.iterdir()] == ["x.jfr"] and "sparkprof-py" not in own_threads(t)
        run.send_signal(ending)
        said = run.communicate(timeout=100)[1]
    wait_until(lambda: not own_threads(t))
    assert works(file) > 20 and said == "" and t.alive()
    assert [p.name for p in tmp_path.iterdir()] == ["x.jfr"]


@pytest.mark.parametrize("ending", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.long)])
def test_what_the_agent_may_not_read_the_launcher_does(target, tmp_path, ending):
    """Here the launcher is root, the JVM is not, and the kernel lets only root read that Python."""
    file = tmp_path / "x.jfr"
    t = target("Parent", *PYTHON, TARGETS / "private.py", user=65534)
    with collect(file, t.pid) as run:
        wait_until(lambda: run.poll() is not None or beside(run.pid) > 20)
        assert "sparkprof-py" in own_threads(t)
        run.send_signal(ending)
        said = run.communicate(timeout=100)[1]
    wait_until(lambda: not own_threads(t))
    assert works(file) > 20 and said == "" and t.alive()


def test_where_there_are_none_it_is_said(target, sparkprof, tmp_path):
    """Asked for by name; once."""
    t = target("Idle")
    for how in ([], ["--blocking"]):
        r = sparkprof(*EVENTS, *how, "-d", "300ms", "-f", tmp_path / "x.jfr", t.pid)
        assert r.returncode == 0 and r.stderr.count("no Python process that could be sampled was seen below it, or above it") == 1, r.stderr
