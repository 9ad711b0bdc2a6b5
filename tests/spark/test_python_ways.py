"""Ways to Python workers beside those of test_python_workers.py: each under the right task and on the JVM frame that waits for it."""
import collections
import re
import signal
import subprocess
import time

import pytest

from kit import parts, spark

WAYS = {"mapInArrow", "cogroup", "iterator", "aggregate", "udtf"}
NEW = {"applyInArrow", "source", "transformWithState"}  # from Spark 4.0 on
STATE = {"spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"}


def record(app, out):
    """Records the executor until the job has gone all ways, however busy the machine is."""
    with subprocess.Popen([str(parts.SPARKPROF), "-q", "--attach-timeout=60s", "-e", "wall", "-i", "10ms", "-d", "200", "--by", "task",
                           "-f", str(out), str(app.executors()[0])]) as run:
        begun, end = app.text.count(b"round"), time.monotonic() + 200
        while app.text.count(b"round") < begun + 3 and run.poll() is None and time.monotonic() < end:
            app.text += app.proc.stdout.read() or b""
            time.sleep(0.1)
        run.send_signal(signal.SIGINT)
    assert run.returncode == 0


@pytest.mark.long
@pytest.mark.parametrize("version,conf,ways", [("3.5.7", {}, WAYS), ("4.3.0", STATE, WAYS | NEW)], ids=["3.5.7", "4.3.0"])
def test_other_ways_to_workers(tmp_path, version, conf, ways):
    out, more = tmp_path / "o.collapsed", ["state"] if conf else []
    path = f"{parts.pandas()}:{parts.connect()}:{spark.JOBS}"
    with spark.App(job="ways.py", args=[tmp_path, *more], version=version, conf=conf, env={"PYTHONPATH": path}, timeout=240) as app:
        record(app, out)
    right, wrong = collections.Counter(), collections.Counter()
    for line in out.read_text().splitlines():
        stack, _, n = line.rpartition(" ")
        if not (own := re.search(r";task_(\w+)_(\d+) ", stack)):
            continue
        good = re.match(rf"\[task \d+\.\d+ TID {own[2]}\];.*TaskRunner\.run;.*/python/[^;]+\.read;\[python worker\];", stack)
        (right if good else wrong)[own[1]] += int(n)
    assert set(right) == ways and wrong.total() <= right.total() / 100, (right, wrong)
