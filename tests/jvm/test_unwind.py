"""The unwinder on real JVMs, through test-only agents (tests/jvm/native): every sample is also given to
AsyncGetCallTrace in the same handler, and blocked threads are compared with JVMTI's own stack traces."""
import subprocess

import pytest

from kit import jvm, parts
from kit.oracle import built, numbers, oracle

def good(tmp_path, seconds, home, *options, **kw):
    samples, agct, text = oracle(tmp_path, seconds, home, *options, **kw)
    assert samples["samples"] > 300, text[-2000:]
    # short runs of the hardest mixture, start-up included: a stray sample must not fail them
    assert samples["broken"] <= max(3, samples["samples"] * 0.001), text
    assert samples["truncated"] == 0, text
    assert samples["unknown"] <= 0.3, text
    assert agct["explained"] >= 99.3, text
    again = numbers(text, "again:")  # all threads but one are known: of those, only their number in the list is read
    assert (again["unknown"], again["itself"]) == (1, 1)
    assert again["reads"] <= numbers(text, "threads")["threads"] + 10, text


@pytest.mark.parametrize("version", [17, 25])
def test_java_frames_equal_asyncgetcalltrace(tmp_path, version):
    good(tmp_path, 4, parts.jdk(version))


@pytest.mark.parametrize("mode", ["-Xint", "-XX:TieredStopAtLevel=1"])
def test_interpreted_and_c1_frames(tmp_path, mode):
    good(tmp_path, 4, parts.jdk(17), mode)


@pytest.mark.parametrize("version", [pytest.param(11, marks=pytest.mark.long), 25])
def test_a_short_recursion_of_c2(tmp_path, version):
    """Half of its code is prologues, epilogues and what C2 moved."""
    good(tmp_path, 4, parts.jdk(version), "-XX:-TieredCompilation", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints",
         main="Ways", args=("x", "10"))


@pytest.mark.long
@pytest.mark.parametrize("version", [11, 17, 21, 25])
@pytest.mark.parametrize("mode", ["-XX:+UseG1GC", "-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseZGC", "-XX:+UseShenandoahGC",
                                  "-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation"])
def test_every_jdk_and_collector(tmp_path, version, mode):
    home = parts.jdk(version)
    if subprocess.run([home / "bin/java", "-XX:+UnlockExperimentalVMOptions", mode, "-version"], capture_output=True).returncode:
        pytest.skip(f"JDK {version} has no {mode}")
    good(tmp_path, 8, home, "-XX:+UnlockExperimentalVMOptions", mode)


@pytest.mark.parametrize("version", [17, 25])
@pytest.mark.parametrize("mode", [pytest.param("-Xint", marks=pytest.mark.long), "-XX:+UseG1GC"])
def test_blocked_threads_equal_jvmti(tmp_path, version, mode):
    report = tmp_path / "sleepers.txt"
    agent = built("sleepers", "sleepers.c")
    target = jvm.Target("ManyWaits", 3, jdk=version, jvm=[mode, f"-agentpath:{agent}=out={report}"])
    try:
        target.proc.wait(timeout=400)
    finally:
        target.close()
    text = report.read_text(errors="replace")
    counts = numbers(text, "blocked")
    assert counts["blocked"] > 100, text
    assert counts["broken"] == 0, text
    # a thread that ran and slept again in between has another stack, with the same clock never
    assert counts["differ"] <= counts["blocked"] * 0.005, text
