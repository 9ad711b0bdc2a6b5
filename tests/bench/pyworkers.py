"""Python from outside, beside py-spy 0.4.3 as it is by itself (it stops the process for each sample) and with --nonblocking.

    ./build.sh bench pyworkers [ROUNDS|quick]        3 rounds by default

Debian's Python. Known split: 50/30/20 of CPU time, 1 kHz for 25 s, -e cpu; py-spy counts threads that do not wait. Stacks that never were: a program that changes between two
chains of calls as fast as it can, 1 kHz for 15 s. CPU of the sampler: five processes that work, 100 Hz for 10 s, user and
system time of the profiler itself, starting and writing its output included, in percent of a core, median over the rounds.
Slowdown: rounds per second of that same program, 100 Hz, less than with nobody beside it, median over the rounds.
For split and slowdown program and profiler have a core each that nobody else gets (SCHED_RR), where that is permitted."""
import collections
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

import common
from kit import parts, python


def alone(core):
    """Words before a command that give it a core which nobody else gets, where that is permitted: other work on the machine does not
    count then. The kernel keeps 5 % back."""
    words = ["taskset", "-c", str(core), "chrt", "-r", "1"]
    return words if os.cpu_count() > 1 and subprocess.run([*words, "true"], capture_output=True).returncode == 0 else []


class Ours:
    name, key = "sparkprof", "ours"

    def command(self, pid, hz, seconds, out, children, event="wall"):
        return [str(common.SPARKPROF), "-q", "-e", event, "-i", f"{1000 // hz}ms", "-d", seconds, "-o", "collapsed", "-f", out, pid]


class PySpy:
    def __init__(self, *flags):
        self.flags, self.key = flags, "py-spy" + "".join(flags)
        self.name = " ".join(["py-spy", *flags])

    def command(self, pid, hz, seconds, out, children, event="wall"):
        more = ["--subprocesses"] if children else []
        return [str(parts.py_spy()), "record", "-p", pid, "-r", hz, "-d", seconds, "-f", "raw", "-o", out, *more, *self.flags]


def used():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def profile(who, pid, hz, seconds, children=False, event="wall", first=()):
    """{(functions, root first): samples}, CPU seconds of the profiler, what it said."""
    with tempfile.TemporaryDirectory() as tmp:
        out, before = f"{tmp}/o.collapsed", used()
        done = subprocess.run(list(map(str, [*first, *who.command(pid, hz, seconds, out, children, event)])), capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{who.name}: {done.stdout}{done.stderr}")
        cpu, found = used() - before, collections.Counter()
        for line in open(out):
            stack, _, count = line.rpartition(" ")
            found[tuple(f.split(" (")[0] for f in stack.split(";"))] += int(count)
        return found, cpu, done.stdout + done.stderr


def split(who, seconds):
    with python.Process([*alone(0), *python.installed()["debian"]], python.TARGETS / "work.py") as p:
        found, _, _ = profile(who, p.pid, 1000, seconds, event="cpu", first=alone(1))
    total = sum(found.values())
    shares = [100 * sum(n for s, n in found.items() if f in s) / total for f in "abc"]
    return max(abs(a - b) for a, b in zip(shares, (50, 30, 20))), total, shares


def never_was(stack):
    """Functions of both chains, or one of them without its caller."""
    names = [f for f in stack if f.startswith(("left", "right")) and "<" not in f]
    side = names[0][:-1] if names else ""
    return names != [f"{side}{i + 1}" for i in range(len(names))]


def torn(who, seconds):
    with python.Process(python.installed()["debian"], python.TARGETS / "flip.py") as p:
        found, _, said = profile(who, p.pid, 1000, seconds)
    bad = sum(n for s, n in found.items() if never_was(s))
    errors = re.search(r"Errors: (\d+)", said)
    return bad, sum(found.values()), int(errors[1]) if errors else 0


def cost(who, seconds):
    with python.Process(python.installed()["debian"], python.TARGETS / "work.py", "4") as p:
        children = open(f"/proc/{p.pid}/task/{p.pid}/children").read().split()
        try:
            _, cpu, _ = profile(who, p.pid, 100, seconds, children=True)
        finally:
            for child in map(int, children):
                os.kill(child, signal.SIGKILL)
    return 100 * cpu / seconds


def pace(who, seconds):
    with python.Process([*alone(0), *python.installed()["debian"]], python.TARGETS / "flip.py") as p:
        skip = len(p.stdout())
        if who:
            profile(who, p.pid, 100, seconds, first=alone(1))
        else:
            time.sleep(seconds)
        return common.median(map(int, re.findall(rb"round (\d+)", p.stdout()[skip:])))


def main(rounds, quick):
    report = common.Report("pyworkers", "py-spy")
    ours, theirs, free = Ours(), PySpy(), PySpy("--nonblocking")
    raw = report.raw
    for who in (ours, theirs, free):
        common.progress(f"pyworkers: split, {who.name}")
        raw[f"split {who.key}"] = split(who, 5 if quick else 25)
        common.progress(f"pyworkers: stacks that never were, {who.name}")
        raw[f"torn {who.key}"] = torn(who, 4 if quick else 15)
    for i in range(rounds):
        for who in common.shuffled([ours, theirs, free, None], i):
            name = who.key if who else "none"
            common.progress(f"pyworkers: cost and pace, round {i + 1} of {rounds}, {name}")
            raw.setdefault(f"pace {name}", []).append(pace(who, 4 if quick else 10))
            if who:
                raw.setdefault(f"cost {name}", []).append(cost(who, 4 if quick else 10))
    for peer in (theirs, free):
        a, b = raw["split ours"], raw[f"split {peer.key}"]
        report.line(f"split 50/30/20, worst error ({a[1]:,} and {b[1]:,} samples), {peer.name}", a[0], b[0], "<= 1", a[0] <= 1, "points")
        a, b = raw["torn ours"], raw[f"torn {peer.key}"]
        report.line(f"stacks that never were, of {a[1]:,} and {b[1]:,}, {peer.name}", a[0], b[0], "0", a[0] == 0, "")
        a, b = common.median(raw["cost ours"]), common.median(raw[f"cost {peer.key}"])
        report.line(f"CPU of the sampler, 5 processes, 100 Hz, {peer.name}", a, b, "<= 0.3 x", a <= 0.3 * b, "% core")
        free_pace = common.median(raw["pace none"])
        a, b = (100 * (1 - common.median(raw[f"pace {k}"]) / free_pace) for k in ("ours", peer.key))
        report.line(f"slowdown, 100 Hz, {peer.name}", a, b, "< theirs", a < b, "%", ratio=0)
    report.close()


if __name__ == "__main__":
    main(common.rounds(3, 1), "quick" in sys.argv)
