"""A large recording of async-profiler: sparkprof beside async-profiler's own converter, to collapsed text, to a plain graph
and to the page with a time strip (the converter's heat map).

    ./build.sh bench report [ROUNDS]        5 rounds by default

The recording is real ones joined until there are 300 MB. They take turns. And, alone, ten minutes of one executor to the page, and
200 executors of one application, 5 MB each, to one page. Wall clock, CPU time and peak memory of the whole
command; medians; build/bench/report.json has every round. The collapsed outputs are compared once."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from kit import parts, peers, recordings  # noqa: E402
from kit.parts import SPARKPROF  # noqa: E402

OUT = parts.ROOT / "build/bench"


def measure(cmd):
    start = time.monotonic()
    p = subprocess.Popen(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    took = time.monotonic() - start
    assert status == 0, cmd
    return {"wall": took, "cpu": usage.ru_utime + usage.ru_stime, "mb": usage.ru_maxrss / 1024}


def main(rounds=5):
    file, theirs, ours = recordings.large(), peers.converter(), [SPARKPROF, "report", "-q", "-e", "cpu"]
    pairs = {
        "collapsed": ([*ours, "-a", file, "-f", OUT / "ours.collapsed"], [*theirs, "--cpu", "--norm", "-o", "collapsed", file, OUT / "theirs.collapsed"]),
        "graph": ([*ours, file, "-f", OUT / "ours.svg"], [*theirs, "--cpu", file, OUT / "theirs.html"]),
        "page": ([*ours, file, "-f", OUT / "ours.html"], [*theirs, "--cpu", "-o", "heatmap", file, OUT / "theirs.heatmap.html"]),
    }
    results = {what: ([], []) for what in pairs}
    for _ in range(rounds):
        for what, cmds in pairs.items():
            for cmd, rows in zip(cmds, results[what]):
                rows.append(measure([str(c) for c in cmd]))
    executor = recordings.ten_minutes()
    alone = [measure([str(c) for c in (SPARKPROF, "report", "-q", executor, "-f", OUT / "executor.html")]) for _ in range(rounds)]
    same = sorted((OUT / "ours.collapsed").read_bytes().splitlines()) == sorted((OUT / "theirs.collapsed").read_bytes().splitlines())
    print(f"{file.stat().st_size / 1e6:.0f} MB; collapsed outputs are {'equal' if same else 'NOT EQUAL'}")
    for what, sides in results.items():
        mid = [{k: statistics.median(r[k] for r in rows) for k in ("wall", "cpu", "mb")} for rows in sides]
        for name, m in zip(("sparkprof", "jfrconv"), mid):
            print(f"{what:10} {name:10}" + "".join(f"  {k} {v:8.2f}" for k, v in m.items()))
        print(f"{what:10} jfrconv / sparkprof: " + ", ".join(f"{k} {mid[1][k] / mid[0][k]:.1f}" for k in mid[0]))
    print(f"size of the page: sparkprof {(OUT / 'ours.html').stat().st_size / 1e6:.1f} MB, "
          f"heat map {(OUT / 'theirs.heatmap.html').stat().st_size / 1e6:.1f} MB")
    mid = {k: statistics.median(r[k] for r in alone) for k in ("wall", "cpu", "mb")}
    print(f"ten minutes of an executor ({executor.stat().st_size / 1e6:.1f} MB) to the page: " + ", ".join(f"{k} {v:.2f}" for k, v in mid.items())
          + f" (aim: wall 0.3); {(OUT / 'executor.html').stat().st_size / 1e6:.1f} MB")
    results["executor"] = alone
    app = recordings.application()
    results["application"] = [measure([str(c) for c in (SPARKPROF, "report", "-q", app, "-f", OUT / "application.html")]) for _ in range(rounds)]
    mid = {k: statistics.median(r[k] for r in results["application"]) for k in ("wall", "cpu", "mb")}
    print(f"200 executors ({sum(f.stat().st_size for f in app.iterdir()) / 1e6:.0f} MB) to one page: "
          + ", ".join(f"{k} {v:.2f}" for k, v in mid.items()) + f" (aim: wall 5, mb 500); {(OUT / 'application.html').stat().st_size / 1e6:.1f} MB")
    (OUT / "report.json").write_text(json.dumps(results, indent=1))


main(*map(int, sys.argv[1:2]))
