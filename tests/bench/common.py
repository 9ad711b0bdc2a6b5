"""What the benchmarks share: profilers that are started and stopped in a running JVM, clocks of threads and processes, a
summary of recordings made by the JDK's own reader, and the table of results.

    with common.peers() as (ring, signal, peer):
        ring.start(pid, "cpu", "200us", file); …; ring.stop(pid)
"""
import collections
import contextlib
import datetime
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from kit import jvm, parts  # noqa: E402
from kit.parts import SPARKPROF  # noqa: E402

OUT = parts.ROOT / "build/bench"
AGENT = parts.ROOT / "build/libsparkprof.so"
HERE = pathlib.Path(__file__).parent
TICK = os.sysconf("SC_CLK_TCK")


def compiled():
    """A directory with the classes of tests/bench/*.java."""
    out = OUT / "classes"
    out.mkdir(parents=True, exist_ok=True)
    stamp, sources = out / "stamp", sorted(HERE.glob("*.java"))
    if not stamp.exists() or any(s.stat().st_mtime > stamp.stat().st_mtime for s in sources):
        subprocess.run([parts.jdk(17) / "bin/javac", "--release", "11", "-nowarn", "-d", out, *sources], check=True)
        stamp.touch()
    return out


class Nobody:
    """No profiler: the phases that others are compared with."""
    name, key = "none", "none"

    def start(self, pid, event, interval, file):
        pass

    def stop(self, pid):
        pass


