"""Names of threads and spans of tasks at the very moment, against a program that renames its threads as Spark does."""
import json
import re
import statistics

import pytest
from kit import recording
from kit.traces import wait_until

NAME = re.compile(r"task (\d+)\.0 in stage (\d+)\.0 \(TID (\d+)\)")


def record(target, file, *args, jdk=17, event="ctimer", interval="1ms"):
    t = target("Tasks", *args, jvm=[recording.option(file, event=event, interval=interval)], wait=False, jdk=jdk)
    t.proc.wait(timeout=300)
    assert t.proc.returncode == 0
    return t, recording.Recording(file)


def told(t):
    """What the program says of its tasks: {id: (begin, end)}, ns."""
    return {int(i): (int(b), int(e)) for _, i, b, e in (line.split() for line in t.stdout().splitlines() if line.startswith("task "))}


def spans(r):
    """sparkprof.Task as the JDK's reader prints it."""
    found = {}
    for begin, text in zip(r.times["sparkprof.Task"], r.others["sparkprof.Task"]):
        fields = dict(re.findall(r"(\w+) = (\S+)", text))
        found[int(fields["taskId"])] = {**fields, "from": begin, "to": begin + int(fields["ns"])}
    return found


def java_names(sparkprof, t):
    """Names of threads, by `stack`."""
    return re.findall(r'^  thread \d+ "(.*)", ', sparkprof("stack", "--all", t.pid).stdout, re.M)


def misnamed(r):
    """Samples inside of even() and odd(), and those whose thread does not have a name of that stage."""
    inside, wrong = 0, []
    for s in r.samples:
        for stage, method in enumerate(("Tasks.even ", "Tasks.odd ")):
            if any(f.startswith(method) for f in s.stack):
                inside += 1
                m = NAME.search(s.thread)
                if not m or int(m[2]) != stage:
                    wrong.append((stage, s.thread))
    return inside, wrong


@pytest.mark.parametrize("jdk,names", [(17, ""), (25, "idle"), *(pytest.param(*p, marks=pytest.mark.long) for p in ((11, ""), (21, "idle"), (25, "")))])
def test_every_sample_has_the_name_of_its_moment(target, tmp_path, jdk, names):
    t, r = record(target, tmp_path / "x.jfr", 200, 6, names, jdk=jdk)
    inside, wrong = misnamed(r)
    assert inside > 30
    assert not wrong, f"{len(wrong)} of {inside}: {wrong[:5]}"
    truth, found = told(t), spans(r)
    assert len(truth) == 200 and set(found) == set(truth)
    assert all((int(f["stage"]), int(f["index"])) == (i % 2, i // 2) for i, f in found.items())
    assert len(r.others["profiler.Span"]) == 200
    # A loaded machine delays some: the middle tells what is built in.
    begins = [found[i]["from"] - truth[i][0] for i in truth]
    clocks = statistics.median(begins)  # the program's clock does not count from 1970
    assert statistics.median(abs(b - clocks) for b in begins) < 1e6
    # An end that no name tells is told by the next task at the latest, when its thread gets a core.
    assert statistics.median(abs(found[i]["to"] - truth[i][1] - clocks) for i in truth) < (1e6 if names else 5e7)


def test_a_stage_that_is_not_there_is_answered_by_those_that_are(target, sparkprof, tmp_path):
    record(target, tmp_path / "x.jfr", 40, 6)
    r = sparkprof("report", tmp_path / "x.jfr", "--stage", "99", "-f", tmp_path / "x.html")
    assert r.returncode == 1 and "--stage 99: no samples of it, only of 0, 1\n" in r.stderr, r.stderr
    assert not (tmp_path / "x.html").exists()


def test_a_dump_of_a_stage_that_is_not_there_fails(target, sparkprof, tmp_path):
    t, out = target("Idle"), tmp_path / "x.txt"
    assert sparkprof("start", "-e", "wall", "-i", "10ms", "-f", tmp_path / "x.jfr", t.pid).returncode == 0
    r = sparkprof("dump", "--stage", "99", "-f", out, t.pid)
    assert r.returncode == 1 and "--stage 99: no samples of it" in r.stderr and not out.exists(), r.stderr
    assert sparkprof("stop", "--stage", "99", "-f", out, t.pid).returncode == 0 and (tmp_path / "x.jfr").stat().st_size


def test_a_dump_has_the_tasks_that_run(target, sparkprof, tmp_path):
    """Two tasks that go on: a dump has both, as far as they have come; after the end each is there once."""
    t = target("Tasks", 2, 600_000, "idle", "wait")
    assert sparkprof("start", "-e", "wall", "-i", "10ms", "-f", tmp_path / "x.jfr", t.pid).returncode == 0
    t.proc.stdin.write(b"\n")
    t.proc.stdin.flush()
    wait_until(lambda: sum("TID" in n for n in java_names(sparkprof, t)) == 2)
    for dump in ("1.jfr", "2.jfr"):
        assert sparkprof("dump", "-f", tmp_path / dump, t.pid).returncode == 0
        found = spans(recording.Recording(tmp_path / dump))
        assert set(found) == {0, 1} and all(f["ended"] == "false" for f in found.values()), found
    assert sparkprof("stop", t.pid).returncode == 0
    stages = json.loads(sparkprof("report", "-o", "json", tmp_path / "x.jfr").stdout)["events"][0]["stages"]
    assert [s["tasks"] for s in stages] == [1, 1], stages


@pytest.mark.parametrize("jdk", [11, 17, 25])
def test_nothing_is_left_and_nothing_said(target, sparkprof, tmp_path, jdk):
    """Two visits to a running program: the same words on its output as without any."""
    binds = tmp_path / "binds"
    t = target("Tasks", 4, 5, "idle", "wait", jdk=jdk, jvm=[f"-agentpath:{recording.native('binds')}={binds}",
                                                           *(["-XX:+EnableDynamicAgentLoading"] if jdk > 20 else [])])
    before = binds.read_text().splitlines()
    for n in range(2):
        r = sparkprof("-d", 0.3, "-f", tmp_path / f"{n}.jfr", t.pid)
        assert r.returncode == 0, r.stderr
    assert t.stdout() == "ready\n" and t.stderr() == ""
    # What java.lang.Thread.setNativeName was bound to, one after the other: ours and the JVM's own, twice.
    bound = binds.read_text().splitlines()[len(before):]
    assert [line.startswith("libjvm.so JVM_SetNativeThreadName") for line in bound] == [False, True] * 2, bound
    t.proc.stdin.write(b"\n")
    t.proc.stdin.close()
    t.proc.wait(200)
    assert t.stderr() == "" and len(told(t)) == 4 and len(t.stdout().splitlines()) == 5
