"""A known split of CPU time: three methods that take 50, 30 and 20 % of a thread's own clock
(tests/jvm/targets/Split.java).

    ./build.sh bench split [SAMPLES|quick]        50,000 samples each by default

Each profiler has a JVM of its own from its start (-agentpath, JDK 17, every 200 us of CPU time), one after the other.
error      the worst of the three methods' differences from the truth, in points of the samples that are in one of
           them."""
import tempfile

import common
from kit import jvm

TRUTH = {"Split.half": 50, "Split.third": 30, "Split.fifth": 20}


def shares(who, seconds, tmp):
    file = f"{tmp}/x.jfr"
    with jvm.Target("Split", seconds, jvm=[who.option("cpu", "200us", file)], wait=False) as t:
        t.proc.wait(seconds * 20 + 60)
    rows = [r for r in common.stacks(file, *TRUTH) if r.type == "jdk.ExecutionSample" and r.marks]
    n = sum(r.count for r in rows)
    got = {m: 100 * sum(r.count for r in rows if m in r.marks) / n for m in TRUTH}
    return {"samples": n, "shares": got, "error": max(abs(got[m] - TRUTH[m]) for m in TRUTH)}


def main(want):
    report = common.Report("split")
    seconds = max(2, want // 3500)  # 5,000 a second where the thread has a core; less on busy machines
    with common.peer() as peer, tempfile.TemporaryDirectory() as tmp:
        got = {}
        for who in (common.Ours("ring"), peer, common.Ours("signal")):
            common.progress(f"split: {who.name}, {seconds} s")
            got[who.key] = shares(who, seconds, tmp)
    for key in ("ring", "signal"):
        report.line(f"worst error of 50/30/20, {key}, {got[key]['samples']:,} samples", got[key]["error"], got[peer.key]["error"],
                    "<= 1 point", got[key]["error"] <= 1, "points")
    report.raw = got
    report.close()


if __name__ == "__main__":
    main(common.rounds(50_000, 7_000))
