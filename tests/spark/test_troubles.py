"""Jobs with one trouble each (jobs/troubles.py): the first screen of text and the first picture of the page name it. One Spark for all of
them; each is run and recorded when a test asks for it first. That tasks wait for a core is true on a busy machine, and may be said before."""
import json
import re
import signal
import subprocess
import time

import pytest

from kit import browser, parts, python, spark, stages, yarn
from kit.parts import SPARKPROF
from test_areas import jars

pytestmark = pytest.mark.timeout(1800)
SCREEN = 40  # lines
# job: rule, words, and what must not be said of it
TRUTHS = {
    "aggregate": ("spill", r"Tasks spill: .* % of all task time", {"straggler", "lock", "regex", "parse"}),
    "stream": ("state-store", r'Tasks work in the state store .*streaming query "orders by customer"', {"straggler", "spill", "regex", "ml"}),
    "regex": ("regex", r"Queries match regular expressions for", {"straggler", "spill", "parse", "lock"}),
    "json": ("parse", r"Tasks parse JSON, CSV or XML for", {"straggler", "spill", "regex", "lock"}),
    "files": ("opens-files", r"Tasks open files .*rather than read rows", {"straggler", "spill", "parse"}),
    "lock": ("lock", r"Tasks wait for locks .*com\.acme\.etl\.Rates\.call has \d+ % of it, most of that at line 17", {"straggler", "spill"}),
    "kmeans": ("ml", r"Spark's machine learning computes for", {"straggler", "spill", "lock"}),
    "hung": ("python-blocked", r"Python workers wait for something other than the JVM .*The function rate \(troubles\.py\).*"
             r"In there ask \(troubles\.py\) has \d+ % of it", {"spill", "lock", "python"}),
    "als": ("ml", r"Spark's machine learning computes for", {"spill", "udf", "python"}),
    "skew": ("straggler", r"waits for one task: TID \d+ took .* it may have more data", {"spill", "udf", "python", "ml"}),
    "score": ("udf", r"Functions in Java or Scala that queries call for each row are busy for .*"
              r"The function com\.acme\.etl\.Score\.call has \d+ % of it", {"spill", "lock", "regex", "straggler"}),
    "remote": ("blocked", r"Your code, or a library of yours, sleeps, or waits for the network or another program, for .*The method com\.acme\.etl\.Ask\.call has \d+ % of it, "
               r"most of that at line 18\. In there com\.acme\.etl\.Ask\.answer has \d+ % of it", {"spill", "udf", "lock", "straggler"}),
    "python": ("python", r"Python workers are busy for .*[Tt]he function polynomial \(troubles\.py\) has \d+ % of it", {"spill", "udf", "python-blocked"}),
    "gap": ("driver-gap", r"No task ran here for .* in [345] gaps, the longest [\d.]+ s", {"spill", "python", "udf", "straggler"}),
}
# An area of work and a task that lags. Functions want cores of their own: the share of one is of what its thread had.
QUICK = {"skew"}
NAMES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in TRUTHS]
BEFORE = {"files": "make_files", "kmeans": "load_ml", "als": "load_ml", "lock": "load_functions", "score": "load_functions"}  # what a job needs, and is not recorded
# What is inlined into a caller may bear its name: these stay methods of their own.
JVM = "-XX:CompileCommand=quiet " + " ".join(f"-XX:CompileCommand=dontinline,com.acme.etl.{m}" for m in (
    "Rates::call", "Rates::lookUp", "Score::call", "Ask::call", "Ask::answer"))
# what the machine that the test runs on may do to any job
MACHINES = {"no-core", "throttled", "launch", "driver-gap", "gc", "codegen"}


def call(*args):
    r = subprocess.run([str(SPARKPROF), *map(str, args)], capture_output=True, text=True, timeout=300)
    assert r.returncode == 0, r.stderr
    return r.stdout


