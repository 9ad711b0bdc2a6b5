"""An executor whose two tasks are in one Python function since long ago: what `stack` shows of it, and that all that its workers do belongs to their
tasks from the first sample on."""
import collections
import json
import subprocess

import pytest

from kit import spark
from kit.parts import SPARKPROF
from kit.traces import wait_until


def call(*args):
    r = subprocess.run([SPARKPROF, *map(str, args)], capture_output=True, text=True, timeout=300)
    assert r.returncode == 0, r.stderr
    return r.stdout


@pytest.fixture(scope="module")
def app():
    with spark.App(job="spinning.py") as app:
        yield app


@pytest.fixture(scope="module")
def pid(app):
    return app.executors()[0]


@pytest.mark.parametrize("event", ["wall", "cpu"])
def test_a_busy_worker_has_its_task_from_the_first_second_on(pid, tmp_path, event):
    times = collections.Counter()

    def both_seen():
        """On a busy machine one may not have a core for three seconds."""
        call("-q", "--attach-timeout=60s", "-e", event, "-i", "20ms", "-d", "3", "-f", tmp_path / "x.jfr", pid)
        times.clear()
        for line in call("report", "-q", "--total", "--all-threads", "--by", "task", "-o", "collapsed", tmp_path / "x.jfr").splitlines():
            stack, _, ns = line.rpartition(" ")
            if "spin (spinning.py)" in stack:
                times[stack.split(";")[0]] += int(ns) / 1e9
        assert "[no task]" not in times, times
        return len(times) == 2
    wait_until(both_seen, 300)


def test_stack_shows_tasks_and_what_works_for_them(pid):
    out = call("stack", "--attach-timeout=60s", pid)
    threads = [line for line in out.splitlines() if line.startswith("  thread ")]
    assert len([t for t in threads if "Executor task launch worker for task" in t]) == 2, out
    assert all("Executor task launch worker" in t or ", for TID " in t for t in threads), threads
    assert out.count("spin (") == 2 and "work for no task: --all shows them" in out.splitlines()[0], out
    assert "python-daemon" not in out


def test_stack_of_all_threads(pid):
    out = call("stack", "--attach-timeout=60s", "--all", pid)
    assert "python-daemon-" in out and '"dispatcher-' in out and out.count("spin (") == 2, out
    assert "--all" not in out.splitlines()[0]


def test_stack_of_threads_by_name(pid):
    out = call("stack", "--attach-timeout=60s", "--thread", "dispatcher-*", pid)
    threads = [line for line in out.splitlines() if line.startswith("  thread ")]
    assert threads and all('"dispatcher-' in t for t in threads), out


def test_stack_as_json(pid):
    out = json.loads(call("stack", "--attach-timeout=60s", "--json", pid))
    assert out["pid"] == pid and out["role"] == "executor" and out["left_out"] > 5
    own = [t for t in out["threads"] if "task" in t and not t["helper"]]
    assert {t["task"] for t in own} == {0, 1} and all(t["frames"] and t["state"] for t in own), out
    workers = [w for t in own for w in t["python"]]
    assert {w["task"] for w in workers} == {0, 1}
    assert all(f["line"] > 0 and f["file"].endswith("spinning.py") for w in workers for t in w["threads"] for f in t["frames"] if f["name"] == "spin")
    assert out["python"] == []
    everything = json.loads(call("stack", "--attach-timeout=60s", "--all", "--json", pid))
    assert everything["left_out"] == 0 and len(everything["threads"]) > len(out["threads"]) and everything["python"]


def test_stack_of_a_driver_leaves_out_idle_pools(app):
    out = json.loads(call("stack", "--attach-timeout=60s", "--json", app.driver))
    assert out["left_out"] > 20 and any("runJob" in f["name"] for t in out["threads"] for f in t["frames"]), out
    assert not any("Compiler" in t["name"] or t["name"].startswith(("G1 ", "GC ", "VM Thread")) for t in out["threads"]), out


def test_stack_of_a_driver_has_its_own_python_and_no_executors(app):
    out = call("stack", "--attach-timeout=60s", app.driver)
    assert f"python-driver-{app.proc.pid}, Python 3." in out and out.count("spinning.py:") >= 1, out
    assert "python-worker-" not in out and "python-daemon-" not in out, out