class Ours:
    """The launcher as a user calls it; @capture is ring, signal or None for what it takes by itself."""

    def __init__(self, capture=None):
        self.capture = capture
        self.key = capture or "ours"
        self.name = f"sparkprof, {capture}" if capture else "sparkprof"

    def start(self, pid, event, interval, file):
        how = [f"--capture={self.capture}"] if self.capture else []
        self._run("start", "--attach-timeout=60s", "-e", event, "-i", interval, *how, "-f", file, pid)

    def stop(self, pid):
        self._run("stop", "--attach-timeout=60s", pid)

    @staticmethod
    def _run(*args):
        done = subprocess.run([SPARKPROF, *map(str, args)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise RuntimeError(f"sparkprof {' '.join(map(str, args))}: {done.stdout}{done.stderr}")

    def option(self, event, interval, file):
        """The JVM option that records from the start."""
        how = f",capture={self.capture}" if self.capture else ""
        return f"-agentpath:{AGENT}=start,event={event},interval={interval},file={file}{how}"


class Peer:
    """async-profiler with its defaults, loaded by the JDK's attach API in one Java program for all rounds."""
    name, key = "async-profiler 4.5", "async-profiler"

    def __init__(self):
        self.library = parts.async_profiler()
        self.proc = subprocess.Popen([parts.jdk(17) / "bin/java", "-Xmx64m", "-Dsun.tools.attach.attachTimeout=60000",
                                      "-cp", compiled(), "AttachLoad"],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.proc.stdout.readline()

    def _load(self, pid, options):
        self.proc.stdin.write(f"{pid} {self.library} {options}\n")
        self.proc.stdin.flush()
        answer = self.proc.stdout.readline()
        if not answer.strip():
            raise RuntimeError(f"async-profiler: {options} failed")

    def start(self, pid, event, interval, file):
        self._load(pid, f"start,event={event},interval={interval},jfr,file={file}")

    def stop(self, pid):
        self._load(pid, "stop")

    def option(self, event, interval, file):
        return f"-agentpath:{self.library}=start,event={event},interval={interval},jfr,file={file}"

    def close(self):
        self.proc.stdin.close()
        self.proc.wait()
        self.proc.stdout.close()


@contextlib.contextmanager
def peer():
    """One async-profiler for a benchmark."""
    if not SPARKPROF.exists():
        sys.exit("build/sparkprof is missing; run ./build.sh build")
    p = Peer()
    try:
        yield p
    finally:
        p.close()


def shuffled(contestants, seed):
    """The same contestants in an order of this round's own, the same in each run."""
    order = list(contestants)
    random.Random(seed).shuffle(order)
    return order


# clocks

def thread_ns(pid, tid):
    """Nanoseconds that a thread was on a core, interrupts there included."""
    return int(pathlib.Path(f"/proc/{pid}/task/{tid}/schedstat").read_text().split()[0])


def process_s(pid):
    """Seconds of CPU, user and system, of all threads of a process, ended ones too."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def process_clock(pid):
    """The same in nanosecond steps: the process's own CPU clock (clock_getcpuclockid(3))."""
    return time.clock_gettime(~pid << 3 | 2)


def threads_s(pid):
    """The same as process_s in nanosecond steps: the living threads only."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):
            total += thread_ns(pid, tid)
    return total / 1e9


def pin(pid, tid, core, others):
    """Thread @tid alone on @core, all other threads of the process, and those they start, on @others."""
    for t in map(int, os.listdir(f"/proc/{pid}/task")):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(t, {core} if t == tid else {others})


# recordings

Row = collections.namedtuple("Row", "count type thread state samples span depth whole unknown truncated marks")


def stacks(file, *marks, since=0, until=1 << 62):
    """What a recording holds, summed up by the JDK's reader: one Row for each kind of sample. @marks are "Class.method";
    a row's marks are those found on its stack. The last row of type "lost" counts what the recording says is lost. @since, @until: time.time_ns()."""
    done = subprocess.run([parts.jdk(17) / "bin/java", "-Xmx1g", f"-Dfrom={since}", f"-Dto={until}", "-cp", compiled(), "Stacks", file, *marks],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{file}: {done.stderr}")
    rows = []
    for line in done.stdout.splitlines():
        n, kind, thread, state, looks, span, depth, whole, unknown, cut, found = line.split("\t")
        rows.append(Row(int(n), kind, thread, state, int(looks), int(span), int(depth), whole == "1", unknown == "1", cut == "1",
                        tuple(filter(None, found.split(",")))))
    return rows


def samples(file, thread=None, **window):
    """How many execution samples a recording has, of one thread or of all."""
    return sum(r.count for r in stacks(file, **window) if r.type == "jdk.ExecutionSample" and thread in (None, r.thread))


# programs that say how many units of work they have done

class Program:
    """One of tests/bench/*Work.java: it runs without end."""

    def __init__(self, main, options=()):
        self.t = jvm.Target(main, jvm=["-Xmx256m", *options], classes=compiled())
        self.pid = self.t.pid
        self.seen = 0

    def units(self):
        self.t.send("")
        self.seen += 1
        while self.t.stdout().count("units ") < self.seen:
            time.sleep(0.001)
        return int(self.t.stdout().split()[-1])

    def phase(self, seconds):
        """(CPU seconds of the process, wall seconds) for a million units."""
        n, cpu, wall = self.units(), process_s(self.pid), time.monotonic()
        time.sleep(seconds)
        while (now := self.units()) == n:
            time.sleep(seconds)  # no core for so long: the clocks go on
        n = (now - n) / 1e6
        return (process_s(self.pid) - cpu) / n, (time.monotonic() - wall) / n


def slowdown(name, main, starts, rounds, seconds):
    """Ratios to the phases with nobody in the same round, by contestant: {key: [(cpu, wall), …]}. @starts: key → (start, stop)."""
    ratios = {key: [] for key in starts}
    p = Program(main)
    try:
        p.phase(2 * seconds)
        for i in range(rounds):
            got = {}
            for key in shuffled(["none", *starts], i):
                if key != "none":
                    starts[key][0](p.pid)
                p.phase(seconds / 4)  # what was compiled anew, and the first stacks
                got[key] = p.phase(seconds)
                if key != "none":
                    starts[key][1](p.pid)
            for key in starts:
                ratios[key].append([got[key][k] / got["none"][k] for k in (0, 1)])
            progress(f"{name}: slowdown, round {i + 1} of {rounds}")
    finally:
        p.t.close()
    return ratios


def added(ratios, which):
    """Median of what a contestant adds, in percent; which: 0 CPU, 1 wall clock."""
    return 100 * (statistics.median(r[which] for r in ratios) - 1)


# results

def progress(text):
    print(f"\r{text:<70}", end="", file=sys.stderr, flush=True)


def median(values):
    values = list(values)
    return statistics.median(values) if values else float("nan")


def interval95(values):
    """Mean and the half width of its 95 % interval (Student's t)."""
    values = list(values)
    n = len(values)
    t = {2: 12.7, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}.get(n, 2.09 if n <= 25 else 2.0)
    return statistics.mean(values), t * statistics.stdev(values) / n ** 0.5 if n > 1 else float("inf")


class Report:
    """Collects lines "what, ours, theirs, ratio, aim, met", prints them and writes build/bench/NAME.json."""

    def __init__(self, name, peer="async-prof."):
        self.name, self.peer, self.lines, self.raw = name, peer, [], {}
        self.begun, self.load = time.time(), os.getloadavg()[0]

    def line(self, what, ours, theirs, aim, met, unit="", ratio=None):
        self.lines.append({"what": what, "ours": ours, "theirs": theirs, "unit": unit, "aim": aim, "met": met,
                           "ratio": ratio if ratio is not None else ours / theirs if theirs else None})

    def close(self):
        OUT.mkdir(parents=True, exist_ok=True)
        sys.stderr.write("\r" + " " * 72 + "\r")
        width = max(len(x["what"]) for x in self.lines) + 2
        print(f"{self.name:<{width}}{'sparkprof':>12}{self.peer:>12}{'unit':>7}{'ratio':>8}  {'aim':<16}met")
        for x in self.lines:
            cells = "".join(f"{shown(x[k]):>12}" for k in ("ours", "theirs"))
            ratio = f"{x['ratio']:.3f}" if x["ratio"] is not None else ""
            met = {True: "yes", False: "NO", None: ""}.get(x["met"], x["met"])
            print(f"{x['what']:<{width}}{cells}{x['unit']:>7}{ratio:>8}  {x['aim']:<16}{met}")
        file = OUT / f"{self.name}.json"
        file.write_text(json.dumps({"date": datetime.date.today().isoformat(), "seconds": round(time.time() - self.begun),
                                    "machine": f"{os.cpu_count()} shared cores, Linux {platform.release()}",
                                    "load average before": self.load, "load average after": os.getloadavg()[0],
                                    "lines": self.lines, "raw": self.raw}, indent=1) + "\n")
        print(f"load average {self.load:.1f} before, {os.getloadavg()[0]:.1f} after; "
              f"every round: {file.relative_to(parts.ROOT)}\n", flush=True)


def shown(x):
    if x is None:
        return ""
    return f"{x:.4f}" if isinstance(x, float) and 99 <= x < 100 else f"{x:,.3g}" if isinstance(x, float) and x < 1000 else f"{x:,.0f}"


def rounds(default, quick):
    """ROUNDS from the command line; "quick" is the least that shows that it runs."""
    words = sys.argv[1:]
    return default if not words else quick if words[0] == "quick" else int(words[0])
