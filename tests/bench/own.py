"""What recording costs in all, the profiler's threads and the target's, beside async-profiler, at the intervals that users use.

    ./build.sh bench own [ROUNDS|quick]        10 rounds by default: nine minutes

One JVM (JDK 17): a thread that works under 30 frames, and 60 that wait. A round has a slice of 0.8 s of nobody twice, and of sparkprof and
async-profiler at each way of recording, in an order of the round's own that the next round has backwards; each is begun 2.2 s before, when
what happens once at a start is over. Milliseconds of CPU for each second of the program's own work.

direct        CPU time of the whole process for a unit of work (its own CPU clock), less nobody's in the same round
threads       of the profilers' own threads, which the scheduler counts exactly, for each second by the clock
by parts      threads, and samples of a second of one busy core times what a sample costs its thread: that by slices at 200 us of the same
              rounds, where it is large enough to be seen. Not of wall, which has no such sample
Medians over the rounds; intervals of 95 % by bootstrap over rounds. Met: the whole interval of the difference is below 0; one that has 0 in it is
"undecided", which is not met. The control is nobody beside nobody: has its interval no 0 in it, nothing that is compared here is decided.
async-profiler sees no Python: what that costs is by itself, the agent's Python thread beside one busy worker, and is compared with nobody."""
import os
import pathlib
import random
import statistics
import tempfile
import time

import common
import slices
from kit import jvm
from kit.python import TARGETS

WAYS = [("cpu", i) for i in ("200us", "1ms", "10ms", "100ms", "1s")] + [("wall", i) for i in ("10ms", "50ms")]
THREADS = {("cpu", "10ms"): 2, ("wall", "50ms"): 3, ("wall", "10ms"): 8}  # aims, ms/s
SECONDS = {"200us": 0.0002, "1ms": 0.001, "10ms": 0.01, "100ms": 0.1, "1s": 1}
SLICE, SETTLE, DRAWS, LEAST = 0.8, 2.2, 2000, 6  # rounds of which an interval says something
PYTHON = [("event=cpu,interval=10ms", "cpu 10ms", None), ("event=cpu,interval=20ms", "cpu 20ms", 1), ("event=wall,interval=20ms", "wall 20ms", 1)]
WORKER = ("setpriv", "--pdeathsig", "KILL", "/usr/bin/python3", "-m", "pyspark.worker", 500)


class Program(common.Program):
    """tests/bench/Work.java: units of half a millisecond."""

    def __init__(self):
        self.t = jvm.Target("Work", 30, 60, jvm=["-Xmx256m", "-XX:+UseSerialGC"], classes=common.compiled())
        self.pid, self.seen = self.t.pid, 0


def measure(p):
    """(CPU seconds of the process for a unit; of the profiler's own threads for a second by the clock, and for a unit)."""
    n, cpu, own, begun = p.units(), common.process_clock(p.pid), slices.own_ns(p.pid), time.monotonic()
    time.sleep(SLICE)
    while (now := p.units()) == n:
        time.sleep(SLICE)
    cpu, own = common.process_clock(p.pid) - cpu, slices.own_ns(p.pid) - own
    return cpu / (now - n), own / 1e9 / (time.monotonic() - begun), own / 1e9 / (now - n)


def slice_of(p, who, event, interval, file):
    if who:
        who.start(p.pid, event, interval, file)
    time.sleep(SETTLE)
    found = measure(p)
    if who:
        who.stop(p.pid)
        pathlib.Path(file).unlink(missing_ok=True)
    return found


