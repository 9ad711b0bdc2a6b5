"""Waits for Java locks: how right they are, and what it costs to tell them.

    ./build.sh bench lock [ROUNDS|quick]        120 rounds of slowdown by default

time       40 waits of 20 ms for each kind of lock (tests/jvm/targets/Locks.java), as the waiting thread itself measures them, against
           the sum in the recording, kind by kind; -e lock with its default of 10 us for both.
slowdown   four threads that do nothing but take two locks from each other, in short slices of one JVM (slices.py)."""
import re
import subprocess
import tempfile

import alloc
import common
import slices
from kit import jvm

KINDS = ("monitor", "reentrant", "readwrite", "stamped", "semaphore", "latch", "condition", "future", "queue")


def waits(who, times, tmp):
    """{kind: what the recording has of the truth}."""
    file = f"{tmp}/x.jfr"
    with jvm.Target("Locks") as t:
        who.start(t.pid, "lock", "10us", file)
        t.send(str(times))
        t.wait_for("done", timeout=120)
        who.stop(t.pid)
        truth = {k: int(n) for k, n in re.findall(r"^(\w+) (\d+) \d+$", t.stdout(), re.M)}
    rows = alloc.collapsed(who, file, "lock")
    if who.key == "ours":
        rows += alloc.collapsed(who, file, "idle")
    return {k: sum(n for s, n in rows if f"Locks.{k}" in s) / 1000 / truth[k] for k in KINDS}


def main(rounds):
    report = common.Report("lock")
    quick = rounds < 5
    with common.peer() as peer, tempfile.TemporaryDirectory() as tmp:
        ours = common.Ours()
        got = {}
        for who in (ours, peer):
            common.progress(f"lock: time, {who.name}")
            got[who.key] = waits(who, 3 if quick else 40, tmp)
        for kind in KINDS:
            mine, theirs = (100 * got[x][kind] for x in ("ours", peer.key))
            report.line(f"time waited, {kind}: of the truth", mine, theirs, "95 to 105 %", 95 <= mine <= 105, "%")
        report.raw["time"] = got
        contestants = {"ours": (lambda pid: ours.start(pid, "lock", "10us", f"{tmp}/s.jfr"), ours.stop),
                       peer.key: (lambda pid: peer._load(pid, f"start,event=lock,lock=10us,jfr,file={tmp}/p.jfr"), peer.stop)}
        got = slices.run("lock", "LockWork", contestants, rounds, 0.3)
        slices.lines(report, got, peer.key, "threads that fight for locks")
    report.close()


if __name__ == "__main__":
    main(common.rounds(120, 2))
