"""-e lock: every kind of Java lock with its class and time, as the waiting thread itself measured it; idle threads apart."""
import re
import subprocess

import pytest
from kit import parts, peers

QUIET = ["-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading"]
CLASSES = {
    "monitor": "java.lang.Object",
    "reentrant": "java.util.concurrent.locks.ReentrantLock$NonfairSync",
    "readwrite": "java.util.concurrent.locks.ReentrantReadWriteLock$NonfairSync",
    "stamped": "java.util.concurrent.locks.StampedLock",
    "semaphore": "java.util.concurrent.Semaphore$NonfairSync",
    "latch": "java.util.concurrent.CountDownLatch$Sync",
    "condition": "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject",
    "future": "java.util.concurrent.CompletableFuture$Signaller",
}


def stacks(sparkprof, file, event):
    r = sparkprof("report", "-e", event, "--total", "-o", "collapsed", file)
    assert r.returncode == 0, r.stderr
    return [(s.split(";"), int(n)) for s, n in (line.rsplit(" ", 1) for line in r.stdout.splitlines())]


def waited(found, method, leaf=None):
    """Microseconds below a method, in waits for that class."""
    return sum(n for s, n in found if method in s and leaf in (None, s[-1])) / 1000


def rounds(sparkprof, t, file, times=5, *more):
    assert sparkprof("start", "-f", file, *more, t.pid).returncode == 0
    t.send(str(times))
    t.wait_for("done")
    assert sparkprof("stop", t.pid).returncode == 0
    return {k: int(v) for k, v in re.findall(r"^(\w+) (\d+)$", t.stdout(), re.M)}


@pytest.mark.parametrize("jdk", [11, 17, 21, 25])
def test_every_kind_of_lock_with_its_class_and_time(sparkprof, target, tmp_path, jdk):
    t = target("Locks", jdk=jdk, jvm=["-Xcheck:jni", *QUIET])
    before = t.stderr()
    truth = rounds(sparkprof, t, tmp_path / "x.jfr", 5, "-e", "lock")
    found = stacks(sparkprof, tmp_path / "x.jfr", "lock")
    for kind, leaf in CLASSES.items():
        assert waited(found, f"Locks.{kind}", leaf) == pytest.approx(truth[kind], rel=0.25), kind
    # Who waits for a lock stands below the class, and nothing of ours or of the JVM's between.
    assert all(s[-2] != "[unknown]" and "sparkprof" not in " ".join(s) for s, _ in found)
    below = {s[-2] for s, _ in found if "Locks.monitor" in s and s[-1] == "java.lang.Object"}
    assert {re.sub(r"\d+$", "", f) for f in below} == {"Locks.lambda$monitor$"}
    # A queue is waited for in idleness, and so do the threads of a pool.
    assert waited(found, "Locks.queue") < truth["queue"] / 10
    idle = stacks(sparkprof, tmp_path / "x.jfr", "idle")
    assert waited(idle, "Locks.queue") == pytest.approx(truth["queue"], rel=0.25)
    assert waited(found, "java/util/concurrent/ThreadPoolExecutor.getTask") < truth["queue"] / 10
    assert "idle" not in sparkprof("report", tmp_path / "x.jfr").stdout
    assert t.stdout().split()[0] == "ready" and "arning" not in t.stdout() and t.stderr() == before


@pytest.mark.parametrize("jdk", [21, 25])
def test_monitors_of_virtual_threads(sparkprof, target, tmp_path, jdk):
    """JDK 24 and later: they leave their carriers meanwhile, and come back on others."""
    t = target("Locks", "virtual", jdk=jdk, jvm=QUIET)
    truth = rounds(sparkprof, t, tmp_path / "x.jfr", 5, "-e", "lock")
    found = stacks(sparkprof, tmp_path / "x.jfr", "lock")
    assert sum(n for s, n in found if s[-1] == "java.lang.Object") / 1000 == pytest.approx(truth["monitor"], rel=0.25)


def test_short_waits_are_sampled_and_sum_up(sparkprof, target, tmp_path):
    """20 ms waits at 100 ms: one in five is told and stands for five."""
    t = target("Locks")
    truth = rounds(sparkprof, t, tmp_path / "x.jfr", 25, "--lock", "100ms")
    found = stacks(sparkprof, tmp_path / "x.jfr", "lock")
    counted = subprocess.run([parts.jdk(17) / "bin/jfr", "summary", tmp_path / "x.jfr"], capture_output=True, text=True).stdout
    parks = int(re.search(r"jdk.ThreadPark\s+(\d+)", counted)[1])
    assert 5 < parks < 100  # of 175
    # 200 waits of 20 ms: 40 samples, one standard deviation is 15 %
    assert sum(n for _, n in found) / 1000 == pytest.approx(sum(truth[k] for k in CLASSES), rel=0.7)


def test_other_readers_take_it_as_their_own(sparkprof, target, tmp_path):
    t = target("Locks")
    rounds(sparkprof, t, tmp_path / "x.jfr", 3, "-e", "lock")
    subprocess.run([*peers.converter(), "--lock", "--total", "-o", "collapsed", tmp_path / "x.jfr", tmp_path / "x.txt"],
                   check=True, capture_output=True)
    theirs = sum(int(line.rsplit(" ", 1)[1]) for line in (tmp_path / "x.txt").read_text().splitlines())
    assert theirs == pytest.approx(sum(n for _, n in stacks(sparkprof, tmp_path / "x.jfr", "lock")), rel=0.01)
    text = subprocess.run([parts.jdk(17) / "bin/jfr", "print", "--events", "jdk.JavaMonitorEnter,jdk.ThreadPark",
                           tmp_path / "x.jfr"], check=True, capture_output=True, text=True).stdout
    assert "monitorClass = java.lang.Object" in text and "parkedClass = java.util.concurrent.Semaphore$NonfairSync" in text


def test_rounds_leave_park_as_it_was(sparkprof, target, tmp_path):
    """The JVM would warn of every native method that is bound again from outside, on its stdout."""
    t = target("Locks", jvm=["-Xcheck:jni", "-Xlog:jni+resolve=debug"])
    before = t.stdout(), t.stderr()
    for _ in range(20):
        r = sparkprof("-e", "lock", "-d", "20ms", "-f", tmp_path / "x.jfr", t.pid)
        assert r.returncode == 0 and "only monitors" not in r.stderr, r.stderr
    bound = [line for line in t.stdout()[len(before[0]):].splitlines() if "Unsafe.park" in line]
    assert len(bound) == 40 and all("Registering JNI native method" in line for line in bound), bound
    assert "arning" not in t.stdout() and t.stderr() == before[1]
    t.send("1")
    t.wait_for("done")  # nobody is stuck in a hook, and who parks now is not in one
    sparkprof("-e", "wall", "-d", "1", "-l", "-f", tmp_path / "x.collapsed", t.pid)
    parked = (tmp_path / "x.collapsed").read_text()
    assert "Unsafe.park" in parked and "libsparkprof" not in parked
    assert not [n for n in t.threads().values() if n.startswith("sparkprof")]
