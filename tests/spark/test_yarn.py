"""An executor that a real YARN started: found by its names, entered, left alone."""
import json
import os

import pytest

from kit import yarn


@pytest.fixture(scope="module")
def hadoop():
    with yarn.Cluster() as c:
        yield c


@pytest.fixture(scope="module")
def app(hadoop):
    with hadoop.app(name="words of YARN") as a:
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
