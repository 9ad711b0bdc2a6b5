"""What a profiler adds to a running program, in many short slices of one JVM that take turns: nobody, ours, the peer, in an order of
chance that the next round has backwards, so that whatever drifts (heat, neighbours, the JVM's own heap) falls on each alike.

A slice is the CPU time of the whole process, user and system, for a unit of its work, by the process's own CPU clock. Neighbours on the
host only ever make a slice slower, by up to 2.5 times, and for seconds: so a contestant's figure is that of its faster slices, the one
that a fifth of them are below, over nobody's; and the 95 % that resampled rounds leave (bootstrap). What we add over what the peer adds
comes of the same resampling: one draw of rounds for all."""
import os
import random
import statistics
import time

import common

DRAWS = 4000
OWN = ("sparkprof", "Async-prof")  # names of the profilers' own threads begin so


def own_ns(pid):
    """CPU time of the threads that a profiler has in there."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/comm") as f:
                total += common.thread_ns(pid, tid) if f.read().startswith(OWN) else 0
        except OSError:
            pass
    return total


def measure(p, seconds):
    """{"cpu": CPU ns of a unit, "wall": ns of a unit, "own": share of the CPU time that the profiler's threads had}."""
    n, cpu, wall, own = p.units(), common.process_clock(p.pid), time.monotonic(), own_ns(p.pid)
    time.sleep(seconds)
    while (now := p.units()) == n:
        time.sleep(seconds)  # no core for so long: the clocks go on
    cpu, wall, own = common.process_clock(p.pid) - cpu, time.monotonic() - wall, own_ns(p.pid) - own
    return {"cpu": 1e9 * cpu / (now - n), "wall": 1e9 * wall / (now - n), "own": own / 1e9 / cpu}


def run(name, main, starts, rounds, seconds, options=()):
    """[{contestant: measure()}] by round. @starts: key → (start, stop), each taking a pid."""
    got = []
    p = common.Program(main, options)
    try:
        p.phase(2 * seconds)
        for i in range(rounds):
            order = common.shuffled(["none", *starts], i // 2)
            got.append({})
            for key in order if i % 2 == 0 else reversed(order):
                if key != "none":
                    starts[key][0](p.pid)
                p.phase(0.2)  # the first stacks, and what the JVM compiles anew
                got[-1][key] = measure(p, seconds)
                if key != "none":
                    starts[key][1](p.pid)
            common.progress(f"{name}: round {i + 1} of {rounds}")
    finally:
        p.t.close()
    return got


def fast(slices):
    """What a fifth of them are below."""
    return statistics.quantiles(slices, n=5)[0]


def added(got, ours, theirs, what="cpu"):
    """{"ours", "theirs": (figure, low, high) of what is added in percent, "ratio": (…) of ours to theirs}."""
    draw = random.Random(7)
    rows = [[r[key][what] for key in ("none", ours, theirs)] for r in got]

    def figures(rows):
        none, a, b = map(fast, zip(*rows))
        a, b = (100 * (x / none - 1) for x in (a, b))
        return a, b, a / b if b > 0 else float("inf") if a > 0 else 1.0

    drawn = [figures(draw.choices(rows, k=len(rows))) for _ in range(DRAWS)]
    out = {}
    for k, figure in enumerate(("ours", "theirs", "ratio")):
        values = sorted(d[k] for d in drawn)
        out[figure] = (figures(rows)[k], values[DRAWS // 40], values[-DRAWS // 40])
    return out


def lines(report, got, peer, what, aim=0.8):
    """The lines of a report: CPU time with its interval, wall clock, our own threads. Met: the whole interval is."""
    for clock, text in (("cpu", f"CPU time added to {what}"), ("wall", f"wall clock added to {what}")):
        a = added(got, "ours", peer, clock)
        met = None
        if clock == "cpu":
            met = True if a["ratio"][2] <= aim else False if a["ratio"][1] > aim else "not told"
            met = met if a["theirs"][1] > 0 else "not told"  # a ratio to nothing
        report.line(text, a["ours"][0], a["theirs"][0], f"<= {aim} x" if clock == "cpu" else "", met, "%", ratio=a["ratio"][0])
        for k, who in enumerate(("low", "high"), 1):
            report.line(f"  {who} end of 95 %", a["ours"][k], a["theirs"][k], "", None, "%", ratio=a["ratio"][k])
    own = {k: 100 * statistics.median(r[k]["own"] for r in got) for k in ("ours", peer)}
    report.line("  the profiler's own threads, of the process's CPU time", own["ours"], own[peer], "", None, "%")
    report.raw["slices"] = got
