"""Shares of wall-clock time of spinning, sleeping and lock-waiting against the truth, on busy cores.

    ./build.sh bench wallshare [ROUNDS|quick]        4 rounds unless told

A JVM (JDK 17) has four threads that only spin (more than the cores there are), two that only sleep, two that only wait in Object.wait, and three that do all
in turn, each piece 3 to 25 ms (tests/bench/WallTruth.java). Each thread keeps the time of its pieces by System.nanoTime: the truth. sparkprof and
async-profiler take turns by attach, wall at 10 ms, twelve seconds each.
error      the worst of the three shares' differences from the truth, in points. A recording's share is the sum of its
           weights (sparkprof: timeSpan; async-profiler: samples) over the method on the stack: spinning, sleeping or locking."""
import tempfile
import time

import common
from kit import jvm

METHODS = [f"WallTruth.{m}" for m in ("spinning", "sleeping", "locking")]


class Truth:
    def __init__(self):
        self.target = jvm.Target("WallTruth", 4, 2, 2, 3, classes=common.compiled(), jvm=["-Xmx256m", "-XX:+UseSerialGC"])
        self.asked = 0

    def look(self):
        self.asked += 1
        self.target.send("")
        self.target.wait_for(f"truth {self.asked} ")
        line = next(x for x in self.target.stdout().splitlines() if x.startswith(f"truth {self.asked} "))
        return list(map(int, line.split()[2:]))


def percent(values):
    return [100 * v / sum(values) for v in values]


def error(truth, who, seconds, file):
    pid = truth.target.pid
    who.start(pid, "wall", "10ms", file)
    time.sleep(1)
    before, since = truth.look(), time.time_ns()
    time.sleep(seconds)
    after, until = truth.look(), time.time_ns()
    who.stop(pid)
    rows = [r for r in common.stacks(file, *METHODS, since=since, until=until) if r.thread.startswith("truth-")]
    got = percent([sum(r.weight for r in rows if m in r.marks) for m in METHODS])
    real = percent([b - a for a, b in zip(before, after)])
    missed = 1 - sum(r.weight for r in rows if r.marks) / max(1, sum(r.weight for r in rows))
    return {"truth": real, "seen": got, "error": max(abs(a - b) for a, b in zip(got, real)), "elsewhere": missed}


def main(rounds):
    report = common.Report("wallshare")
    truth = Truth()
    try:
        with common.peer() as peer, tempfile.TemporaryDirectory() as tmp:
            contestants = [common.Ours("ring"), common.Ours("signal"), peer]
            got = {w.key: [] for w in contestants}
            for i in range(rounds):
                for who in common.shuffled(contestants, i):
                    common.progress(f"wallshare: round {i + 1} of {rounds}, {who.name}")
                    got[who.key].append(error(truth, who, 12, f"{tmp}/x.jfr"))
    finally:
        truth.target.close()
    theirs = common.median(r["error"] for r in got[peer.key])
    for key in ("ring", "signal"):
        ours = common.median(r["error"] for r in got[key])
        report.line(f"worst error of wall shares, {key}", ours, theirs, "<= 1 point", ours <= 1, "points")
    report.raw = got
    report.close()


if __name__ == "__main__":
    main(common.rounds(4, 1))
