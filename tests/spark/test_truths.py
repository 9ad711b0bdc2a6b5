"""What reports say in words and tables, of jobs whose truth is known (jobs/truths.py): who lags, what is CPU and what waits for a
core, how long tasks ran, and that a task of PySpark has its time once. One Spark for all of it."""
import json
import os
import re
import signal
import subprocess
import time
import urllib.request

import pytest

from kit import browser, parts, python, spark, stages, yarn
from kit.parts import SPARKPROF

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]  # a Spark of its own; test_troubles.py asks for a straggler, too
CORE, PYTHON = "waits for a core", ("Python CPU", "Python serialisation", "Python blocked", "Python waits for JVM")


def call(*args, timeout=180):
    r = subprocess.run([str(SPARKPROF), *map(str, args)], capture_output=True, text=True, timeout=timeout)
    assert r.returncode == 0, r.stderr
    return r.stdout


class Run:
    def __init__(self, tmp):
        self.log, self.tmp = stages.Logging(tmp), tmp
        ui, = yarn.free_ports(1)
        self.api = f"http://127.0.0.1:{ui}/api/v1/applications"
        conf = self.log.conf(**{"spark.ui.enabled": "true", "spark.ui.port": ui})
        with spark.App(master="local-cluster[1,8,1024]", job="truths.py", conf=conf, timeout=400,
                       env={"PYTHONPATH": str(parts.pandas())}) as app:
            self.app, self.pid = app, app.executors()[0]
            self.api += f"/{app.id}/stages"
            self.ask("")  # slow at first
            self.during("even")
            self.during("small")
            self.during("cores")
            self.with_python("udf")
            self.hang()
            app.tell("cancel")
            self.wait("cancel")
            app.proc.stdin.close()
            app.proc.wait(200)

    def ask(self, path):
        return json.loads(urllib.request.urlopen(self.api + path, timeout=100).read())

    def wait(self, name):
        while not self.app.said(f"done {name}"):
            assert self.app.proc.poll() is None, self.app.stderr()[-3000:]
            time.sleep(0.05)

    def file(self, name):
        return self.tmp / f"{name}.jfr"

    def during(self, name):
        call("start", "--attach-timeout=60s", "-e", "wall", "-i", "10ms", "-f", self.file(name), self.pid)
        self.app.tell(name)
        self.wait(name)
        call("stop", "--attach-timeout=60s", self.pid)

    def with_python(self, name):
        run = subprocess.Popen([str(SPARKPROF), "--attach-timeout=60s", "-e", "wall", "-i", "10ms", "-d", "600", "-f", self.file(name),
                                str(self.pid)], stderr=subprocess.PIPE, text=True)
        while not python.is_sampled(self.pid):
            assert run.poll() is None, run.stderr.read()
            time.sleep(0.05)
        self.app.tell(name)
        self.wait(name)
        run.send_signal(signal.SIGINT)
        said = run.communicate(timeout=300)[1]
        assert run.returncode == 0, said

    def hang(self):
        """Attached when 11 of 12 tasks are over, with the driver's word and without."""
        self.app.tell("skew")
        self.wait("skew")
        call("-q", "--attach-timeout=60s", "-e", "wall", "-d", "3", "-f", self.file("told"), self.pid)
        call("-q", "--attach-timeout=60s", "-e", "wall", "-d", "3", "--driver-ui=none", "-f", self.file("alone"), self.pid)
        stage = next(s for s in self.ask("?status=active") if s["numTasks"] == 12)
        self.straggler = self.ask(f"/{stage['stageId']}/0/taskList?status=running")[0]["taskId"]
        self.stage = stage["stageId"]

    def table(self, name, *options):
        out = json.loads(call("report", "-q", "-o", "json", *options, self.file(name)))
        return next(e for e in out["events"] if e["event"] == "wall")["stages"]

    def ends(self):
        return [e for e in self.log.events() if e["Event"] == "SparkListenerTaskEnd"]

    def metric(self, stage, name):
        return sum(e["Task Metrics"][name] for e in self.ends() if e["Stage ID"] == stage)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("truths"))


@pytest.fixture(scope="module")
def event_log(run):
    return next(p for p in (run.tmp / "events").rglob("*") if p.is_file() and not p.name.startswith((".", "appstatus")))


