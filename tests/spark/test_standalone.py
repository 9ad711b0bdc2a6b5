"""Spark's own cluster manager, with executors on two hosts: attempts that fail, are killed and run twice at once; a streaming
query; threads that feed other programs; and the driver's threads for broadcasts, subqueries and a client of Spark Connect."""
import collections
import json
import re
import subprocess
import urllib.request

import pytest

from kit import parts, recording, spark, stages, yarn
from kit.hosts import here
from kit.parts import SPARKPROF

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


def call(*args):
    r = subprocess.run([str(SPARKPROF), *map(str, args)], capture_output=True, text=True, timeout=120)
    assert r.returncode == 0, r.stderr
    return r


class Run:
    def __init__(self, tmp):
        self.log = stages.Logging(tmp)
        ui, connect = yarn.free_ports(2)
        conf = self.log.conf(**{"spark.speculation": "true", "spark.speculation.interval": "100ms", "spark.speculation.quantile": "0.5",
                                "spark.speculation.multiplier": "3", "spark.speculation.minTaskRuntime": "2s",
                                "spark.executor.cores": "2", "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
                                "spark.ui.enabled": "true", "spark.ui.port": ui, "spark.connect.grpc.binding.port": connect})
        env = {"PYTHONPATH": f"{parts.connect()}:{parts.pandas()}"}
        with spark.Standalone() as cluster, spark.App(master=cluster.url, job="attempts.py", conf=conf, jvm=self.log.jvm(), timeout=200,
                                                      env=env) as app:
            self.id = app.id
            pids = [*cluster.executors(app.id), app.driver]
            self.ps = {j["pid"]: j for j in json.loads(call("ps", "--json").stdout) if j["pid"] in pids}
            self.files = [tmp / f"{n}.jfr" for n in ("0", "1", "driver")]
            urllib.request.urlopen(f"http://127.0.0.1:{ui}/api/v1/applications/{app.id}/stages", timeout=100).read()  # slow at first
            self.dry_runs = [call("ps", "--via", "ssh", "--dry-run", "--driver-ui", f"http://127.0.0.1:{ui}{end}").stdout for end in ("", "/")]
            # The first executor finds the driver's UI by itself, the second is told of it, and the driver's own is not asked for.
            told = [], [f"--driver-ui=http://localhost:{ui}"], ["--driver-ui=none"]
            for pid, file, words in zip(pids, self.files, told):
                call("start", "--attach-timeout=60s", "-e", "wall", "-i", "10ms", *words, "-f", file, pid)
            app.proc.stdin.write(b"go\n")
            app.proc.stdin.flush()
            while b"done" not in app.text and app.proc.poll() is None:
                app.text += app.proc.stdout.read() or b""
            for pid in pids:
                call("stop", "--attach-timeout=60s", pid)
            app.proc.stdin.close()
            app.proc.wait(60)
            assert b"done" in app.text, app.stderr()[-3000:]
            self.query = re.search(r"query (\S+)", app.text.decode())[1]

    def ends(self):
        return {e["Task Info"]["Task ID"]: e for e in self.log.events() if e["Event"] == "SparkListenerTaskEnd"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("standalone"))


def test_a_master_names_the_workers_that_run_an_application(tmp_path):
    """Both do; of one that nobody knows, that is said. For ssh stands this host: it finds the executors of both workers on each."""
    def by_master(*words, **more):
        return subprocess.run([str(SPARKPROF), *words[:1], "--via", "ssh", "--master", cluster.ui, *words[1:]], capture_output=True, text=True, timeout=300, **more)

    with spark.Standalone() as cluster, spark.App(master=cluster.url, timeout=400) as app:
        for r in by_master("ps", "--dry-run"), by_master("stack", "--dry-run", app.id):
            assert sorted(re.findall(r"^ssh .* -- (\S+) \(this program", r.stdout, re.M)) == ["127.0.0.1", "127.0.0.2"], r
        r = by_master("stack", "--dry-run", "app-19700101000000-0000")
        assert r.returncode == 3 and "no worker of it has an executor of app-19700101000000-0000" in r.stderr, r
        r = by_master("stack", "--attach-timeout", "5m", "--executors", "1", app.id, env=here(tmp_path))
        assert set(re.findall(r"^== (127\.0\.0\.[12]), pid \d+, executor 1$", r.stdout, re.M)) == {"127.0.0.1", "127.0.0.2"}, r


