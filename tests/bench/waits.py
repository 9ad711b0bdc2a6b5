"""What time of stages is spent on, against Spark's own task metrics, on three jobs that are bound by one thing each.

    ./build.sh bench waits [ROUNDS|quick]        seconds of each job; 10 by default

Two executors with one core each, behind a network of 50 Mbit/s (a network namespace of their own; root is needed), wall at 2 ms (at 10 ms a stage of seconds has a few dozen samples of its CPU time on a busy machine: 10 points by chance), on Spark 3.5 and 4.3.
The truth is the event log: of each stage, Fetch Wait Time, JVM GC Time and Shuffle Write Time as shares of Executor Run Time + Executor
Deserialize Time + Result Serialization Time of the tasks that ran whole within the recordings. A stage counts that has a tenth of its
job's time, or most of what the job is built for.
waits         the worst difference of such a share from the share of samples that have this class, in points
bound         by how much the heaviest stage of the job is bound by what it is built for, by Spark's metrics
other         the share of samples without a class, the worst of these stages"""
import collections
import json
import sys
import tempfile
import time

import common
from kit import spark, stages

CASES = [("3.5.7", 17), ("4.3.0", 17), ("4.3.0", 25)]
JOBS = {"fetch": "shuffle read wait", "gc": "GC", "write": "shuffle write"}
CONF = {"spark.shuffle.readHostLocalDisk": "false", "spark.shuffle.compress": "false", "spark.shuffle.sync": "true", "spark.reducer.maxReqsInFlight": "1",
        **{f"spark.{who}.extraClassPath": spark.bare_classes().split(":")[0] for who in ("driver", "executor")}}


def ask(app, job):
    app.tell(job)
    while not app.said(f"done {job}"):
        assert app.proc.poll() is None, app.stderr()[-2000:]
        time.sleep(0.05)


def metrics(log):
    """{TID: (stage, run, {class: time})}, ms."""
    for e in log.events():
        m = e.get("Task Metrics") if e["Event"] == "SparkListenerTaskEnd" else None
        if m:
            yield e["Task Info"]["Task ID"], (
                f"{e['Stage ID']}.{e['Stage Attempt ID']}",
                m["Executor Run Time"] + m["Executor Deserialize Time"] + m["Result Serialization Time"],
                {"GC": m["JVM GC Time"], "shuffle read wait": m["Shuffle Read Metrics"]["Fetch Wait Time"],
                 "shuffle write": m["Shuffle Write Metrics"]["Shuffle Write Time"] / 1e6})


def roles(log):
    """{stage id: (job group, which of its job's stages it is)}: the same query again and again has other ids."""
    found = {}
    for e in log.events():
        if e["Event"] == "SparkListenerJobStart":
            for i, s in enumerate(sorted(e["Stage IDs"])):
                found.setdefault(s, (e["Properties"].get("spark.jobGroup.id"), i))
    return found


def case(version, jdk, seconds, tmp):
    """{job: [recordings]}, and the log."""
    log = stages.Logging(f"{tmp}/{version}-{jdk}")
    who, files = common.Ours(), collections.defaultdict(list)
    with spark.App(master="local-cluster[2,1,1024]", job="bound.py", args=(seconds,), version=version, jdk=jdk, conf=log.conf(**CONF),
                   jvm=log.jvm(), timeout=400, within=spark.slow_network()) as app:
        pids = app.executors()
        for job in JOBS:
            ask(app, f"{job} 0")  # what is loaded and compiled first is not what the job is bound by
            for pid in pids:
                files[job].append(log.dir / f"{job}-{pid}.jfr")
                who.start(pid, "wall", "2ms", files[job][-1])
            ask(app, job)
            for pid in pids:
                who.stop(pid)
        app.proc.stdin.close()
        app.proc.wait(60)
    return log, files


def shown(files, out):
    """The table of stages, as report has it."""
    common.Ours._run("report", *files, "-f", out)
    [event] = [e for e in json.loads(out.read_text())["events"] if e["event"] == "wall"]
    return {f"{s['stage']}.{s['attempt']}": s for s in event["stages"]}


def judge(job, log, files):
    """(rows: [(stage, class, points by Spark, points by us)], other: points, bound: points)"""
    ours, role = shown(files, log.dir / f"{job}.json"), roles(log)
    spark_ms, our_ns = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    for stage, ms, parts in dict(metrics(log)).values():
        group, which = role[int(stage.split(".")[0])]
        if group == job and stage in ours:
            spark_ms[which].update({**parts, "run": ms})
    for stage, row in ours.items():
        our_ns[role[int(stage.split(".")[0])][1]].update({**row["time"], "weight": row["weight"]})
    whole = sum(x["run"] for x in spark_ms.values())
    built = max(spark_ms, key=lambda k: spark_ms[k][JOBS[job]], default=None)
    heavy = [k for k, x in spark_ms.items() if (k == built or x["run"] >= 0.1 * whole) and our_ns[k]["weight"]]
    rows = [(k, c, 100 * spark_ms[k][c] / spark_ms[k]["run"], 100 * our_ns[k][c] / our_ns[k]["weight"]) for k in heavy for c in JOBS.values()]
    other = max((100 * our_ns[k]["other"] / our_ns[k]["weight"] for k in heavy), default=100)
    return rows, other, max((x for _, c, x, _ in rows if c == JOBS[job]), default=0)


def main(seconds):
    report = common.Report("waits")
    raw = {}
    with tempfile.TemporaryDirectory() as tmp:
        for version, jdk in CASES if len(sys.argv) < 3 else [CASES[int(sys.argv[2])]]:
            name = f"Spark {version}, JDK {jdk}"
            common.progress(f"waits: {name}")
            log, files = case(version, jdk, seconds, tmp)
            for job, what in JOBS.items():
                rows, other, bound = judge(job, log, files[job])
                raw[f"{name}, {job}"] = rows
                worst = max((abs(x - y) for _, _, x, y in rows), default=100)
                report.line(f"waits, worst of {len(rows)}, job bound by {what} ({bound:.0f} %), {name}", worst, None, "<= 5 points", worst <= 5,
                            "points")
                report.line(f"other, the same job, {name}", other, None, "< 5 %", other < 5, "%")
    report.raw = raw
    report.close()


if __name__ == "__main__":
    main(common.rounds(10, 2))
