"""Recordings that benchmarks share."""
from . import parts, peers

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
