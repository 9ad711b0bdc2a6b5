"""A large recording of async-profiler to collapsed text: sparkprof beside async-profiler's own converter.

    ./build.sh bench report [ROUNDS]        5 rounds unless told

The recording is real ones joined until there are 300 MB. They take turns. Wall clock, CPU time and peak memory of the whole
command; medians; build/bench/report.json has every round. The outputs are compared once."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from kit import parts, peers  # noqa: E402
from kit.parts import SPARKPROF  # noqa: E402

OUT = parts.ROOT / "build/bench"
SIZE = 300_000_000


def large():
    path = OUT / "large.jfr"
    if path.exists() and path.stat().st_size >= SIZE:
        return path
    one = peers.recording(OUT / "one.jfr", "event=cpu,interval=100us,alloc=8k,lock=1us,wall=1ms", "Mixture", 20)
    data = one.read_bytes()
    with path.open("wb") as f:
        while f.tell() < SIZE:
            f.write(data)
    return path


def measure(cmd):
    start = time.monotonic()
    p = subprocess.Popen(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    took = time.monotonic() - start
    assert status == 0, cmd
    return {"wall": took, "cpu": usage.ru_utime + usage.ru_stime, "mb": usage.ru_maxrss / 1024}


def main(rounds=5):
    OUT.mkdir(parents=True, exist_ok=True)
    file, ours, theirs = large(), OUT / "ours.collapsed", OUT / "theirs.collapsed"
    cmds = {"sparkprof": [SPARKPROF, "report", "-q", "-a", "-e", "cpu", file, "-f", ours],
            "jfrconv": [*peers.converter(), "--cpu", "--norm", "-o", "collapsed", file, theirs]}
    results = {name: [] for name in cmds}
    for _ in range(rounds):
        for name, cmd in cmds.items():
            results[name].append(measure([str(c) for c in cmd]))
    same = sorted(ours.read_bytes().splitlines()) == sorted(theirs.read_bytes().splitlines())
    print(f"{file.stat().st_size / 1e6:.0f} MB; outputs are {'equal' if same else 'NOT EQUAL'}")
    for name, rows in results.items():
        print(f"{name:10}" + "".join(f"  {k} {statistics.median(r[k] for r in rows):8.2f}" for k in ("wall", "cpu", "mb")))
    ratio = {k: statistics.median(r[k] for r in results["jfrconv"]) / statistics.median(r[k] for r in results["sparkprof"])
             for k in ("wall", "cpu", "mb")}
    print("jfrconv / sparkprof: " + ", ".join(f"{k} {v:.1f}" for k, v in ratio.items()))
    (OUT / "report.json").write_text(json.dumps(results, indent=1))


main(*map(int, sys.argv[1:2]))
