"""Native memory: exact sums, and what it costs to sample it.

    ./build.sh bench nativemem [ROUNDS|quick]        10 rounds of slowdown by default

sum        one caller allocates 1,000,000 blocks of 100 bytes (tests/jvm/targets/Mallocs.java); every call is asked for (size 0).
slowdown   CPU time per block of a program that does nothing but allocate and free, at 512 KiB and with every call, against nobody in the
           same round; median of the rounds."""
import tempfile

import alloc
import common
from kit import jvm, recording


def summed(who, start, count, tmp):
    file, line = f"{tmp}/x.jfr", f"some {count} 100 1000"
    with jvm.Target("Mallocs", recording.native("mallocs")) as t:
        start(t.pid, file)
        t.send(line)
        t.wait_for(f"did {line}", timeout=300)
        who.stop(t.pid)
    return sum(n for s, n in alloc.collapsed(who, file, "nativemem") if "allocate_some" in s)


def main(rounds):
    report = common.Report("nativemem")
    quick = rounds < 5
    count = 10_000 if quick else 1_000_000
    with common.peer() as peer, tempfile.TemporaryDirectory() as tmp:
        ours = common.Ours()

        def begin(size):
            return {"ours": lambda pid, file=f"{tmp}/s.jfr": ours._run("start", "--nativemem", size, "-f", file, pid),
                    peer.key: lambda pid, file=f"{tmp}/p.jfr": peer._load(pid, f"start,nativemem={size},jfr,file={file}")}

        got = {}
        for who in (ours, peer):
            common.progress(f"nativemem: sum, {who.name}")
            got[who.key] = 100 * summed(who, begin(0)[who.key], count, tmp) / (100 * count)
        report.line(f"bytes of {count:,} calls of one caller, size 0", got["ours"], got[peer.key], "100 %", got["ours"] == 100, "%")
        report.raw["sum"] = got
        for size in (524288, 0):
            starts = begin(size)
            contestants = {"ours": (starts["ours"], ours.stop), peer.key: (starts[peer.key], peer.stop)}
            ratios = common.slowdown("nativemem", "MallocWork", contestants, rounds, 0.5 if quick else 3)
            mine, theirs = (common.added(ratios[x], 0) for x in ("ours", peer.key))
            report.line(f"CPU time added to a program that calls malloc, size {size}", mine, theirs, "<= 0.8 x", mine <= 0.8 * theirs, "%")
            report.raw[f"slowdown {size}"] = ratios
    report.close()


if __name__ == "__main__":
    main(common.rounds(10, 2))
