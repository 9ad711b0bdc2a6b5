"""-e nativemem: malloc and the other allocation functions, exact or sampled, with Java and native callers; leaks; tables put back at the end."""
import os
import pathlib
import re
import struct
import subprocess
import time

import pytest
from kit import chance, jvm, parts, peers, recording

QUIET = ["-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading"]


@pytest.fixture
def lib():
    return recording.native("mallocs")


def bytes_below(sparkprof, file, function, event="nativemem"):
    r = sparkprof("report", "-e", event, "--total", "-o", "collapsed", file)
    assert r.returncode == 0, r.stderr
    return sum(int(n) for s, n in (line.rsplit(" ", 1) for line in r.stdout.splitlines()) if function in s.split(";"))


def record(sparkprof, t, file, *lines, options=("--nativemem", "0"), pause=0):
    """A recording around what the target is told to do, with a pause after each."""
    r = sparkprof("start", "-f", file, *options, t.pid)
    assert r.returncode == 0, r.stderr
    for line in lines:
        t.does(line)
        time.sleep(pause)
    r = sparkprof("stop", t.pid)
    assert r.returncode == 0, r.stderr


def thinned(sparkprof, file):
    """Whether there was a moment at which not every call was told."""
    return "nativemem: more than 5000 events a second" in " ".join(sparkprof("report", file).stdout.split())


@pytest.mark.parametrize("jdk", jvm.every())
def test_every_call_sums_up_exactly(sparkprof, target, tmp_path, lib, jdk):
    t = target("Mallocs", lib, jdk=jdk, jvm=["-Xcheck:jni", *QUIET])
    before = t.stderr()
    record(sparkprof, t, tmp_path / "x.jfr", "some 1000000 100 1000", "each 1000", "direct 10 1000000")
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "allocate_some") == 100_000_000
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "allocate_each") == 7000
    # Java callers: the JVM's own malloc behind Unsafe.allocateMemory
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "Mallocs.direct") >= 10_000_000
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "Mallocs.some") >= 100_000_000
    assert t.stderr() == before and "arning" not in t.stdout()


def test_what_was_not_freed(sparkprof, target, tmp_path, lib):
    t = target("Mallocs", lib)
    record(sparkprof, t, tmp_path / "x.jfr", "some 200 100000 4", "each 5000", "direct 20 100000")
    # 200 calls at once are told each (the limit is 335 in 67 ms), unless the JVM itself makes more than half as many at that moment: that
    # is said. Then each of the 50 may be told with probability 1/2 and stand for two.
    leaked = bytes_below(sparkprof, tmp_path / "x.jfr", "allocate_some", "leak") // 100_000
    assert leaked == 50 or thinned(sparkprof, tmp_path / "x.jfr") and chance.within(leaked // 2, 50, 0.5)
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "allocate_each", "leak") == 0
    # Twenty calls of the JVM's among its many: a call or two may stand for others.
    assert 100_000 <= bytes_below(sparkprof, tmp_path / "x.jfr", "Mallocs.direct", "leak") <= 10_000_000
    assert "leak" not in sparkprof("report", tmp_path / "x.jfr").stdout


def test_threads_that_come_and_go_sum_up_exactly(sparkprof, target, tmp_path, lib):
    """From their first moment on, before anybody has asked for their names."""
    t = target("Mallocs", lib)
    record(sparkprof, t, tmp_path / "x.jfr", "threads 60")
    calls = int(re.search(r"calls (\d+)", t.stdout())[1])
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "allocate_a_while") == 1000 * calls


def test_whoever_frees_it(sparkprof, target, tmp_path, lib):
    """Also a thread that is not recorded."""
    t = target("Mallocs", lib, jvm=["-Xint"])  # a JIT that allocates just then would have calls thinned
    record(sparkprof, t, tmp_path / "x.jfr", "others 100 1001", "some 100 1001 2", pause=0.1, options=("--nativemem", "0", "--thread", "main"))
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "allocate_for_others") == 100_100
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "allocate_for_others", "leak") == 0
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "allocate_some", "leak") > 0


