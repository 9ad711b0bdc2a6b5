"""Commands and spans from the program itself: api/sparkprof.h, io.github.sparkprof.Sparkprof, and JMH with its profiler "async"."""
import re
import resource
import shutil
import subprocess
import zipfile

import pytest
from kit import parts, recording
from kit.recording import Recording
from kit.traces import wait_until

QUIET = ["-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading"]
BY_NAME = f"-Dsparkprof.library={recording.AGENT}"


def call(t, line):
    """What the program got back."""
    seen = t.stdout()
    end = f"did {seen.count('did ') + 1}\n"
    t.send(line)
    t.wait_for(end)
    return t.stdout()[len(seen):].split(end)[0].strip()


@pytest.mark.parametrize("jdk", [11, 17, 25])
def test_a_recording_of_its_own(sparkprof, target, tmp_path, jdk):
    t = target("Api", jdk=jdk, jvm=[BY_NAME, "-Xcheck:jni", *QUIET])
    assert call(t, "execute version").startswith("= sparkprof ")
    assert call(t, "execute stop") == "! java.lang.IllegalStateException: nothing is being recorded"
    assert "IllegalArgumentException: 'nonsense' is not an option" in call(t, "execute start,nonsense")
    assert call(t, f"execute start,event=ctimer,interval=1ms,file={tmp_path}/x.jfr") == "="
    assert "IllegalStateException: this JVM is being recorded already" in call(t, "execute start,event=ctimer")
    call(t, "work 300 place an order")
    assert re.match(r"= recording, \d+ samples", call(t, "execute status"))
    assert call(t, f"execute dump,file={tmp_path}/x.jfr") == "="  # it is that file
    assert call(t, "execute stop") == "="
    r = Recording(tmp_path / "x.jfr")
    assert len(r.cpu()) >= 100
    assert any("place an order" in e for e in r.others["profiler.Span"])
    shown = sparkprof("report", "--by", "task", "-o", "collapsed", tmp_path / "x.jfr")
    assert re.search(r"\[place an order\];.*Api\.compute", shown.stdout), shown.stdout[:2000]
    assert "WARNING in native" not in t.stdout() + t.stderr()
    assert not [n for n in t.threads().values() if n.startswith("sparkprof")]


def test_from_an_agent_before_main(target, tmp_path):
    with zipfile.ZipFile(tmp_path / "premain.jar", "w") as z:
        z.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nPremain-Class: Api\n")
    t = target("Api", jvm=[BY_NAME, f"-javaagent:{tmp_path}/premain.jar=start,event=ctimer,interval=1ms", *QUIET])
    call(t, "work 100 compute")
    assert call(t, "execute stop") == "="
    assert "Api.compute" in call(t, "execute collapsed")


def test_a_file_means_the_same_at_the_end(target, tmp_path):
    """Who repeats the words of the start has one file; what is no file of this host is refused before anything is stopped."""
    t = target("Api", jvm=[BY_NAME, *QUIET])
    assert call(t, f"execute start,event=ctimer,file={tmp_path}/x-%p.jfr") == "="
    for other in ("hdfs:///x.jfr", f"{tmp_path}/", f"{tmp_path}/{{{{NONE}}}}.jfr"):
        assert "IllegalArgumentException: file: " in call(t, f"execute stop,file={other}")
    assert call(t, f"execute stop,file=file://{tmp_path}/x-%p.jfr") == "="
    assert [p.name for p in tmp_path.iterdir()] == [f"x-{t.pid}.jfr"]


