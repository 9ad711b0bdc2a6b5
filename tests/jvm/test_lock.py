"""-e lock: every kind of Java lock with its class and time, as the waiting thread itself measured it; idle threads apart."""
import json
import math
import re
import subprocess

import pytest
from kit import jvm, parts, peers, recording, spark
from kit.traces import wait_until

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


def stacks(sparkprof, file, event, *more):
    r = sparkprof("report", "-e", event, "--total", *more, "-o", "collapsed", file)
    assert r.returncode == 0, r.stderr
    return [(s.split(";"), int(n)) for s, n in (line.rsplit(" ", 1) for line in r.stdout.splitlines())]


def waited(found, method, leaf=None):
    """Microseconds below a method, in waits for that class."""
    return sum(n for s, n in found if method in s and leaf in (None, s[-1])) / 1000


def holders(sparkprof, file):
    """Microseconds waited for monitors, by the name of the thread that held them."""
    r = sparkprof("report", "-e", "lock", "-o", "json", file)
    assert r.returncode == 0, r.stderr
    tables = json.loads(r.stdout)["events"][0]["tables"]
    return {row["name"]: row["total"] / 1000 for row in tables.get("holder", [])}


def rounds(sparkprof, t, file, times=5, *more):
    assert sparkprof("start", "-f", file, *more, t.pid).returncode == 0
    t.send(str(times))
    t.wait_for("done")
    assert sparkprof("stop", t.pid).returncode == 0
    return {k: (int(most), int(least)) for k, most, least in re.findall(r"^(\w+) (\d+) (\d+)$", t.stdout(), re.M)}


def check(us, truth, what=None):
    """Between what the two threads saw, whatever the load; the JVM calls a thread blocked a moment before it tells us."""
    most, least = truth
    assert 0.9 * least <= us <= 1.001 * most, (us, truth, what)


@pytest.mark.parametrize("jdk", jvm.every())
def test_every_kind_of_lock_with_its_class_and_time(sparkprof, target, tmp_path, jdk):
    t = target("Locks", jdk=jdk, jvm=["-Xcheck:jni", *QUIET])
    before = t.stderr()
    truth = rounds(sparkprof, t, tmp_path / "x.jfr", 5, "-e", "lock")
    found = stacks(sparkprof, tmp_path / "x.jfr", "lock")
    for kind, leaf in CLASSES.items():
        check(waited(found, f"Locks.{kind}", leaf), truth[kind], kind)
    # Who waits for a lock stands below the class, and nothing of ours or of the JVM's between.
    assert all(s[-2] != "[unknown]" and "sparkprof" not in " ".join(s) for s, _ in found)
    below = {s[-2] for s, _ in found if "Locks.monitor" in s and s[-1] == "java.lang.Object"}
    assert {re.sub(r"\d+$", "", f) for f in below} == {"Locks.lambda$monitor$"}
    # Each time another thread held it, for 20 ms, which has ended since. The first may be missing: on JDK 24 and later the JVM does
    # not write down who took a monitor before anyone waited. (A thread that ends may meet who waits for its end.)
    held = {name: us for name, us in holders(sparkprof, tmp_path / "x.jfr").items() if us > 15000}
    mine = {f"holder-{i}" for i in range(1, 6)} & held.keys()
    assert all(name.startswith("holder-") for name in held) and len(mine) >= 4, held
    assert sum(held[name] for name in mine) <= 1.001 * truth["monitor"][0], (held, truth)
    assert "Monitors held by" in sparkprof("report", tmp_path / "x.jfr").stdout
    # A queue is waited for in idleness, and so do the threads of a pool.
    assert waited(found, "Locks.queue") < truth["queue"][1] / 10
    idle = stacks(sparkprof, tmp_path / "x.jfr", "idle")
    check(waited(idle, "Locks.queue"), truth["queue"])
    assert waited(found, "java/util/concurrent/ThreadPoolExecutor.getTask") < truth["queue"][1] / 10
    assert "idle" not in sparkprof("report", tmp_path / "x.jfr").stdout
    assert t.stdout().split()[0] == "ready" and "arning" not in t.stdout() and t.stderr() == before


