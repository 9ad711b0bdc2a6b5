"""Libraries that are loaded while native functions are recorded: seen from dlopen's return on, and found as without us."""
import os
import re
import subprocess

import pytest
from kit import jvm, parts, recording
from kit.traces import wait_until
from test_nativemem import bytes_below, entries_of_ours

SOME = 1_000_000  # of allocate_some(20, 50000, 0), of which each call is told


def compiled(name, out, *flags):
    """A library of its own, in a folder of the test's."""
    include = parts.jdk(17) / "include"
    out.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-shared", "-fPIC", "-pthread", "-isystem", include, "-isystem", include / "linux", *flags,
                    "-o", out, parts.ROOT / f"tests/jvm/native/{name}.c"], check=True)
    return out


def record(sparkprof, t, file, *lines):
    assert sparkprof("start", "--nativemem", "40k", "-f", file, t.pid).returncode == 0
    for line in lines:
        t.does(line)
    assert sparkprof("stop", t.pid).returncode == 0
    assert entries_of_ours(t) == 0


@pytest.mark.parametrize("jdk", jvm.every())
def test_the_first_call_of_a_library_is_seen(sparkprof, target, tmp_path, jdk):
    t = target("Mallocs", jdk=jdk, jvm=["-Xcheck:jni", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading"])
    record(sparkprof, t, tmp_path / "x.jfr", f"loaduse {recording.native('mallocs')}")
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "allocate_some") == SOME


def test_from_the_command_line(sparkprof, target, tmp_path):
    t = target("Mallocs", jvm=[f"-agentpath:{recording.AGENT}=start,nativemem=40k,file={tmp_path}/x.jfr"])
    for line in (f"loaduse {recording.native('mallocs')}", "some 20 50000 0"):
        t.does(line)
    t.proc.stdin.close()
    assert t.proc.wait(timeout=200) == 0
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "allocate_some") == 2 * SOME


def test_native_code_that_opens_a_library(sparkprof, target, tmp_path):
    inner = compiled("mallocs", tmp_path / "inner/libinner.so")
    t = target("Mallocs", compiled("opener", tmp_path / "libopener.so"))
    record(sparkprof, t, tmp_path / "x.jfr", f"open {inner}", "open /none/there.so")
    assert re.findall("^opened (.*)", t.stdout(), re.M) == ["1 1 -", "0 1 /none/there.so: cannot open shared object file: No such file or directory"]
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "allocate_some") == SOME


@pytest.mark.parametrize("tags", ["--enable-new-dtags", "--disable-new-dtags"])
def test_the_callers_search_path_counts(sparkprof, target, tmp_path, tags):
    """dlopen looks along the path of the library that calls it, which must not be ours; neither must $ORIGIN."""
    compiled("mallocs", tmp_path / "inner/libinner.so")
    compiled("natlocks", tmp_path / "libother.so")
    t = target("Mallocs", compiled("opener", tmp_path / "libopener.so", f"-Wl,{tags},-rpath,$ORIGIN/inner"))
    record(sparkprof, t, tmp_path / "x.jfr", "open libinner.so", "open $ORIGIN/libother.so")
    assert re.findall("^opened (.*)", t.stdout(), re.M) == ["1 1 -", "1 1 -"]


def test_libraries_by_many_threads_at_once(sparkprof, target, tmp_path):
    """Each is patched, whoever was looking just then."""
    libs = [compiled("mallocs", tmp_path / f"lib{i}.so") for i in range(8)]
    t = target("Mallocs", compiled("opener", tmp_path / "libopener.so"))
    record(sparkprof, t, tmp_path / "x.jfr", "openall " + ",".join(map(str, libs)))
    assert t.stdout().count("opened 1 1 -") == 8
    assert bytes_below(sparkprof, tmp_path / "x.jfr", "allocate_some") == 8 * SOME
    assert os.path.exists(f"/proc/{t.pid}")


def test_a_library_that_is_being_relocated_is_not_touched(sparkprof, target, tmp_path):
    """The loader seals what it has relocated, at any moment: who writes then dies. The next look finds it done."""
    compiled("relocating", tmp_path / "inner/librelocating.so", "-fno-plt", "-Wl,-z,relro,-z,now")
    t = target("Mallocs", compiled("opener", tmp_path / "libopener.so", "-Wl,-rpath,$ORIGIN/inner"))
    assert sparkprof("start", "--nativemem", "40k", "-f", tmp_path / "x.jfr", t.pid).returncode == 0
    before = entries_of_ours(t)
    t.send("open librelocating.so")
    t.wait_for("did open")
    assert "touched 0\nopened 1 1 -" in t.stdout()
    wait_until(lambda: entries_of_ours(t) > before)
    assert sparkprof("stop", t.pid).returncode == 0 and entries_of_ours(t) == 0
