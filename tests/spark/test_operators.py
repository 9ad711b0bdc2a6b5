"""Which operators a generated class has, as the driver's REST API has it while the job runs: what a report says without an event log is what
it says with one."""
import collections
import re
import subprocess
import time
import urllib.request

import pytest

from kit import spark, stages, yarn
from kit.parts import SPARKPROF

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]  # a Spark of its own; tests/unit/operators.c asks the same of made plans


def call(*args):
    r = subprocess.run([str(SPARKPROF), *map(str, args)], capture_output=True, text=True, timeout=180)
    assert r.returncode == 0, r.stderr
    return r.stdout


class Run:
    def __init__(self, tmp, version):
        self.log, self.file, self.alone = stages.Logging(tmp), tmp / "run.jfr", tmp / "alone.jfr"
        ui, = yarn.free_ports(1)
        conf = self.log.conf(**{"spark.ui.enabled": "true", "spark.ui.port": ui})
        with spark.App(job="operators.py", conf=conf, version=version, timeout=400) as app:
            self.app, self.pid = app, app.executors()[0]
            urllib.request.urlopen(f"http://127.0.0.1:{ui}/api/v1/applications/{app.id}/sql", timeout=100).read()  # slow at first
            self.record(self.file, "join", "largest")
            self.record(self.alone, "join", "--driver-ui=none")
            app.proc.stdin.close()
            app.proc.wait(60)

    def record(self, file, *jobs):
        options = [x for x in jobs if x.startswith("-")]
        call("start", "--attach-timeout=60s", "-e", "wall", "-i", "5ms", *options, "-f", file, self.pid)
        for job in jobs:
            if job not in options:
                self.do(job)
        call("stop", "--attach-timeout=60s", self.pid)

    def do(self, job):
        before = self.app.count(f"done {job}")
        self.app.tell(job)
        while self.app.count(f"done {job}") == before:
            assert self.app.proc.poll() is None, self.app.stderr()[-3000:]
            time.sleep(0.05)

    def operators(self, *options, file=None):
        """Samples by label."""
        out = call("report", "-q", "--by", "operator", "-o", "collapsed", "-f", "-", *options, file or self.file)
        sums = collections.Counter()
        for line in out.splitlines():
            frames, weight = line.rsplit(" ", 1)
            sums[frames.split(";")[0]] += int(weight)
        return sums


@pytest.fixture(scope="module", params=["4.3.0", pytest.param("3.5.7", marks=pytest.mark.long)])
def run(request, tmp_path_factory):
    return Run(tmp_path_factory.mktemp("operators"), request.param)


def test_the_drivers_plan_graph_names_what_the_event_log_does(run):
    log = next(p for p in (run.log.dir / "events").rglob("*") if p.is_file() and not p.name.startswith((".", "appstatus")))
    live, logged = run.operators(), run.operators("--event-log", log)
    assert live == logged
    # codegen 1 is another class in each of the two queries
    for label in (r"HashAggregate ← Project ← SortMergeJoin \(codegen \d+\)", r"Project ← Filter ← Range \(codegen [12]\)",
                  r"Sort ← Project ← Range \(codegen 1\)"):
        assert any(re.fullmatch(rf"\[{label}\]", x) for x in live), (label, live)


def test_without_the_driver_only_what_methods_say_is_named(run):
    labels = run.operators(file=run.alone)
    assert any("← …" in x for x in labels) and not any("Project ← SortMergeJoin" in x for x in labels), labels
