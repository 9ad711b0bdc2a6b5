"""sparkprof ps on a real Spark application: who is who. Its executors are recorded from their start by an agent whose path has spaces."""
import json
import shutil

import pytest

from kit import recording, spark
from kit.traces import wait_until


pytestmark = pytest.mark.long  # Sparks of their own; test_yarn.py asks who is who, too


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("places") / "a b \u00fcml\u00e4ut"


@pytest.fixture(scope="module")
def spark_app(place):
    """Spark divides options at spaces, but not between double quotes."""
    place.mkdir()
    agent = shutil.copy(recording.AGENT, place)
    with spark.App(master="local-cluster[2,1,1024]", args=(5_000_000, 4, 1), jvm=f'"-agentpath:{agent}=start,event=wall,interval=50ms,file={place}/%p.jfr"') as app:
        yield app


@pytest.fixture(scope="module")
def local_app():
    with spark.App(master="local[1]", args=(1_000_000, 1, 5), name="räum auf \"x\"", jdk=25) as app:
        yield app


def listed(sparkprof):
    r = sparkprof("ps", "--json")
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)


def test_executors_and_driver_of_a_cluster(sparkprof, spark_app):
    jvms = {j["pid"]: j for j in listed(sparkprof)}
    pids = spark_app.executors()
    assert len(pids) == 2
    for pid in pids:
        j = jvms[pid]
        assert (j["role"], j["app_id"], j["app_name"]) == ("executor", spark_app.id, "sparkprof test")
        assert j["executor_id"] == spark_app.executor_id(pid)
        assert (j["spark_version"], j["scala_version"], j["jdk"]) == ("4.3.0", "2.13", 17)
        assert j["attachable"] == "yes" and j["hostname"]
    j = jvms[spark_app.driver]
    assert (j["role"], j["executor_id"], j["app_id"]) == ("driver", "driver", spark_app.id)
    assert j["spark_version"] == "4.3.0"


def test_spark_comes_first(sparkprof, spark_app, target):
    t = target("Idle")
    pids = [j["pid"] for j in listed(sparkprof)]
    assert pids.index(t.pid) > max(pids.index(p) for p in [*spark_app.executors(), spark_app.driver])
    lines = sparkprof("ps").stdout.splitlines()
    assert lines[0].split()[:3] == ["PID", "ROLE", "ID"]
    assert max(map(len, lines)) <= 120
    assert any(f" executor  {spark_app.executor_id(p)} " in line for p in spark_app.executors() for line in lines)


def test_local_mode_driver(sparkprof, local_app):
    j = next(j for j in listed(sparkprof) if j["pid"] == local_app.driver)
    assert (j["role"], j["app_name"], j["spark_version"], j["jdk"]) == ("driver", 'räum auf "x"', "4.3.0", 25)


def test_an_agent_whose_path_has_spaces_records_executors(sparkprof, spark_app, place):
    files = [place / f"{pid}.jfr" for pid in spark_app.executors()]
    assert len(files) == 2
    for file in files:
        wait_until(lambda: "org/apache/spark/executor/Executor$TaskRunner.run" in sparkprof("report", "-o", "collapsed", file).stdout)
