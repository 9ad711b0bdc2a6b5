"""Stages and tasks of real executors, against their own logs and event logs."""
import collections
import csv
import json
import re
import subprocess
import urllib.request

import pytest

from kit import peers, recording, spark, stages
from kit.parts import SPARKPROF
from kit.traces import wait_until


class Run:
    """Several kinds of stages at once on one executor, recorded from before the first to behind the last."""

    def __init__(self, tmp, sparkprof, version, jdk, event, args=(), master="local-cluster[1,2,1024]"):
        self.log = stages.Logging(tmp)
        self.file = tmp / "x.jfr"
        self.version, self.local = version, master.startswith("local[")
        local = self.local
        conf = self.log.conf(**{"spark.eventLog.rolling.enabled": str(local).lower()}, **({"spark.driver.extraJavaOptions": self.log.jvm(), "spark.ui.enabled": "true"} if local else {}))
        with spark.App(job="fair.py", args=(60_000, 1, *args), version=version, jdk=jdk, conf=conf, jvm="" if local else self.log.jvm(),
                       master=master, timeout=500) as app:
            self.id = app.id
            pid = app.driver if local else app.executors()[0]
            r = sparkprof("start", "--attach-timeout=60s", "-e", event, "-i", "2ms" if event != "wall" else "10ms", "-f", self.file, pid)
            assert r.returncode == 0, r.stderr
            if local:  # its REST answers take seconds at first
                ready = re.search(r"ui (\S+)", app.text.decode())
                wait_until(lambda: urllib.request.urlopen(f"{ready[1]}/api/v1/applications/{app.id}/stages", timeout=300).read(), 100)
            app.proc.stdin.write(b"go\n")
            app.proc.stdin.flush()
            while b"done" not in app.text and app.proc.poll() is None:
                app.text += app.proc.stdout.read() or b""
            if local:  # the agent asks the UI behind the stages, one after the other
                wait_until(lambda: self.named_by(ready[1], sparkprof))
            r = sparkprof("stop", "--attach-timeout=60s", pid)
            assert r.returncode == 0, r.stderr
            self.said = r.stderr
            app.proc.stdin.close()
            app.proc.wait(200)

    def named_by(self, ui, sparkprof):
        """Whether all stages that the UI has are in the recording with the UI's names."""
        with urllib.request.urlopen(f"{ui}/api/v1/applications/{self.id}/stages", timeout=300) as reply:
            last = max(s["stageId"] for s in json.load(reply) if s["status"] == "COMPLETE")
        rows = stages_of(sparkprof, self, self.file.with_name("named.json"))
        return last in {r["stage"] for r in rows} and all({"name", "job", "sql_text"} <= set(r) for r in rows)

    def tasks(self):
        """{TID: fields} of the recording's sparkprof.Task, helping threads left out."""
        r = self.recording = recording.Recording(self.file)
        found = {}
        for begin, text in zip(r.times["sparkprof.Task"], r.others["sparkprof.Task"]):
            f = dict(re.findall(r"(\w+) = ([-\w]+)", text))
            if f["helper"] == "false":
                found[int(f["taskId"])] = {**f, "from": begin, "to": begin + int(f["ns"])}
        return found


@pytest.fixture(scope="module", ids=lambda p: f"{p[0]}-{p[2]}", params=[
    ("3.5.7", 17, "wall", "local-cluster[1,2,1024]"),
    pytest.param(("4.3.0", 25, "cpu", "local[2]"), marks=pytest.mark.long),
    pytest.param(("3.0.3", 11, "wall", "local-cluster[1,1,1024]"), marks=pytest.mark.long)])
def run(request, tmp_path_factory):
    def sparkprof(*args):
        return subprocess.run([str(SPARKPROF), *map(str, args)], capture_output=True, text=True, timeout=300)

    version, jdk, event, master = request.param
    r = Run(tmp_path_factory.mktemp("stages"), sparkprof, version, jdk, event, master=master)
    r.event, r.master = event, master
    return r


def stacks(path):
    """Lines of stacks; samples that were lost have none."""
    return [line for line in path.read_text().splitlines() if not line.startswith("[lost: ")]


def test_every_task_of_the_event_log_has_its_span(run):
    found = run.tasks()
    ran = {e["Task Info"]["Task ID"]: e for e in run.log.events() if e["Event"] == "SparkListenerTaskEnd"}
    first = min(found)  # those before it ran before the recording
    assert set(found) == {t for t in ran if t >= first} and len(found) > 20
    for tid, f in found.items():
        info = ran[tid]["Task Info"]
        assert (int(f["stage"]), int(f["index"])) == (ran[tid]["Stage ID"], info["Index"])
        assert f["begun"] == f["ended"] == "true"


