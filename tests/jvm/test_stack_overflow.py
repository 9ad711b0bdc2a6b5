"""A JVM whose threads catch StackOverflowError, beside threads with smaller stacks, lives while it is recorded again and
again. With threads of the agent on glibc's cached stacks it died by SIGSEGV, mostly within ten recordings."""
import concurrent.futures

import pytest

from kit.traces import our_threads, wait_until

ENGINES = ("cpu", "itimer", "ctimer", "wall", "alloc", "lock", "nativelock", "nativemem", "cache-misses", "java.util.ArrayList.add")


def rounds(sparkprof, t, tmp_path, event, n):
    for i in range(n):
        r = sparkprof("-e", event, "-d", "0.2", "-f", tmp_path / "x.jfr", t.pid)
        assert t.alive(), f"{event}: died in round {i + 1} by {t.proc.returncode}"
        assert r.returncode == 0, r.stderr


def test_lives_through_25_recordings_of_each_kind(target, sparkprof, tmp_path):
    """On JDK 17 and 25 side by side."""
    def both_kinds(t):
        for event in ("cpu", "wall"):
            rounds(sparkprof, t, tmp_path / str(t.pid), event, 25)
    targets = [target("StackOverflows", jdk=jdk, jvm=["-Xmx128m"]) for jdk in (17, 25)]
    for t in targets:
        (tmp_path / str(t.pid)).mkdir()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(both_kinds, targets))
    for t in targets:
        before = t.stdout().count("rounds")
        wait_until(lambda: t.stdout().count("rounds") > before)
        wait_until(lambda: not our_threads(t))


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("jdk", [11, 17, 21, 25])
def test_every_engine(target, sparkprof, tmp_path, jdk):
    t = target("StackOverflows", jdk=jdk, jvm=["-Xmx128m"])
    asked = 0
    for event in ENGINES:
        r = sparkprof("-e", event, "-d", "0.2", "-f", tmp_path / "x.jfr", t.pid)
        assert t.alive(), event
        if r.returncode:
            continue  # not on this machine; what cannot be had is another test's question
        rounds(sparkprof, t, tmp_path, event, 25)
        asked += 1
    assert asked >= 7
