"""A job that hangs at its last task, on YARN with its driver outside (client) and in a container (cluster): the first screen names that task."""
import json
import os
import re
import subprocess

import pytest

from kit import spark, yarn
from kit.parts import SPARKPROF
from kit.traces import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def hadoop():
    with yarn.Cluster() as c:
        yield c


def call(*args):
    r = subprocess.run([str(SPARKPROF), *map(str, args)], capture_output=True, text=True, timeout=200)
    assert r.returncode == 0, r.stderr
    return r.stdout


@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_the_first_screen_names_the_straggler(hadoop, tmp_path, mode):
    go = tmp_path / "go"
    conf = {"spark.skewed.go": str(go)}
    app = hadoop.app(job="skewed.py", conf=conf) if mode == "client" else None
    try:
        app_id = app.id if app else hadoop.submit(spark.JOBS / "skewed.py", "skewed", conf=conf)
        wait_until(lambda: hadoop.executors(app_id), 240)
        pid = hadoop.executors(app_id)[0]
        file = tmp_path / "x.jfr"
        call("start", "--attach-timeout=60s", "-e", "wall", "-i", "20ms", "-f", file, pid)
        go.touch()
        wait_until(lambda: os.path.exists(f"{go}.late"), 240)
        call("stop", "--attach-timeout=60s", pid)
        [row] = [j for j in json.loads(call("ps", "--json")) if j["pid"] == pid]
        assert row["role"] == "executor" and app_id in json.dumps(row)
    finally:
        if app:
            app.proc.kill()  # its job has no end
            app.close()
    found = [f for f in json.loads(call("report", "-q", "-o", "json", file))["findings"] if f["rule"] == "straggler"]
    assert len(found) == 1, found
    screen = re.sub(r"\s+", " ", " ".join(call("report", "-q", "-o", "text", "-f", "-", file).splitlines()[:40]))
    assert re.search(rf"waits for one task: TID {found[0]['task']} runs since", screen), screen
    assert app_id in screen
