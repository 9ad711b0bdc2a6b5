"""What the agent's own threads ask of the kernel: counted, not timed, so that a busy machine gives the same answer."""
import contextlib
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from kit import recording
from kit.traces import wait_until

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="strace counts the calls")


def thread(pid, name):
    """The one that has run most often, of those with that name."""
    found = {}
    for t in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            if (t / "comm").read_text().strip() == name:
                found[t.name] = int((t / "schedstat").read_text().split()[2])
    return max(found, key=found.get)


class Calls:
    """Calls of one of the agent's threads, by name, from now until stop()."""

    def __init__(self, pid, name):
        self.strace = subprocess.Popen(["strace", "-c", "-U", "calls,name", "-p", thread(pid, name)], stderr=subprocess.PIPE, text=True)
        self.strace.stderr.readline()  # "attached"

    def stop(self):
        self.strace.send_signal(signal.SIGINT)
        return {name: int(n) for n, name in re.findall(r"^ *(\d+) (\w+)$", self.strace.communicate()[1], re.M) if name != "total"}


def tasks(t):
    return t.stdout().count("task ")


@pytest.fixture
def worker(target, sparkprof, tmp_path):
    """A program whose tasks come one after the other, recorded as by default, when it is past its first ones."""
    def start(event="cpu", interval="10ms"):
        t = target("org.apache.spark.OneStage", 20)
        r = sparkprof("start", "-e", event, "-i", interval, "-f", tmp_path / "x.jfr", t.pid)
        assert r.returncode == 0, r.stderr
        t.send("")
        while tasks(t) < 20:
            time.sleep(0.05)
        return t
    return start


def calls_during(t, name, count=150):
    """What a thread calls while so many tasks run, by the second. A machine that is busy lowers the rates, it never raises them."""
    begun, since, calls = tasks(t), time.monotonic(), Calls(t.pid, name)
    while tasks(t) < begun + count:
        time.sleep(0.05)
    found, took = calls.stop(), time.monotonic() - since
    return {call: n / took for call, n in found.items()}


def test_ends_that_threads_tell_are_not_asked_for(worker):
    """Spark 4.2 and later: idle workers have a name of their own. What is left is a look at all names once in a second."""
    found = calls_during(worker(), "sparkprof-jvm")
    assert 0 < sum(found.values()) < 60, found


@pytest.mark.parametrize("event,interval,most,waits", [pytest.param("cpu", "10ms", 200, 30, marks=pytest.mark.long), ("wall", "50ms", 1500, 40)])
def test_the_collectors_calls(worker, event, interval, most, waits):
    """Each tick is a futex call and one for the number of threads: 50 a second, or 12, with wall as many as its looks, where samples may lie
    and nothing new has come for two seconds. The list of all threads is read rarely, and a thread that has not run costs one look at its clock."""
    t = worker(event, interval)
    settled = tasks(t) + 200  # of 20 ms
    while tasks(t) < settled:
        time.sleep(0.05)
    for _ in range(10):  # a thread that the JVM adds is news
        found = calls_during(t, "sparkprof")
        if found["futex"] < waits:
            break
    assert 0 < sum(found.values()) < most, found
    assert 0 < found["futex"] < waits, found
    assert found.get("getdents64", 0) < 3, found


def test_python_that_sleeps_is_not_read(target, tmp_path):
    """Its clock says that it has not run since the last look: its memory is as it was, where it waits too, and it has no new child."""
    file = tmp_path / "x.jfr"
    sleeps = "import time; print('ready', flush=True); time.sleep(1000)"
    t = target("Parent", "setpriv", "--pdeathsig", "KILL", "/usr/bin/python3", "-c", sleeps,
               jvm=[recording.option(file, event="wall", interval="10ms", python="on")])
    wait_until(lambda: file.exists() and any(s.thread.startswith("python3") for s in recording.Recording(file).samples))
    switches = pathlib.Path(f"/proc/{t.pid}/task/{thread(t.pid, 'sparkprof-py')}/schedstat")
    sleeps_so_far = lambda: int(switches.read_text().split()[2])
    calls, begun = Calls(t.pid, "sparkprof-py"), sleeps_so_far()
    wait_until(lambda: sleeps_so_far() > begun + 100)
    found = calls.stop()
    looks = found["clock_gettime"]
    assert looks > 10 and found.get("process_vm_readv", 0) + found.get("pread64", 0) < looks / 5, found
