"""What reports say of two executors on JDK 17, together and of each alone (jobs/two_executors.py has what is true). One Spark for all of it."""
import collections
import json
import re
import subprocess
import time
import urllib.request

import pytest

from kit import spark, stages, yarn
from kit.parts import SPARKPROF

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


def call(*args):
    r = subprocess.run([str(SPARKPROF), *map(str, args)], capture_output=True, text=True, timeout=300)
    assert r.returncode == 0, r.stderr
    return r.stdout


class Run:
    def __init__(self, tmp):
        self.tmp, self.log = tmp, stages.Logging(tmp)
        ui, = yarn.free_ports(1)
        conf = self.log.conf(**{"spark.ui.enabled": "true", "spark.ui.port": ui})
        with spark.App(master="local-cluster[2,2,1024]", job="two_executors.py", args=[tmp], conf=conf, version="3.5.7", timeout=400) as self.app:
            self.pids = self.app.executors()
            urllib.request.urlopen(f"http://127.0.0.1:{ui}/api/v1/applications/{self.app.id}/stages", timeout=100).read()  # slow at first
            for name in ("skew", "rows"):
                self.each("start", "-e", "wall", "-i", "20ms", name=name)
                self.do(name)
                self.each("stop")
                if name == "skew":
                    self.do("over")
            self.app.proc.stdin.close()
            self.app.proc.wait(60)
        self.ends = [e for e in self.log.events() if e["Event"] == "SparkListenerTaskEnd"]

    def each(self, action, *options, name=None):
        for n, pid in enumerate(self.pids):
            call(action, "--attach-timeout=60s", *options, *(["-f", self.tmp / f"{name}{n}.jfr"] if name else []), pid)

    def do(self, name):
        self.app.tell(name)
        while not self.app.said(f"done {name}"):
            assert self.app.proc.poll() is None, self.app.stderr()[-3000:]
            time.sleep(0.05)

    def files(self, name):
        return [self.tmp / f"{name}{n}.jfr" for n in (0, 1)]

    def report(self, *files):
        return json.loads(call("report", "-q", "-o", "json", *files))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("two"))


def straggler(run):
    """Its end, by the event log."""
    [one] = [e for e in run.ends if e["Task Info"]["Index"] == 7 and stage_size(run, e["Stage ID"]) == 12]
    return one


def stage_size(run, stage):
    return sum(e["Stage ID"] == stage for e in run.ends)


def test_a_straggler_is_found_of_both_and_by_its_own_executor_alone(run):
    """The stage began within the recording. Of both 11 tasks are known; of one those of the other are where the driver answers within the second
    that it has at the end, or by the event log."""
    end = straggler(run)
    where, task = int(end["Task Info"]["Executor ID"]), end["Task Info"]["Task ID"]  # executors are in the order of their ids
    took = sorted(e["Task Info"]["Finish Time"] - e["Task Info"]["Launch Time"] for e in run.ends if e["Stage ID"] == end["Stage ID"])
    mine = sum(e["Stage ID"] == end["Stage ID"] and e["Task Info"]["Executor ID"] == str(where) for e in run.ends) - 1
    log = next(p for p in (run.tmp / "events").rglob("*") if p.is_file() and not p.name.startswith((".", "appstatus")))
    alone = run.files("skew")[where]
    for words, finished in ((run.files("skew"), {11}), ([alone], {11, mine}), (["--event-log", log, alone], {11, 12})):
        found = run.report(*words)
        row = next(r for r in found["events"][0]["stages"] if r["stage"] == end["Stage ID"])
        assert row["max_task"] == task and row["finished"] in finished, (row, mine)
        assert row["running"] or "--event-log" in words, row
        # on a busy machine the others may have taken as long
        if row["max_ns"] / 1e6 > max(took[-2] + 1500, 2.2 * took[-2]) and row["finished"] >= 3:
            assert row["lags"] and any(f["rule"] == "straggler" for f in found["findings"]), (row, took)
    other = run.report(run.files("skew")[1 - where])["events"][0]["stages"]
    assert not any(r["lags"] and r["running"] for r in other)


def test_one_lambda_of_two_jvms_is_one(run):
    """JDK 17 numbers them as they come, which differs; alone they keep their numbers."""
    def lambdas(*files):
        return set(re.findall(r"[\w/$]+\$\$Lambda[^;. ]*", call("report", "-q", "-o", "collapsed", *files)))
    assert any(re.search(r"Lambda\$\d", name) for name in lambdas(run.files("rows")[0]))
    both = lambdas(*run.files("rows"))
    assert both and not any(re.search(r"Lambda\$\d", name) for name in both), both


def test_python_is_not_the_network(run):
    """Of all time of tasks, by area, what is spent on a socket is spent on the one to Python: but for blocks and classes that come once."""
    sums = collections.Counter()
    for line in call("report", "-q", "-o", "collapsed", "--tasks-only", "--total", "--by", "area", *run.files("rows")).splitlines():
        stack, _, ns = line.rpartition(" ")
        sums[stack.split(";")[0]] += int(ns)
        if "PythonRunner" in stack and stack.endswith("SocketDispatcher.read0"):
            assert stack.startswith("[JVM-Python exchange];"), stack
    assert sums["[JVM-Python exchange]"] > 0, sums
