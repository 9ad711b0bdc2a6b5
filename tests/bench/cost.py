"""What a sample costs the thread it is taken of: sparkprof by ring and by signal, async-profiler, nobody.

    ./build.sh bench cost [ROUNDS|quick]        12 rounds by default

One JVM (JDK 17) has a thread that does units of fixed work under about 30 frames. It has one core for itself; all
other threads of the JVM, the collectors among them, have the other core. In each round nobody, sparkprof with rings,
sparkprof with signals and async-profiler take turns in an order of the round's own; each is started at 200 us by
attach, and measured for two seconds.

cost per sample   (CPU time of the thread - units done x CPU time of a unit with nobody there) / samples of the thread
CPU time is the thread's own clock, which has the interrupts in it on kernels without CONFIG_IRQ_TIME_ACCOUNTING;
samples are those that the recording has of this thread. The cost of a unit with nobody there is the mean of the
phases of nobody before and after. The figure is the median over the rounds."""
import os
import tempfile
import time

import common
from kit import jvm

AIM = {"ring": 0.6, "signal": 0.85}


class Worker:
    """The Java program with its working thread pinned."""

    def __init__(self, depth=30, idle=0, jdk=17):
        self.target = jvm.Target("Work", depth, idle, jdk=jdk, classes=common.compiled(), jvm=["-Xmx256m", "-XX:+UseSerialGC"])
        self.pid = self.target.pid
        self.asked = 0
        time.sleep(0.5)
        self.tid = next(int(t) for t, name in self.target.threads().items() if name == "worker")
        cores = sorted(os.sched_getaffinity(0))
        common.pin(self.pid, self.tid, cores[-1], cores[0])
        self.phase(1)  # the last compilation has happened

    def look(self):
        """(units done, CPU time of the thread) at one moment."""
        self.asked += 1
        self.target.send("")
        self.target.wait_for(f"units {self.asked} ")
        cpu = common.thread_ns(self.pid, self.tid)
        line = next(x for x in self.target.stdout().splitlines() if x.startswith(f"units {self.asked} "))
        return int(line.split()[2]), cpu

    def phase(self, seconds):
        """Units done and CPU time used in so many seconds."""
        units, cpu = self.look()
        time.sleep(seconds)
        now_units, now_cpu = self.look()
        return now_units - units, now_cpu - cpu

    def close(self):
        self.target.close()


def measure(worker, who, seconds, file, event="cpu", interval="200us"):
    """One phase: units done, CPU time and samples of the worker, CPU time of all other threads."""
    who.start(worker.pid, event, interval, file)
    time.sleep(0.3)  # its first reading of symbols is not a sample's cost
    before, since = common.threads_s(worker.pid), time.time_ns()
    units, cpu = worker.phase(seconds)
    total, until = common.threads_s(worker.pid) - before, time.time_ns()
    who.stop(worker.pid)
    result = {"units": units, "cpu_ns": cpu, "others_ns": total * 1e9 - cpu, "samples": 0}
    if os.path.exists(file):
        result["samples"] = common.samples(file, "worker", since=since, until=until)
        os.unlink(file)
    return result


def costs(worker, contestants, rounds, seconds, say="cost"):
    """[{key: {"us": cost per sample, …}}] for each round. Nobody comes before, between and after the others."""
    nobody, result = common.Nobody(), []
    with tempfile.TemporaryDirectory() as tmp:
        before = measure(worker, nobody, seconds, f"{tmp}/x.jfr")
        for i in range(rounds):
            got = {}
            for who in common.shuffled(contestants, i):
                common.progress(f"{say}: round {i + 1} of {rounds}, {who.name}")
                m = measure(worker, who, seconds, f"{tmp}/x.jfr")
                after = measure(worker, nobody, seconds / 2, f"{tmp}/x.jfr")
                unit = (before["cpu_ns"] / before["units"] + after["cpu_ns"] / after["units"]) / 2
                n = max(1, m["samples"])
                got[who.key] = {**m, "us": (m["cpu_ns"] - m["units"] * unit) / n / 1e3, "others_us": m["others_ns"] / n / 1e3,
                                "unit_ns": unit, "rate": m["samples"] / m["cpu_ns"] * 1e9}
                before = after
            result.append(got)
    return result


def main(rounds):
    report = common.Report("cost")
    worker = Worker()
    try:
        with common.peer() as peer:
            contestants = [common.Ours("ring"), common.Ours("signal"), peer]
            got = costs(worker, contestants, rounds, 2)
    finally:
        worker.close()
    theirs = common.median(r[peer.key]["us"] for r in got)
    for key, aim in AIM.items():
        ours = common.median(r[key]["us"] for r in got)
        report.line(f"cost per sample on its thread, {key}", ours, theirs, f"<= {aim} x", ours <= aim * theirs, "us")
    for key in AIM:
        report.line(f"other threads' CPU per sample, {key}", common.median(r[key]["others_us"] for r in got),
                    common.median(r[peer.key]["others_us"] for r in got), "", None, "us")
        report.line(f"samples per second of CPU, {key}", common.median(r[key]["rate"] for r in got),
                    common.median(r[peer.key]["rate"] for r in got), "", None)
    report.raw = {"rounds": got}
    report.close()


if __name__ == "__main__":
    main(common.rounds(12, 2))