def length(run):
    """The median run time of the tasks beside the straggler, ns, as the driver's REST has it; and how many they are."""
    took = sorted(e["Task Metrics"]["Executor Run Time"] for e in run.ends()
                  if e["Stage ID"] == run.stage and e["Task Info"]["Task ID"] != run.straggler)
    return took[len(took) // 2] * 1e6, len(took)


def test_the_straggler_that_still_runs_is_named(run):
    """By the driver: the launch before the recording, and the tasks that finished before it."""
    row, = run.table("told")
    median, others = length(run)
    assert (row["stage"], row["max_task"], row["running"], row["lags"]) == (run.stage, run.straggler, True, True)
    assert row["finished"] == others == 11 and row["median_ns"] == pytest.approx(median, rel=0.1, abs=2e7)
    # It began with the first of the others, and all of them were over before the recording of 3 s began.
    assert row["max_ns"] > row["median_ns"] * 2 and row["max_ns"] > 3e9 + 0.8 * median, "longer than the recording"
    text = call("report", "-q", "-o", "text", "-f", "-", run.file("told"))
    assert re.search(rf"TID {run.straggler}( runs since|:| runs:) ≥ [\d.]+ \w+, ≥ [\d.]+ (times the|x) median", text), text


def test_without_the_driver_a_lone_task_is_measured_by_nobody(run):
    row, = run.table("alone")
    assert row["max_task"] == run.straggler and row["running"] and row["at_least"] and not row["lags"]
    assert "finished" not in row


def test_the_event_log_names_it_where_the_driver_was_not_asked(run, event_log):
    row, = run.table("alone", "--event-log", event_log)
    assert row["max_task"] == run.straggler and row["lags"] and row["finished"] >= 11
    assert row["max_ns"] > 6e9, "from its launch to its end, both outside of the recording"


def test_the_page_marks_the_straggler_that_runs(run):
    page = run.tmp / "told.html"
    call("report", "-q", "-f", page, run.file("told"))
    b = browser.Browser()
    try:
        b.open(page, ready="globalThis.sparkprof && sparkprof.strip.kinds && document.querySelector('table.stages td.areas')")
        title = b.eval("[...document.querySelectorAll('table.stages td.number')].map((t) => t.title).join('|')")
        assert f"A straggler: TID {run.straggler} runs since ≥" in title and "the median of 11 finished tasks" in title, title
        hit = b.eval("(() => { const l = sparkprof.strip.lanes.find((l) => l.label === 'Tasks'); for (let x = 1; x < 2000; x += 5) "
                     "for (let y = 0; y < l.height; y++) { const s = l.hit(x, y); if (s) return l.word(s).lines.join('|'); } return ''; })()")
        assert "runs since" in hit and "a straggler of its stage" in hit, hit
        assert not b.ask("seen")["errors"]
    finally:
        b.close()


def test_equal_tasks_of_a_moment_have_no_straggler(run):
    """Unless the machine made one: by Spark's own times, a second behind the others."""
    for row in run.table("even"):
        took = sorted(e["Task Metrics"]["Executor Run Time"] for e in run.ends() if e["Stage ID"] == row["stage"])
        assert not row["lags"] or took[-1] - took[len(took) // 2] > 900, (row, took)


def test_cpu_is_what_spark_measured_and_waits_for_a_core_stand_beside(run):
    """8 tasks on as many cores as there are. The bound: what wall books is the kernel's own CPU clock, read at the tasks' edges once in
    10 ms: 16 tasks of 2 stages lose at most 32 such moments, and 2 % of what is left."""
    rows = [r for r in run.table("cores") if r["tasks"] == 8]
    assert len(rows) == 2
    for row in rows:
        truth = run.metric(row["stage"], "Executor CPU Time") + run.metric(row["stage"], "Executor Deserialize CPU Time")
        assert row["cpu_ns"] == pytest.approx(truth, rel=0.02, abs=8 * 2 * 10e6)
        if os.cpu_count() < 8:
            assert row["time"][CORE] > row["cpu_ns"] / 2, row
        assert row["time"]["CPU"] <= row["cpu_ns"] * 1.001
    states = call("report", "-q", "-o", "collapsed", "--by", "wait", "-f", "-", run.file("cores"))
    assert f"[{CORE}];" in states


def test_run_time_is_what_spark_calls_so(run):
    """400 tasks with nothing to do."""
    row = max(run.table("small"), key=lambda r: r["tasks"])
    assert row["tasks"] == 400
    truth = run.metric(row["stage"], "Executor Run Time") * 1e6
    whole = row["run_ns"] + row["launch_ns"]
    assert row["launch_ns"] > whole / 20 and row["time"]["task launch and result"] > 0
    # Spark rounds each task down to a millisecond; a sampler without a core of its own sees more of what tasks wait in at their ends
    assert truth - whole * 0.15 < row["run_ns"] < truth + 400e6 + whole * 0.08, (row, truth)


def test_a_task_of_pyspark_has_its_time_once(run):
    once, both = ({r["stage"]: r for r in run.table("udf", *o)} for o in ([], ["--python-both"]))
    stage = max(once, key=lambda s: sum(once[s]["time"].get(k, 0) for k in PYTHON))
    row, twice = once[stage], both[stage]
    own = row["run_ns"] + row["launch_ns"]
    # tasks begin and end between two looks at their threads, and at their workers
    assert abs(row["weight"] - own) < 0.05 * own + 0.3e9 and twice["weight"] > 1.3 * own
    assert sum(row["time"].get(k, 0) for k in (*PYTHON, CORE)) > 0.5 * row["weight"], row["time"]
    assert row["time"].get("JVM waits for Python", 0) < 0.5 * twice["time"]["JVM waits for Python"]
    at_a_time = [float(re.search(r"\(([\d.]+) threads at a time\)", call("report", "-q", "-o", "text", "-f", "-", *o, run.file("udf")))[1])
                 for o in ([], ["--python-both"])]
    assert at_a_time[0] < at_a_time[1] and at_a_time[0] < 4.3