def test_ps_names_executors_of_a_standalone_cluster(run):
    assert sorted((j["role"], j["executor_id"]) for j in run.ps.values() if j["role"] == "executor") == [("executor", "0"), ("executor", "1")]
    assert all(j["app_id"] == run.id for j in run.ps.values() if j["role"] == "executor")


def test_via_finds_the_hosts_by_the_drivers_ui(run):
    """Two executors and the driver on this host: each host once."""
    hosts = [re.findall(r"^ssh .* -- (\S+) \(this program", text, re.M) for text in run.dry_runs]
    assert hosts[0] == hosts[1] and len(hosts[0]) == len(set(hosts[0])) >= 1, run.dry_runs
    assert all(re.fullmatch(r"[\w.-]+", h) for h in hosts[0]), hosts


def test_attempts_that_fail_are_killed_and_run_twice_have_their_spans(run):
    found = {}
    for executor, file in enumerate(run.files[:2]):
        r = recording.Recording(file)
        for begin, text in zip(r.times["sparkprof.Task"], r.others["sparkprof.Task"]):
            f = dict(re.findall(r"(\w+) = ([-\w]+)", text))
            if f["helper"] == "false":
                found[int(f["taskId"])] = (str(executor), int(f["stage"]), int(f["index"]), int(f["attempt"]), begin, begin + int(f["ns"]))
    ran = {t: e for t, e in run.ends().items() if t >= min(found)}
    assert set(found) == set(ran)
    kinds = collections.Counter()
    for tid, (executor, stage, index, attempt, begin, end) in found.items():
        info = ran[tid]["Task Info"]
        assert (executor, stage, index, attempt) == (info["Executor ID"], ran[tid]["Stage ID"], info["Index"], info["Attempt"])
        # The driver's clock is this one; it hears of both with a message.
        assert info["Launch Time"] - 5 <= begin / 1e6 and end / 1e6 <= info["Finish Time"] + 2000
        kinds.update(k for k in ("Failed", "Killed", "Speculative") if info[k])
    assert kinds["Failed"] >= 1 and kinds["Killed"] >= 1 and kinds["Speculative"] >= 1, kinds


@pytest.mark.parametrize("group, thread", [("pipe", "stdin writer for "), ("script", "WriterThread-Feed ")])
def test_threads_that_feed_another_program_work_for_its_task(run, tmp_path, group, thread):
    stage = {str(e["Stage ID"]) for e in run.log.events() if e["Event"] == "SparkListenerTaskEnd" and e["Stage ID"] in {
        s for j in run.log.events() if j["Event"] == "SparkListenerJobStart" and j["Properties"].get("spark.jobGroup.id") == group for s in j["Stage IDs"]}}
    call("report", *run.files[:2], "--by", "stage", "--all-threads", "-t", "-f", tmp_path / "x.collapsed")
    roots = collections.Counter()
    for line in (tmp_path / "x.collapsed").read_text().splitlines():
        frames = line.split(";")
        if len(frames) > 1 and thread in frames[1]:
            roots[frames[0]] += int(line.rsplit(" ", 1)[1])
    mine = sum(n for r, n in roots.items() if (m := re.match(r"\[stage (\d+)\.0\]", r)) and m[1] in stage)
    assert mine > 0.97 * sum(roots.values()) > 0, (roots, stage)


