"""Shares of wall-clock time of spinning, sleeping and lock-waiting against the truth, on busy cores.

    ./build.sh bench wallshare [ROUNDS|quick]        4 rounds by default

A JVM (JDK 17) has four threads that only spin (more than the cores there are), two that only sleep, two that only
wait in Object.wait, and three that do all in turn, each piece 3 to 25 ms (tests/bench/WallTruth.java). Each thread
keeps the time of its pieces by System.nanoTime: the truth. sparkprof and async-profiler take turns by attach, wall at
10 ms, twelve seconds each.
error      the worst of the three shares' differences from the truth, in points. A recording's share is the sum of its
           weights (sparkprof: timeSpan; async-profiler: samples) over the method on the stack: spinning, sleeping or
           locking.
The aim is for the threads that do one thing each. Those that do all three show more: a piece shorter than the
interval may pass unseen, and what a thread waited for a core is told in one sum for all its reasons."""
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


def record(truth, who, seconds, file):
    """Records for so long. Returns what the threads say of that time, and its begin and end."""
    pid = truth.target.pid
    who.start(pid, "wall", "10ms", file)
    time.sleep(1)
    before, since = truth.look(), time.time_ns()
    time.sleep(seconds)
    after, until = truth.look(), time.time_ns()
    who.stop(pid)
    return [b - a for a, b in zip(before, after)], since, until


def errors(who, file, real, since, until):
    rows = [r for r in common.stacks(file, *METHODS, since=since, until=until) if r.thread.startswith("truth-")]
    weight = (lambda r: r.samples) if isinstance(who, common.Peer) else (lambda r: r.span)
    result = {}
    for kind, truth, mine in (("pure", percent(real[:3]), [r for r in rows if not r.thread.startswith("truth-3")]),
                              ("mixed", percent(real[3:]), [r for r in rows if r.thread.startswith("truth-3")])):
        seen = percent([sum(weight(r) for r in mine if m in r.marks) for m in METHODS])
        result[kind] = {"truth": truth, "seen": seen, "error": max(abs(a - b) for a, b in zip(seen, truth))}
    return result


def main(rounds):
    report = common.Report("wallshare")
    with common.peer() as peer, tempfile.TemporaryDirectory() as tmp:
        contestants, done, truth = [common.Ours("ring"), common.Ours("signal"), peer], [], Truth()
        try:
            for i in range(rounds):
                for who in common.shuffled(contestants, i):
                    common.progress(f"wallshare: round {i + 1} of {rounds}, {who.name}")
                    file = f"{tmp}/{i}-{who.key}.jfr"
                    done.append((who, file, *record(truth, who, 12, file)))
        finally:
            truth.target.close()  # its threads leave no core to those who read the recordings
        got = {w.key: [errors(*d) for d in done if d[0] is w] for w in contestants}
    for kind, what in (("pure", "threads that do one thing"), ("mixed", "threads that do all three")):
        theirs = common.median(r[kind]["error"] for r in got[peer.key])
        for key in ("ring", "signal"):
            ours = common.median(r[kind]["error"] for r in got[key])
            aim = kind == "pure"
            report.line(f"worst error of wall shares, {what}, {key}", ours, theirs, "<= 1 point" if aim else "", ours <= 1 if aim else None, "points")
    report.raw = got
    report.close()


if __name__ == "__main__":
    main(common.rounds(4, 1))
