"""How long it takes to get into a JVM, and how long that JVM stands still meanwhile: sparkprof beside async-profiler.

    ./build.sh bench attach [ROUNDS]        20 rounds by default; 3 are enough to see that it runs

Each measurement has a fresh JVM with 12,000 classes of eight methods, and a thread that does nothing but look at the
clock. They take turns. First both ask for the least a user can ask for ("status"), then both start to record cpu samples
("start"; left out while this tree's launcher cannot).

latency    sparkprof: the whole command, from its start to its end. async-profiler: attach and load by the JDK's attach API
           in a Java program that already runs, which is kinder to it than its users' shells are.
load       of that, the load alone: the JDK's attach sleeps before it looks for the socket a first time.
pause      the longest gap that the clock thread saw, in a JVM of its own: there the thread is in a real-time class, so that
           other work on the machine is not taken for a pause. "nobody" is the same with nobody attaching: the floor.
safepoint  the longest in the JVM's own log meanwhile.
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
COLUMNS = ("latency", "load", "pause", "safepoint")


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
        return {"latency": attach + load, "load": load}

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
    """Puts the clock thread before all other work on the machine, where root runs this."""
    for tid, name in target.threads().items():
        if name == "spin" and os.geteuid() == 0:
            os.sched_setscheduler(int(tid), os.SCHED_FIFO, os.sched_param(1))


class Nobody:
    """The floor: what the clock thread sees when nothing happens."""
    name = "nobody"

    def enter(self, pid, what, file):
        time.sleep(0.1)
        return {"latency": 0}

    def close(self):
        pass


def visit(who, what, favoured):
    """One attach to one fresh JVM; nanoseconds."""
    with tempfile.NamedTemporaryFile() as log, tempfile.TemporaryDirectory() as out, jvm.Target(
            "ManyClasses", CLASSES, jvm=["-Xms512m", "-Xmx512m", "-XX:+UseG1GC", f"-Xlog:safepoint:file={log.name}"]) as t:
        time.sleep(1)  # its compilers are done with the start
        if favoured:
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


def measure(who, what):
    """Latency as it is; pause and safepoint with the clock thread first, which would slow the attach itself."""
    quiet = visit(who, what, favoured=True)
    return {**visit(who, what, favoured=False), "pause": quiet["pause"], "safepoint": quiet["safepoint"]}


def medians(rounds):
    return {c: statistics.median(r[c] for r in rounds) if c in rounds[0] else None for c in COLUMNS}


def table(what, results):
    print(f"{what + ', median ms':<20}" + "".join(f"{c:>12}" for c in COLUMNS))
    for name, rounds in results.items():
        print(f"{name:<20}" + "".join(f"{v / 1e6:12.2f}" if v is not None else f"{'':>12}" for v in medians(rounds).values()))
    ours, peer = (medians(results[c.name]) for c in (Ours, Peer))
    print(f"{'ours / theirs':<20}" + "".join(
        f"{ours[c] / peer[c]:12.3f}" if ours[c] is not None and peer[c] else f"{'':>12}" for c in COLUMNS))


def compare(contestants, what, rounds):
    results = {w.name: [] for w in contestants}
    for i in range(rounds):
        for who in contestants if i % 2 == 0 else reversed(contestants):
            results[who.name].append(measure(who, what))
        print(f"\r{what}: round {i + 1} of {rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    table(what, results)
    return results


def can(what):
    try:
        visit(Ours(), what, favoured=False)
        return True
    except subprocess.CalledProcessError:
        print(f"{what}: this build's launcher cannot yet")
        return False


def main(rounds=20):
    if not SPARKPROF.exists():
        sys.exit("attach.py: build/sparkprof is missing; run ./build.sh build")
    all_of_them = [Ours(), Peer(), Nobody()]
    try:
        results = {what: compare(all_of_them, what, rounds) for what in ("status", "start") if can(what)}
    finally:
        for who in all_of_them:
            who.close()
    (OUT / "attach.json").write_text(json.dumps(
        {"rounds": rounds, "classes": CLASSES, "unit": "ns", "all": results,
         "medians": {what: {n: medians(r) for n, r in by.items()} for what, by in results.items()}}, indent=1) + "\n")
    print(f"every round: {(OUT / 'attach.json').relative_to(parts.ROOT)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
