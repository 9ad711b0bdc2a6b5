"""A driver whose time goes by in known phases, by the job's own clock and by Spark's: the first screen of the text, the JSON and the page
name them; its Python is sampled beside the JVM; and what waits for work is left out."""
import json
import re
import subprocess
import time

import pytest

from kit import browser, spark, stages
from kit.parts import SPARKPROF

pytestmark = pytest.mark.long
PIECES = "python analysis optimise listing job collect broadcast"
INTERVAL_MS = 20


class Recorded:
    """One run of driver_bound.py: what it says of itself, and what sparkprof wrote of its driver."""

    def __init__(self, tmp):
        self.jfr, self.html = tmp / "driver.jfr", tmp / "driver.html"
        self.log = stages.Logging(tmp / "log")
        conf = self.log.conf(**{"spark.driver.memory": "1g", "spark.driver.maxResultSize": "0"})
        with spark.App(job="driver_bound.py", args=[tmp / "files"], conf=conf) as app:
            self.ps = json.loads(self.call("ps", "--json"))
            self.pid, self.python = app.driver, app.proc.pid
            recording = subprocess.Popen([SPARKPROF, "-q", "--attach-timeout=60s", "-e", "wall", "-i", f"{INTERVAL_MS}ms", "-d", "1h", "-f", self.jfr,
                                          "-f", self.html, str(self.pid)])
            while not self.is_recording():
                time.sleep(0.1)
            self.took, self.began, self.phases = self.run(app, PIECES)
            recording.send_signal(2)
            assert recording.wait(60) == 0
        self.text = self.call("report", self.jfr)
        self.json = json.loads(self.call("report", "-o", "json", self.jfr))
        self.driver = self.json["events"][0]["driver"]
        self.seconds = {p["phase"]: (p["query_ns"] / 1e9, p["beside_ns"] / 1e9) for p in self.driver["phases"]}

    def is_recording(self):
        r = subprocess.run([SPARKPROF, "status", "--json", str(self.pid)], capture_output=True, text=True)
        return r.returncode == 0 and json.loads(r.stdout)[0]["recording"]

    @staticmethod
    def call(*args):
        return subprocess.run([SPARKPROF, *map(str, args)], check=True, capture_output=True, text=True).stdout

    @staticmethod
    def run(app, pieces):
        """Returns what each piece took, when it began, and what Spark's tracker measured of phases."""
        app.text = b""
        app.tell(pieces)
        while not app.said("done"):
            assert app.proc.poll() is None, app.stderr()
            time.sleep(0.1)
        text = app.text.decode()
        return ({n: float(s) for n, s, _ in re.findall(r"did (\w+) ([\d.]+) (\d+)", text)}, {n: int(t) for n, _, t in re.findall(r"did (\w+) ([\d.]+) (\d+)", text)},
                {n: float(s) for n, s in re.findall(r"phases (\w+) ([\d.]+)", text)})

    def within(self, piece):
        """Seconds by phase, of threads that run queries and of Python, while that piece of work ran; and those beside."""
        begin = (self.began[piece] - self.json["start_ns"]) / 1e9
        out = json.loads(self.call("report", "-o", "json", "--from", f"{begin:.3f}s", "--to", f"{begin + self.took[piece]:.3f}s", self.jfr))
        phases = out["events"][0]["driver"]["phases"]
        return {p["phase"]: p["query_ns"] / 1e9 for p in phases}, {p["phase"]: p["beside_ns"] / 1e9 for p in phases}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Recorded(tmp_path_factory.mktemp("driver"))


def near(got, want):
    """A phase has two borders that a sample may lie across; the machine may be busy when it does."""
    return abs(got - want) <= 0.3 + 0.1 * want


@pytest.mark.parametrize("piece,phase", [("python", "python"), ("analysis", "analysis"), ("listing", "listing"), ("job", "job")])
def test_a_piece_of_work_has_the_seconds_of_its_own_clock(run, piece, phase):
    """Python and the JVM call each other: at each moment one of them works for the query. All phases are together what the job's clock says, and the
    longest is the one that the piece is about."""
    query, beside = run.within(piece)
    assert near(sum(query.values()), run.took[piece]), (query, run.took)
    assert max(query, key=query.get) == phase, (query, run.took)


def test_broadcast(run):
    """The query's thread waits for it while another makes it; then the job that joins with it runs."""
    query, beside = run.within("broadcast")
    assert near(sum(query.values()), run.took["broadcast"]), (query, run.took)
    assert query["broadcast"] > 0.2 and beside["broadcast"] > 0.02 and query["job"] > 0, (query, beside)


def test_collected_results(run):
    """The JVM sends rows from a thread of its own, while Python decodes what it has: both at once."""
    query, beside = run.within("collect")
    assert query["collect"] + beside["collect"] > 0.2 and query["python_decode"] > 0.2, (query, beside)
    assert sum(query.values()) <= run.took["collect"] * 1.1 + 0.3, (query, run.took)


