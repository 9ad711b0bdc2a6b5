"""What recording from a JVM's start costs, and reading what a whole application left.

    ./build.sh bench autostart [ROUNDS|quick|application]        12 rounds by default, of slowdown twice as many: some ten
                                                                    minutes; or the last part alone

start-up    a JVM whose main ends at once, with nobody, with sparkprof and with async-profiler by -agentpath (Spark's plugin's
            default set: wall 10 ms, alloc 2m, lock 10 ms), in an order of the round's own. Wall clock and CPU time of the whole
            process, its end included, less that with nobody in the same round; medians.
slowdown    JVMs that do tasks when asked (TaskWork), with nobody, sparkprof and async-profiler, recorded from their start with the
            same set. In a round one of each, once warm, does slices of 300 tasks, one JVM at a time, in an order of chance: what
            neighbours take falls on all alike. CPU time of the whole process, and of the threads that do the tasks. A round's figure
            is the median of its slices over nobody's; then the geometric mean of the rounds, which have other JVMs and so code that
            was compiled in other ways, and both ends of its 95 % interval, by resampling the rounds.
application 200 files of 5 MB, one for each executor, to one page: wall clock, CPU time and peak memory of sparkprof report; medians
            of three. Once with generated files, which have the tasks and stacks that executors have, 5,000 stacks each and no two
            files alike (recordings.executors: the hard case), and once with real recordings of four programs and JDKs, each file
            joined of them in another order."""
import math
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import common
from kit import jvm, parts, recording, recordings

WORDS = "event=wall,interval=10ms,alloc=2m,lock=10ms"
EXECUTORS, BYTES = 200, 5 << 20
WARM, SLICES, TASKS = 6000, 16, 300


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


class Tasks:
    """A JVM that waits for tasks. A heap that neither grows nor is collected by threads that wait for each other: less noise."""

    def __init__(self, agent):
        flags = ["-XX:+UseSerialGC", "-Xms256m", "-Xmx256m", "-Xmn192m", "-XX:+AlwaysPreTouch"]
        self.proc = subprocess.Popen([parts.jdk(17) / "bin/java", *flags, *agent, "-cp", common.compiled(), "TaskWork"],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def do(self, tasks):
        """CPU nanoseconds of the threads that do them, and of the whole process."""
        before = common.process_clock(self.proc.pid)
        self.proc.stdin.write(f"{tasks}\n")
        self.proc.stdin.flush()
        while not (line := self.proc.stdout.readline()).startswith("cpu "):  # async-profiler says that it has begun
            assert line, "TaskWork ended"
        return int(line.split()[1]), 1e9 * (common.process_clock(self.proc.pid) - before)

    def close(self):
        self.proc.stdin.close()
        assert self.proc.wait() == 0
        self.proc.stdout.close()


def turns(agents, i):
    """{contestant: [(threads, process)]} of one round."""
    jvms = {who: Tasks(agent) for who, agent in agents.items()}
    got = {who: [] for who in agents}
    for t in jvms.values():
        t.do(WARM)
    for k in range(SLICES):
        for who in common.shuffled(agents, 1000 * i + k):
            got[who].append(jvms[who].do(TASKS))
    for t in jvms.values():
        t.close()
    return got


def slowdown(report, rounds, tmp):
    agents, rows = options(tmp), []
    for i in range(rounds):
        common.progress(f"autostart: slowdown, round {i + 1} of {rounds}")
        rows.append(turns(agents, i))
    report.raw["slowdown"] = rows
    for k, what in enumerate(("task threads", "process")):
        medians = [{who: common.median(s[k] for s in slices) for who, slices in r.items()} for r in rows]
        added = {who: bootstrap([math.log(m[who] / m["none"]) for m in medians]) for who in ("ours", "theirs")}
        (mean, low, high), theirs = added["ours"], added["theirs"]
        report.line(f"CPU added, {what}, mean", mean, theirs[0], "", None, "%")
        report.line(f"CPU added, {what}, lower end", low, theirs[1], "", None, "%")
        report.line(f"CPU added, {what}, upper end", high, theirs[2], "<= 2 %, <= peer", high <= 2 and high <= theirs[2], "%")


def real_executors(tmp):
    """Files of the size of BYTES, joined of four recordings: where each begins, which are in it and how often differs."""
    programs = [(17, jvm.compiled(), "Mixture", 6), (25, jvm.compiled(), "Mixture", 6),
                (17, common.compiled(), "TaskWork", 1500, 1500), (25, common.compiled(), "TaskWork", 1500, 1500)]
    data = []
    for i, (jdk, classes, *main) in enumerate(programs):
        common.progress(f"autostart: recording {i + 1} of {len(programs)}")
        one = tmp / f"{i}.jfr"
        run([parts.jdk(jdk) / "bin/java", recording.option(one, event="cpu", interval="1ms", wall="10ms"), "-cp", classes, *main])
        data.append(one.read_bytes())
    folder, draw = tmp / "app", random.Random(1)
    folder.mkdir()
    for i in range(EXECUTORS):
        with open(folder / f"profile-exec-{i}.jfr", "wb") as f:
            while f.tell() < BYTES:
                f.write(draw.choice(data))
    return folder


def application(report, tmp):
    common.progress("autostart: making executors")
    for what, folder in (("generated", recordings.executors(EXECUTORS)), ("real", real_executors(tmp))):
        rows = []
        for i in range(3):
            common.progress(f"autostart: reading 200 executors, {what}, {i + 1} of 3")
            rows.append(run([common.SPARKPROF, "report", "-q", "-f", tmp / "x.html", folder]))
        report.raw[f"application, {what}"] = {"runs": rows, "bytes": sum(f.stat().st_size for f in folder.iterdir())}
        took, cpu, mb = (common.median(r[k] for r in rows) for k in range(3))
        report.line(f"200 executors, {what}, wall clock", took, None, "< 5 s", took < 5, "s")
        report.line(f"200 executors, {what}, CPU time", cpu, None, "", None, "s")
        report.line(f"200 executors, {what}, peak memory", mb, None, "< 500 MB", mb < 500, "MB")


def main():
    report = common.Report("autostart")
    tmp = pathlib.Path(tempfile.mkdtemp(prefix="autostart"))
    try:
        if sys.argv[1:] != ["application"]:
            start_up(report, common.rounds(12, 3), tmp)
            slowdown(report, 2 * common.rounds(12, 2), tmp)
        application(report, tmp)
    finally:
        shutil.rmtree(tmp)
    report.close()


main()
