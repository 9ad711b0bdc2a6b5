"""Java allocations: how right they are, and what it costs to sample them.

    ./build.sh bench alloc [ROUNDS|quick]        120 rounds of slowdown by default

split      three callers allocate 70, 20 and 10 % of the bytes (tests/jvm/targets/Alloc.java); each profiler has a JVM of its own from
           its start, at least 20,000 samples. The worst difference from the truth in points.
live       one in 100, in 10 and in 2 of objects of 1 KiB is kept (tests/jvm/targets/Live.java), at least 2,000 of the sampled ones;
           what the recording says is alive against what is. async-profiler keeps 1,024 references.
slowdown   a program that does nothing but allocate, each profiler at 512 KiB, in short slices of one JVM (slices.py)."""
import re
import subprocess
import tempfile

import common
import slices
from kit import jvm, peers

INTERVAL = "524288"  # bytes: the JVM's own
STEADY = ("-Xms256m", "-Xmn64m", "-XX:+UseSerialGC")  # a heap that does not change its shape
TRUTH = {"Alloc.seventy": 70, "Alloc.twenty": 20, "Alloc.ten": 10}


def collapsed(who, file, event):
    """[(frames, bytes)], by the profiler's own converter."""
    if who.key == "async-profiler":
        out = f"{file}.txt"
        subprocess.run([*peers.converter(), f"--{event}", "--total", "-o", "collapsed", file, out], check=True, capture_output=True)
        text = open(out).read()
    else:
        text = subprocess.run([common.SPARKPROF, "report", "-q", "-e", event, "--total", "-o", "collapsed", file], check=True,
                              capture_output=True, text=True).stdout
    rows = (line.rsplit(" ", 1) for line in text.splitlines())
    return [([re.sub(r"_\[.\]$", "", f) for f in stack.split(";")], int(n)) for stack, n in rows]


def events(file, kind):
    said = subprocess.run([jvm.parts.jdk(17) / "bin/jfr", "summary", file], check=True, capture_output=True, text=True).stdout
    return int(re.search(rf"{kind}\s+(\d+)", said)[1])


def split(who, seconds, interval, tmp):
    file = f"{tmp}/x.jfr"
    with jvm.Target("Alloc", seconds, jvm=["-Xmx512m", who.option("alloc", interval, file)], wait=False) as t:
        t.proc.wait(seconds * 10 + 60)
    rows = collapsed(who, file, "alloc")
    by = {m: sum(n for s, n in rows if m in s) for m in TRUTH}
    got = {m: 100 * n / sum(by.values()) for m, n in by.items()}
    return {"samples": events(file, "jdk.ObjectAllocationInNewTLAB"), "shares": got, "error": max(abs(got[m] - TRUTH[m]) for m in TRUTH)}


def live(who, start, count, every, pace_ms, tmp):
    """What is said to be alive against what is, and from how many samples."""
    file = f"{tmp}/live.jfr"
    # What dies waits for a collection to be let go: a small young generation leaves the places to those that live.
    with jvm.Target("Live", jvm=["-Xmx600m", "-Xmn16m"]) as t:
        start(t.pid, file)
        t.send(f"{count} {every} {pace_ms}")
        t.wait_for("live ", timeout=600)
        truth = int(re.search(r"live (\d+)", t.stdout())[1])
        who.stop(t.pid)
    rows = collapsed(who, file, "live")
    return {"bytes": sum(n for s, n in rows if "Live.keep" in s) / truth, "samples": events(file, "profiler.LiveObject")}


def main(rounds):
    report = common.Report("alloc")
    quick = rounds < 5
    with common.peer() as peer, tempfile.TemporaryDirectory() as tmp:
        ours = common.Ours()
        seconds = 2 if quick else 12
        got = {}
        for who in (ours, peer):
            common.progress(f"alloc: split, {who.name}")
            got[who.key] = split(who, seconds, 256 << 10, tmp)
        report.line(f"worst error of 70/20/10, {got['ours']['samples']:,} samples (theirs {got[peer.key]['samples']:,})",
                    got["ours"]["error"], got[peer.key]["error"], "<= 1 point", got["ours"]["error"] <= 1, "points")
        report.raw["split"] = got
        starts = {"ours": lambda pid, file: ours._run("start", "-e", "live", "-i", "8k", "-f", file, pid),
                  peer.key: lambda pid, file: peer._load(pid, f"start,alloc=8192,live,jfr,file={file}")}
        for every, count in ((100, 2_500_000), (10, 400_000), (2, 100_000)):
            count = count // 20 if quick else count
            lived = {}
            for who in (ours, peer):
                common.progress(f"alloc: live, one in {every}, {who.name}")
                lived[who.key] = live(who, starts[who.key], count, every, 30, tmp)
            error = {k: 100 * abs(v["bytes"] - 1) for k, v in lived.items()}
            n = lived["ours"]["samples"]
            report.line(f"error of live bytes, one in {every} kept ({n:,} samples, theirs {lived[peer.key]['samples']:,})", error["ours"],
                        error[peer.key], "<= 5 %", error["ours"] <= 5, "%")
            report.raw[f"live {every}"] = lived
        contestants = {"ours": (lambda pid: ours.start(pid, "alloc", INTERVAL, f"{tmp}/s.jfr"), ours.stop),
                       peer.key: (lambda pid: peer.start(pid, "alloc", INTERVAL, f"{tmp}/p.jfr"), peer.stop)}
        got = slices.run("alloc", "AllocWork", contestants, rounds, 0.3, STEADY)
        slices.lines(report, got, peer.key, "an allocating program")
    report.close()


if __name__ == "__main__":
    main(common.rounds(120, 2))
