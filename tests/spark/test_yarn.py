"""Executors that a real YARN started: recorded from their start into HDFS, then found by their names, entered, killed."""
import json
import os
import pathlib
import re
import signal

import pytest

from kit import recording, yarn
from kit.recording import Recording, cover
from kit.traces import wait_until

WORDS, FILE = "start,event=cpu,interval=10ms,wall=20ms,dfsinterval=1", "file=hdfs:///profiles"


@pytest.fixture(scope="module")
def hadoop():
    """What is said once for all of its containers: words in the NodeManager's environment. They load nothing."""
    with yarn.Cluster(node_env={"SPARKPROF_OPTS": WORDS}) as c:
        yield c


@pytest.fixture(scope="module")
def app(hadoop):
    """The library goes to executors as a file of the application, and so do the words that are of this one."""
    conf = {"spark.driver.extraJavaOptions": f"-agentpath:{recording.AGENT}={WORDS},{FILE}",
            "spark.yarn.dist.files": recording.AGENT}
    with hadoop.app(name="words of YARN", conf=conf, jvm=f"-agentpath:./{recording.AGENT.name}={FILE}", args=(20_000_000, 8, 0.5), timeout=500) as a:
        yield a


@pytest.fixture
def executor(hadoop, app):
    [pid] = hadoop.executors(app.id)
    return pid


def rows(sparkprof):
    r = sparkprof("ps", "--json")
    assert r.returncode == 0, r.stderr
    return {j["pid"]: j for j in json.loads(r.stdout)}


def waiting(pid):
    """Pieces of a recording that wait in a container."""
    return list(pathlib.Path(os.readlink(f"/proc/{pid}/cwd")).glob("sparkprof-*.jfr"))


def in_all(r):
    """Samples of cpu and intervals of wall, by the events and by what the agent counted."""
    begun = {}
    for line in r.others["sparkprof.Counts"]:
        words = line.replace("=", " ").split()
        since = line[line.index("sinceTime"):]
        begun[since] = max(begun.get(since, 0), int(words[words.index("samples") + 1].replace(",", "")))
    return len(r.cpu()) + sum(s.span for s in r.wall()) // 20_000_000, sum(begun.values()), len(begun)


def sending(hadoop, app, number):
    """An executor whose recording has come to HDFS more than once: its pid and its directory."""
    name, sizes = f"profile-exec-{number}.jfr", set()

    def grown():
        sizes.add(hadoop.ls(f"/profiles/{app.id}").get(name, 0))
        return len(sizes) > 3
    wait_until(grown, 240)
    [pid] = hadoop.executors(app.id)
    wait_until(lambda: len(waiting(pid)) <= 1, 120)
    return pid, pathlib.Path(os.readlink(f"/proc/{pid}/cwd"))


def test_driver_and_executor_record_to_growing_files_in_hdfs(hadoop, app, sparkprof, tmp_path):
    there, names = f"/profiles/{app.id}", {"profile-driver.jfr", "profile-exec-1.jfr"}
    wait_until(lambda: set(hadoop.ls(there)) == names, 240)
    sizes = hadoop.ls(there)
    wait_until(lambda: all(n > sizes[f] for f, n in hadoop.ls(there).items()), 120)
    assert hadoop.mode(there) == "770" and {hadoop.mode(f"{there}/{f}") for f in names} == {"660"}
    hadoop.fetch(there, tmp_path / "got")
    r = sparkprof("report", "-e", "cpu", "--by", "executor", "-f", tmp_path / "x.collapsed", tmp_path / "got")
    assert r.returncode == 0 and "damaged" not in r.stderr, r.stderr
    assert {x.split(";")[0] for x in (tmp_path / "x.collapsed").read_text().splitlines()} == {"[driver]", "[executor 1]"}
    assert "sparkprof:" not in app.stderr()