def test_optimisation_and_planning_are_what_spark_measures(run):
    query, _ = run.within("optimise")
    assert near(query["optimisation"], run.phases["optimization"]), (query, run.phases)
    assert near(query["planning"], run.phases["planning"]), (query, run.phases)
    assert near(sum(query.values()), run.took["optimise"]), (query, run.took)


def test_the_drivers_python_is_sampled(run):
    """compute() takes 2.5 s by its own clock, whatever else runs; wall sees all of it, running or waiting for a core."""
    assert run.seconds["python"][0] >= run.took["python"] - 0.3, (run.seconds, run.took)
    stacks = run.call("report", "-o", "collapsed", "--total", run.jfr)
    own = sum(int(line.rpartition(" ")[2]) for line in stacks.splitlines() if "[python driver];" in line and "compute (driver_bound.py)" in line) / 1e9
    assert abs(own - run.took["python"]) < 0.3, (own, run.took)


def test_ps_lists_the_drivers_python(run):
    driver = next(j for j in run.ps if j["pid"] == run.pid)
    assert driver["python_driver"] == run.python


def test_first_screen_of_the_text(run):
    """In 24 lines of 80 columns after what stands out and the head: the phases, longest first, and no thread that waits for work."""
    head, _, table = run.text[run.text.index("Target "):].partition("What the driver worked on\n")
    assert table and head.count("\n") < 16, run.text[:3000]
    screen = table.splitlines()[:24]
    names = [line[35:] for line in screen if re.match(r" +[\d.]+ %", line)]
    assert {"analysis", "waiting for jobs", "Python computes", "collecting results", "file listing", "optimisation"} <= set(names), names
    queries = [p["query_ns"] for p in run.driver["phases"]]
    assert queries == sorted(queries, reverse=True)
    assert not re.search(r"ThreadPoolExecutor\.getTask|LinkedBlockingQueue\.take", run.text)
    assert "wall shows threads that work" in run.text


def test_gaps_name_what_the_driver_did_without_a_job(run):
    gaps = run.driver["gaps"]
    assert gaps and gaps[0]["took_ns"] == max(g["took_ns"] for g in gaps)
    # Before its first job the application computes, analyses, optimises and lists: one gap.
    first = max(gaps, key=lambda g: g["work"].get("analysis", 0))
    want = sum(run.took[n] for n in ("python", "analysis", "optimise", "listing"))
    assert first["took_ns"] / 1e9 > want - 0.3, (gaps, run.took)
    assert {"python", "analysis", "listing"} <= set(first["work"])
    assert run.driver["jobless_ns"] <= run.driver["covered_ns"]


def test_the_page_has_the_same(run):
    """Its data, and what it draws of them; a click on a gap selects its time."""
    b = browser.Browser()
    try:
        b.open(run.html)
        driver = b.eval("globalThis.sparkprof.profile.meta.driver")
        rows = b.eval("[...document.querySelectorAll('#phases tbody th')].map((e) => e.textContent)")
        b.eval("document.querySelector('.gaps button').click()")
        selected = b.eval("location.hash")
    finally:
        b.close()
    times = {p["phase"]: p["query_ns"] / 1e9 for p in driver["phases"]}
    assert all(abs(times.get(k, 0) - v) < 0.1 + 0.02 * v for k, (v, _) in run.seconds.items()), (times, run.seconds)
    assert rows == [p["name"] for p in driver["phases"]] and "range=" in selected, (rows, selected)


def test_sql_executions_and_jobs_by_the_event_log(run):
    """Times as the log has them, clipped to the recording; the job that sleeps is one of its own, the collect waits for one and takes its rows."""
    events = next(p for p in (run.log.dir / "events").iterdir() if not p.name.startswith("."))
    text = run.call("report", "--event-log", events, run.jfr)
    driver = json.loads(run.call("report", "-o", "json", "--event-log", events, run.jfr))["events"][0]["driver"]
    starts, took = {}, {}
    for e in run.log.events():
        if e["Event"] == "SparkListenerJobStart":
            starts[e["Job ID"]] = e["Submission Time"]
        elif e["Event"] == "SparkListenerJobEnd":
            took[e["Job ID"]] = (e["Completion Time"] - starts[e["Job ID"]]) / 1e3
    for job in driver["jobs"]:
        assert abs(job["took_ns"] / 1e9 - took[job["id"]]) < 0.1, (job, took)
    slept = max((j for j in driver["jobs"] if "sql" not in j), key=lambda j: j["took_ns"])
    assert near(slept["work"]["job"] / 1e9, slept["took_ns"] / 1e9) and slept["took_ns"] > 3e9, slept
    collected = [q for q in driver["sql"] if q.get("name", "").startswith("collect at")]
    assert collected and collected[0]["work"]["job"] > 0, driver["sql"]
    assert "Longest jobs: " in text and "The longest SQL executions" in text and re.search(r"SQL \d+ +\w", text), text[:4000]


def test_all_threads_shows_the_rest(run):
    text = run.call("report", "--all-threads", run.jfr)
    assert "getTask" in text or "__futex_abstimed_wait_common" in text
    share = re.search(r"threads that work, ([\d.]+) %", run.text)
    assert float(share[1]) < 20, share
