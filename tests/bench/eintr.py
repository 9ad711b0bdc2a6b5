"""System calls that a profiler interrupts: a thread that polls nothing for 50 ms in a loop and counts EINTR, under the
wall clock at 10 ms.

    ./build.sh bench eintr [SECONDS|quick]        20 seconds each by default

Each profiler has a JVM (JDK 17) of its own from its start, with the poller (tests/jvm/native/strangers.c) as a
neighbour in the process and one thread that spins. The figure is the share of poll calls that ended with EINTR."""
import os
import tempfile

import common
from kit import jvm, recording


def interrupted(who, seconds, tmp):
    counts = f"{tmp}/counts"
    with jvm.Target("Waits", seconds, 1, jvm=[who.option("wall", "10ms", f"{tmp}/x.jfr"), f"-agentpath:{recording.native('strangers')}=poll"],
                    env={**os.environ, "STRANGER": counts}, wait=False) as t:
        t.proc.wait(seconds + 60)
    with open(counts) as f:
        calls, cut = map(int, f.read().split()[:2])
    return {"calls": calls, "interrupted": cut, "percent": 100 * cut / calls}


def main(seconds):
    report = common.Report("eintr")
    with common.peer() as peer, tempfile.TemporaryDirectory() as tmp:
        got = {}
        for who in (common.Ours("ring"), peer, common.Ours("signal")):
            common.progress(f"eintr: {who.name}")
            got[who.key] = interrupted(who, seconds, tmp)
    theirs = got[peer.key]["percent"]
    report.line("poll calls interrupted, ring", got["ring"]["percent"], theirs, "0", got["ring"]["interrupted"] == 0, "%")
    report.line("poll calls interrupted, signal", got["signal"]["percent"], theirs, "<= 0.1 x", got["signal"]["percent"] <= 0.1 * theirs, "%")
    report.raw = got
    report.close()


if __name__ == "__main__":
    main(common.rounds(20, 4))