def test_samples_stand_in_the_stage_that_their_thread_worked_for(run, sparkprof, tmp_path):
    """By the log lines of the executor itself; its clock and ours differ by less than its milliseconds. Where its log has no thread
    ids (3.0) there is one core: by what the driver wrote down of its only task at that time."""
    truth = collections.defaultdict(list)
    found, right, wrong = run.tasks(), 0, 0
    by_thread = collections.defaultdict(list)
    for f in found.values():
        by_thread[int(f["javaThreadId"])].append(f)
    logged = run.log.tasks()
    for t in logged or [t._replace(java_id=thread) for t in run.log.launched() for thread in by_thread]:
        truth[t.java_id].append(t)
    for s in run.recording.samples:
        inside = [t for t in truth[s.java_id] if t.begin + 2e6 < s.time < t.end - 2e6]
        if len(inside) == 1:
            spans = [f for f in by_thread[s.java_id] if f["from"] <= s.time <= f["to"]]
            if not logged and not spans:
                continue  # the driver hears of a task's end after its thread
            ok = len(spans) == 1 and f"{spans[0]['stage']}.{spans[0]['stageAttempt']}" == inside[0].stage
            right, wrong = right + ok, wrong + (not ok)
    assert right > 50 and wrong <= 0.005 * right + 1, (right, wrong)


def test_what_spark_measured_is_what_the_table_says(run, sparkprof, tmp_path):
    """A task that the agent was too late for is not measured, and its stage's numbers are sampled in part: such a stage is left out."""
    if run.local or run.event != "wall" or run.version < "3.5":
        return  # no executor that can be asked, or no waits
    sums = collections.defaultdict(collections.Counter)
    for e in run.log.events():
        if e["Event"] == "SparkListenerTaskEnd":
            m = e["Task Metrics"]
            sums[e["Stage ID"]].update({
                "tasks": 1, "run_ns": m["Executor Run Time"] * 10**6, "jvm_gc_ns": m["JVM GC Time"] * 10**6,
                "cpu_ns": m["Executor CPU Time"] + m["Executor Deserialize CPU Time"], "launch_cpu_ns": m["Executor Deserialize CPU Time"],
                "fetch_wait_ns": m["Shuffle Read Metrics"]["Fetch Wait Time"] * 10**6,
                "shuffle_write_ns": m["Shuffle Write Metrics"]["Shuffle Write Time"]})
    whole = [r for r in stages_of(sparkprof, run, tmp_path / "x.json") if r["measured"] == r["tasks"] == sums[r["stage"]]["tasks"]]
    assert whole
    for row in whole:
        assert {k: row[k] for k in sums[row["stage"]]} == dict(sums[row["stage"]])


def test_views_and_the_table_of_stages(run, sparkprof, tmp_path):
    out = tmp_path / "x.json"
    r = sparkprof("report", run.file, "-f", out, "-f", tmp_path / "x.txt", "-f", tmp_path / "x.csv")
    assert r.returncode == 0, r.stderr
    [event] = [e for e in json.loads(out.read_text())["events"] if e["event"].startswith(run.event)]
    rows = {f"{s['stage']}.{s['attempt']}": s for s in event["stages"]}
    found = collections.Counter(f"{f['stage']}.{f['stageAttempt']}" for f in run.tasks().values())
    assert {s: r["tasks"] for s, r in rows.items()} == found
    assert {r["job_group"] for r in rows.values()} == {"hashes", "words", "sorts"}
    assert all(r["description"] == f"the {r['job_group']} of the test" and r["sql"] >= 0 for r in rows.values())
    assert all(sum(r["areas"].values()) == sum(r["time"].values()) == r["weight"] for r in rows.values())
    # where the disk is busy, the commit of a shuffle's index is some of it
    assert sum(r["time"].get("other", 0) for r in rows.values()) < 0.1 * sum(r["weight"] for r in rows.values())
    who = "driver" if run.local else "executor 0"
    assert f'Target     {who} of {run.id} "sparkprof test" (pid ' in (tmp_path / "x.txt").read_text()
    assert "Stages (" in (tmp_path / "x.txt").read_text()
    table = {tuple(line[1:3]): line[3:] for line in csv.reader((tmp_path / "x.csv").open(newline=""))}
    for s, r in rows.items():
        assert table["stages", s][:2] == [str(r["samples"]), str(r["weight"])] and table["stage run time", s][:2] == [str(r["tasks"]), str(r["run_ns"])]
        assert any(t == "stage name" and n.startswith(f"{s} ") and f"SQL {r['sql']}: {r['description']}" in n for t, n in table)
    heavy = max(rows, key=lambda s: rows[s]["weight"])
    for option, root in ((["--stage", heavy], f"[stage {heavy}]"), (["--sql", rows[heavy]["sql"]], "[stage ")):
        r = sparkprof("report", run.file, *option, "--by", "stage", "-f", tmp_path / "x.collapsed")
        assert r.returncode == 0, r.stderr
        lines = stacks(tmp_path / "x.collapsed")
        assert lines and all(line.startswith(root) for line in lines), option