def test_launchers_and_a_recording_that_goes_to_hdfs(hadoop, app, executor, sparkprof, tmp_path):
    """One recording, whoever asks; at its stop nothing waits here, nothing is missing there, and another can begin."""
    sending(hadoop, app, 1)
    r = sparkprof("-d", 1, "-f", tmp_path / "x.jfr", executor)
    assert r.returncode == 3 and "the JVM's own option -agentpath" in r.stderr, r.stderr
    r = sparkprof("dump", "-f", tmp_path / "dump.txt", executor)
    assert r.returncode == 0 and "Samples" in (tmp_path / "dump.txt").read_text(), r.stderr
    [state] = json.loads(sparkprof("status", "--json", executor).stdout)
    assert state["recording"] and state["samples"] > 0 and "dfsinterval=1" in state["options"]
    r = sparkprof("stop", "-f", tmp_path / "last.txt", executor)
    assert r.returncode == 0 and not waiting(executor), r.stderr
    hadoop.fetch(f"/profiles/{app.id}", tmp_path / "got")
    r = Recording(tmp_path / "got/profile-exec-1.jfr")
    events, counted, pieces = in_all(r)
    assert abs(events - counted) <= 1 and counted >= state["samples"] and pieces > 3, (events, counted, state, pieces)
    assert cover(r) > 0.97
    frames = {f for s in r.samples for f in s.stack}
    assert any("VMThread" in f for f in frames)
    libjvm = [f for f in frames if f.startswith("libjvm.so.")]
    unnamed = [f for f in libjvm if f.startswith("libjvm.so.0x")]  # stubs of its linkage table have no names
    assert len(unnamed) < 0.1 * len(libjvm), (unnamed, len(libjvm))
    r = sparkprof("start", "-e", "wall", "-f", tmp_path / "next.jfr", executor)
    assert r.returncode == 0, r.stderr
    wait_until(lambda: json.loads(sparkprof("status", "--json", executor).stdout)[0]["samples"] > 0)
    assert sparkprof("stop", executor).returncode == 0 and Recording(tmp_path / "next.jfr").wall()


def test_ps_names_application_container_and_executor(app, executor, sparkprof):
    row = rows(sparkprof)[executor]
    assert row["role"] == "executor" and row["app_id"] == app.id
    assert row["app_name"] == "words of YARN"
    assert row["container_id"] == os.path.basename(os.readlink(f"/proc/{executor}/cwd"))
    assert row["executor_id"] == "1" and row["attachable"] == "yes"


def test_ps_takes_no_shell_for_an_executor(app, executor, sparkprof):
    """The NodeManager's `bash -c … YarnCoarseGrainedExecutorBackend` has the same words in its command line."""
    of_app = [j for j in rows(sparkprof).values() if j["app_id"] == app.id and j["role"] == "executor"]
    assert [j["pid"] for j in of_app] == [executor]


def test_ps_names_the_driver_but_not_the_application_master_so(app, sparkprof):
    drivers = [j["pid"] for j in rows(sparkprof).values() if j["role"] == "driver" and j["pid"] == app.driver]
    assert drivers == [app.driver]
    launchers = [j for j in rows(sparkprof).values() if "ExecutorLauncher" in json.dumps(j)]
    assert launchers and all(j["role"] != "driver" for j in launchers)


def test_status_by_pid_and_by_application(app, executor, sparkprof):
    for target in (executor, f"{app.id}/1"):
        r = sparkprof("status", target)
        assert r.returncode == 0, r.stderr
    cwd = os.listdir(f"/proc/{executor}/cwd")
    assert [f for f in cwd if "sparkprof" in f or f.startswith(".attach_pid")] == ["libsparkprof.so"]  # by --files


def test_via_finds_the_hosts_of_an_application(hadoop, app, sparkprof):
    """From the ResourceManager, by its address or by the Hadoop configuration; --dry-run names them and goes to none."""
    without = {k: v for k, v in os.environ.items() if k not in ("HADOOP_CONF_DIR", "YARN_CONF_DIR")}
    for words, env in ((["--rm", f"http://{hadoop.rm_web}/"], without), ([], {**without, "HADOOP_CONF_DIR": str(hadoop.conf)})):
        for action, target in (("status", [app.id]), ("stack", [f"{app.id}/1"]), ("ps", [])):
            r = sparkprof(action, "--via", "ssh", "--dry-run", *words, *target, env=env)
            assert r.returncode == 0 and re.findall(r"^ssh .* -- (\S+) \(this program", r.stdout, re.M) == ["localhost"], r
    r = sparkprof("status", "--via", "ssh", "--dry-run", "--rm", f"http://{hadoop.rm_web}", "application_1_0001")
    assert r.returncode == 3 and "--hosts n1,n2" in r.stderr and r.stderr.count("\n") == 1, r


def test_list_in_the_executor(executor, sparkprof):
    r = sparkprof("list", executor)
    assert r.returncode == 0 and "wall" in r.stdout, r.stderr