def test_samples_of_one_attempt_alone(run, tmp_path):
    """The attempt that was killed waited for its Python worker all the time."""
    infos = [e["Task Info"] for e in run.ends().values()]
    info = max((i for i in infos if i["Killed"]), key=lambda i: i["Finish Time"] - i["Launch Time"])
    tid = info["Task ID"]
    call("report", *run.files[:2], "--task", tid, "--by", "task", "-f", tmp_path / "x.collapsed")
    lines = [x for x in (tmp_path / "x.collapsed").read_text().splitlines() if not x.startswith("[lost")]
    assert lines and all(x.startswith(f"[task {info['Index']}.{info['Attempt']} TID {tid}];") for x in lines)
    call("report", *run.files[:2], "--task", tid, "--by", "wait", "-f", tmp_path / "x.collapsed")
    spent = collections.Counter()
    for line in (tmp_path / "x.collapsed").read_text().splitlines():
        spent[line.split(";")[0]] += int(line.rsplit(" ", 1)[1])
    assert spent.most_common(1)[0][0] == "[JVM waits for Python]", spent


@pytest.mark.parametrize("executor", [0, 1], ids=["found", "told"])
def test_names_of_a_real_driver(run, tmp_path, executor):
    """Every stage whose task ran for a while has the driver's name for it."""
    names = {(e["Stage Info"]["Stage ID"], e["Stage Info"]["Stage Attempt ID"]): e["Stage Info"]["Stage Name"] for e in run.log.events()
             if e["Event"] == "SparkListenerStageCompleted"}
    call("report", run.files[executor], "-f", tmp_path / "x.json")
    rows = json.loads((tmp_path / "x.json").read_text())["events"][0]["stages"]
    named = [r for r in rows if "name" in r]
    assert all(r["name"] == names[r["stage"], r["attempt"]] and r["job"] >= 0 for r in named)
    assert len(named) > 5 and {r["stage"] for r in rows if r["run_ns"] > 1e9} <= {r["stage"] for r in named}, (rows, named)


def test_stages_of_a_streaming_query_tell_it(run, tmp_path):
    call("report", *run.files[:2], "-f", tmp_path / "x.json")
    rows = json.loads((tmp_path / "x.json").read_text())["events"][0]["stages"]
    mine = [r for r in rows if r.get("query") == run.query]
    assert mine and {r["batch"] for r in mine} >= {"1", "2"}, rows
    assert all("query" not in r for r in rows if r.get("job_group") in ("attempts", "join"))


def test_a_table_of_what_the_driver_worked_on(run, tmp_path):
    """Threads that wait for work are left out; test_driver.py compares the seconds."""
    call("report", run.files[2], "-f", tmp_path / "x.json", "-f", tmp_path / "x.txt")
    driver = json.loads((tmp_path / "x.json").read_text())["events"][0]["driver"]
    times = {p["phase"]: p["query_ns"] + p["beside_ns"] for p in driver["phases"]}
    assert {"analysis", "planning", "job", "scheduler", "broadcast"} <= set(times), times
    assert 0 <= driver["jobless_ns"] <= driver["covered_ns"] and all(g["took_ns"] > 0 for g in driver["gaps"])
    text = (tmp_path / "x.txt").read_text()
    assert "What the driver worked on" in text and "waiting for jobs" in text and "ThreadPoolExecutor.getTask" not in text


def test_what_the_drivers_threads_do(run, tmp_path):
    call("report", run.files[2], "--by", "stage", "--all-threads", "-f", tmp_path / "x.collapsed")
    roots = {line.split(";")[0] for line in (tmp_path / "x.collapsed").read_text().splitlines()}
    assert any(x.startswith(f"[stream ticks {run.query}") for x in roots), roots
    assert any(re.match(r"\[connect [-0-9a-f]{36}, (analysis|planning|optimisation|codegen|job)\]", x) for x in roots), roots
    for label in ("broadcast", "subquery", "scheduler", "analysis", "planning"):
        assert any(re.match(rf"\[.*\b{label}\b.*\]$", x) for x in roots), (label, roots)
