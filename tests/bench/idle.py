"""CPU time of a process with 5,000 threads that wait for ever, under the wall clock at 10 ms.

    ./build.sh bench idle [ROUNDS|quick]        4 rounds by default

One JVM (JDK 17); nobody, sparkprof and async-profiler take turns by attach, each is measured for eight seconds after
three in which it has met the threads. The figure is user and system time of the whole process less what it is with
nobody, in percent of a core, median over the rounds. async-profiler looks at few threads each tick (at 5,000 threads
each one every few seconds); sparkprof looks at every thread's clock."""
import tempfile
import time

import common
from kit import jvm

THREADS = 5000


def percent(pid, who, event, interval, file, seconds):
    who.start(pid, event, interval, file)
    time.sleep(3)
    cpu, begun = common.process_s(pid), time.monotonic()
    time.sleep(seconds)
    used = (common.process_s(pid) - cpu) / (time.monotonic() - begun)
    who.stop(pid)
    return 100 * used


def rounds_of(contestants, threads, rounds, seconds, interval="10ms", say="idle"):
    """{key: [percent of a core]} for a JVM with so many idle threads."""
    got = {w.key: [] for w in contestants}
    with tempfile.TemporaryDirectory() as tmp, jvm.Target("Idlers", threads, jvm=["-Xmx256m", "-XX:+UseSerialGC"]) as t:
        time.sleep(2)
        for i in range(rounds):
            for who in common.shuffled(contestants, i):
                common.progress(f"{say}: {threads} threads, round {i + 1} of {rounds}, {who.name}")
                got[who.key].append(percent(t.pid, who, "wall", interval, f"{tmp}/x.jfr", seconds))
    return got


def main(rounds):
    report = common.Report("idle")
    with common.peer() as peer:
        got = rounds_of([common.Nobody(), common.Ours(), peer], THREADS, rounds, 8)
    floor = common.median(got["none"])
    ours, theirs = common.median(got["ours"]) - floor, common.median(got[peer.key]) - floor
    report.line(f"process CPU, {THREADS:,} idle threads, wall 10 ms", ours, theirs, "<= 0.4 x", ours <= 0.4 * theirs, "% core")
    report.raw = got
    report.close()


if __name__ == "__main__":
    main(common.rounds(4, 1))