class Run:
    """Jobs, each recorded by itself."""

    def __init__(self, tmp, version):
        self.tmp, self.log, self.recorded, self.asked = tmp, stages.Logging(tmp), set(), []
        ui, = yarn.free_ports(1)
        conf = self.log.conf(**{"spark.jars": ",".join(map(str, jars(tmp, version))), "spark.memory.fraction": "0.2", "spark.ui.enabled": "true",
                                "spark.ui.port": ui, "spark.executor.memory": "1g"})
        env = {"PYTHONPATH": str(parts.pandas())}
        (tmp / "work").mkdir()
        self.app = spark.App(job="troubles.py", master="local-cluster[1,2,1024]", args=[tmp / "work"], conf=conf, version=version, env=env,
                             timeout=400, jvm=JVM)
        self.pid, = self.app.executors()

    def end(self):
        """Its event log is whole then."""
        self.app.proc.stdin.close()
        self.app.proc.wait(120)

    def do(self, name):
        """Executes a job, to its end."""
        self.asked.append(name)
        self.app.tell(name)
        while self.app.count(f"done {name}") < self.asked.count(name):
            assert self.app.proc.poll() is None, self.app.stderr()[-3000:]
            time.sleep(0.05)

    def record(self, name):
        call("start", "--attach-timeout=60s", "-e", "wall", "-i", "20ms", "-f", self.file(name), self.pid)
        self.do(name)
        call("stop", "--attach-timeout=60s", self.pid)

    def begin(self, name, *args):
        """Until it is told to end."""
        return subprocess.Popen([str(SPARKPROF), "-q", "--attach-timeout=60s", "-e", "wall", *args, "-d", "600", "-f", self.file(name),
                                 str(self.pid)])

    def finish(self, run):
        run.send_signal(signal.SIGINT)
        assert run.wait(120) == 0

    def record_hung(self, name):
        self.do(name)
        call("-q", "--attach-timeout=60s", "-e", "wall", "-d", "5", "-f", self.file(name), self.pid)
        self.do("cancel")

    def record_growing(self):
        """What is said of a task that hangs as soon as anything is, while the file grows."""
        file, found = self.tmp / "growing.jfr", []
        call("start", "--attach-timeout=60s", "-e", "wall", "-i", "20ms", "-f", file, self.pid)
        self.do("hung")
        while not any(f["rule"] == "straggler" for f in found):
            time.sleep(0.5)
            found = json.loads(call("report", "-q", "-o", "json", file))["findings"]
        call("stop", "--attach-timeout=60s", self.pid)
        self.do("cancel")
        return found

    def record_python(self, name):
        """The workers are there already: on a busy machine a new one imports for longer than it computes."""
        self.do(name)
        run = self.begin(name, "-i", "20ms")
        while not python.is_sampled(self.pid):
            assert run.poll() is None
            time.sleep(0.05)
        self.do(name)
        self.finish(run)

    def file(self, name):
        return self.tmp / f"{name}.jfr"

    def recording(self, name):
        if name not in self.recorded:
            if BEFORE.get(name) not in (None, *self.asked):
                self.do(BEFORE[name])
            {"hung": self.record_hung, "python": self.record_python}.get(name, self.record)(name)
            self.recorded.add(name)
        return self.file(name)

    def findings(self, name):
        return json.loads(call("report", "-q", "-o", "json", self.recording(name)))["findings"]

    def spilled(self, group):
        """Bytes, as Spark counts them, of the stages of a job group."""
        events = list(self.log.events())
        of = {s for e in events if e["Event"] == "SparkListenerJobStart" and e["Properties"].get("spark.jobGroup.id") == group for s in e["Stage IDs"]}
        return sum(e["Task Metrics"]["Disk Bytes Spilled"] for e in events if e["Event"] == "SparkListenerTaskEnd" and e["Stage ID"] in of)


@pytest.fixture(scope="module", params=["4.3.0", pytest.param("3.5.7", marks=pytest.mark.long)])
def run(request, tmp_path_factory):
    r = Run(tmp_path_factory.mktemp("troubles"), request.param)
    with r.app:
        yield r


def first(findings, rule):
    """The first that is the job's own."""
    return next((f for f in findings if f["rule"] == rule or f["rule"] not in MACHINES), None)


@pytest.mark.parametrize("name", NAMES)
def test_the_first_screen_names_the_trouble(run, name):
    rule, words, others = TRUTHS[name]
    found = run.findings(name)
    also = {"hung": "straggler", "lock": "udf"}.get(name)  # is true of it as well, and may come first
    one = first([f for f in found if f["rule"] != also], rule)
    assert one["rule"] == rule and re.search(words, one["says"]), found
    assert not others & {f["rule"] for f in found}, found
    screen = call("report", "-q", "-o", "text", "-f", "-", run.recording(name)).splitlines()[:SCREEN]
    joined = re.sub(r"\s+", " ", " ".join(screen))
    assert re.search(words, joined), "\n".join(screen)


def test_nothing_is_said_of_an_even_job(run):
    assert {f["rule"] for f in run.findings("even")} <= MACHINES, run.findings("even")


@pytest.mark.long
def test_tasks_that_run_again_are_said(run):
    """Of six runs of four tasks two are in vain. New workers of Python may cost more than all of them; that a task waits for its worker
    is no lock."""
    out = json.loads(call("report", "-q", "-o", "json", run.recording("flaky")))
    found = {f["rule"]: f for f in out["findings"]}
    assert re.search(r"Tasks run once more .*, in stage \d+\.0 \(", found["retries"]["says"]), found
    stage, = [s for s in out["events"][0]["stages"] if s["stage"] == found["retries"]["stage"]]
    assert stage["tasks"] == 6 and 2e9 < found["retries"]["time_ns"] < stage["run_ns"] + stage["launch_ns"] - 4e9, (found["retries"], stage)
    assert "lock" not in found, found


def test_a_file_that_grows_knows_the_task_that_runs(run):
    """Of four tasks three end, and one does not."""
    one, = [f for f in run.record_growing() if f["rule"] == "straggler"]
    assert re.search(r"waits for one task: TID \d+ runs since ≥ ", one["says"]), one


SEEN = """(() => {
    const bottom = document.getElementById('findings').getBoundingClientRect().bottom;
    return [...document.querySelectorAll('li .says')].map((s) => [s.textContent, s.getBoundingClientRect().top + 15 < bottom]);
})()"""


@pytest.fixture(scope="module")
def chromium():
    b = browser.Browser()
    yield b
    b.close()


@pytest.mark.parametrize("name", NAMES)
def test_the_first_picture_of_the_page_names_the_trouble(run, chromium, name):
    """What a reader sees without a click, beside what is the machine's fault: its first line at least."""
    page, words = run.tmp / f"{name}.html", TRUTHS[name][1]
    call("report", "-q", "-f", page, run.recording(name))
    for width, height in ((1024, 700), (1600, 1000)):
        chromium.open(page, ready="globalThis.sparkprof && document.querySelector('table.stages td.areas')", width=width, height=height)
        seen = chromium.eval(SEEN)
        assert any(in_sight and re.search(words, text) for text, in_sight in seen), (width, height, seen)
    assert not chromium.ask("seen")["errors"]


@pytest.mark.long
def test_the_truth_of_the_spill_is_sparks_own(run):
    others = ("regex", "json", "files", "lock")
    for name in ("aggregate", *others):
        run.recording(name)
    run.end()
    assert run.spilled("aggregate") > 50e6
    assert not any(run.spilled(name) for name in others)
