"""`stack` names who holds the lock that a thread waits for, and shows him."""
import json
import re

import pytest

from kit.traces import our_threads, wait_until


def java_threads(stack):
    """Of `stack --json`: name of each thread to what it waits for."""
    return {t["name"]: t.get("waits_for") for t in stack["threads"]}


@pytest.mark.parametrize("jdk", [11, 17, 25])
def test_owners_of_monitors_and_locks(target, sparkprof, jdk):
    t = target("Owners", jdk=jdk)
    out = json.loads(sparkprof("stack", "--json", t.pid).stdout)
    waits, tids = java_threads(out), {x["name"]: x["tid"] for x in out["threads"]}
    for waiter, owner, lock in (("wants-monitor", "has-monitor", "java.lang.Object@"), ("has-lock", "has-monitor", "java.lang.Object@"),
                                ("wants-lock", "has-lock", "java.util.concurrent.locks.ReentrantLock$NonfairSync@")):
        assert waits[waiter]["owner"] == owner and waits[waiter]["lock"].startswith(lock), (waiter, waits)
        assert waits[waiter]["owner_tid"] == tids[owner], (waiter, out)
    assert waits["wants-permit"] is None and waits["has-monitor"] is None, waits
    assert not [n for n in tids if n.startswith("sparkprof")], tids
    text = sparkprof("stack", t.pid).stdout
    assert re.search(r'"wants-lock", waits for a lock\n    waits for java\.util\.concurrent\.locks\.ReentrantLock\$NonfairSync@\w+, held by thread \d+ "has-lock"\n', text), text
    named = sparkprof("stack", "--thread", "wants-lock", t.pid).stdout
    assert ": 1 thread\n" in named, named
    assert 'held by thread "has-lock"' in named and "thread " in named and "wants-monitor" not in named, named
    assert t.alive()
    wait_until(lambda: not our_threads(t))


def test_beside_a_recording(target, sparkprof, tmp_path):
    """What another recording sees has the owners too, and no thread of ours in it."""
    t = target("Owners", jdk=17)
    assert sparkprof("start", "-e", "wall", "-i", "10ms", "-f", tmp_path / "x.jfr", t.pid).returncode == 0
    wait_until(lambda: json.loads(sparkprof("status", "--json", t.pid).stdout)[0]["samples"] > 100)
    r = sparkprof("stack", "--json", t.pid)
    waits = java_threads(json.loads(r.stdout))
    assert waits["wants-monitor"]["owner"] == "has-monitor", (waits, r.stderr)
    assert sparkprof("stop", t.pid).returncode == 0
    names = sparkprof("report", "-o", "collapsed", "-t", "--all-threads", tmp_path / "x.jfr").stdout
    assert "has-monitor" in names and "sparkprof-owner" not in names, names
