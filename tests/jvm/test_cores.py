"""What is CPU and what waits for a core, of threads whose CPU time the JVM itself measured; with a CPU limit as containers have it;
and of threads that spin for a monitor."""
import collections
import json
import os
import pathlib
import subprocess

import pytest

from kit import spinners
from kit.parts import SPARKPROF
from kit.traces import wait_until
from test_engines import record

CORE, SPIN = "[waits for a core]", "[CPU, spinning for a lock]"


def report(file, *options):
    r = subprocess.run([str(SPARKPROF), "report", "-q", "-f", "-", *options, str(file)], capture_output=True, text=True, timeout=200)
    assert r.returncode == 0, r.stderr
    return r.stdout


def by_wait(file, thread):
    """ns by what time was spent on."""
    sums = collections.Counter()
    for line in report(file, "-o", "collapsed", "--total", "--by", "wait", "--thread", thread).splitlines():
        stack, _, ns = line.rpartition(" ")
        sums[stack.split(";")[0]] += int(ns)
    return sums


def shares_are_true(t, file, n):
    for thread, spun in spinners.said(t, n).items():
        got = by_wait(file, thread)
        assert spun.ran_so(got["[CPU]"]) and spun.waited_so(got[CORE]), (thread, got)


@pytest.mark.parametrize("n", [4, *(pytest.param(n, marks=pytest.mark.long) for n in (2, 8))])
def test_cpu_has_no_wait_for_a_core_in_it(target, tmp_path, n):
    t, _ = record(target, tmp_path, "Spinners", 3, n, event="wall", interval="10ms")
    shares_are_true(t, tmp_path / "x.jfr", n)
    assert "CPU limit" not in report(tmp_path / "x.jfr", "-o", "text")


@pytest.fixture
def half_a_core():
    """A CPU cgroup that may run 50 of 100 ms, and gets them before others, v1 or v2; words before a command that put it there, and its directory."""
    base = next((p for p in map(pathlib.Path, ("/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"))
                 if (p / "cpu.cfs_quota_us").exists() or (p.name == "cgroup" and (p / "cgroup.controllers").exists())), None)
    group = base and base / f"sparkprof-cpu-{os.getpid()}"
    try:
        group.mkdir()
        if (group / "cpu.max").exists():
            (group / "cpu.max").write_text("50000 100000")
            (group / "cpu.weight").write_text("10000")
        else:
            (group / "cpu.cfs_period_us").write_text("100000")
            (group / "cpu.cfs_quota_us").write_text("50000")
            (group / "cpu.shares").write_text("262144")
    except (OSError, AttributeError):
        pytest.skip("no CPU cgroup can be made here")
    yield ["sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$@"', "sh"], group
    for pid in (group / "cgroup.procs").read_text().split():
        (base / "cgroup.procs").write_text(pid)
    group.rmdir()


def test_a_cpu_limit_is_told_with_how_often_it_was_used_up(target, tmp_path, half_a_core):
    wrap, group = half_a_core
    t, r = record(target, tmp_path, "Spinners", 4, 2, wrap=wrap, event="wall", interval="10ms")
    shares_are_true(t, tmp_path / "x.jfr", 2)
    end = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    limit = json.loads(report(tmp_path / "x.jfr", "-o", "json"))["cpu_limit"]
    assert 10 < limit["throttled"] <= limit["periods"] <= int(end["nr_periods"])
    assert limit["throttled"] <= int(end["nr_throttled"])
    time = int(end["throttled_time"]) if "throttled_time" in end else int(end["throttled_usec"]) * 1000
    assert 0 < limit["throttled_ns"] <= time
    assert f"used up its CPU limit in {limit['throttled']} of {limit['periods']} periods" in " ".join(
        report(tmp_path / "x.jfr", "-o", "text").split())
    assert "jdk.ContainerCPUThrottling" in r.others or any("Throttling" in k for k in r.times)


def test_spinning_for_a_monitor_is_cpu_with_a_name(target, sparkprof, tmp_path):
    """Who spins, and how often, the JVM decides by how it went before; without cores of their own threads hardly do: storm by storm."""
    t, file, storms = target("LockStorm"), tmp_path / "x.jfr", 0

    def spun():
        nonlocal storms
        assert sparkprof("start", "--attach-timeout=60s", "-e", "wall", "-i", "5ms", "-f", file, t.pid).returncode == 0
        storms += 1
        t.send("2")
        wait_until(lambda: t.stdout().count("blocked ") == storms)
        assert sparkprof("stop", t.pid).returncode == 0
        sums = by_wait(file, "*")
        print(storms, sums)
        return sums[SPIN] > 0 and sums["[lock]"] > 0
    wait_until(spun, 200)
    stacks = report(file, "-o", "collapsed", "--by", "wait").splitlines()
    assert all("LockStorm" in line or "onitor" in line for line in stacks if line.startswith(SPIN)), stacks