def test_pprof_tells_stages_and_tasks_apart(run, sparkprof, tmp_path):
    sparkprof("report", run.file, "-f", tmp_path / "x.json", "-f", tmp_path / "x.pb.gz")
    event = json.loads((tmp_path / "x.json").read_text())["events"][0]
    tags = subprocess.run([peers.pprof(), "-tags", tmp_path / "x.pb.gz"], capture_output=True, text=True, check=True).stdout
    assert {"app", "executor", "stage", "task", "sql", "thread"} <= set(re.findall(r"^ *(\w+): Total", tags, re.M)) and run.id in tags
    heavy = max(event["stages"], key=lambda s: s["weight"])
    for key, value, want in (("stage", f"{heavy['stage']}.{heavy['attempt']}", heavy["weight"]),
                             ("sql", str(heavy["sql"]), sum(s["weight"] for s in event["stages"] if s.get("sql") == heavy["sql"]))):
        top = subprocess.run([peers.pprof(), "-top", "-unit=ns", "-nodecount=1000000", "-nodefraction=0", f"-tagfocus={key}=^{re.escape(value)}$",
                              tmp_path / "x.pb.gz"], capture_output=True, text=True, check=True).stdout
        assert int(re.search(r"accounting for (\d+)ns", top)[1]) == want, top[:500]


def names(run):
    return {f"{e['Stage Info']['Stage ID']}.{e['Stage Info']['Stage Attempt ID']}": e["Stage Info"]["Stage Name"]
            for e in run.log.events() if e["Event"] == "SparkListenerStageCompleted"}


def stages_of(sparkprof, run, out, *args):
    r = sparkprof("report", run.file, *args, "-f", out)
    assert r.returncode == 0, r.stderr
    return json.loads(out.read_text())["events"][0]["stages"]


def test_names_from_the_drivers_ui(run, sparkprof, tmp_path):
    """The driver in local mode has its UI, at the first port from 4040 on that is free; the cluster has none."""
    rows, truth = stages_of(sparkprof, run, tmp_path / "x.json"), names(run)
    named = {f"{r['stage']}.{r['attempt']}": r for r in rows if "name" in r or "job" in r or "sql_text" in r}
    if not run.local:
        assert not named
        return
    jobs = {}
    for e in run.log.events():
        if e["Event"] == "SparkListenerJobStart":
            for s in e["Stage IDs"]:
                jobs.setdefault(s, e["Job ID"])
    assert set(named) == {f"{r['stage']}.{r['attempt']}" for r in rows}
    for key, r in named.items():
        assert (r["name"], r["job"], r["sql_text"]) == (truth[key], jobs[r["stage"]], f"the {r['job_group']} of the test")


def test_names_from_the_event_log(run, sparkprof, tmp_path):
    truth = names(run)
    [log] = (run.log.dir / "events").iterdir()
    assert log.is_dir() == (run.event == "cpu")
    for path in [log] if log.is_dir() else [log, *(run.log.dir / f"packed.{c}" for c in ("zstd", "lz4", "snappy"))]:
        rows = stages_of(sparkprof, run, tmp_path / "x.json", "--event-log", path)
        assert rows and all(s["name"] == truth[f"{s['stage']}.{s['attempt']}"] and s["job"] >= 0 for s in rows), path
    r = sparkprof("report", run.file, "--event-log", run.file, "-f", tmp_path / "x.json")
    assert r.returncode != 0 and "not an event log of Spark" in r.stderr


def test_wall_on_an_executor_shows_tasks_unless_told_otherwise(run, sparkprof, tmp_path):
    roots = {}
    for option in ("", "--all-threads", "--tasks-only"):
        sparkprof("report", run.file, *filter(None, [option]), "--by", "task", "-f", tmp_path / "x.collapsed")
        roots[option] = {line.split(";")[0] for line in stacks(tmp_path / "x.collapsed")}
    assert "[no task]" in roots["--all-threads"] and "[no task]" not in roots["--tasks-only"]
    assert roots[""] == roots["--tasks-only" if run.event == "wall" else "--all-threads"]
    assert all(re.fullmatch(r"\[task \d+\.\d TID \d+\]", x) for x in roots["--tasks-only"])


def test_stop_counts_what_the_recording_has(run, sparkprof, tmp_path):
    """A recording is whole, so the number of its samples is that of all threads."""
    r = sparkprof("report", run.file, "--all-threads", "-f", tmp_path / "x.collapsed")
    told, whole = (int(re.search(r"([\d,]+) samples, ", x)[1].replace(",", "")) for x in (run.said, r.stderr))
    assert abs(told - whole) <= 1 and "outside" not in run.said, (run.said, r.stderr)


def test_what_a_drivers_threads_do(run, sparkprof, tmp_path):
    """In local mode the driver plans its queries in the JVM that is recorded."""
    sparkprof("report", run.file, "--by", "stage", "--all-threads", "-f", tmp_path / "x.collapsed")
    roots = {line.split(";")[0] for line in stacks(tmp_path / "x.collapsed")}
    assert ({"[analysis]", "[planning]", "[codegen]", "[scheduler]"} <= roots) == run.local, roots


def test_application_and_executor(run, sparkprof, tmp_path):
    for by, root in (("app", f"[app {run.id}]"), ("executor", "[executor 0]" if run.event == "wall" else "[driver]")):
        sparkprof("report", run.file, "--by", by, "-f", tmp_path / "x.collapsed")
        assert {line.split(";")[0] for line in stacks(tmp_path / "x.collapsed")} == {root}
