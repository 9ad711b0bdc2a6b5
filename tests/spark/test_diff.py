"""Comparisons of two versions of a program on a real Spark: see jobs/again.py for what is true."""
import csv
import json
import re
import subprocess
import time

import pytest

from kit import browser, spark, stages
from kit.parts import SPARKPROF
from kit.traces import wait_until

pytestmark = pytest.mark.long  # two Sparks; tests/unit/match_runs.c asks the same of made stages


def run(*args):
    return subprocess.run([str(SPARKPROF), *map(str, args)], capture_output=True, text=True, timeout=300)


class Runs:
    """Both versions in one application, each in a recording of its own: their stages have other numbers as those of two would have."""

    def __init__(self, tmp):
        self.log, self.files = stages.Logging(tmp), [tmp / "base.jfr", tmp / "new.jfr"]
        with spark.App(job="again.py", master="local[2]", conf=self.log.conf()) as app:
            for n, file in enumerate(self.files):
                r = run("start", "--attach-timeout=60s", "-e", "cpu", "-i", "2ms", "-f", file, app.driver)
                assert r.returncode == 0, r.stderr
                app.tell(file.stem)
                while app.text.count(b"done") <= n and app.proc.poll() is None:
                    app.said("")
                    time.sleep(0.05)
                wait_until(lambda: self.all_named(app.driver, tmp / "look.jfr"), 60)
                r = run("stop", "--attach-timeout=60s", app.driver)
                assert r.returncode == 0, r.stderr
            app.proc.stdin.close()
            app.proc.wait(60)
        [self.events] = (tmp / "events").iterdir()
        self.operators = {}
        for e in self.log.events():
            if e["Event"] == "SparkListenerStageSubmitted":
                i = e["Stage Info"]
                self.operators[i["Stage ID"]] = sorted(json.loads(r["Scope"])["name"].split(" (")[0] for r in i["RDD Info"] if "Scope" in r)

    def all_named(self, driver, file):
        """Whether the recording knows the call site of each stage by now: the driver's REST may hear of a stage late."""
        r = run("dump", "--attach-timeout=60s", "-f", file, driver)
        assert r.returncode == 0, r.stderr
        tables = [line[1] for line in csv.reader(run("report", file, "--tasks-only", "-o", "csv").stdout.splitlines())]
        return tables.count("stage name") == tables.count("stage run time") > 0

    def diff(self, tmp, *args):
        r = run("diff", *self.files, "--tasks-only", *args, "-f", tmp / "x.json")
        assert r.returncode == 0, r.stderr
        return json.loads((tmp / "x.json").read_text())


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return Runs(tmp_path_factory.mktemp("diff"))


def work(runs, side, tmp):
    """Stages of a side with their seconds, by what they do: "left" sorts before it aggregates, "right" does not, "join" zips."""
    run("report", runs.files[side], "--tasks-only", "-f", tmp / "side.json")
    [event] = json.loads((tmp / "side.json").read_text())["events"]
    found = {}
    for s in sorted(event["stages"], key=lambda s: s["weight"]):  # the heavier one of two is the one that hashes
        o = runs.operators[s["stage"]]
        kind = ("join" if o.count("Exchange") > 2 else "left" if "SortAggregate" in o else "right") if o.count("Exchange") != 1 or s["tasks"] == 2 else "last"
        if s.get("description", "").startswith("a sort"):
            kind = "sort"
        found[kind] = s["stage"], s["weight"]
    return found


