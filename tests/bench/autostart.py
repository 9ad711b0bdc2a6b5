"""What recording from a JVM's start costs, and reading what a whole application left.

    ./build.sh bench autostart [ROUNDS|quick]        12 rounds unless told: some three minutes

start-up    a JVM whose main ends at once, with nobody, with sparkprof and with async-profiler by -agentpath (Spark's plugin's
            default set: wall 10 ms, alloc 2m, lock 10 ms), in an order of the round's own. Wall clock and CPU time of the whole
            process, its end included, less that with nobody in the same round; medians.
slowdown    a JVM that does a fixed number of tasks (TaskWork), one after the other with nobody and with either, recorded from its start
            with the same set; CPU time from when it is warm, of the threads that do the tasks and of the whole process. Ratio to the
            run with nobody in the same round; geometric mean, and both ends of its 95 % interval, by resampling the rounds.
application 200 files of 5 MB, one for each executor, to one page: wall clock and peak memory of sparkprof report. The files
            are a real recording joined with itself, in copies."""
import math
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import tempfile
import time

import common
from kit import jvm, parts, recording

WORDS = "event=wall,interval=10ms,alloc=2m,lock=10ms"
EXECUTORS, BYTES = 200, 5 << 20
WARM, TASKS = 1500, 4000


def run(cmd):
    """Wall clock and CPU seconds of a process, and its peak memory in MB."""
    start = time.monotonic()
    p = subprocess.Popen([str(c) for c in cmd], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    took = time.monotonic() - start
    assert os.waitstatus_to_exitcode(status) == 0, cmd
    return took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def options(tmp):
    return {"none": [], "ours": [f"-agentpath:{common.AGENT}=start,{WORDS},file={tmp}/ours.jfr"],
            "theirs": [f"-agentpath:{parts.async_profiler()}=start,{WORDS},jfr,file={tmp}/theirs.jfr"]}


def start_up(report, rounds, tmp):
    agents, rows = options(tmp), []
    for i in range(rounds):
        common.progress(f"autostart: start-up, round {i + 1} of {rounds}")
        rows.append({who: run([parts.jdk(17) / "bin/java", *agents[who], "-cp", jvm.compiled(), "Idle"])
                     for who in common.shuffled(agents, i)})
    report.raw["start-up"] = rows
    for k, what in enumerate(("wall clock", "CPU time")):
        more = {who: 1000 * common.median(r[who][k] - r["none"][k] for r in rows) for who in ("ours", "theirs")}
        report.line(f"start to end, {what}", more["ours"], more["theirs"], "< 50 ms", more["ours"] < 50, "ms")


def bootstrap(logs, times=10000):
    """Percent that the geometric mean of ratios is above one, and its 95 % interval, by rounds drawn with repetition."""
    draw = random.Random(1)
    means = sorted(statistics.fmean(draw.choices(logs, k=len(logs))) for _ in range(times))
    return [100 * math.expm1(x) for x in (statistics.fmean(logs), means[times * 25 // 1000], means[times * 975 // 1000])]


def slowdown(report, rounds, tmp):
    """A heap that neither grows nor is collected by threads that wait for each other: less noise. What async-profiler says on stdout
    comes before the numbers."""
    agents, rows = options(tmp), []
    flags = ["-XX:+UseSerialGC", "-Xms256m", "-Xmx256m", "-Xmn192m", "-XX:+AlwaysPreTouch"]
    for i in range(rounds):
        common.progress(f"autostart: slowdown, round {i + 1} of {rounds}")
        rows.append({who: [int(n) for n in subprocess.run(
            [parts.jdk(17) / "bin/java", *flags, *agents[who], "-cp", common.compiled(), "TaskWork", str(WARM), str(TASKS)],
            capture_output=True, text=True, check=True).stdout.split()[-2:]] for who in common.shuffled(agents, i)})
    report.raw["slowdown"] = rows
    for k, what in enumerate(("task threads", "process")):
        added = {who: bootstrap([math.log(r[who][k] / r["none"][k]) for r in rows]) for who in ("ours", "theirs")}
        (mean, low, high), theirs = added["ours"], added["theirs"]
        report.line(f"CPU added, {what}, mean", mean, theirs[0], "", None, "%")
        report.line(f"CPU added, {what}, lower end", low, theirs[1], "", None, "%")
        report.line(f"CPU added, {what}, upper end", high, theirs[2], "<= 2 %, <= peer", high <= 2 and high <= theirs[2], "%")


def application(report, tmp):
    one = tmp / "one.jfr"
    common.progress("autostart: a recording")
    run([parts.jdk(17) / "bin/java", recording.option(one, event="cpu", interval="1ms", wall="10ms"), "-cp", jvm.compiled(),
         "Mixture", 8])
    data = one.read_bytes()
    data *= -(-BYTES // len(data))
    for i in range(EXECUTORS):
        (tmp / "app").mkdir(exist_ok=True)
        (tmp / f"app/profile-exec-{i}.jfr").write_bytes(data)
    common.progress("autostart: reading 200 executors")
    took, cpu, mb = run([common.SPARKPROF, "report", "-q", "-f", tmp / "x.html", tmp / "app"])
    report.raw["application"] = {"wall": took, "cpu": cpu, "mb": mb, "bytes": EXECUTORS * len(data)}
    report.line("200 executors, wall clock", took, None, "< 5 s", took < 5, "s")
    report.line("200 executors, CPU time", cpu, None, "", None, "s")
    report.line("200 executors, peak memory", mb, None, "< 500 MB", mb < 500, "MB")


def main():
    report = common.Report("autostart")
    tmp = pathlib.Path(tempfile.mkdtemp(prefix="autostart"))
    try:
        start_up(report, common.rounds(12, 3), tmp)
        slowdown(report, common.rounds(12, 3), tmp)
        application(report, tmp)
    finally:
        shutil.rmtree(tmp)
    report.close()


main()
