"""Whole stacks on a real Spark executor: sparkprof by ring and by signal beside async-profiler.

    ./build.sh bench whole [SAMPLES|quick [JDKS [KINDS]]]        60,000 samples a cell, 17,25, steady,start-up by default

A Spark 4.3 application (local-cluster, one executor with two cores, tests/spark/jobs/mixed.py) runs SQL of many
kinds, under JDK 17 and under JDK 25, sampled by CPU time.
steady     the executor has run for a while; the profilers take turns in it by attach, 12 seconds each, until each has
           its samples.
start-up   each takes turns in an executor of its own from the JVM's first instruction (-agentpath), until it has its
           samples.

whole      samples whose last frame is where threads begin: clone, start_thread, _start; or, for stacks that end at
           the last Java frame (async-profiler's), a method run or main. Kinder to async-profiler, which need not find
           what is below. Samples that the recording counts as lost are broken ones; async-profiler does not count its
           own.
unknown    samples with a frame of which nothing is known: [unknown], break_*, a method that has gone; and empty
           stacks. Code of a known library without a symbol there is not unknown."""
import collections
import os
import sys
import tempfile
import time

import common
from kit import spark

INTERVAL = "1ms"


class Cell:
    """What one profiler saw in one situation."""

    def __init__(self):
        self.samples = self.whole = self.unknown = self.truncated = self.lost = 0
        self.broken_by_thread = collections.Counter()

    def add(self, file):
        for r in common.stacks(file):
            if r.type == "lost":
                self.lost += r.count
            elif r.type == "jdk.ExecutionSample":
                self.samples += r.count
                self.whole += r.count * r.whole
                self.unknown += r.count * r.unknown
                self.truncated += r.count * r.truncated
                self.broken_by_thread[r.thread] += r.count * (not r.whole)

    def percent(self, n):
        return 100 * n / max(1, self.samples + self.lost)

    def dump(self):
        return {"samples": self.samples, "lost": self.lost, "whole %": self.percent(self.whole), "unknown %": self.percent(self.unknown),
                "truncated": self.truncated, "broken by thread": dict(self.broken_by_thread.most_common(8))}


def keep(file, name):
    """Recordings with broken stacks stay for whoever asks why."""
    os.replace(file, common.OUT / name)


def steady(jdk, contestants, want):
    cells = {w.key: Cell() for w in contestants}
    with tempfile.TemporaryDirectory() as tmp, spark.App(timeout=600, jdk=jdk, job="mixed.py", conf={"spark.executor.memory": "1g"}) as app:
        [pid] = app.executors()
        time.sleep(15)
        turn = 0
        while any(c.samples < want for c in cells.values()) and turn < 40:
            for who in common.shuffled(contestants, turn):
                if cells[who.key].samples >= want:
                    continue
                common.progress(f"JDK {jdk}, steady: {who.name}, {cells[who.key].samples} samples")
                who.start(pid, "cpu", INTERVAL, f"{tmp}/x.jfr")
                time.sleep(12)
                who.stop(pid)
                cells[who.key].add(f"{tmp}/x.jfr")
                keep(f"{tmp}/x.jfr", f"whole-{jdk}-steady-{who.key}.jfr")
            turn += 1
    return cells


def from_start(jdk, contestants, want):
    cells = {w.key: Cell() for w in contestants}
    turn = 0
    while any(c.samples < want for c in cells.values()) and turn < 20:
        for who in common.shuffled(contestants, turn):
            if cells[who.key].samples >= want:
                continue
            common.progress(f"JDK {jdk}, start-up: {who.name}, {cells[who.key].samples} samples")
            with tempfile.TemporaryDirectory() as tmp:
                with spark.App(timeout=600, jdk=jdk, job="mixed.py", jvm=who.option("cpu", INTERVAL, f"{tmp}/x.jfr"),
                               conf={"spark.executor.memory": "1g"}) as app:
                    [pid] = app.executors()
                    time.sleep(10)
                    who.stop(pid)
                cells[who.key].add(f"{tmp}/x.jfr")
                keep(f"{tmp}/x.jfr", f"whole-{jdk}-start-{who.key}.jfr")
        turn += 1
    return cells


def lines(report, what, cells, peer):
    theirs = cells[peer.key]
    for key, mine in cells.items():
        if key == peer.key:
            continue
        ours = mine.percent(mine.whole)
        report.line(f"{what}, {key}: whole", ours, theirs.percent(theirs.whole), ">= 99.99, above",
                    ours >= 99.99 and ours > theirs.percent(theirs.whole), "%")
        bad = mine.percent(mine.unknown)
        report.line(f"{what}, {key}: unknown", bad, theirs.percent(theirs.unknown), "<= 0.1 %", bad <= 0.1, "%")
    report.raw[what] = {key: c.dump() for key, c in cells.items()}


def main(want, jdks=(17, 25), kinds=("steady", "start-up")):
    report = common.Report("whole")
    common.OUT.mkdir(parents=True, exist_ok=True)
    with common.peer() as peer:
        contestants = [common.Ours("ring"), common.Ours("signal"), peer]
        for jdk in jdks:
            for kind in kinds:
                run = steady if kind == "steady" else from_start
                lines(report, f"JDK {jdk}, {kind}", run(jdk, contestants, want), peer)
    report.close()


if __name__ == "__main__":
    chosen = [x.split(",") for x in sys.argv[2:4]]
    main(common.rounds(60_000, 2_000), *[list(map(int, jdks)) for jdks in chosen[:1]], *chosen[1:])
