"""--target-cpu: only what runs on one CPU."""
import collections
import contextlib
import os
import pathlib

import pytest
from kit import deny, parts
from kit.recording import Recording

STOPS = ["-XX:+UseParallelGC", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading"]
CPUS = sorted(os.sched_getaffinity(0))


def bind(t, where):
    """Binds the threads of these names to a CPU each, before they are recorded."""
    bound = set()
    for task in pathlib.Path(f"/proc/{t.pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            name = (task / "comm").read_text().strip()
            if name in where:
                os.sched_setaffinity(int(task.name), {where[name]})
                bound.add(name)
    assert bound == set(where)


@pytest.mark.skipif(len(CPUS) < 2, reason="two CPUs are compared")
def test_of_two_bound_threads_one_is_sampled(sparkprof, target, tmp_path):
    """Both compute all the time."""
    parts.needs_perf()
    t = target("Stops", 3, jvm=STOPS)
    bind(t, {"counting": CPUS[0], "polite": CPUS[1]})
    for line, (cpu, one, other) in enumerate([(CPUS[0], "counting", "polite"), (CPUS[1], "polite", "counting")], 1):
        file = tmp_path / f"{line}.jfr"
        r = sparkprof("start", "--target-cpu", cpu, "-i", "1ms", "-f", file, t.pid)
        assert r.returncode == 0, r.stderr
        t.send("x")
        t.wait_for(f"tick {line}\n")
        r = sparkprof("stop", t.pid)
        assert r.returncode == 0, r.stderr
        seen = collections.Counter(s.thread for s in Recording(file).cpu())
        assert seen[one] > 0 and seen[other] == 0, (cpu, seen)


def test_what_cannot_be(sparkprof, target, tmp_path):
    parts.needs_perf()
    t = target("Stops", 3, jvm=STOPS)
    r = sparkprof("start", "--target-cpu", "4000", "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 2 and "--target-cpu: CPU 4000: there is none, or it is offline" in r.stderr, r.stderr


def test_timers_are_no_way_out(sparkprof, target, tmp_path):
    t = target("Stops", 3, wrap=deny.wrap("perf_event_open=EPERM"), jvm=STOPS)
    r = sparkprof("start", "--target-cpu", "0", "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 3 and "perf_event_open" in r.stderr, r.stderr


@pytest.mark.parametrize("options, why", [(("-e", "wall"), "omit wall"), (("-e", "ctimer"), "omit ctimer"), (("--ttsp",), "omit --capture=ring, --ttsp")])
def test_what_goes_not_with_it(sparkprof, options, why):
    r = sparkprof("-d", "1", "--target-cpu", "1", *options, "1")
    assert r.returncode == 2 and why in r.stderr, r.stderr


def test_no_number(sparkprof):
    r = sparkprof("-d", "1", "--target-cpu", "one", "1")
    assert r.returncode == 2 and "'one' is not the number of a CPU" in r.stderr, r.stderr
