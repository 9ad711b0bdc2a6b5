"""CPU time of the agent's own threads in a real executor that works on SQL and PySpark at once.

    ./build.sh bench own_threads [ROUNDS|quick]        3 rounds by default

Spark 4.3 and 3.5, local-cluster with one executor of two cores, JDK 17. Each way of recording runs for 15 s; the first two
are left out. The figure is the CPU time of the threads called sparkprof*, by the kernel's account of each thread
(/proc/PID/task/TID/schedstat), in milliseconds per second; median over the rounds. The system calls of the threads are not
in it as a number: tests/jvm/test_own_calls.py counts them."""
import collections
import pathlib
import statistics
import sys
import tempfile
import time

import common
from kit import spark

WAYS = [("cpu", "10ms", 2), ("wall", "50ms", 3), ("wall", "10ms", 8)]
VERSIONS = ("4.3.0", "3.5.7")
SETTLE, SECONDS = 2, 13


def own(pid):
    """{tid: (name, nanoseconds)} of the agent's threads."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            name = (task / "comm").read_text().strip()
            if name.startswith("sparkprof"):
                found[task.name] = name, int((task / "schedstat").read_text().split()[0])
        except OSError:
            pass  # it has ended
    return found


def record(pid, event, interval, file):
    """{thread's name: milliseconds per second}, and "busy": cores that the executor used."""
    who = common.Ours()
    who.start(pid, event, interval, file)
    time.sleep(SETTLE)
    before, busy, begun = own(pid), common.process_s(pid), time.monotonic()
    time.sleep(SECONDS)
    after, busy, took = own(pid), common.process_s(pid) - busy, time.monotonic() - begun
    who.stop(pid)
    used = collections.Counter()
    for tid, (name, ns) in after.items():
        used[name] += (ns - before.get(tid, (name, 0))[1]) / 1e6 / took
    return {**used, "busy": busy / took}


def rounds_of(version, rounds):
    got = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as tmp, spark.App(master="local-cluster[1,2,2048]", job="sql_python.py", version=version,
                                                         conf={"spark.executor.memory": "1g"}) as app:
        [pid] = app.executors()
        time.sleep(10)  # until most is compiled
        for i in range(rounds):
            for way in common.shuffled(WAYS, i):
                common.progress(f"own_threads: Spark {version}, {way[0]} {way[1]}, round {i + 1} of {rounds}")
                got[way].append(record(pid, way[0], way[1], f"{tmp}/x.jfr"))
    return got


def main(rounds, versions):
    report = common.Report("own_threads", "")
    for version in versions:
        for (event, interval, aim), found in rounds_of(version, rounds).items():
            report.raw[f"{version} {event} {interval}"] = found
            totals = [sum(ms for name, ms in f.items() if name != "busy") for f in found]
            names = sorted({n for f in found for n in f if n != "busy"})
            each = ", ".join(f"{n} {statistics.median(f.get(n, 0) for f in found):.1f}" for n in names)
            busy = statistics.median(f["busy"] for f in found)
            ours = statistics.median(totals)
            report.line(f"Spark {version}, {event} {interval}: {each} ({busy:.1f} cores busy)", ours, None, f"<= {aim}", ours <= aim, "ms/s")
    report.close()


if __name__ == "__main__":
    main(common.rounds(3, 1), sys.argv[2:] or VERSIONS)