def test_stages_and_identity_with_no_driver_to_ask(app, executor, sparkprof, tmp_path):
    """The driver's UI is off: what is told of stages comes from the tasks' own properties."""
    files = [tmp_path / f"x.{ext}" for ext in ("collapsed", "json", "jfr")]
    r = sparkprof("-e", "wall", "-d", 4, "--by", "stage", *[w for f in files for w in ("-f", f)], executor, timeout=300)
    assert r.returncode == 0, r.stderr
    roots = {line.split(";")[0] for line in files[0].read_text().splitlines()}
    assert roots and all(re.fullmatch(r"\[stage \d+\.\d\]", x) for x in roots), roots
    [event] = json.loads(files[1].read_text())["events"]
    rows = event["stages"]
    assert {f"[stage {s['stage']}.{s['attempt']}]" for s in rows} >= roots
    assert all(s["app"] == app.id and s["tasks"] > 0 for s in rows)
    assert any("busy.py" in s.get("call_site", "") and s["sql"] >= 0 for s in rows)
    for by, root in (("app", f"[app {app.id}]"), ("executor", "[executor 1]")):
        r = sparkprof("report", files[2], "--by", by, "-f", files[0])
        assert r.returncode == 0 and {x.split(";")[0] for x in files[0].read_text().splitlines()} == {root}


FOREVER = """from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.sparkContext.setJobGroup("night", "the hashes of the night")
while True:
    spark.range(0, 30_000_000, 1, 8).selectExpr("sum(hash(id) % 1000)").collect()
"""


@pytest.mark.long
@pytest.mark.timeout(600)
def test_cluster_mode_with_no_ui_in_reach(hadoop, sparkprof, tmp_path):
    """The driver is in a container, and YARN gives its UI a port of chance behind the proxy: nobody answers for it. What is told of
    stages comes from the tasks' own properties, for driver and executor are known by their containers."""
    (hadoop.dir / "forever.py").write_text(FOREVER)
    app_id = hadoop.submit(hadoop.dir / "forever.py", "in the cluster")
    wait_until(lambda: hadoop.executors(app_id), 240)
    [pid] = hadoop.executors(app_id)
    found = []

    def recorded():
        """Stages of a recording in which tasks ran for long enough to be asked: they come some time after their executor."""
        r = sparkprof("-e", "wall", "-d", 4, "-f", tmp_path / "x.json", pid, timeout=200)
        assert r.returncode == 0, r.stderr
        found[:] = [s for s in json.loads((tmp_path / "x.json").read_text())["events"][0].get("stages", []) if "job_group" in s]
        return found
    wait_until(recorded, 240)
    for row in found:
        assert row["app"] == app_id and row["sql"] >= 0 and (row["job_group"], row["description"]) == ("night", "the hashes of the night")
        assert not {"name", "job", "sql_text"} & set(row)
    [driver] = [j for j in rows(sparkprof).values() if j["role"] == "driver" and j["app_id"] == app_id]
    assert driver["app_name"] == "in the cluster"
    r = sparkprof("-e", "wall", "-d", 3, "--by", "stage", "--all-threads", "-f", tmp_path / "x.collapsed", driver["pid"], timeout=200)
    assert r.returncode == 0, r.stderr
    assert any(x.startswith(("[scheduler]", "[job]")) for x in (tmp_path / "x.collapsed").read_text().splitlines())


def rest(hadoop, app, number, cwd, pid, tmp_path):
    """After its end: the recording that HDFS has, and the pieces that did not get there."""
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"))
    hadoop.fetch(f"/profiles/{app.id}", tmp_path / f"got-{number}")
    return Recording(tmp_path / f"got-{number}/profile-exec-{number}.jfr"), [Recording(f) for f in cwd.glob("sparkprof-*.jfr")]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_executors_that_are_killed_leave_their_recordings(hadoop, app, executor, tmp_path):
    """Each executor that takes the place of a lost one has a file of its own. kill -9 loses the piece in hand and what is on its way, and
    so does YARN, which waits for a quarter of a second; nothing else is missing. Nothing is lost in the grace of a SIGTERM."""
    os.kill(executor, signal.SIGKILL)
    pid, cwd = sending(hadoop, app, 2)
    os.kill(pid, signal.SIGKILL)
    there, left = rest(hadoop, app, 2, cwd, pid, tmp_path)
    assert 1 <= len(left) <= 3 and cover(there) > 0.97 and cover(there, *left) > 0.97
    pid, cwd = sending(hadoop, app, 3)
    app.tell("spark.sparkContext._jsc.sc().killAndReplaceExecutor('3')")
    there, left = rest(hadoop, app, 3, cwd, pid, tmp_path)  # at its word one more piece is begun, a second or two after ours
    assert len(left) <= 4 and cover(there) > 0.97 and cover(there, *left) > 0.97
    pid, cwd = sending(hadoop, app, 4)
    os.kill(pid, signal.SIGTERM)
    there, left = rest(hadoop, app, 4, cwd, pid, tmp_path)
    events, counted, _ = in_all(there)
    assert not left and abs(events - counted) <= 1
    said = [x for log in (hadoop.dir / "containers" / app.id).glob("*/stderr") for x in log.read_text().splitlines()
            if x.startswith("sparkprof:")]
    assert all("could not be sent" in x for x in said) and len(said) <= 1, said
