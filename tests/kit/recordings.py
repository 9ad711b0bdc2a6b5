"""Recordings that benchmarks share."""
import subprocess

from . import native, parts, peers

SIZE = 300_000_000


def large():
    """300 MB of async-profiler's: one real recording, joined with itself."""
    out = parts.ROOT / "build/bench"
    out.mkdir(parents=True, exist_ok=True)
    path = out / "large.jfr"
    if path.exists() and path.stat().st_size >= SIZE:
        return path
    one = peers.recording(out / "one.jfr", "event=cpu,interval=100us,alloc=8k,lock=1us,wall=1ms", "Mixture", 20)
    data = one.read_bytes()
    with path.open("wb") as f:
        while f.tell() < SIZE:
            f.write(data)
    return path


def application():
    """A folder of 200 recordings of 5 MB, as executors of one application leave them: 14 minutes each, as ten_minutes()."""
    path = parts.ROOT / "build/bench/application"
    if not path.exists():
        made = path.with_name("application.tmp")
        made.mkdir(parents=True, exist_ok=True)
        subprocess.run([native.jfr_long(), made, "820", "64", "8", "5000", "200"], check=True)
        made.rename(path)
    return path


def executors(count=200, seconds=350):
    """A folder of so many recordings of some 5 MB, as executors leave them that are not all alike: see jfr_long.c."""
    path = parts.ROOT / f"build/bench/executors-{count}-{seconds}"
    if not path.exists():
        made = path.with_name(path.name + ".tmp")
        made.mkdir(parents=True, exist_ok=True)
        subprocess.run([native.jfr_long(), made, str(seconds), "64", "8", "5000", str(count), "unlike"], check=True)
        made.rename(path)
    return path


def ten_minutes():
    """Wall every 50 ms of an executor with 64 threads, 8 of which run tasks, as the agent writes it: 5,000 stacks, 60 deep."""
    path = parts.ROOT / "build/bench/ten-minutes.jfr"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        subprocess.run([native.jfr_long(), path, "600", "64", "8", "5000"], check=True)
    return path
