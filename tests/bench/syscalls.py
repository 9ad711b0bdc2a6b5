"""System calls that take tens of milliseconds: a thread that spends half of its CPU time in such reads, half in a loop
(tests/jvm/targets/LongCalls.java).

    ./build.sh bench syscalls [ROUNDS|quick]        4 rounds by default

Each profiler has a JVM of its own from its start (-agentpath, JDK 17, every 2 ms of CPU time), in an order of the round's
own. A signal reaches a thread only when its system call ends, and comes once however often the timer came meanwhile.
share      samples under the reads, of those under either; the truth is 50 %, by the thread's own clock. Median of the rounds."""
import statistics
import tempfile

import common
from kit import jvm

READS, LOOP = "LongCalls.kernel", "LongCalls.user"


def share(who, tmp):
    file = f"{tmp}/x.jfr"
    with jvm.Target("LongCalls", 4, f"{tmp}/data", jvm=[who.option("cpu", "2ms", file)], wait=False) as t:
        t.proc.wait(120)
    rows = [r for r in common.stacks(file, READS, LOOP) if r.type == "jdk.ExecutionSample" and r.marks]
    return 100 * sum(r.count for r in rows if READS in r.marks) / sum(r.count for r in rows)


def main(rounds):
    report = common.Report("syscalls")
    with common.peer() as peer, tempfile.TemporaryDirectory() as tmp:
        contestants = [common.Ours("ring"), common.Ours("signal"), peer]
        got = {w.key: [] for w in contestants}
        for turn in range(rounds):
            for who in common.shuffled(contestants, turn):
                common.progress(f"syscalls: {who.name}, round {turn + 1}")
                got[who.key].append(share(who, tmp))
    middle = {key: statistics.median(x) for key, x in got.items()}
    for key in ("ring", "signal"):
        report.line(f"share of long system calls (truth: 50 %), {key}", middle[key], middle[peer.key], "within 5 points",
                    abs(middle[key] - 50) <= 5, "%")
    report.raw = got
    report.close()


if __name__ == "__main__":
    main(common.rounds(4, 1))
