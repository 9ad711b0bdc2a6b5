"""Jobs with one trouble each (jobs/troubles.py): the first screen of text and the first picture of the page name it. One Spark for all of
them. That tasks wait for a core is true on a busy machine, and may be said before."""
import json
import re
import subprocess
import time

import pytest

from kit import browser, spark, stages, yarn
from kit.parts import SPARKPROF
from test_areas import jars

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
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
}


def call(*args):
    r = subprocess.run([str(SPARKPROF), *map(str, args)], capture_output=True, text=True, timeout=300)
    assert r.returncode == 0, r.stderr
    return r.stdout


class Run:
    """All jobs, each recorded by itself."""

    def __init__(self, tmp, version):
        self.tmp, self.log = tmp, stages.Logging(tmp)
        ui, = yarn.free_ports(1)
        conf = self.log.conf(**{"spark.jars": ",".join(map(str, jars(tmp, version))), "spark.memory.fraction": "0.2", "spark.ui.enabled": "true",
                                "spark.ui.port": ui, "spark.executor.memory": "1g"})
        (tmp / "work").mkdir()
        with spark.App(job="troubles.py", master="local-cluster[1,2,1024]", args=[tmp / "work"], conf=conf, version=version, timeout=400) as self.app:
            self.pid, = self.app.executors()
            for name in TRUTHS:
                self.record(name) if name != "hung" else self.record_hung()
            self.app.proc.stdin.close()
            self.app.proc.wait(120)

    def wait(self, name):
        while not self.app.said(f"done {name}"):
            assert self.app.proc.poll() is None, self.app.stderr()[-3000:]
            time.sleep(0.05)

    def do(self, name):
        self.app.tell(name)
        self.wait(name)

    def record(self, name):
        call("start", "--attach-timeout=60s", "-e", "wall", "-i", "20ms", "-f", self.file(name), self.pid)
        self.do(name)
        call("stop", "--attach-timeout=60s", self.pid)

    def record_hung(self):
        self.do("hung")
        call("-q", "--attach-timeout=60s", "-e", "wall", "-d", "5", "-f", self.file("hung"), self.pid)
        self.do("cancel")

    def file(self, name):
        return self.tmp / f"{name}.jfr"

    def findings(self, name):
        return json.loads(call("report", "-q", "-o", "json", self.file(name)))["findings"]

    def spilled(self, group):
        """Bytes, as Spark counts them, of the stages of a job group."""
        events = list(self.log.events())
        of = {s for e in events if e["Event"] == "SparkListenerJobStart" and e["Properties"].get("spark.jobGroup.id") == group for s in e["Stage IDs"]}
        return sum(e["Task Metrics"]["Disk Bytes Spilled"] for e in events if e["Event"] == "SparkListenerTaskEnd" and e["Stage ID"] in of)


@pytest.fixture(scope="module", params=["4.3.0"])
def run(request, tmp_path_factory):
    return Run(tmp_path_factory.mktemp("troubles"), request.param)


def first(findings):
    return next((f for f in findings if f["rule"] != "no-core"), None)


@pytest.mark.parametrize("name", TRUTHS)
def test_the_first_screen_names_the_trouble(run, name):
    rule, words, others = TRUTHS[name]
    found = run.findings(name)
    one = first(found)
    if name == "hung" and one["rule"] == "straggler":  # that is true of it as well, and comes first
        one = found[found.index(one) + 1]
    assert one["rule"] == rule and re.search(words, one["says"]), found
    assert not others & {f["rule"] for f in found}, found
    screen = call("report", "-q", "-o", "text", "-f", "-", run.file(name)).splitlines()[:SCREEN]
    joined = re.sub(r"\s+", " ", " ".join(screen))
    assert re.search(words, joined), "\n".join(screen)


def test_the_truth_of_the_spill_is_sparks_own(run):
    assert run.spilled("aggregate") > 50e6
    assert not any(run.spilled(name) for name in ("regex", "json", "files", "lock"))


def test_the_first_picture_of_the_page_names_the_trouble(run):
    b = browser.Browser()
    try:
        for name, (_, words, _) in TRUTHS.items():
            page = run.tmp / f"{name}.html"
            call("report", "-q", "-f", page, run.file(name))
            for width, height in ((1024, 700), (1600, 1000)):
                b.open(page, ready="globalThis.sparkprof && document.querySelector('table.stages td.areas')", width=width, height=height)
                # what a reader sees without a click
                seen = b.eval("""[...document.querySelectorAll('li .says')].map((s) => [s.textContent, s.getBoundingClientRect().top])""")
                top = next((top for text, top in seen[:3] if re.search(words, text)), 0)
                assert 0 < top < height, (name, seen)
            assert not b.ask("seen")["errors"]
    finally:
        b.close()