@pytest.mark.parametrize("log", [False, True], ids=["call sites", "event log"])
def test_stages_are_matched_by_what_they_are(runs, tmp_path, log):
    d = runs.diff(tmp_path, *(["--event-log", runs.events] if log else []))
    sides = [work(runs, i, tmp_path) for i in (0, 1)]
    pairs = {tuple(s and s["stage"] for s in row["stages"]): row for row in d["stages"]}
    for kind in ("left", "right", "join"):
        pair = sides[0][kind][0], sides[1][kind][0]
        assert pair in pairs and pair[0] != pair[1], (kind, pair, list(pairs))
        assert pairs[pair]["weight"] == [sides[0][kind][1], sides[1][kind][1]]
        assert pairs[pair]["name"] == f"stage {pair[0]}.0 → {pair[1]}.0"
    assert (None, sides[1]["sort"][0]) in pairs
    assert pairs[None, sides[1]["sort"][0]]["name"].endswith("(only new)")
    # all that there is is in one of them, and most of what came is where the program does more
    assert [sum(row["weight"][i] for row in d["stages"]) for i in (0, 1)] == d["total"]["weight"]
    assert [sum(row["weight"][i] for row in d["waits"]) for i in (0, 1)] == d["total"]["weight"]
    left = pairs[sides[0]["left"][0], sides[1]["left"][0]]
    assert left["change"] > left["noise"] and left is max(d["stages"], key=lambda row: row["change"])


def test_generated_classes_of_both_are_one(runs, tmp_path):
    d = runs.diff(tmp_path)
    assert not [m for m in d["methods"] if "CodegenStage" in m["name"] or re.search(r"\$\$Lambda\$\d", m["name"])]
    sums = [m for m in d["methods"] if m["name"].endswith(".processNext") and "sort" in m["name"] and all(m["samples"])]
    assert sums, [m["name"] for m in d["methods"] if "Generated(" in m["name"]]
    heavy = max(sums, key=lambda m: sum(m["samples"]))
    for i in (0, 1):  # not a half of it under another name
        others = [m["samples"][i] for m in sums if m is not heavy]
        assert heavy["samples"][i] > 3 * max(others, default=0)


def test_a_stage_that_one_side_lacks_is_told(runs, tmp_path):
    sides = [work(runs, i, tmp_path) for i in (0, 1)]
    one = runs.diff(tmp_path, "--stage", sides[1]["left"][0])
    assert one["total"]["weight"] == [sides[0]["left"][1], sides[1]["left"][1]]
    for stage, words in ((sides[1]["sort"][0], "only .*new.jfr has it"), (sides[0]["left"][0], f"write --stage {sides[1]['left'][0]}"), (99999, "no samples of it")):
        r = run("diff", *runs.files, "--tasks-only", "--stage", stage)
        assert r.returncode == 1 and re.search(words, r.stderr), r.stderr


def test_seconds_come_first(runs, tmp_path):
    d = runs.diff(tmp_path)
    r = run("diff", *runs.files, "--tasks-only", "-f", tmp_path / "x.svg", "-f", "-")
    text = r.stdout
    places = [text.index(word) for word in (" total\n", "\nBy stage\n", "\nBy what time was spent on\n", "\nMethods", "\nGrew\n")]
    assert places == sorted(places)
    assert f"{d['total']['weight'][0] / 1e9:.2f} s " in text.split(" total\n")[0] and "net/jpountz" not in text
    assert f"{d['total']['weight'][1] / 1e9:.2f} s in the new one" in (tmp_path / "x.svg").read_text()


def test_the_page_shows_stages_of_both_once(runs, tmp_path):
    d = runs.diff(tmp_path)
    r = run("diff", *runs.files, "--tasks-only", "-f", tmp_path / "x.html")
    assert r.returncode == 0, r.stderr
    b = browser.Browser()
    try:
        b.open(tmp_path / "x.html")
        rows = b.eval("[...document.querySelectorAll('#stages tbody')].map((r) => [r.dataset.stage || r.querySelector('th').textContent, r.querySelectorAll('td')[2].textContent])")
        assert rows[0][0] == "total" and [x[0] for x in rows[1:]] == [s["name"] for s in d["stages"] + d["waits"]]
        assert rows[0][1] == f"+{d['total']['change'] / 1e9:.2f} s"
        first = d["stages"][0]["name"]
        b.eval("document.querySelector('#stages tbody[data-stage]').click()")
        assert b.eval("document.getElementById('stage').value") == first
        methods = b.eval("document.getElementById('methods').textContent")
        assert "Generated(" in methods and "CodegenStage" not in methods
    finally:
        b.close()
