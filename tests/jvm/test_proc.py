"""--proc: who else uses the machine."""
import os
import re
import subprocess
import sys
import time

import pytest
from kit import recording
from kit.recording import Recording

QUIET = ["-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading"]
CLOCK = os.sysconf("SC_CLK_TCK")
# Computes until it has had so much CPU time from this moment on, then waits.
BUSY = "import sys, time\nprint(flush=True)\nsys.stdin.readline()\nend = time.process_time() + float(sys.argv[1])\n" \
       "while time.process_time() < end: pass\nprint(flush=True)\nsys.stdin.read()"


@pytest.fixture
def busy():
    """A process that computes for 1.5 s of CPU time once it is told to, and holds still before and after."""
    p = subprocess.Popen([sys.executable, "-c", BUSY, "1.5"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    yield p
    p.stdin.close()
    p.wait(200)


def compute(busy):
    busy.stdin.write("\n")
    busy.stdin.flush()
    busy.stdout.readline()


def of(r, pid):
    """What the recording's events say of a process: {field: value} each, times in seconds."""
    found = [dict(re.findall(r"(\w+) = \"?([^\s\"]+(?: m?s\b)?)", x)) for x in r.others["profiler.ProcessSample"]]
    return [{**x, "cpuTime": float(x["cpuTime"].split()[0]) * {"ms": 1e-3, "s": 1}[x["cpuTime"].split()[1]]} for x in found if x["pid"] == str(pid)]


def is_whole(events):
    """Of a process that has computed for 1.5 s: less than 5 % of the time between two looks may not be told yet."""
    return 0.75 <= sum(x["cpuTime"] for x in events) <= 1.6 + 2 / CLOCK


def test_who_else_computes(sparkprof, target, tmp_path, busy):
    t = target("Burn", 1, jvm=QUIET)
    file = tmp_path / "x.jfr"
    assert sparkprof("start", "--proc", "1s", "-f", file, t.pid).returncode == 0
    compute(busy)
    time.sleep(1.1)  # the last look is not within a second of the one before
    r = sparkprof("stop", t.pid)
    assert r.returncode == 0, r.stderr
    r = Recording(file)
    mine = of(r, busy.pid)
    assert is_whole(mine) and int(mine[0]["uid"]) == os.getuid() and int(mine[0]["ppid"]) == os.getpid(), mine
    printed = " ".join(sparkprof("report", file).stdout.split())
    # Which ones have most on a busy machine is chance.
    assert re.search(r"who else was here \(--proc\): \S.* \(pid \d+, user \d+\): \S+ .{1,12} of CPU time, up to \S+ [kMG]?B", printed), printed
    assert of(r, t.pid) and f"(pid {t.pid}," not in printed, "the JVM itself"


def test_from_the_start(target, tmp_path, busy):
    """Once every 30 s, and at the end."""
    t = target("Burn", 1, jvm=[recording.option(tmp_path / "x.jfr", interval="10ms,proc"), *QUIET])
    compute(busy)
    time.sleep(1.1)
    t.proc.terminate()
    t.proc.wait(60)
    assert is_whole(of(Recording(tmp_path / "x.jfr"), busy.pid))


def test_not_asked_for(sparkprof, target, tmp_path):
    t = target("Burn", 1, jvm=QUIET)
    assert sparkprof("-d", "100ms", "-f", tmp_path / "x.jfr", t.pid).returncode == 0
    assert "profiler.ProcessSample" not in Recording(tmp_path / "x.jfr").others
