"""What sampling a PySpark worker from inside the JVM asks of the kernel: counted, not timed, so that a busy machine gives the same answer."""
import os
import pathlib
import shutil
import time

import pytest

from kit import recording
from kit.python import TARGETS
from kit.traces import wait_until
from test_own_calls import Calls, thread

PYTHON = ("setpriv", "--pdeathsig", "KILL", "/usr/bin/python3", "-m", "pyspark.worker")  # it ends with the JVM
SAMPLER = "sparkprof-py"


def looks(t):
    """How often the sampler has slept."""
    return int(pathlib.Path(f"/proc/{t.pid}/task/{thread(t.pid, SAMPLER)}/schedstat").read_text().split()[2])


@pytest.mark.skipif(not shutil.which("strace"), reason="strace counts the calls")
def test_a_look_at_a_worker_is_few_calls(target, tmp_path):
    """Fifty looks a second: one read of memory each, in which all that the last look read is read again, and more where a task begins or another
    function is on top; they were 27 each, then four or five. And what is read once a second. A machine that is busy lowers the rates, it never
    raises them."""
    t = target("Parent", *PYTHON, 500, jvm=[recording.option(tmp_path / "x.jfr", event="cpu", interval="20ms", wall="20ms", python="on")],
               env={**os.environ, "PYTHONPATH": str(TARGETS)})
    wait_until(lambda: SAMPLER in t.threads().values() and looks(t) > 20)
    time.sleep(1)  # what it finds out once, about the interpreter and the code that runs there, is known by then
    since, calls = time.monotonic(), Calls(t.pid, SAMPLER)
    begun = looks(t)
    wait_until(lambda: looks(t) > begun + 20 and time.monotonic() > since + 3)
    found, took = calls.stop(), time.monotonic() - since
    assert 0 < found["process_vm_readv"] / took < 160 and found["pread64"] / took < 150 and sum(found.values()) / took < 600, (found, took)
