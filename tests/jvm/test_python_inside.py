"""Python processes that a JVM started, in a recording that the agent makes alone; with Spark: tests/spark/test_python_autostart.py."""
import os
import pathlib
import re
import signal

import pytest

from kit import chance, deny, recording
from kit.python import TARGETS
from kit.traces import wait_until

OTHERS = re.compile(r"/proc/\d+/(mem|task/\d+/(syscall|schedstat|stat))$")
PYTHON = ("setpriv", "--pdeathsig", "KILL", "/usr/bin/python3", TARGETS / "work.py")  # it ends with the JVM


def works(file):
    """CPU samples of work.py, by function, and all of them."""
    found = {name: 0 for name in "abc"}
    if not file.exists():
        return found, 0
    for s in recording.Recording(file).cpu():
        for name in found:
            found[name] += any(f.startswith(f"work.py.{name} ") for f in s.stack)
    return found, sum(found.values())


def check_split(file):
    """CPU time counts where it is found running, in intervals of 20 ms; a call takes 10 ms at least: two of three are taken to be independent."""
    found, n = works(file)
    for name, share in (("a", 0.5), ("b", 0.3), ("c", 0.2)):
        assert chance.within(found[name] * 2 // 3, n * 2 // 3, share, slack=0.02), found


def option(file, **more):
    return recording.option(file, event="cpu", interval="19ms", python="on", **more)


def test_a_killed_jvm_leaves_a_known_split(target, tmp_path):
    """All is in one file, up to the last flush."""
    file = tmp_path / "x.jfr"
    t = target("Parent", *PYTHON, jvm=[option(file)])
    wait_until(lambda: works(file)[1] > 150)
    os.kill(t.pid, signal.SIGKILL)
    t.proc.wait()
    check_split(file)
    assert [p.name for p in tmp_path.iterdir()] == ["x.jfr"]


def test_every_piece_has_its_own(target, tmp_path):
    """A recording in many files: numbers of strings, stacks and threads begin anew in each."""
    t = target("Parent", *PYTHON, jvm=[option(tmp_path / "%n.jfr", loop="2s")])
    pieces = lambda: sorted(tmp_path.glob("*.jfr"), key=lambda p: int(p.stem))
    found = {}  # samples of those that are whole; on a busy machine a piece may have few of them, and reading takes longer than the next piece

    def enough():
        found.update((p, works(p)[1]) for p in pieces()[:-1] if p not in found)
        return len(found) > 3 and sum(n > 0 for n in found.values()) > 2
    wait_until(enough)
    os.kill(t.pid, signal.SIGKILL)
    t.proc.wait()
    for piece in (p for p in pieces() if p.stat().st_size):  # it may have been killed behind the name of one
        for s in recording.Recording(piece).samples:
            if any(f.startswith("work.py.") for f in s.stack):
                assert s.thread.startswith("python3") and s.stack[-1].startswith("work.py.<module> "), s


@pytest.mark.parametrize("rule", ["process_vm_readv=KILL", "process_vm_readv=EPERM"])
def test_below_a_filter_they_are_read_by_their_files(target, sparkprof, tmp_path, rule):
    """One that ends who makes the call ends nobody."""
    file = tmp_path / "x.jfr"
    t = target("Parent", *PYTHON, jvm=[option(file)], wrap=deny.wrap(rule, "statx=ENOSYS"))
    wait_until(lambda: works(file)[1] > 20)
    assert t.proc.poll() is None
    assert sparkprof("stop", t.pid).returncode == 0


def descriptors(t):
    found = []
    for fd in pathlib.Path(f"/proc/{t.pid}/fd").iterdir():
        try:
            found += [os.readlink(fd)]
        except OSError:
            pass
    return [to for to in found if OTHERS.match(to)]


def test_nothing_is_left_after_stop(target, sparkprof, tmp_path):
    """Rounds by start and stop: no thread, descriptor, stack or heap stays."""
    t = target("Parent", *PYTHON)
    for i in range(3):
        file = tmp_path / f"{i}.jfr"
        assert sparkprof("start", "-e", "cpu", "-i", "5ms", "--python=on", "-f", file, t.pid).returncode == 0
        wait_until(lambda: works(file)[1] > 5 and descriptors(t))
        assert "sparkprof-py" in t.threads().values()
        assert sparkprof("stop", t.pid).returncode == 0
        wait_until(lambda: not any(name.startswith("sparkprof") for name in t.threads().values()))
        wait_until(lambda: not descriptors(t))
    assert works(tmp_path / "2.jfr")[1] > 5


def test_none_are_sampled_where_they_are_not_wanted(target, sparkprof, tmp_path):
    """off, and by default: this JVM is none of Spark's."""
    for word in ("off", "auto"):
        file = tmp_path / f"{word}.jfr"
        t = target("Parent", *PYTHON, jvm=[recording.option(file, event="cpu", interval="5ms", python=word)])
        wait_until(lambda: file.exists() and recording.Recording(file).times["jdk.CPULoad"][2:])
        assert "sparkprof-py" not in t.threads().values() and works(file)[1] == 0
        t.close()


def test_a_wrong_word_is_named(target):
    t = target("Idle", jvm=[recording.option("/dev/null", python="yes")])
    assert "python: 'yes' is not one of auto, on, off; nothing is recorded" in t.stderr()


def test_a_worker_of_a_dead_daemon_is_found(target, sparkprof, tmp_path):
    """A recording that begins when its daemon has died: nobody below the JVM leads to it, but a task's thread waits for its socket."""
    t = target("Orphan", "/usr/bin/python3", "-m", "pyspark.daemon", env={**os.environ, "PYTHONPATH": str(TARGETS)})
    file = tmp_path / "x.jfr"
    assert sparkprof("start", "-e", "cpu", "-i", "10ms", "--python=on", "-f", file, t.pid).returncode == 0
    works = lambda: [s for s in recording.Recording(file).cpu() if any(f.startswith("pyspark.daemon.py.orphan_works ") for f in s.stack)]
    wait_until(lambda: file.exists() and len(works()) > 20)
    assert all(s.thread.startswith("python-worker-") for s in works())
    assert sparkprof("stop", t.pid).returncode == 0


def reads_in_vain(t):
    """Whether the agent's thread for Python waits in a call that reads another process."""
    tid = next(k for k, name in t.threads().items() if name == "sparkprof-py")
    return all(pathlib.Path(f"/proc/{t.pid}/task/{tid}/{file}").read_text().startswith(start)
               for file, start in (("syscall", "310 "), ("wchan", "handle_userfault")))


@pytest.mark.skipif(os.geteuid() != 0, reason="memory that nobody fills needs root")
def test_memory_that_hangs_holds_up_neither_stop_nor_the_jvm(target, sparkprof, tmp_path):
    """As a page on a file server that is gone: who reads it cannot be woken. Its thread is left where it is, and the recording says so."""
    file, go = tmp_path / "x.jfr", tmp_path / "go"
    hangs = ("setpriv", "--pdeathsig", "KILL", "/usr/bin/python3", TARGETS / "hangs.py", go)
    t = target("Parent", *hangs, jvm=[option(file)])
    hanging = lambda s: any(f.startswith("hangs.py.work ") for f in s.stack)
    wait_until(lambda: file.exists() and any(hanging(s) for s in recording.Recording(file).cpu()))
    go.touch()
    wait_until(lambda: reads_in_vain(t))
    assert sparkprof("stop", t.pid).returncode == 0
    assert any(hanging(s) for s in recording.Recording(file).cpu())
    assert "could not be read to the end" in sparkprof("report", "-f", "-", file).stdout
    second = tmp_path / "second.jfr"
    assert sparkprof("start", "-e", "cpu", "-i", "5ms", "--python=off", "-f", second, t.pid).returncode == 0
    assert sparkprof("stop", t.pid).returncode == 0
    t.close()
