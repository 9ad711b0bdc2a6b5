"""In and out of a real executor while it works."""
import os
import pathlib
import time

import pytest

from kit import spark


@pytest.fixture(scope="module", params=[17, 25])
def app(request):
    with spark.App(jdk=request.param) as a:
        yield a


def executor(app):
    [pid] = app.executors()
    return pid


def ours(pid):
    """What is ours among threads and descriptors; a working executor has changing ones of its own."""
    def each(what, read):
        for name in os.listdir(f"/proc/{pid}/{what}"):
            try:
                yield read(f"/proc/{pid}/{what}/{name}")
            except OSError:
                pass  # gone meanwhile
    comms = each("task", lambda path: pathlib.Path(path, "comm").read_text())
    return [c for c in comms if "sparkprof" in c], [x for x in each("fd", os.readlink) if "sparkprof" in x]


def left(pid):
    """The same, once the thread that spoke with the launcher has seen it go."""
    end = time.monotonic() + 2
    while ours(pid) != ([], []) and time.monotonic() < end:
        time.sleep(0.05)
    return ours(pid)


def test_status_and_list_by_role(app, sparkprof):
    pid = executor(app)
    for args in (["status", pid], ["status", f"{app.id}/0"], ["list", pid], ["status", pid]):
        r = sparkprof(*args)
        assert r.returncode == 0, f"{args}: {r.stderr}"
    assert left(pid) == ([], [])
    assert executor(app) == pid


def test_the_driver_too(app, sparkprof):
    r = sparkprof("status", app.driver)
    assert r.returncode == 0, r.stderr


@pytest.mark.parametrize("event", ["cpu", "itimer", "wall"])
def test_profile_of_a_working_executor(app, sparkprof, tmp_path, event):
    files = [tmp_path / f"x.{ext}" for ext in ("jfr", "collapsed", "txt", "html")]
    r = sparkprof("-e", event, "-d", 5, *[w for f in files for w in ("-f", f)], "executor", timeout=120)
    assert r.returncode == 0, r.stderr
    assert "org/apache/spark/executor/Executor$TaskRunner.run" in files[1].read_text()
    assert "samples, 0 lost" in r.stderr
    text = files[2].read_text()
    assert "executor 0 of " + app.id in text and "Hot methods" in text
    assert files[3].stat().st_size > 50_000
    assert left(executor(app)) == ([], [])
