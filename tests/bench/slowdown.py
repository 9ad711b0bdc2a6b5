"""What profiling at 10 ms adds to the CPU time of a real Spark SQL job.

    ./build.sh bench slowdown [PAIRS|quick]        20 pairs unless told

A Spark 4.3 application (local-cluster, JDK 17, one executor with two cores) runs the same job
(tests/spark/jobs/mixed.py, eight queries) again and again. In each round it runs it once with nobody, once each with
sparkprof cpu, sparkprof wall, async-profiler cpu and async-profiler wall, in an order of the round's own; profilers
are started by attach before the job and stopped after it. What is compared is user and system time of the executor's
process from before to after the job: the profiler's own threads are in it, its start and end are not.
ratio      profiled / with nobody in the same round: one pair. The line gives the geometric mean of the pairs less 1,
           in percent, and the upper end of its 95 % interval.
The job runs until its time no longer falls before the first round."""
import math
import tempfile
import time

import common
from kit import spark


class Job:
    def __init__(self, rows):
        self.app = spark.App(timeout=600, job="mixed.py", args=("ask", rows), conf={"spark.executor.memory": "1g"},
                             jvm="-Xms1g -XX:+AlwaysPreTouch -XX:+UseParallelGC")
        [self.pid] = self.app.executors()
        self.seen = self.app.text.count(b"done ")

    def run(self):
        """CPU seconds of the executor for one job."""
        before = common.process_s(self.pid)
        self.app.proc.stdin.write(b"\n")
        self.app.proc.stdin.flush()
        self.seen += 1
        end = time.monotonic() + 300
        while self.app.text.count(b"done ") < self.seen:
            self.app.text += self.app.proc.stdout.read() or b""
            if time.monotonic() > end or self.app.proc.poll() is not None:
                raise RuntimeError("the Spark job does not end")
            time.sleep(0.01)
        return common.process_s(self.pid) - before


def warm(job, most):
    """Runs the job until three in a row are no faster than those before."""
    times = []
    while len(times) < most and (len(times) < 6 or min(times[-3:]) < 0.98 * min(times[:-3])):
        times.append(job.run())
        common.progress(f"slowdown: warming up, {len(times)}: {times[-1]:.2f} s of CPU")


def one_round(job, variants, i, tmp):
    got = {}
    for name in common.shuffled(variants, i):
        who, event = variants[name]
        who.start(job.pid, event, "10ms", f"{tmp}/x.jfr")
        got[name] = job.run()
        who.stop(job.pid)
    return got


def main(pairs, rows=1_000_000):
    report = common.Report("slowdown")
    with common.peer() as peer, tempfile.TemporaryDirectory() as tmp:
        ours = common.Ours()
        variants = {"none": (common.Nobody(), ""), "ours cpu": (ours, "cpu"), "ours wall": (ours, "wall"),
                    "peer cpu": (peer, "cpu"), "peer wall": (peer, "wall")}
        job = Job(rows)
        try:
            warm(job, 25 if pairs > 5 else 6)
            got = []
            for i in range(pairs):
                got.append(one_round(job, variants, i, tmp))
                common.progress(f"slowdown: pair {i + 1} of {pairs}; {got[-1]['none']:.2f} s of CPU with nobody")
        finally:
            job.app.close()
    ends = {}
    for name in variants:
        mean, half = common.interval95(math.log(r[name] / r["none"]) for r in got)
        ends[name] = (math.exp(mean), math.exp(mean + half))
    for event in ("cpu", "wall"):
        mine, theirs = ends[f"ours {event}"], ends[f"peer {event}"]
        report.line(f"CPU added to a Spark SQL job, {event} 10 ms: mean", 100 * (mine[0] - 1), 100 * (theirs[0] - 1), "", None, "%", ratio=mine[0] / theirs[0])
        report.line("… upper end of the 95 % interval", 100 * (mine[1] - 1), 100 * (theirs[1] - 1), "<= 2 %", mine[1] <= 1.02, "%", ratio=mine[1] / theirs[1])
    report.raw = {"rounds": got, "ratios": ends}
    report.close()


if __name__ == "__main__":
    main(common.rounds(20, 2))