def test_after_a_storm_each_call_is_told_again(sparkprof, target, tmp_path, lib):
    """Hardly any call is looked at while a million come at once; a second later, all are."""
    t = target("Mallocs", lib, jvm=["-Xint"])  # a JIT that allocates just then would have them thinned again
    record(sparkprof, t, tmp_path / "x.jfr", "some 1000000 100 0", "some 100 101 1", pause=1)
    assert thinned(sparkprof, tmp_path / "x.jfr")
    told = sparkprof("report", "-e", "leak", "-o", "collapsed", tmp_path / "x.jfr").stdout.splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in told if ";allocate_some " in line) == 100


def test_mappings(sparkprof, target, tmp_path, lib):
    t = target("Mallocs", lib)
    record(sparkprof, t, tmp_path / "x.jfr", "map 100 1000000 4")
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "map_some") == 100_000_000
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "map_some", "leak") == pytest.approx(25_000_000, rel=0.05)


def test_what_could_not_be_freed(sparkprof, target, tmp_path, lib):
    """A realloc or munmap that fails frees nothing."""
    t = target("Mallocs", lib)
    record(sparkprof, t, tmp_path / "x.jfr", "refused 20 100000")
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "allocate_refused") == 4_000_000
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "allocate_refused", "leak") == 4_000_000


def test_jemalloc_preloaded(sparkprof, target, tmp_path, lib):
    """Whatever allocator the process has: its functions are patched, and what it maps itself is not told a second time."""
    jemalloc, = pathlib.Path("/usr/lib").glob("*-linux-gnu/libjemalloc.so.2")
    t = target("Mallocs", lib, env={**os.environ, "LD_PRELOAD": str(jemalloc)})
    assert any("libjemalloc" in m for m in t.maps())
    record(sparkprof, t, tmp_path / "x.jfr", "some 1000000 100 1000", "each 1000", "direct 10 1000000")
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "allocate_some") == 100_000_000
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "allocate_each") == 7000
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "Mallocs.direct") >= 10_000_000
    assert entries_of_ours(t) == 0 and t.stderr() == ""


def test_sampled_by_bytes(sparkprof, target, tmp_path, lib):
    t = target("Mallocs", lib)
    # In five pieces, or there are more at once than the limit of 335 in 67 ms lets through.
    record(sparkprof, t, tmp_path / "x.jfr", *(f"some {200_000 + i} 1000 100" for i in (-2, -1, 0, 1, 2)), pause=0.1,
           options=("-e", "nativemem", "-i", "1m"))
    n = int(re.search(r"profiler.Malloc\s+(\d+)", summary(tmp_path / "x.jfr"))[1])
    # 954 are expected, with a standard deviation of 31 (3 %); the JVM's own come on top.
    assert 700 < n < 2000
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "allocate_some") == pytest.approx(1_000_000_000, rel=0.25)


def summary(path):
    return subprocess.run([parts.jdk(17) / "bin/jfr", "summary", path], capture_output=True, text=True, check=True).stdout


def test_a_library_that_is_loaded_later(sparkprof, target, tmp_path, lib):
    t = target("Mallocs")
    assert sparkprof("start", "--nativemem", "0", "-f", tmp_path / "x.jfr", t.pid).returncode == 0
    t.does(f"load {lib}")
    t.send(f"load {recording.native('ownalloc')}")
    t.wait_for("ownalloc.so")
    end = time.monotonic() + 100
    while not entries_of_ours(t, "libmallocs"):  # libraries are looked for every 20 ms
        assert time.monotonic() < end
        time.sleep(0.05)
    t.does("some 1000 1000 0")
    sparkprof("stop", t.pid)
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "allocate_some") == 1_000_000
    said = re.findall(r"nativemem: (\S+) has an allocator of its own", sparkprof("report", tmp_path / "x.jfr").stdout)
    assert said == ["libownalloc.so"]


def test_nofree_and_other_readers(sparkprof, target, tmp_path, lib):
    t = target("Mallocs", lib)
    record(sparkprof, t, tmp_path / "x.jfr", "some 1000 1000 2", options=("--nativemem", "0", "--nofree"))
    assert not re.search(r"profiler.Free\s+[1-9]", summary(tmp_path / "x.jfr"))
    record(sparkprof, t, tmp_path / "y.jfr", "some 1000 1000 2")
    assert re.search(r"profiler.Free\s+[1-9]", summary(tmp_path / "y.jfr"))
    subprocess.run([*peers.converter(), "--nativemem", "--total", "-o", "collapsed", tmp_path / "y.jfr", tmp_path / "y.txt"],
                   check=True, capture_output=True)
    theirs = sum(int(line.rsplit(" ", 1)[1]) for line in (tmp_path / "y.txt").read_text().splitlines()
                 if ";allocate_some" in line)
    assert theirs == bytes_below(sparkprof, tmp_path / "y.jfr", "allocate_some")


