"""An executor that a real YARN started: found by its names, entered, left alone."""
import json
import os
import re

import pytest

from kit import recording, yarn
from kit.traces import wait_until


@pytest.fixture(scope="module")
def hadoop():
    with yarn.Cluster() as c:
        yield c


@pytest.fixture(scope="module")
def app(hadoop):
    agent = f"-agentpath:{recording.AGENT}=start,event=wall,interval=20ms,dfsinterval=1,file=hdfs:///profiles"
    with hadoop.app(name="words of YARN", conf={"spark.driver.extraJavaOptions": agent}, timeout=280) as a:
        yield a


@pytest.fixture
def executor(hadoop, app):
    [pid] = hadoop.executors(app.id)
    return pid


def rows(sparkprof):
    r = sparkprof("ps", "--json")
    assert r.returncode == 0, r.stderr
    return {j["pid"]: j for j in json.loads(r.stdout)}


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
    assert not [f for f in cwd if "sparkprof" in f or f.startswith(".attach_pid")]


def test_list_in_the_executor(executor, sparkprof):
    r = sparkprof("list", executor)
    assert r.returncode == 0 and "wall" in r.stdout, r.stderr


def test_stages_and_identity_with_no_driver_to_ask(app, executor, sparkprof, tmp_path):
    """The driver's UI is off: what is told of stages comes from the tasks' own properties."""
    files = [tmp_path / f"x.{ext}" for ext in ("collapsed", "json", "jfr")]
    r = sparkprof("-e", "wall", "-d", 4, "--by", "stage", *[w for f in files for w in ("-f", f)], executor, timeout=120)
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


def test_the_driver_records_to_one_growing_file_in_hdfs(hadoop, app, sparkprof, tmp_path):
    there = f"/profiles/{app.id}"
    wait_until(lambda: hadoop.ls(there), 120)
    size = hadoop.ls(there)["profile-driver.jfr"]
    wait_until(lambda: hadoop.ls(there)["profile-driver.jfr"] > size, 120)
    assert hadoop.mode(there) == "770" and hadoop.mode(f"{there}/profile-driver.jfr") == "660"
    hadoop.fetch(there, tmp_path / "got")
    assert [f.name for f in (tmp_path / "got").iterdir()] == ["profile-driver.jfr"]
    r = sparkprof("report", "--by", "executor", "-f", tmp_path / "x.collapsed", tmp_path / "got")
    assert r.returncode == 0 and "damaged" not in r.stderr, r.stderr
    assert {x.split(";")[0] for x in (tmp_path / "x.collapsed").read_text().splitlines()} == {"[driver]"}
    assert "sparkprof:" not in app.stderr()
