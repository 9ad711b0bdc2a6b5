"""--ttsp: which thread keeps the others waiting at a safepoint."""
import collections

import pytest
from kit import recording
from kit.recording import Recording

QUIET = ["-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading"]
STOPS = ["-XX:-UseCountedLoopSafepoints", "-XX:+UseParallelGC", *QUIET]


def by_thread(file):
    return collections.Counter(s.thread for s in Recording(file).cpu())


def recorded(sparkprof, t, file, *options, line=1):
    r = sparkprof("start", "-i", "1ms", "-f", file, *options, t.pid)
    assert r.returncode == 0, r.stderr
    t.send("x")
    t.wait_for(f"tick {line}\n")
    r = sparkprof("stop", t.pid)
    assert r.returncode == 0, r.stderr
    return by_thread(file)


@pytest.mark.parametrize("jdk", [pytest.param(11, marks=pytest.mark.long), 17, pytest.param(21, marks=pytest.mark.long), 25])
def test_the_thread_that_does_not_stop(sparkprof, target, tmp_path, jdk):
    """Two threads compute all the time; only one of them does while the JVM waits for it. Of what was set nothing stays."""
    t = target("Stops", 20, jdk=jdk, jvm=STOPS)
    late = recorded(sparkprof, t, tmp_path / "x.jfr", "--ttsp")
    both = recorded(sparkprof, t, tmp_path / "all.jfr", "-e", "ctimer", line=2)
    assert both["polite"] > both["counting"] / 10, both
    assert late["counting"] > 50 and late["polite"] < late["counting"] / 4, (both, late)
    text = sparkprof("report", tmp_path / "x.jfr").stdout
    assert "Stops.counted" in text and "until all threads had stopped the JVM waited" in " ".join(text.split()), text


def test_from_the_start_and_without_counters(sparkprof, target, tmp_path):
    t = target("Stops", 20, jvm=[recording.option(tmp_path / "x.jfr", event="cpu", interval="1ms,ttsp"), "-XX:-UsePerfData", *STOPS])
    t.send("x")
    t.wait_for("tick 1\n")
    t.proc.stdin.close()
    assert t.proc.wait(timeout=100) == 0
    late = by_thread(tmp_path / "x.jfr")
    assert late["counting"] > 50 and late["polite"] < late["counting"] / 4, late


@pytest.mark.parametrize("options", [("-e", "wall"), ("-e", "itimer"), ("--wall", "20ms"), ("-e", "page-faults"), ("--capture", "ring"), ("--alloc", "1m")])
def test_what_goes_not_with_it(sparkprof, options):
    r = sparkprof("-d", "1", "--ttsp", *options, "1")
    assert r.returncode == 2 and r.stderr.startswith("sparkprof: --ttsp: works with -e cpu or ctimer alone"), r.stderr