def test_pages_that_another_agent_has_unsealed_stay_so(sparkprof, target, tmp_path, lib):
    """async-profiler unseals them once, for good: sealed behind it, its next round would end the JVM."""
    t = target("Mallocs", lib)

    def theirs(options):
        r = subprocess.run([parts.jdk(17) / "bin/jcmd", str(t.pid), "JVMTI.agent_load", parts.async_profiler(), options], capture_output=True,
                           text=True)
        assert "return code: 0" in r.stdout, r.stdout + r.stderr

    for _ in range(2):
        theirs(f"start,nativemem=1m,jfr,file={tmp_path}/theirs.jfr")
        theirs("stop")
        record(sparkprof, t, tmp_path / "x.jfr", "some 1000 1000 2")
    assert t.alive()


def sealed_pages(t):
    """Protection of the pages that hold relocated addresses: private file mappings without execution."""
    return [re.sub(r"^\S+ (\S+) .*? (/\S+)$", r"\1 \2", m) for m in t.maps() if re.search(r" r.-p .*\.so", m)]


def entries_of_ours(t, lib="lib"):
    """Words in the tables of all libraries, or of one, that point into our library."""
    maps = t.maps()
    ours = [tuple(int(x, 16) for x in m.split()[0].split("-")) for m in maps if "sparkprof" in m and " r-xp " in m]
    found = 0
    with open(f"/proc/{t.pid}/mem", "rb") as mem:
        for m in maps:
            if "sparkprof" in m or not re.search(rf" r.-p .*/{lib}[^ ]*\.so", m):
                continue
            low, high = (int(x, 16) for x in m.split()[0].split("-"))
            mem.seek(low)
            for word, in struct.iter_unpack("<Q", mem.read(high - low)):
                found += any(a <= word < b for a, b in ours)
    return found


@pytest.mark.parametrize("jdk", [17, *(pytest.param(n, marks=pytest.mark.long) for n in (11, 21, 25))])
def test_rounds_leave_no_entry(sparkprof, target, tmp_path, lib, jdk):
    t = target("Mallocs", lib, jdk=jdk, jvm=QUIET)
    sparkprof("-e", "ctimer", "-d", "50ms", t.pid)  # what loading does is done
    pages, said = sealed_pages(t), (t.stdout(), t.stderr())
    assert sparkprof("start", "-e", "nativemem", t.pid, cwd=tmp_path).returncode == 0
    assert entries_of_ours(t) > 20
    assert sparkprof("stop", t.pid).returncode == 0
    assert entries_of_ours(t) == 0
    for _ in range(20):
        assert sparkprof("--nativemem", "0", "-d", "20ms", "-f", tmp_path / "x.jfr", t.pid).returncode == 0
    assert entries_of_ours(t) == 0 and sealed_pages(t) == pages
    assert (t.stdout(), t.stderr()) == said
    t.does("some 1000 100 2")


def test_a_forked_child_allocates_in_peace(sparkprof, target, tmp_path, lib):
    """It has the hooks but not the ring."""
    t = target("Mallocs", lib)
    record(sparkprof, t, tmp_path / "x.jfr", "fork")
    assert "child 0\n" in t.stdout()
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "forked") == 0


def test_all_of_it_at_once(sparkprof, target, tmp_path):
    t = target("Alloc", 600, jvm=["-Xcheck:jni"])
    before = t.stdout(), t.stderr()
    r = sparkprof("--all", "-d", 2, "-f", tmp_path / "x.jfr", "-f", tmp_path / "{{EVENT}}.collapsed", t.pid)
    assert r.returncode == 0, r.stderr
    made = {p.name for p in tmp_path.iterdir()}
    assert {"cpu.collapsed", "wall.collapsed", "alloc.collapsed", "live.collapsed"} <= made
    assert (t.stdout(), t.stderr()) == before and t.alive()
