"""Recordings between real readers and writers: the JDK's, Mission Control's, async-profiler's and ours."""
import collections
import re
import subprocess
import time

import pytest

from kit import native, parts, peers, recording

SAMPLE = "jdk.ExecutionSample"


def run(*cmd, **kw):
    return subprocess.run([str(c) for c in cmd], capture_output=True, text=True, timeout=300, **kw)


def script(path, *args):
    """Runs the scripted writer; returns its exit and the samples that were durable."""
    r = run(native.jfr_script(), path, *args)
    numbers = [int(n) for n in r.stderr.split() if n.isdigit()]
    ops = re.search(r"ops (\d+)", r.stderr)
    return r.returncode, (numbers[:-1] if ops else numbers) or [0], int(ops[1]) if ops else None


@pytest.fixture(scope="session")
def java_readers():
    """Counts of events as other readers see them: {(file, reader): {type: count}}."""
    out = parts.ROOT / "build/readers"
    jars = ":".join(str(parts.maven(j)) for j in peers.JMC)
    subprocess.run([parts.jdk(17) / "bin/javac", "-cp", jars, "-d", out,
                    parts.ROOT / "tests/jvm/readers/Readers.java"], check=True)

    def read(*files, jdk=17, refused=()):
        """@refused: (file, reader) that need not be read."""
        r = run(parts.jdk(jdk) / "bin/java", "-Xmx512m", "-cp", f"{out}:{jars}", "Readers", *files)
        found = {}
        for line in r.stdout.splitlines():
            file, reader, counts = line.split("\t")
            if counts.startswith("failed") and (file, reader) in refused:
                counts = ""
            assert not counts.startswith("failed"), line
            found[file, reader] = {k: int(v) for k, v in (c.split("=") for c in counts.split())}
        assert len(found) == 2 * len(files), r.stderr
        return found
    return read


def summary(path, jdk):
    """Counts of `jfr summary`."""
    r = run(parts.jdk(jdk) / "bin/jfr", "summary", path)
    assert r.returncode == 0, r.stdout + r.stderr
    counts = {m[1]: int(m[2]) for m in re.finditer(r"^ (\S+\.\S+) +(\d+) +\d+ *$", r.stdout, re.M)}
    return {k: v for k, v in counts.items() if v and k.lower() not in ("jdk.metadata", "jdk.checkpoint")}


def ours(path):
    r = run(native.jfr_dump(), path)
    assert r.returncode == 0, r.stderr
    return {k: int(v) for k, v in (line.rsplit(" ", 1) for line in r.stdout.splitlines())}


def test_a_merged_recording_is_the_sum_of_its_parts(java_readers, tmp_path):
    a, b, c, same, mixed = (tmp_path / f"{name}.jfr" for name in ("a", "b", "c", "same", "mixed"))
    script(a, 6, 200, 40, 0)
    script(b, 3, 100, 40, 0)
    peers.recording(c, "event=cpu,interval=1ms,alloc=64k", "Mixture", 1)
    r = run(parts.SPARKPROF, "report", a, b, "-f", same)
    assert r.returncode == 0 and "may refuse" not in r.stderr, r.stderr
    r = run(parts.SPARKPROF, "report", a, b, c, "-f", mixed)
    assert r.returncode == 0 and "the JDK's own reader may refuse it" in r.stderr, r.stderr
    found = java_readers(a, b, c, same, mixed, refused=[(str(mixed), "jdk")])
    for reader, merged, files in (("jdk", same, (a, b)), ("jmc", same, (a, b)), ("jmc", mixed, (a, b, c))):
        assert found[str(merged), reader] == sum((collections.Counter(found[str(f), reader]) for f in files), collections.Counter()), (reader, merged)


@pytest.mark.parametrize("rotate", [0, 2])
def test_all_readers_see_the_same(tmp_path, java_readers, rotate):
    path = tmp_path / "a.jfr"
    assert script(path, 6, 200, 40, rotate)[0] == 0
    mine = ours(path)
    assert mine[SAMPLE] == 1200
    for jdk in (17, 25):
        assert summary(path, jdk) == mine
        found = java_readers(path, jdk=jdk)
        assert found[str(path), "jdk"].pop("whole") == 1200
        assert found[str(path), "jdk"] == mine
        assert found[str(path), "jmc"] == mine
        text = run(parts.jdk(jdk) / "bin/jfr", "print", "--events", SAMPLE, path).stdout
        assert text.count("jdk.ExecutionSample {") == 1200
        assert "org.example.app.C" in text and "STATE_DEFAULT" in text


