"""Tasks of one executor of three wait for something that those of the others do not (jobs/outlier.py): the report of all three names it, and no other."""
import json
import subprocess

import pytest

from kit import spark
from kit.parts import SPARKPROF
from kit.traces import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


def call(*args):
    r = subprocess.run([str(SPARKPROF), *map(str, args)], capture_output=True, text=True, timeout=200)
    assert r.returncode == 0, r.stderr
    return r.stdout


def test_an_executor_whose_tasks_wait_is_named(tmp_path):
    files = [tmp_path / f"{n}.jfr" for n in range(3)]
    with spark.App(master="local-cluster[3,1,1024]", job="outlier.py") as app:
        pids = app.executors()
        for file, pid in zip(files, pids):
            call("start", "--attach-timeout=60s", "-e", "wall", "-i", "10ms", "-f", file, pid)
        app.tell("go")
        wait_until(lambda: app.said("done"), 400)
        for pid in pids:
            call("stop", "--attach-timeout=60s", pid)
    found = json.loads(call("report", "-q", "-o", "json", "-f", "-", *files))["findings"]
    assert [f["executor"] for f in found if f["rule"] == "executor"] == ["1"], found
    says = next(f["says"] for f in found if f["rule"] == "executor")
    assert says.startswith("Executor 1 ") and "its tasks take " in says, says
    text = call("report", "-q", "-f", "-", "-o", "text", *files)
    assert "Executor 1 " in text[:text.index("Samples")]