def run(rounds, peer):
    """[{(who, event, interval): measure()}]; who: "none", "again", "ours", "peer"."""
    keys = [("none", "", ""), ("again", "", "")] + [(who, *way) for way in WAYS for who in ("ours", "peer")]
    people, got, p = {"ours": common.Ours(), "peer": peer}, [], Program()
    try:
        p.phase(2)
        with tempfile.TemporaryDirectory() as tmp:
            for i in range(rounds):
                order = common.shuffled(keys, i // 2)
                got.append({})
                for n, key in enumerate(order if i % 2 == 0 else order[::-1]):
                    common.progress(f"own: round {i + 1} of {rounds}, {n + 1} of {len(order)}")
                    got[-1][key] = slice_of(p, people.get(key[0]), key[1], key[2], f"{tmp}/x.jfr")
    finally:
        p.t.close()
    return got


def nobody(r):
    return (r["none", "", ""][0] + r["again", "", ""][0]) / 2


def direct(rows, who, way):
    """ms of CPU more for a second of work."""
    return statistics.median(1e3 * (r[who, *way][0] / nobody(r) - 1) for r in rows)


def threads(rows, who, way):
    return statistics.median(1e3 * r[who, *way][1] for r in rows)


def busy(rows, who, way):
    """Of threads, for a second of work: a program that has no core all the time does less by the clock than they do."""
    return statistics.median(1e3 * r[who, *way][2] / nobody(r) for r in rows)


def by_parts(rows, who, way):
    dense = ("cpu", "200us")
    sample = max(0, direct(rows, who, dense) - busy(rows, who, dense)) * SECONDS["200us"]  # ms for each
    return threads(rows, who, way) + sample / SECONDS[way[1]]


def interval(rows, figure):
    """(figure, low, high)."""
    draw = random.Random(7)
    drawn = sorted(figure(draw.choices(rows, k=len(rows))) for _ in range(DRAWS))
    return figure(rows), drawn[DRAWS // 40], drawn[-DRAWS // 40]


def verdict(low, high, aim=0):
    return True if high <= aim else False if low > aim else "undecided"


def compare(report, rows, what, how, way, sound):
    ours, theirs = how(rows, "ours", way), how(rows, "peer", way)
    _, low, high = interval(rows, lambda r: how(r, "ours", way) - how(r, "peer", way))
    report.line(f"{way[0]} {way[1]}, {what} ({low:+.2f} to {high:+.2f})", ours, theirs, "< theirs",
                verdict(low, high) if sound else "undecided", "ms/s")


def python_ms(options, seconds):
    """Of the agent's Python thread, ms/s, beside one worker that is always busy: in slices of a second."""
    with tempfile.TemporaryDirectory() as tmp, jvm.Target(
            "Parent", *WORKER, jvm=[f"-agentpath:{common.AGENT}=start,{options},python=on,file={tmp}/x.jfr"],
            env={**os.environ, "PYTHONPATH": str(TARGETS)}) as t:
        while "sparkprof-py" not in t.threads().values():
            time.sleep(0.05)
        tid = next(k for k, name in t.threads().items() if name == "sparkprof-py")
        time.sleep(3)
        found = []
        for _ in range(seconds):
            ns, begun = common.thread_ns(t.pid, tid), time.monotonic()
            time.sleep(1)
            found.append((common.thread_ns(t.pid, tid) - ns) / 1e6 / (time.monotonic() - begun))
    return found


def main(rounds):
    report = common.Report("own")
    with common.peer() as peer:
        rows = run(rounds, peer)
    report.raw["rounds"] = [{" ".join(k).strip(): v for k, v in r.items()} for r in rows]
    control = interval(rows, lambda x: statistics.median(1e3 * (r["again", "", ""][0] / r["none", "", ""][0] - 1) for r in x))
    sound = control[1] <= 0 <= control[2] and rounds >= LEAST
    report.line(f"control: nobody beside nobody ({control[1]:+.2f} to {control[2]:+.2f})", control[0], None, "0 within",
                sound, "ms/s")
    for way in WAYS:
        compare(report, rows, "direct", direct, way, sound)
        if way[0] == "cpu" and way[1] != "200us":
            compare(report, rows, "by parts", by_parts, way, sound)
        ours = interval(rows, lambda r: threads(r, "ours", way))
        aim = THREADS.get(way)
        report.line(f"{way[0]} {way[1]}, threads ({ours[1]:.2f} to {ours[2]:.2f})", ours[0], threads(rows, "peer", way),
                    f"<= {aim}" if aim else "", (verdict(*ours[1:], aim) if rounds >= LEAST else "undecided") if aim else None, "ms/s")
    for options, name, aim in PYTHON:
        common.progress(f"own: Python, {name}")
        found = python_ms(options, 3 if rounds < 4 else 10)
        report.raw[f"python {name}"] = found
        ms = interval(found, statistics.median)
        report.line(f"Python, one busy worker, {name} ({ms[1]:.2f} to {ms[2]:.2f})", ms[0], None, f"<= {aim}" if aim else "",
                    verdict(*ms[1:], aim) if aim else None, "ms/s")
    report.close()


if __name__ == "__main__":
    main(common.rounds(10, 2))
