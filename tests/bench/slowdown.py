"""What profiling at 10 ms adds to the CPU time of a real Spark SQL job.

    ./build.sh bench slowdown [PAIRS|quick [EVENTS]]        20 pairs of cpu,wall by default

A Spark 4.3 application (local-cluster, JDK 17, one executor with two cores) runs the same small job
(tests/spark/jobs/mixed.py, eight queries) again and again. Slices of a few jobs with nobody and slices with a profiler
take turns in it; in each block sparkprof and async-profiler have one slice of each event, in an order of the block's
own. Profilers are started by attach before a slice and stopped after it; the job that comes next after either is in no
slice, so that a start and an end are not measured, and what they leave behind for a moment is nobody's.

CPU time   of all threads of the executor's process, the profiler's and ended ones among them, per finished job, less that of the
           JIT compilers: what they still find to compile falls to one slice or another by chance.
pair       CPU time of a slice with a profiler / mean of the slices with nobody before and after it. The line gives the
           geometric mean of the pairs less 1, in percent, and the upper end of its 95 % interval.
own        the part of that CPU time that the profiler's own threads took, median of the slices: no pair is needed for it.
The job runs until its time no longer falls before the first slice."""
import contextlib
import math
import pathlib
import sys
import tempfile
import time

import common
from kit import spark

SLICE_S = 1.2


class Job:
    def __init__(self, rows):
        self.app = spark.App(timeout=600, job="mixed.py", args=("ask", rows), conf={"spark.executor.memory": "1g"},
                             jvm="-Xms1g -XX:+AlwaysPreTouch -XX:+UseParallelGC -XX:-UseDynamicNumberOfCompilerThreads")
        [self.pid] = self.app.executors()
        self.seen = self.app.text.count(b"done ")
        self.compilers = self.threads("C1 Compiler", "C2 Compiler")

    def threads(self, *names):
        """Ids of the threads whose names begin like that."""
        found = []
        for t in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                if (t / "comm").read_text().startswith(names):
                    found.append(int(t.name))
        return found

    def run(self):
        """One job from begin to end."""
        self.app.proc.stdin.write(b"\n")
        self.app.proc.stdin.flush()
        self.seen += 1
        end = time.monotonic() + 300
        while self.app.text.count(b"done ") < self.seen:
            self.app.text += self.app.proc.stdout.read() or b""
            if time.monotonic() > end or self.app.proc.poll() is not None:
                raise RuntimeError("the Spark job does not end")
            time.sleep(0.002)

    def close(self):
        self.app.close()

    def clock(self, own):
        """CPU seconds so far of the executor, of its compilers, and of the threads @own."""
        return [common.process_clock(self.pid)] + [sum(common.thread_ns(self.pid, t) for t in tids) / 1e9 for tids in (self.compilers, own)]

    def slice(self, seconds):
        """CPU seconds per job over the jobs of so many seconds: {"cpu": without compilers, "jit": theirs, "own": the profiler's}."""
        self.run()
        own = self.threads("sparkprof", "Async-profiler")
        before, n, end = self.clock(own), 0, time.monotonic() + seconds
        while n == 0 or time.monotonic() < end:
            self.run()
            n += 1
        cpu, jit, mine = [(now - then) / n for now, then in zip(self.clock(own), before)]
        return {"cpu": cpu - jit, "jit": jit, "own": mine, "jobs": n}


def warm(job, least_s, most_s):
    """Runs the job until ten in a row are no faster than those before, for @least_s seconds at least and @most_s at most."""
    times, begun = [], time.monotonic()
    while (gone := time.monotonic() - begun) < most_s:
        times.append(job.slice(0)["cpu"])
        common.progress(f"slowdown: warming up, {gone:.0f} s: {times[-1]:.3f} s of CPU")
        if gone > least_s and len(times) > 10 and min(times[-10:]) > 0.98 * min(times[:-10]):
            break


def one_block(job, variants, before, i, tmp):
    """[{variant, its slice, the slices with nobody around it}] and the last slice with nobody."""
    got = []
    for name in common.shuffled(variants, i):
        who, event = variants[name]
        who.start(job.pid, event, "10ms", f"{tmp}/x.jfr")
        mine = job.slice(SLICE_S)
        who.stop(job.pid)
        after = job.slice(SLICE_S)
        got.append({"who": name, "with": mine, "before": before, "after": after})
        before = after
    return got, before


def ratio(pair):
    return pair["with"]["cpu"] / ((pair["before"]["cpu"] + pair["after"]["cpu"]) / 2)


def main(pairs, events, rows=100_000):
    report, got = common.Report("slowdown"), []
    with common.peer() as peer, tempfile.TemporaryDirectory() as tmp, contextlib.closing(Job(rows)) as job:
        who = {"ours": common.Ours(), "peer": peer}
        variants = {f"{w} {event}": (who[w], event) for event in events for w in who}
        warm(job, *(45, 90) if pairs > 5 else (0, 10))
        one_block(job, variants, job.slice(0), 0, tmp)  # the first start of either finds more to do
        before = job.slice(SLICE_S)
        for i in range(pairs):
            block, before = one_block(job, variants, before, i, tmp)
            got += block
            common.progress(f"slowdown: pair {i + 1} of {pairs}; {before['cpu']:.3f} s of CPU a job with nobody")
    ends, own = {}, {}
    for name in variants:
        own[name] = 100 * common.median(p["with"]["own"] / p["with"]["cpu"] for p in got if p["who"] == name)
        mean, half = common.interval95(math.log(ratio(p)) for p in got if p["who"] == name)
        ends[name] = (math.exp(mean), math.exp(mean + half))
    for event in events:
        mine, theirs = ends[f"ours {event}"], ends[f"peer {event}"]
        report.line(f"CPU added to a Spark SQL job, {event} 10 ms: mean of {pairs}", 100 * (mine[0] - 1), 100 * (theirs[0] - 1), "", None, "%", ratio=mine[0] / theirs[0])
        report.line("… upper end of the 95 % interval", 100 * (mine[1] - 1), 100 * (theirs[1] - 1), "<= 2 %", mine[1] <= 1.02, "%", ratio=mine[1] / theirs[1])
        report.line("… the profiler's own threads", own[f"ours {event}"], own[f"peer {event}"], "", None, "%")
    report.raw = {"pairs": got, "ratios": ends}
    report.close()


if __name__ == "__main__":
    main(common.rounds(20, 2), sys.argv[2].split(",") if len(sys.argv) > 2 else ["cpu", "wall"])
