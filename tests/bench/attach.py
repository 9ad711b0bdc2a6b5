"""How long it takes to get into a JVM, and how long that JVM stands still meanwhile: sparkprof beside async-profiler.

    ./build.sh bench attach [ROUNDS]        20 rounds unless told; 3 are enough to see that it runs

Each measurement has a fresh JVM with 12,000 classes of eight methods, and a thread that does nothing but look at the clock
(with priority, so that other work on the machine is not taken for a pause).
The two take turns. First both ask for the least a user can ask for ("status"), then both start to record cpu samples ("start";
left out while this tree's launcher cannot). sparkprof's latency is that of the
whole command, its start and end included; async-profiler's is that of attach and load in a Java program that is already
running, which is kinder to it than its users' shells are. Its load alone is shown too, for the JDK's attach sleeps before it
looks for its socket a first time. The pause is the longest gap that the thread saw; safepoint is the longest in the JVM's log.
Medians; build/bench/attach.json has every round."""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from kit import jvm, parts  # noqa: E402
from kit.parts import SPARKPROF  # noqa: E402

OUT = parts.ROOT / "build/bench"
CLASSES = 12000
SAFEPOINT = re.compile(r"Total: +(\d+) ns")
COLUMNS = ("latency", "load alone", "pause", "safepoint")


class Peer:
    """async-profiler, loaded by the JDK's attach API."""
    name = "async-profiler 4.5"

    def __init__(self):
        OUT.mkdir(parents=True, exist_ok=True)
        home = parts.jdk(17)
        self.library = parts.async_profiler()
        source = pathlib.Path(__file__).with_name("AttachLoad.java")
        subprocess.run([home / "bin/javac", "-d", OUT, source], check=True)
        self.proc = subprocess.Popen([home / "bin/java", "-cp", OUT, "AttachLoad"], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
        self.proc.stdout.readline()

    def enter(self, pid, what, file):
        options = {"status": "status", "start": f"start,event=cpu,file={file}"}[what]
        self.proc.stdin.write(f"{pid} {self.library} {options}\n")
        self.proc.stdin.flush()
        attach, load = map(int, self.proc.stdout.readline().split())
        return {"latency": attach + load, "load alone": load}

    def close(self):
        self.proc.stdin.close()
        self.proc.wait()


class Ours:
    """The launcher as a user calls it."""
    name = "sparkprof"

    def enter(self, pid, what, file):
        options = {"status": [], "start": ["-e", "cpu", "-f", file]}[what]
        start = time.monotonic_ns()
        subprocess.run([SPARKPROF, what, *options, str(pid)], check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        return {"latency": time.monotonic_ns() - start}

    def close(self):
        pass


def favour(target):
    """Other work on the machine should not look like a pause: the clock thread goes first, where root runs this."""
    for tid, name in target.threads().items():
        if name == "spin" and os.geteuid() == 0:
            os.setpriority(os.PRIO_PROCESS, int(tid), -20)


def measure(who, what):
    """One attach to one fresh JVM; nanoseconds."""
    with tempfile.NamedTemporaryFile() as log, tempfile.TemporaryDirectory() as out, jvm.Target(
            "ManyClasses", CLASSES, jvm=["-Xms512m", "-Xmx512m", "-XX:+UseG1GC", f"-Xlog:safepoint:file={log.name}"]) as t:
        time.sleep(1)  # its compilers are done with the start
        favour(t)
        t.send("reset")
        t.wait_for("reset done")
        seen = len(pathlib.Path(log.name).read_bytes())
        result = who.enter(t.pid, what, f"{out}/a.jfr")
        time.sleep(0.05)
        t.send("gap")
        t.wait_for("gap ")
        result["pause"] = int(re.search(r"gap (\d+)", t.stdout()).group(1))
        totals = SAFEPOINT.findall(pathlib.Path(log.name).read_bytes()[seen:].decode())
        result["safepoint"] = max(map(int, totals), default=0)
        return result


def medians(rounds):
    return {c: statistics.median(r[c] for r in rounds) if c in rounds[0] else None for c in COLUMNS}


def table(what, results):
    print(f"{what + ', median ms':<20}" + "".join(f"{c:>12}" for c in COLUMNS))
    for name, rounds in results.items():
        print(f"{name:<20}" + "".join(f"{v / 1e6:12.2f}" if v is not None else f"{'':>12}" for v in medians(rounds).values()))
    ours, peer = (medians(r) for r in results.values())
    print(f"{'ours / theirs':<20}" + "".join(
        f"{ours[c] / peer[c]:12.3f}" if ours[c] is not None and peer[c] else f"{'':>12}" for c in COLUMNS))


def compare(both, what, rounds):
    results = {w.name: [] for w in both}
    for i in range(rounds):
        for who in both if i % 2 == 0 else reversed(both):
            results[who.name].append(measure(who, what))
        print(f"\r{what}: round {i + 1} of {rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    table(what, results)
    return results


def can(what):
    try:
        measure(Ours(), what)
        return True
    except subprocess.CalledProcessError:
        print(f"{what}: this build's launcher cannot yet")
        return False


def main(rounds=20):
    if not SPARKPROF.exists():
        sys.exit("attach.py: build/sparkprof is missing; run ./build.sh build")
    both = [Ours(), Peer()]
    try:
        results = {what: compare(both, what, rounds) for what in ("status", "start") if can(what)}
    finally:
        for who in both:
            who.close()
    (OUT / "attach.json").write_text(json.dumps(
        {"rounds": rounds, "classes": CLASSES, "unit": "ns", "all": results,
         "medians": {what: {n: medians(r) for n, r in by.items()} for what, by in results.items()}}, indent=1) + "\n")
    print(f"every round: {(OUT / 'attach.json').relative_to(parts.ROOT)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
