"""Older and stricter kernels, by seccomp: what is missing is done in another way, or said."""
import json
import subprocess

import pytest

from kit import deny
from kit.parts import SPARKPROF

NEW = ["openat2", "pidfd_open", "pidfd_send_signal", "process_vm_readv", "memfd_create", "close_range", "clone3", "statx",
       "sched_setattr", "faccessat2", "getrandom", "perf_event_open"]


def launch(rules, *args):
    return subprocess.run([*deny.wrap(*rules), str(SPARKPROF), *map(str, args)], capture_output=True, text=True, timeout=300)


def assert_untouched(t):
    assert t.alive() and t.stdout() == "ready\n" and t.stderr() == ""


@pytest.mark.parametrize("code", ["ENOSYS", "EPERM"])
def test_launcher_without_one_call(target, code):
    """One JVM for all of them: each way in is taken after another."""
    t = target("Idle")
    for name in NEW:
        r = launch([f"{name}={code}"], "status", t.pid)
        assert r.returncode == 0, f"{name}={code}: {r.stderr}"
    assert_untouched(t)


@pytest.mark.parametrize("name", ["openat2", "pidfd_open", "close_range"])
def test_launcher_without_one_call_enters_a_fresh_jvm(target, name):
    t = target("Idle")
    r = launch([f"{name}=ENOSYS"], "status", t.pid)
    assert r.returncode == 0, r.stderr
    assert_untouched(t)


def test_launcher_on_linux_3_10(target):
    t = target("Idle")
    for args in (["status", t.pid], ["ps"], ["list"], ["list", t.pid], ["version"]):
        r = launch(["3.10"], *args)
        assert r.returncode == 0, f"{args}: {r.stderr}"
    assert_untouched(t)


def test_launcher_on_linux_3_10_into_another_user(target):
    t = target("Idle", user=65534, cwd="/")
    r = launch(["3.10"], "status", t.pid)
    assert r.returncode == 0, r.stderr
    assert_untouched(t)


@pytest.mark.parametrize("rule", ["3.10", "perf_event_open=EPERM", "memfd_create=ENOSYS"])
def test_target_on_such_a_kernel(target, sparkprof, rule):
    t = target("Idle", wrap=deny.wrap(rule))
    for args in (["status", t.pid], ["list", t.pid], ["status", t.pid]):
        r = sparkprof(*args)
        assert r.returncode == 0, f"{args}: {r.stderr}"
    assert_untouched(t)


def test_list_says_why_perf_is_not_there():
    r = launch(["perf_event_open=ENOSYS"], "list", "--json")
    assert r.returncode == 0, r.stderr
    [clock] = [row for row in json.loads(r.stdout) if row["event"] == "cpu-clock"]
    assert clock["state"] == "no" and "perf_event_open" in clock["note"], r.stdout
