"""A real driver whose plans overflow the stacks of its threads, beside threads with smaller stacks, lives while it is recorded
again and again. With the agent's threads put back on glibc's cached stacks it died by SIGSEGV: JDK 17 in recordings 13 and 45
of two runs, JDK 25 in recording 13 of one."""
import re

import pytest

from kit import spark
from kit.traces import our_threads, wait_until

ROUNDS, CYCLES = 50, 10  # recordings; times that twelve threads overflowed and ended
JVM = ["-Xmx512m", *(f"--add-opens=java.base/{p}=ALL-UNNAMED" for p in ("java.lang", "java.nio", "java.util", "sun.nio.ch"))]


def cycles(t):
    return len(re.findall(r"^overflows", t.stdout(), re.M))


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("jdk", [17, 25])
def test_recordings_of_a_driver_whose_plans_are_too_deep(target, sparkprof, tmp_path, jdk):
    t = target("OverflowingDriver", jdk=jdk, classes=spark.bare_classes(), cwd=tmp_path, jvm=JVM, wait=False)
    t.wait_for("overflows", 600)
    first, i = cycles(t), 0
    while i < ROUNDS or cycles(t) < first + CYCLES:
        r = sparkprof("-e", ("cpu", "wall")[i % 2], "-d", "0.2", "-f", tmp_path / "x.jfr", t.pid)
        i += 1
        assert t.alive(), f"died in round {i} by {t.proc.returncode}, after {cycles(t) - first} cycles"
        assert r.returncode == 0, r.stderr
    after = cycles(t)
    wait_until(lambda: cycles(t) > after, 600)
    wait_until(lambda: not our_threads(t))
    assert not re.search("^(other|no overflow)", t.stdout(), re.M), t.stdout()[-2000:]
