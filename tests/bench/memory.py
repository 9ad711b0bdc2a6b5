"""Memory that a profiler adds to a Spark executor, as growth of Pss against an executor without one.

    ./build.sh bench memory [ROUNDS|quick]        3 rounds by default

A Spark 4.3 application (local-cluster, JDK 17) has three executors that do the same SQL (tests/spark/jobs/mixed.py)
with heaps touched beforehand. After half a minute sparkprof (cpu, 10 ms) is started in one, async-profiler in
another, the third is the control; Pss (/proc/PID/smaps_rollup) is read before, after 20 seconds of profiling, and
again when both have stopped. In the next round, a new application, the parts move on.
added      growth of Pss while profiling, less the control's: median over the rounds.
left       the same after stop."""
import tempfile
import time

import common
from kit import spark


def pss_mb(pid):
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("Pss:")) / 1024


def measure(who_of, seconds):
    """{key: (added, left)} for {pid index: profiler}."""
    with tempfile.TemporaryDirectory() as tmp, spark.App(
            "local-cluster[3,1,1024]", timeout=600, job="mixed.py", args=("loop", 300_000), conf={"spark.executor.memory": "512m"},
            jvm="-Xms512m -XX:+AlwaysPreTouch -XX:+UseSerialGC") as app:
        pids = app.executors()
        time.sleep(30)
        before = [pss_mb(p) for p in pids]
        for i, who in enumerate(who_of):
            who.start(pids[i], "cpu", "10ms", f"{tmp}/{i}.jfr")
        time.sleep(seconds)
        during = [pss_mb(p) for p in pids]
        for i, who in enumerate(who_of):
            who.stop(pids[i])
        time.sleep(1)
        after = [pss_mb(p) for p in pids]
    return {w.key: {"added": during[i] - before[i], "left": after[i] - before[i]} for i, w in enumerate(who_of)}


def main(rounds):
    report = common.Report("memory")
    got = []
    with common.peer() as peer:
        parts = [common.Ours(), peer, common.Nobody()]
        for i in range(rounds):
            common.progress(f"memory: round {i + 1} of {rounds}")
            got.append(measure(parts[i % 3:] + parts[:i % 3], 20))
    for what in ("added", "left"):
        ours, theirs = (common.median(r[k][what] - r["none"][what] for r in got) for k in ("ours", peer.key))
        aim = what == "added"
        report.line(f"Pss {what}, MB over a control executor", ours, theirs, "<= 0.5 x" if aim else "", ours <= 0.5 * theirs if aim else None, "MB")
    report.raw = {"rounds": got}
    report.close()


if __name__ == "__main__":
    main(common.rounds(3, 1))