def test_reports_of_what_was_recorded(target, tmp_path):
    """After the stop, as often as one likes, to a file or back to the program."""
    t = target("Api", jvm=[BY_NAME, *QUIET])
    assert call(t, "execute start,event=ctimer,interval=1ms") == "="
    call(t, "work 300 compute")
    assert call(t, "execute stop") == "="
    assert re.search(r"^(= )?.*Api\.compute.* \d+$", call(t, "execute collapsed"), re.M)
    assert call(t, f"execute flamegraph,event=ctimer,file={tmp_path}/x.html") == "="
    assert "Api.compute" in (tmp_path / "x.html").read_text()
    assert call(t, f"execute summary,flat=5,file={tmp_path}/x.txt") == "="
    assert "Api.compute" in (tmp_path / "x.txt").read_text()
    assert call(t, f"execute dump,file={tmp_path}/y.jfr") == "="
    assert len(Recording(tmp_path / "y.jfr").cpu()) >= 100
    printed = subprocess.run([parts.jdk(17) / "bin/jfr", "print", "--stack-depth", "200", tmp_path / "y.jfr"], capture_output=True, text=True).stdout
    assert "JavaCalls::call_helper" in printed and "_ZN9JavaCalls" not in printed
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.html", "x.txt", "y.jfr"]


def test_a_recording_whose_time_is_over_is_there(target, tmp_path):
    t = target("Api", jvm=[BY_NAME, *QUIET])
    assert call(t, "execute start,event=ctimer,interval=1ms,timeout=1s") == "="
    call(t, "work 200 compute")
    wait_until(lambda: call(t, "execute status") == "= nothing is being recorded")
    assert "Api.compute" in call(t, "execute collapsed")
    wait_until(lambda: not [n for n in t.threads().values() if n.startswith("sparkprof")])
    before = sorted(t.fds().values())  # one of them is kept, as after the next
    assert call(t, f"execute start,event=ctimer,file={tmp_path}/x.jfr") == "="
    assert call(t, "execute stop") == "="
    wait_until(lambda: len(t.fds()) == len(before))


