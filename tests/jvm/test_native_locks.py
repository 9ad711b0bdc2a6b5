"""-e nativelock: pthread mutexes, rwlocks and conditions, with who held them, as the waiting thread itself measured it."""
import json
import re
import subprocess

import pytest
from kit import jvm, parts, peers, recording
from test_nativemem import entries_of_ours, sealed_pages

QUIET = ["-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading"]
KINDS = {"mutex": "pthread_mutex_t", "timed": "pthread_mutex_t", "read": "pthread_rwlock_t", "write": "pthread_rwlock_t",
         "cond": "pthread_cond_t", "condtimed": "pthread_cond_t"}


@pytest.fixture
def lib():
    return recording.native("natlocks")


def stacks(sparkprof, file, *more):
    r = sparkprof("report", "-e", "nativelock", "--total", *more, "-o", "collapsed", file)
    assert r.returncode == 0 or "no samples" in r.stderr, r.stderr
    return [(s.split(";"), int(n)) for s, n in (line.rsplit(" ", 1) for line in r.stdout.splitlines())]


def waited(found, function, leaf=None):
    """Nanoseconds below a function, in waits for that kind of lock."""
    return sum(n for s, n in found if function in s and leaf in (None, s[-1]))


def record(sparkprof, t, file, *lines, options=("-e", "nativelock", "-i", "0")):
    assert sparkprof("start", "-f", file, *options, t.pid).returncode == 0
    for line in lines:
        t.does(line)
    r = sparkprof("stop", t.pid)
    assert r.returncode == 0, r.stderr
    # A thread that was kept from its wait until the lock was free has waited less than nothing before.
    return {k: (int(most), int(least)) for k, most, least in re.findall(r"^(\w+) (\d+) (-?\d+)$", t.stdout(), re.M)}


@pytest.mark.parametrize("jdk", jvm.every())
def test_every_kind_with_its_time_and_who_held_it(sparkprof, target, tmp_path, lib, jdk):
    t = target("NativeLocks", lib, jdk=jdk, jvm=["-Xcheck:jni", *QUIET])
    before = t.stderr()
    t.does("mutex 1")  # from here on the holder has its name
    truth = record(sparkprof, t, tmp_path / "x.jfr", *(f"{k} 5" for k in KINDS), options=("-e", "nativelock"))
    found = stacks(sparkprof, tmp_path / "x.jfr")
    for kind, leaf in KINDS.items():
        us, (most, least) = waited(found, f"wait_for_{kind}", leaf), truth[kind]
        assert 0.9 * least <= us <= 1.001 * most, (kind, us, truth[kind])
        assert waited(found, "NativeLocks.rounds", leaf) >= us
    # Who waits stands below the kind of lock, and nothing of ours between; the JVM's own conditions are not there.
    assert all("sparkprof" not in " ".join(s) and s[-2] != "[unknown]" for s, _ in found)
    assert not [s for s, _ in found if s[-1] == "pthread_cond_t" and re.search("park|Monitor::wait|PlatformMonitor", " ".join(s))], found
    assert "Hot classes" in sparkprof("report", "-e", "nativelock", tmp_path / "x.jfr").stdout
    r = json.loads(sparkprof("report", "-e", "nativelock", "-o", "json", tmp_path / "x.jfr").stdout)
    held = {row["name"]: row["total"] for row in r["events"][0]["tables"]["holder"]}
    assert held["natholder"] == pytest.approx(sum(waited(found, f"wait_for_{k}") for k in ("mutex", "timed", "read", "write")), rel=0.1)
    assert t.stderr() == before and "arning" not in t.stdout()


def test_what_nobody_waits_for_is_not_told(sparkprof, target, tmp_path, lib):
    t = target("NativeLocks", lib)
    record(sparkprof, t, tmp_path / "x.jfr", "alone 100000")
    assert waited(stacks(sparkprof, tmp_path / "x.jfr"), "lock_alone") == 0


def test_short_waits_are_sampled_and_sums_stay(sparkprof, target, tmp_path, lib):
    """Four threads fight for one mutex: nearly all waits are short, and none may be told twice."""
    t = target("NativeLocks", lib)
    truth = record(sparkprof, t, tmp_path / "x.jfr", "crowd", options=("-e", "nativelock", "-i", "1us"))["crowd"][0]
    found = waited(stacks(sparkprof, tmp_path / "x.jfr"), "crowd")
    # Their clock reads also the waits of who is not on a core between its clock and the lock.
    assert 0.5 * truth < found < 1.1 * truth, (found, truth)


def test_a_library_that_is_loaded_while_it_records(sparkprof, target, tmp_path, lib):
    t = target("NativeLocks")
    truth = record(sparkprof, t, tmp_path / "x.jfr", f"load {lib}", "mutex 5", options=("--nativelock", "10us", "-e", "cpu"))
    found = waited(stacks(sparkprof, tmp_path / "x.jfr"), "wait_for_mutex")
    assert 0.9 * truth["mutex"][1] <= found <= 1.001 * truth["mutex"][0]


def test_locks_answer_as_without_hooks(sparkprof, target, tmp_path, lib):
    """Errors, owners that died, threads cancelled while they wait, forked children."""
    t = target("NativeLocks", lib)
    for line in ("errors", "robust"):
        t.does(line)
    said = re.findall(r"^(?:errors|robust) .*$", t.stdout(), re.M)
    assert len(said) == 2 and said[1] == "robust 130 1 0"
    record(sparkprof, t, tmp_path / "x.jfr", "errors again", "robust again")
    assert re.findall(r"^(?:errors|robust) .*$", t.stdout(), re.M) == said * 2


def test_other_readers_see_the_same(sparkprof, target, tmp_path, lib):
    t = target("NativeLocks", lib)
    record(sparkprof, t, tmp_path / "x.jfr", "mutex 5", "write 5")
    subprocess.run([*peers.converter(), "--nativelock", "--total", "-o", "collapsed", tmp_path / "x.jfr", tmp_path / "y.txt"],
                   check=True, capture_output=True)
    theirs = sum(int(line.rsplit(" ", 1)[1]) for line in (tmp_path / "y.txt").read_text().splitlines() if ";wait_for_" in line)
    ours = sum(n for s, n in stacks(sparkprof, tmp_path / "x.jfr") if any(f.startswith("wait_for_") for f in s))
    assert theirs == pytest.approx(ours, rel=0.01)


def test_rounds_leave_no_entry(sparkprof, target, tmp_path, lib):
    t = target("NativeLocks", lib, jvm=QUIET)
    sparkprof("-e", "ctimer", "-d", "50ms", t.pid)
    pages, said = sealed_pages(t), (t.stdout(), t.stderr())
    assert sparkprof("start", "-e", "nativelock", t.pid, cwd=tmp_path).returncode == 0
    assert entries_of_ours(t) > 5
    assert sparkprof("stop", t.pid).returncode == 0
    assert entries_of_ours(t) == 0
    for events in (["-e", "nativelock"], ["--nativelock", "0", "-e", "nativemem"], ["-e", "nativelock", "--nativemem", "0"]) * 3:
        assert sparkprof(*events, "-d", "20ms", "-f", tmp_path / "x.jfr", t.pid).returncode == 0
    assert entries_of_ours(t) == 0 and sealed_pages(t) == pages
    assert (t.stdout(), t.stderr()) == said
    t.does("mutex 1")
