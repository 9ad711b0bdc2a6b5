"""Records Java targets with the agent on their command line, and reads recordings with the JDK's own reader."""
import collections
import contextlib
import os
import pathlib
import subprocess
import tempfile
import time

from . import jvm, parts

AGENT = pathlib.Path(os.environ.get("SPARKPROF_AGENT", parts.ROOT / "build/libsparkprof.so"))

Sample = collections.namedtuple("Sample", "type time thread tid java_id state span samples truncated stack")


def option(file, event="cpu", interval="10ms", agent=AGENT, **more):
    """The JVM option that records from the start."""
    words = "".join(f",{k}={v}" for k, v in more.items())
    return f"-agentpath:{agent}=start,event={event},interval={interval},file={file}{words}"


def native(name, *flags):
    """Compiles tests/jvm/native/NAME.c as a JVM agent of its own, or a library for its native methods; returns its path."""
    source = parts.ROOT / f"tests/jvm/native/{name}.c"
    out = parts.ROOT / f"build/targets/lib{name}.so"
    include = parts.jdk(17) / "include"
    command = ["gcc", "-O1", "-fno-omit-frame-pointer", "-g", "-shared", "-fPIC", "-pthread", *flags, "-isystem", include, "-isystem", include / "linux",
               "-o", out, source]
    return parts.fresh(out, [source], lambda: subprocess.run(command, check=True))


def at_one_moment(path):
    """The bytes of a file that may be written to meanwhile: twice the same. It is empty for a moment when it begins."""
    data, before, end = pathlib.Path(path).read_bytes(), None, time.monotonic() + 60
    while data != before or not data and time.monotonic() < end:
        time.sleep(0 if data else 0.02)
        data, before = pathlib.Path(path).read_bytes(), data
    return data


@contextlib.contextmanager
def still(path):
    """A copy of a recording as it is at one moment, for readers of the JDK: they ask for a file's size, read its header, then constants, then
    events. Of a file that grows in between they see what it never was."""
    with tempfile.NamedTemporaryFile(suffix=".jfr") as copy:
        copy.write(at_one_moment(path))
        copy.flush()
        yield copy.name


class Recording:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        with still(path) as copy:
            done = subprocess.run([parts.jdk(17) / "bin/java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", jvm.compiled(), "Events", copy],
                                  capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self.samples = []
        self.others = collections.defaultdict(list)
        self.times = collections.defaultdict(list)  # when each of them began, ns
        for line in done.stdout.splitlines():
            kind, time, rest = line.split("\t", 2)
            if kind not in ("jdk.ExecutionSample", "profiler.WallClockSample"):
                self.others[kind].append(rest)
                self.times[kind].append(int(time))
                continue
            thread, tid, jid, state, span, n, cut, stack = rest.split("\t")
            self.samples.append(Sample(kind, int(time), thread, int(tid), int(jid), state, int(span), int(n),
                                       cut == "true", stack.split(";") if stack else []))

    def cpu(self):
        return [s for s in self.samples if s.type == "jdk.ExecutionSample"]

    def wall(self):
        return [s for s in self.samples if s.type == "profiler.WallClockSample"]

    def counts(self):
        """The last sparkprof.Counts: samples, lost, truncated, unknown."""
        words = self.others["sparkprof.Counts"][-1].replace("=", " ").split()
        return {k: int(words[words.index(k) + 1].replace(",", "")) for k in ("samples", "lost", "truncated", "unknown")}

    def share(self, samples, *methods):
        """Part of @samples that have one of the methods ("Class.method") on their stack, for each of them."""
        hits = collections.Counter()
        for s in samples:
            for m in methods:
                hits[m] += any(f.startswith(m + " ") for f in s.stack)
        return [hits[m] / max(1, len(samples)) for m in methods]


def cover(*recordings):
    """How much of the time from first to last sample the spans of a thread tell of that was there all the time: the best of them, for one
    that ran where nobody saw it has gaps of its own on a busy machine. A piece that is missing is missing in all of them."""
    spans = collections.defaultdict(list)
    for s in (s for r in recordings for s in r.wall()):
        spans[s.tid].append((s.time, s.time + s.span))
    lives = {tid: max(b for _, b in v) - min(a for a, _ in v) for tid, v in spans.items()}
    return max(sum(b - a for a, b in spans[tid]) / life for tid, life in lives.items() if life >= 0.97 * max(lives.values()))
