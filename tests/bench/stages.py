"""Stages and tasks of samples, on a real executor that runs several kinds of stages at once under FAIR scheduling.

    ./build.sh bench stages [ROUNDS|quick]        rounds of each kind of stage; 3 by default

The truth is the executor's own log: which task ran on which Java thread from "Running task" to "Finished task", in
milliseconds; and the event log's Executor CPU Time + Executor Deserialize CPU Time of each stage.
right stage   of all samples (cpu, 5 ms) taken inside of a task by the log, those that the recording's task spans give to its stage
              (a second line counts as wrong those that have a stage 10 ms or more from any task of their thread by the log)
begin, end    of all tasks within the recording, how far the span's border lies from the log line
cpu share     the worst difference of a stage's share of samples from its share of CPU time, in points"""
import collections
import re
import statistics
import sys
import tempfile
import time

import common
from kit import recording, spark, stages

CASES = [("3.5.7", 17, ()), ("4.3.0", 17, ()), ("4.3.0", 25, ()), ("3.5.7", 17, ("python",))]


def ask(app):
    """One round of all kinds."""
    app.proc.stdin.write(b"go\n")
    app.proc.stdin.flush()
    while b"done" not in app.text:
        app.text += app.proc.stdout.read() or b""
        time.sleep(0.05)


def fields(text):
    found = dict(re.findall(r"(\w+) = ([-\w]+)", text))
    return {**{k: int(found[k]) for k in ("stage", "stageAttempt", "taskId", "ns", "javaThreadId")}, "helper": found["helper"] == "true"}


class Spans:
    """The recording's own answer: which task a thread was in."""

    def __init__(self, r):
        self.by_thread = collections.defaultdict(list)
        self.tasks = {}
        for begin, text in zip(r.times["sparkprof.Task"], r.others["sparkprof.Task"]):
            f = fields(text)
            span = (begin, begin + f["ns"], f"{f['stage']}.{f['stageAttempt']}", f["taskId"])
            self.by_thread[f["javaThreadId"]].append(span)
            if not f["helper"]:
                self.tasks[f["taskId"]] = span

    def at(self, thread, time):
        return next((s for s in self.by_thread[thread] if s[0] <= time <= s[1]), None)


def case(version, jdk, args, rounds, tmp):
    log = stages.Logging(f"{tmp}/{version}-{jdk}-{'-'.join(args)}")
    file = log.dir / "x.jfr"
    who = common.Ours()
    with spark.App(job="fair.py", args=(300_000, rounds, *args), version=version, jdk=jdk, conf=log.conf(), jvm=log.jvm(),
                   timeout=400) as app:
        [pid] = app.executors()
        who.start(pid, "cpu", "5ms", file)
        ask(app)
        who.stop(pid)
        app.proc.stdin.close()
        app.proc.wait(60)
    return judge(log, recording.Recording(file), file)


def judge(log, r, file):
    spans, truth = Spans(r), log.tasks()
    by_thread = collections.defaultdict(list)
    for t in truth:
        by_thread[t.java_id].append(t)
    counts = collections.Counter()
    for s in r.cpu():
        inside = next((t for t in by_thread[s.java_id] if t.begin <= s.time <= t.end), None)
        span = spans.at(s.java_id, s.time)
        if inside:
            counts["right" if span and span[2] == inside.stage else "wrong" if span else "none"] += 1
        elif span:
            near = min((min(abs(s.time - t.begin), abs(s.time - t.end)) for t in by_thread[s.java_id]), default=1e18)
            counts["outside, near" if near < 10e6 else "outside, far"] += 1
    pairs = [(spans.tasks[t.tid], t) for t in truth if t.tid in spans.tasks]
    begins = [abs(s[0] - t.begin) / 1e6 for s, t in pairs]
    ends = [abs(s[1] - t.end) / 1e6 for s, t in pairs]
    return {"counts": dict(counts), "tasks": len(truth), "matched": len(pairs), "begins": begins, "ends": ends,
            "shares": shares(log, r, spans)}


def shares(log, r, spans):
    """{stage: (points of CPU time, points of samples)}, of the tasks that ran whole within the recording."""
    cpu = {s: sum(ns for tid, ns in tasks.items() if tid in spans.tasks) for s, tasks in log.cpu().items()}
    got = collections.Counter(x[2] for x in (spans.at(s.java_id, s.time) for s in r.cpu()) if x)
    a, b = sum(cpu.values()) or 1, sum(got.values()) or 1
    return {s: (100 * cpu[s] / a, 100 * got[s] / b) for s in cpu if cpu[s]}


def main(rounds):
    report = common.Report("stages")
    raw = {}
    with tempfile.TemporaryDirectory() as tmp:
        for version, jdk, args in CASES if len(sys.argv) < 3 or sys.argv[2] == "all" else [CASES[int(sys.argv[2])]]:
            name = f"Spark {version}, JDK {jdk}{', with Python' if args else ''}"
            common.progress(f"stages: {name}")
            got = raw[name] = case(version, jdk, args, rounds, tmp)
            c = got["counts"]
            inside = c.get("right", 0) + c.get("wrong", 0) + c.get("none", 0)
            right = 100 * c.get("right", 0) / max(1, inside)
            far = c.get("outside, far", 0)
            strict = 100 * c.get("right", 0) / max(1, inside + far)
            worst = max((abs(x - y) for x, y in got["shares"].values()), default=100)
            report.line(f"right stage, {name}, {inside:,} samples in {got['matched']} tasks", right, None, ">= 99.5 %", right >= 99.5, "%")
            report.line(f"the same, {far} samples with a stage far from any task counted as wrong, {name}", strict, None, ">= 99.5 %",
                        strict >= 99.5, "%")
            for what in ("begins", "ends"):
                within = 100 * sum(x <= 10 for x in got[what]) / max(1, len(got[what]))
                report.line(f"{what} within 10 ms of the log (median {statistics.median(got[what]):.1f} ms), {name}", within, None, ">= 99 %",
                            within >= 99, "%")
            report.line(f"cpu share by stage, worst of {len(got['shares'])}, {name}", worst, None, "<= 2 points", worst <= 2, "points")
    report.raw = raw
    report.close()


if __name__ == "__main__":
    main(common.rounds(3, 1))