def test_threads_of_a_foreign_pool_are_idle(sparkprof, target, tmp_path):
    """Those of Jetty, which serves Spark's web pages, wait in a queue of its own. Two of them that wake at once wait for its lock, for
    microseconds: that is no idleness."""
    t = target("IdlePool", classes=spark.bare_classes())
    r = sparkprof("-e", "lock", "-d", 2, "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 0, r.stderr
    poll = "org/sparkproject/jetty/util/BlockingArrayQueue.poll"
    idle = stacks(sparkprof, tmp_path / "x.jfr", "idle")
    assert waited(idle, poll, CLASSES["condition"]) > 300_000 and waited(idle, poll) == waited(idle, poll, CLASSES["condition"]), idle
    lines = sparkprof("report", "-e", "lock", "-o", "collapsed", tmp_path / "x.jfr").stdout.splitlines()  # most often none
    assert all(f";{CLASSES['reentrant']} " in line for line in lines if "BlockingArrayQueue" in line), lines


@pytest.mark.parametrize("jdk", [21, 25])
def test_virtual_threads_wait_under_their_own_names(sparkprof, target, tmp_path, jdk):
    """They leave their carriers meanwhile (in monitors from JDK 24 on), come back on others, and have most frames in the heap."""
    t = target("Locks", "waiter", jdk=jdk, jvm=["-Xcheck:jni", *QUIET])
    before = t.stderr()
    truth = rounds(sparkprof, t, tmp_path / "x.jfr", 5, "-e", "lock")
    found = stacks(sparkprof, tmp_path / "x.jfr", "lock", "--threads")
    mine = [(s, n) for s, n in found if s[0].startswith("[waiter ")]
    for kind, leaf in {**CLASSES, "pinned": CLASSES["latch"]}.items():
        check(waited(mine, f"Locks.{kind}", leaf), truth[kind], (kind, found))
    # To the thread's first frame, and nothing of ours on top.
    assert all("Locks.rounds" in s and "java/lang/VirtualThread.run" in s and "sparkprof" not in " ".join(s) for s, _ in mine)
    # A sleeping thread waits for nobody, and nobody else's time is taken for a virtual thread's.
    assert not waited(found, "Locks.asleep") and sum(n for s, n in found if "Locks.rounds" in s) == sum(n for _, n in mine)
    idle = stacks(sparkprof, tmp_path / "x.jfr", "idle")
    check(waited(idle, "Locks.queue"), truth["queue"])
    assert "arning" not in t.stdout() and t.stderr() == before
    # The methods that told of it are what they were.
    rounds(sparkprof, t, tmp_path / "y.jfr", 2, "--trace", "java.lang.VirtualThread.park:1h", "-e", "wall")
    assert "sparkprof/Calls" not in sparkprof("report", "-o", "collapsed", "-e", "wall", tmp_path / "y.jfr").stdout


def test_short_waits_are_sampled_and_sum_up(sparkprof, target, tmp_path):
    """20 ms waits at 100 ms: one in five is told and stands for five."""
    t = target("Locks")
    truth = rounds(sparkprof, t, tmp_path / "x.jfr", 25, "--lock", "100ms")
    found = stacks(sparkprof, tmp_path / "x.jfr", "lock")
    counted = subprocess.run([parts.jdk(17) / "bin/jfr", "summary", tmp_path / "x.jfr"], capture_output=True, text=True).stdout
    parks = int(re.search(r"jdk.ThreadPark\s+(\d+)", counted)[1])
    # Each of 175 is told with the probability of its length in 100 ms, and then counts 100 ms: within six standard deviations of
    # the bounds, of the number of samples and of their sum. (More waits than those: the pool's, a thread that joins.)
    most, least = (sum(truth[k][i] for k in CLASSES if k != "monitor") / 100_000 for i in (0, 1))
    assert least - 6 * least ** 0.5 < parks < most + 6 * most ** 0.5 + 10, (parks, least, most)
    most, least = (sum(truth[k][i] for k in CLASSES) / 100_000 for i in (0, 1))
    told = sum(n for s, n in found if any(f"Locks.{k}" in s for k in CLASSES)) / 100_000_000
    assert least - 6 * least ** 0.5 < told < most + 6 * most ** 0.5, (told, least, most)


def most_told(file, times):
    """5,000 a second are told, in turns of 2^26 ns: of n waits in a turn the first q, and of those that follow every other one
    until q more are told, then one in four … A concave function of n, so the most for all turns is that of equal ones. What is
    told beyond q is drawn: six standard deviations of that on top."""
    at = recording.Recording(file).times["jdk.JavaMonitorEnter"]
    turns = (max(at) - min(at)) / 2**26 + 2
    q, n = 5000 * 2**26 // 10**9, times / turns
    each = n if n <= q else q * (1 + math.log2(n / q))
    return turns * each + 6 * (turns * each) ** 0.5


def test_a_storm_is_thinned_and_sums_up(sparkprof, target, tmp_path):
    """More contended monitors than are told: the sum is still what the JVM itself has counted, and the events are few."""
    t = target("LockStorm")
    assert sparkprof("start", "--lock", "0", "-f", tmp_path / "x.jfr", t.pid).returncode == 0
    t.send("3")
    t.wait_for("blocked ")
    r = sparkprof("stop", t.pid)
    assert r.returncode == 0, r.stderr
    blocked, times = map(int, re.search(r"blocked (\d+) times (\d+)", t.stdout()).groups())
    found = stacks(sparkprof, tmp_path / "x.jfr", "lock")
    counted = subprocess.run([parts.jdk(17) / "bin/jfr", "summary", tmp_path / "x.jfr"], capture_output=True, text=True).stdout
    told = int(re.search(r"jdk.JavaMonitorEnter\s+(\d+)", counted)[1])
    assert told <= most_told(tmp_path / "x.jfr", times), (told, times)
    assert told == times or "lock: more than 5000 events a second" in " ".join(sparkprof("report", tmp_path / "x.jfr").stdout.split())
    # A wait that is told with probability p counts 1/p of it: its square is the most that it adds to the variance of the sum.
    spread = sum(int(e.rsplit("= ", 1)[1]) ** 2 for e in recording.Recording(tmp_path / "x.jfr").others["jdk.JavaMonitorEnter"]) ** 0.5
    assert waited(found, "LockStorm.fight") / 1000 == pytest.approx(blocked, rel=0.05, abs=6 * spread / 1e6)


def test_other_readers_take_it_as_their_own(sparkprof, target, tmp_path):
    t = target("Locks")
    rounds(sparkprof, t, tmp_path / "x.jfr", 3, "-e", "lock")
    subprocess.run([*peers.converter(), "--lock", "--total", "-o", "collapsed", tmp_path / "x.jfr", tmp_path / "x.txt"],
                   check=True, capture_output=True)
    theirs = sum(int(line.rsplit(" ", 1)[1]) for line in (tmp_path / "x.txt").read_text().splitlines())
    assert theirs == pytest.approx(sum(n for _, n in stacks(sparkprof, tmp_path / "x.jfr", "lock")), rel=0.01)
    text = subprocess.run([parts.jdk(17) / "bin/jfr", "print", "--events", "jdk.JavaMonitorEnter,jdk.ThreadPark",
                           tmp_path / "x.jfr"], check=True, capture_output=True, text=True).stdout
    assert re.search(r'previousOwner = "holder-\d"', text)
    assert "monitorClass = java.lang.Object" in text and "parkedClass = java.util.concurrent.Semaphore$NonfairSync" in text


@pytest.mark.parametrize("jdk", [17, *(pytest.param(n, marks=pytest.mark.long) for n in (11, 21, 25))])
def test_rounds_leave_park_as_it_was(sparkprof, target, tmp_path, jdk):
    """The JVM would warn of every native method that is bound again from outside, on its stdout."""
    t = target("Locks", jdk=jdk, jvm=["-Xcheck:jni", "-verbose:jni" if jdk == 11 else "-Xlog:jni+resolve=debug", *QUIET])
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
    wait_until(lambda: not [n for n in t.threads().values() if n.startswith("sparkprof")])