def test_stream_is_a_chunk_per_flush(tmp_path, java_readers):
    path = tmp_path / "s.jfr"
    with open(path, "wb") as f:
        p = subprocess.Popen([native.jfr_script(), "-", "5", "50", "10"], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
        f.write(p.communicate(timeout=100)[0])
    mine = ours(path)
    assert mine[SAMPLE] == 250
    found = java_readers(path)
    assert found[str(path), "jdk"]["whole"] == 250
    assert found[str(path), "jmc"] == mine


def test_async_profilers_converter_reads_it(tmp_path):
    path, out = tmp_path / "a.jfr", tmp_path / "a.collapsed"
    assert script(path, 4, 100, 20, 2)[0] == 0
    jar = parts.maven("tools.profiler:jfr-converter:4.5")
    r = run(parts.jdk(17) / "bin/java", "-jar", jar, "--cpu", "-o", "collapsed", path, out)
    assert r.returncode == 0, r.stderr
    lines = out.read_text().splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == 400
    assert any("org/example/app/C1.method0" in line for line in lines)


def test_killed_between_and_inside_writes(tmp_path, java_readers):
    """A real kill -9 at each write; inside a write except those that the kernel does in one step (an appended
    page, a chunk's size: the unit tests cut all others at every byte)."""
    shape = (4, 60, 40, 2)
    code, _, ops = script(tmp_path / "whole.jfr", *shape)
    assert code == 0
    durable = {}
    for op in range(5, ops):  # the first five make the file
        path = tmp_path / f"{op}.jfr"
        code, samples, _ = script(path, *shape, op)
        assert code == -9
        durable[str(path)] = samples[-1]
    found = java_readers(*durable)
    for path, want in durable.items():
        counts = found[path, "jdk"]
        assert want <= counts.get(SAMPLE, 0) <= want + shape[1], path
        assert counts.get("whole", 0) == counts.get(SAMPLE, 0)
        assert found[path, "jmc"].get(SAMPLE, 0) == counts.get(SAMPLE, 0)
    for path in list(durable)[::17]:
        for jdk in (17, 25):
            assert summary(path, jdk) == ours(path)


BUSY = """
public class Busy {
    static volatile long x;
    public static void main(String[] a) throws Exception {
        Thread t = new Thread(() -> { try { while (true) synchronized (Busy.class) { Thread.sleep(5); } }
                                      catch (InterruptedException e) { } }, "sl\\u00e4fer \\u20ac \\ud83d\\ude00");
        t.setDaemon(true);
        t.start();
        var clock = java.lang.management.ManagementFactory.getThreadMXBean();
        long end = Long.parseLong(a[0]) * 1_000_000; // of CPU time: as many samples on a busy machine
        while (clock.getCurrentThreadCpuTime() < end)
            for (int i = 0; i < 100000; i++) x += Integer.toString(i).hashCode();
    }
}
"""


@pytest.fixture(scope="session")
def busy(tmp_path_factory):
    d = tmp_path_factory.mktemp("busy")
    (d / "Busy.java").write_text(BUSY)
    subprocess.run([parts.jdk(17) / "bin/javac", "--release", "11", "-nowarn", "-encoding", "UTF-8", d / "Busy.java"],
                   check=True, capture_output=True)
    return d


def same_as_jfr(path, jdk, leafs_too):
    """Counts, and with leafs_too the top frame of every sample (the pattern fits Java names, not C++ ones)."""
    mine = ours(path)
    assert mine == summary(path, jdk)
    text = run(parts.jdk(jdk) / "bin/jfr", "print", "--events", SAMPLE, "--stack-depth", "1", path).stdout
    top = re.findall(r"stackTrace = \[\s+(\S+)\.([^.(]+)\(", text)
    stacks = run(native.jfr_dump(), "--stacks", path).stdout.splitlines()
    leafs = [line.split("\t")[4].split(";")[0].rsplit(":", 1)[0] for line in stacks if line.startswith(SAMPLE + "\t")]
    assert not leafs_too or sorted(f"{c}.{m}" for c, m in top) == sorted(leaf.replace("/", ".") for leaf in leafs)
    return mine, stacks


@pytest.mark.parametrize("jdk", [17, 25])
def test_reads_the_jdks_own_recordings(tmp_path, busy, jdk):
    path = tmp_path / "jdk.jfr"
    r = run(parts.jdk(jdk) / "bin/java", f"-XX:StartFlightRecording:filename={path},settings=profile",
            "-cp", busy, "Busy", 2000)
    assert r.returncode == 0
    mine, _ = same_as_jfr(path, jdk, True)
    assert mine[SAMPLE] > 10


def test_reads_async_profilers_recordings(tmp_path, busy):
    path, copy = tmp_path / "ap.jfr", tmp_path / "copy.jfr"
    agent = f"-agentpath:{parts.async_profiler()}=start,event=cpu,wall=20ms,alloc,lock,jfr,file={path}"
    r = run(parts.jdk(17) / "bin/java", agent, "-cp", busy, "Busy", 2000)
    assert r.returncode == 0, r.stderr
    mine, stacks = same_as_jfr(path, 17, False)
    assert mine[SAMPLE] > 10 and mine["profiler.WallClockSample"] > 10
    assert any("sl\u00e4fer \u20ac \U0001f600" in s for s in stacks)
    assert run(native.jfr_dump(), "--rewrite", path, copy).returncode == 0
    assert ours(copy) == mine


def samples_in(repository):
    """Samples in the chunk that a JVM is still writing."""
    path = next(repository.glob("*/*.jfr"), None)
    found = path and re.search(SAMPLE + r" (\d+)", run(native.jfr_dump(), path).stdout)
    return int(found[1]) if found else 0


def test_reads_what_a_killed_jvm_left(tmp_path, busy):
    """The JDK's repository chunk of a JVM that got kill -9: header says unfinished."""
    p = subprocess.Popen([str(parts.jdk(17) / "bin/java"), "-XX:StartFlightRecording:settings=profile",
                          f"-XX:FlightRecorderOptions:repository={tmp_path}", "-cp", str(busy), "Busy", "30000"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while p.poll() is None and samples_in(tmp_path) <= 10:
            time.sleep(0.3)
    finally:
        p.kill()
        p.wait()
    path = next(tmp_path.glob("*/*.jfr"))
    r = run(native.jfr_dump(), path)
    assert r.returncode == 0, r.stderr
    assert "unfinished 1" in r.stderr
    assert int(re.search(SAMPLE + r" (\d+)", r.stdout)[1]) > 10


def test_rewritten_recordings_open_everywhere(tmp_path, java_readers):
    path, copy = tmp_path / "a.jfr", tmp_path / "b.jfr"
    assert script(path, 6, 100, 20, 2)[0] == 0
    r = run(native.jfr_dump(), "--rewrite", path, copy)
    assert r.returncode == 0 and "renamed 200 " in r.stdout, r.stdout + r.stderr
    mine = ours(copy)
    assert mine == ours(path)
    for jdk in (17, 25):
        assert summary(copy, jdk) == mine
        found = java_readers(copy, jdk=jdk)
        assert found[str(copy), "jdk"].pop("whole") == 600
        assert found[str(copy), "jdk"] == found[str(copy), "jmc"] == mine
    text = run(parts.jdk(17) / "bin/jfr", "print", "--events", SAMPLE, copy).stdout
    assert "libfoo.so.fn_1001()" in text and "0x1001" not in text


@pytest.mark.parametrize("jdk,collector", [(17, "UseG1GC"), (25, "UseSerialGC")])
def test_what_the_pages_of_mission_control_look_for(target, tmp_path, java_readers, jdk, collector):
    file = tmp_path / "a.jfr"
    t = target("Waits", 1, 20, jdk=jdk, wait=False, env={"FROM_ENVIRONMENT": "only-by-consent"},
               jvm=[recording.option(file), f"-XX:+{collector}", "-XX:ParallelGCThreads=3", "-Dtest.password=hunter2", "-Dtest.colour=teal"])
    assert t.proc.wait(timeout=300) == 0, t.stderr()
    found = java_readers(file, jdk=17)
    wanted = {f"jdk.{n}" for n in ("CPUInformation", "OSInformation", "JVMInformation", "InitialSystemProperty", "NativeLibrary", "ActiveSetting",
                                   "GCConfiguration", "ThreadStart", "ThreadEnd", "ClassLoadingStatistics")}
    for reader in ("jdk", "jmc"):
        assert wanted <= {k for k, n in found[str(file), reader].items() if n}, (reader, found)
    assert wanted <= set(summary(file, 17)) and wanted <= set(summary(file, 25))
    printed = run(parts.jdk(25) / "bin/jfr", "print", "--events", ",".join(sorted(wanted)), file).stdout
    assert "hunter2" not in printed and "only-by-consent" not in printed
    value = dict(re.findall(r'key = "(.*)"\s+value = (.*)', printed))
    assert value["test.colour"] == '"teal"' and value["test.password"] == '"*********(redacted)"', value
    assert re.search(r'oldCollector = "' + {"UseG1GC": "G1Old", "UseSerialGC": "SerialOld"}[collector], printed)
    assert "parallelGCThreads = 3" in printed or collector == "UseSerialGC"
    assert "libjvm.so" in printed and re.search(r"hwThreads = [1-9]", printed)
    assert int(re.search(r"loadedClassCount = (\d+)", printed)[1]) > 100
    ended = re.findall(r'jdk.ThreadEnd \{[^}]*thread = "([^"]*)"', printed)
    started = re.findall(r'jdk.ThreadStart \{[^}]*thread = "([^"]*)"', printed)
    assert {"sleeper", "locker"} <= set(started) & set(ended), (started, ended)
