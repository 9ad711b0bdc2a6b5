"""A Spark job that is bound by a Python UDF, while it is sampled at 100 Hz: how many rows less, beside py-spy 0.4.3.

    ./build.sh bench pyjob [ROUNDS|quick] [TASKS]        15 rounds by default, one task less than there are cores

One stage of Spark 4.3 that never ends (local-cluster, JDK 17). A round has a slice of 1.7 s of each: nobody; sparkprof on the
daemon and its workers, as py-spy has them; sparkprof on the executor with all that is below it; py-spy as it is by itself, which
stops the workers for each sample; and --nonblocking. The order turns from round to round. Rows that all workers did, by the clock
and by the second of CPU time that the workers used, each slice beside the nobody of its round; mean and median over the rounds with
95 % intervals (bootstrap over rounds). The median bears slices in which the host itself was slow."""
import math
import os
import pathlib
import random
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import common
from kit import parts, spark

SETTLE, SLICE = 0.8, 1.7
OURS = [str(common.SPARKPROF), "-q", "-e", "wall", "-i", "10ms", "-d", "60", "-o", "collapsed", "-f", "{out}"]
SPY = ["{spy}", "record", "-r", "100", "-d", "60", "-f", "raw", "--subprocesses", "-o", "{out}", "-p", "{daemon}"]
WAYS = {"none": None, "sparkprof": [*OURS, "{daemon}"], "sparkprof, executor": [*OURS, "{executor}"], "py-spy": SPY,
        "py-spy --nonblocking": [*SPY, "--nonblocking"]}


def look(rows):
    """Rows, CPU seconds of the workers, the clock."""
    count = sum(struct.unpack("Q", path.read_bytes())[0] for path in rows)
    cpu = sum(int((task / "schedstat").read_text().split()[0])
              for path in rows for task in pathlib.Path(f"/proc/{path.name[5:]}/task").iterdir())
    return count, cpu / 1e9, time.monotonic()


def measure(rows, command):
    """Rows per second, and per second of CPU time."""
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) if command else None
    time.sleep(SETTLE)
    before = look(rows)
    time.sleep(SLICE)
    after = look(rows)
    if run:
        if run.poll() is not None:
            raise RuntimeError(f"{command}: {run.stderr.read()}")
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)
    done, cpu, clock = (b - a for a, b in zip(before, after))
    return done / clock, done / cpu


def interval(ratios, middle, times=4000):
    """Loss in percent, and its 95 % interval: @middle (mean or median) of the logarithms, bootstrap over rounds."""
    logs, pick = [math.log(r) for r in ratios], random.Random(1)
    drawn = sorted(middle(pick.choices(logs, k=len(logs))) for _ in range(times))
    return tuple(100 * (1 - math.exp(x)) for x in (middle(logs), drawn[int(times * 0.975)], drawn[int(times * 0.025)]))


def compare(raw, unit, way, base):
    """By the mean, and by the median."""
    ratios = [a[unit] / b[unit] for a, b in zip(raw[way], raw[base])]
    return interval(ratios, statistics.mean), interval(ratios, statistics.median)


def tell(name, lost):
    print(f"{name}: " + "; ".join(f"{how} {x[0]:.2f} % fewer ({x[1]:.2f} to {x[2]:.2f})" for how, x in zip(("mean", "median"), lost)), flush=True)


def run(rounds, tasks, raw):
    with tempfile.TemporaryDirectory() as tmp, spark.App(master=f"local-cluster[1,{tasks},1024]", job="endless.py", args=[tmp, tasks]) as app:
        rows = sorted(pathlib.Path(tmp).iterdir())
        parent = pathlib.Path(f"/proc/{rows[0].name[5:]}/stat").read_text().rpartition(")")[2].split()[1]
        names = {"daemon": parent, "executor": app.executors()[0], "out": "/dev/null", "spy": parts.py_spy()}
        time.sleep(6)  # until the JVM's compilers have done their work
        for i in range(rounds):
            common.progress(f"pyjob: round {i + 1} of {rounds}")
            order = list(WAYS)[i % len(WAYS):] + list(WAYS)[:i % len(WAYS)]
            for way in order if i // len(WAYS) % 2 == 0 else order[::-1]:
                command = WAYS[way] and [word.format(**names) for word in WAYS[way]]
                raw.setdefault(way, []).append(measure(rows, command))


def main(rounds, tasks):
    report = common.Report("pyjob", "py-spy")
    run(rounds, tasks, report.raw)
    print()
    for unit, name in ((1, "rows per CPU second"), (0, "rows by the clock")):
        lost = {way: compare(report.raw, unit, way, "none") for way in list(WAYS)[1:]}
        for way in lost:
            tell(f"{name}, {way}", lost[way])
        for way in ("sparkprof", "sparkprof, executor"):
            for peer in ("py-spy", "py-spy --nonblocking"):
                apart = compare(report.raw, unit, way, peer)
                tell(f"{name}, {way} beside {peer}", apart)
                # nothing to be told from none, by both; and less than the peer's, surely, by both
                met = all(x[1] <= 0 for x in lost[way]) and all(x[2] < 0 for x in apart)
                report.line(f"{name}, fewer (median), {way}; {peer}", lost[way][1][0], lost[peer][1][0], "0, < theirs", met, "%", ratio=0)
    report.close()


if __name__ == "__main__":
    main(common.rounds(15, 2), int(sys.argv[2]) if len(sys.argv) > 2 else max(1, os.cpu_count() - 1))