def test_a_stop_that_fails_leaves_what_was_recorded(target, tmp_path):
    """The file takes no more, stdout (a file, too) does: what is in it can be had elsewhere, and no descriptor is left behind."""
    t = target("Api", jvm=[BY_NAME, *QUIET])
    descriptors = set()
    for i in range(3):
        assert call(t, "execute start,event=ctimer,interval=1ms") == "="
        call(t, "work 100 compute")
        assert call(t, f"execute dump,file={tmp_path}/{i}.jfr") == "="
        call(t, "work 20 compute")
        free = resource.prlimit(t.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        assert call(t, "execute stop").startswith("! java.io.IOException: ")
        resource.prlimit(t.pid, resource.RLIMIT_FSIZE, free)
        assert call(t, f"execute dump,file={tmp_path}/{i}.jfr") == "="
        assert Recording(tmp_path / f"{i}.jfr").cpu()
        descriptors.add(len(t.fds()))
    assert len(descriptors) == 1, descriptors


def test_without_the_launcher_beside(target, tmp_path):
    shutil.copy(recording.AGENT, tmp_path / "libsparkprof.so")
    t = target("Api", jvm=[f"-Dsparkprof.library={tmp_path}/libsparkprof.so", *QUIET])
    assert call(t, "execute start,event=ctimer") == "="
    assert "no sparkprof lies beside the library" in call(t, f"execute stop,file={tmp_path}/x.html")
    assert not (tmp_path / "x.html").exists()
    assert call(t, f"execute dump,file={tmp_path}/x.jfr") == "="


def test_by_the_name_of_another(target, tmp_path):
    """Who comes from async-profiler keeps the path: one recording after another, as JMH does it."""
    shutil.copy(recording.AGENT, tmp_path / "libasyncProfiler.so")
    t = target("Api", jvm=[f"-Dsparkprof.library={tmp_path}/libasyncProfiler.so", *QUIET])
    for _ in range(3):
        assert call(t, "execute start,event=ctimer") == "="
        assert call(t, "execute stop") == "="


def test_spans_of_a_jvm_that_records_from_its_start(target, tmp_path):
    """The library is there; nothing is loaded, and another copy of it leads to the same recording."""
    shutil.copy(recording.AGENT, tmp_path / "libother.so")
    t = target("Api", jvm=[recording.option(tmp_path / "x.jfr", event="ctimer"), *QUIET])
    call(t, "many 500 short")
    call(t, "work 50 long")
    assert call(t, f"execute dump,file={tmp_path}/y.jfr") == "="
    spans = Recording(tmp_path / "y.jfr").others["profiler.Span"]
    assert sum("short" in s for s in spans) == 500 and sum("long" in s for s in spans) == 1
    t.proc.stdin.close()
    assert t.proc.wait(timeout=100) == 0
    assert len(Recording(tmp_path / "x.jfr").others["profiler.Span"]) == 501


@pytest.mark.parametrize("verb", ["dump", "stop"])
def test_all_segments_that_are_here(target, tmp_path, verb):
    """Of a recording that goes to the cluster; with no Spark nobody takes them there."""
    (tmp_path / "local").mkdir()
    t = target("Api", jvm=[recording.option("hdfs:///profiles", event="ctimer", interval="1ms", localdir=tmp_path / "local", loop="1s"), *QUIET])
    call(t, "work 200 first")
    wait_until(lambda: len(list((tmp_path / "local").iterdir())) > 1)
    call(t, "work 20 second")
    assert call(t, f"execute {verb},file={tmp_path}/y.jfr") == "="
    # Not by the tags that the JDK's reader shows: where both have the same key, in chunks that are no neighbours, it takes the second for the first.
    begun = Recording(tmp_path / "y.jfr").times["profiler.Span"]
    data = (tmp_path / "y.jfr").read_bytes()
    assert len(begun) == len(set(begun)) == 2 and b"first" in data and b"second" in data, begun


def test_from_c(target, tmp_path):
    shutil.copy(recording.AGENT, tmp_path / "libother.so")
    t = target("NativeApi", recording.native("apiuser"), recording.AGENT, tmp_path / "x.jfr", tmp_path / "libother.so", jvm=QUIET)
    assert t.proc.wait(timeout=100) == 0
    assert "-22 0 0 -22 95 'nonsense' is not an option of the agent sparkprof " in t.stdout(), t.stdout()
    assert t.stdout().rstrip().endswith("kept"), t.stdout()
    spans = Recording(tmp_path / "x.jfr").others["profiler.Span"]
    assert any("native work" in e for e in spans) and any("by the second" in e for e in spans)


BENCHMARK = """
package demo;
import org.openjdk.jmh.annotations.*;
public class Work {
    @Benchmark public double compute() { double d = 1; for (int i = 1; i < 10000; i++) d += Math.sqrt(d) / i; return d; }
}
"""


@pytest.mark.long
def test_jmh(tmp_path):
    """Real JMH 1.37, whose profiler is written for async-profiler."""
    jars = ":".join(map(str, parts.jars("jmh-1.37", "org.openjdk.jmh:jmh-core:1.37", "org.openjdk.jmh:jmh-generator-annprocess:1.37").glob("*.jar")))
    (tmp_path / "Work.java").write_text(BENCHMARK)
    jdk = parts.jdk(17) / "bin"
    subprocess.run([jdk / "javac", "-cp", jars, "-d", tmp_path / "classes", tmp_path / "Work.java"], check=True)
    for output, made in (("text", "summary-cpu.txt"), ("flamegraph", "flame-cpu-forward.html"), ("jfr", "jfr-cpu.jfr")):
        out = tmp_path / output
        r = subprocess.run([jdk / "java", "-cp", f"{tmp_path}/classes:{jars}", "org.openjdk.jmh.Main", "-f", "1", "-wi", "1", "-i", "1", "-w", "1", "-r", "2",
                            "-prof", f"async:libPath={recording.AGENT};output={output};dir={out};event=cpu"], capture_output=True, text=True, cwd=tmp_path)
        assert r.returncode == 0 and "Async profiler results:" in r.stdout, r.stdout + r.stderr
        file, = out.rglob(made)
        if output == "jfr":
            assert any("demo.Work.compute " in f for s in Recording(file).cpu() for f in s.stack)
        else:
            assert "Work.compute" in file.read_text()
