"""-e FUNCTION: calls of native functions, of libraries' exports and of what only their symbol tables name."""
import os
import pathlib
import re
import subprocess

import pytest
from kit import deny, jvm, parts

QUIET = ["-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading"]


def calls(sparkprof, t, tmp_path, event, *lines, options=()):
    """{stack: calls} of what the target is told to do."""
    file = tmp_path / "x.jfr"
    r = sparkprof("start", "-f", file, "-e", event, *options, t.pid)
    assert r.returncode == 0, r.stderr
    for line in lines:
        t.does(line)
    r = sparkprof("stop", t.pid)
    assert r.returncode == 0 and " 0 lost" in r.stderr, r.stderr
    r = sparkprof("report", "-t", "-o", "collapsed", file)
    assert r.returncode == 0, r.stderr
    return {s: int(n) for s, _, n in (x.rpartition(" ") for x in r.stdout.splitlines())}


def leaves(found, frame):
    """Names of functions on top of stacks with this frame, and how often."""
    return {s.rpartition(";")[2] for s in found if frame in s.split(";")}, sum(n for s, n in found.items() if frame in s.split(";"))


@pytest.mark.parametrize("jdk", jvm.every())
def test_each_call_counts(sparkprof, target, tmp_path, jdk):
    """Also in threads that start meanwhile, and of a function that libjvm does not export."""
    t = target("NativeCalls", jdk=jdk, jvm=["-XX:+UseG1GC", "-Xms256m", "-Xmx256m", "-XX:G1HeapRegionSize=1m", *QUIET])
    throw = "Java_java_lang_Throwable_fillInStackTrace"
    found = calls(sparkprof, t, tmp_path, throw, "throw 123", "threads 20 5")
    assert leaves(found, "NativeCalls.fail") == ({throw}, 123 + 20 * 5)
    assert sum(n for s, n in found.items() if "late-" in s.split(";")[0]) == 100, found
    collect = "G1CollectedHeap::humongous_obj_allocate"
    found = calls(sparkprof, t, tmp_path, collect, "large 77")
    assert leaves(found, "NativeCalls.large")[1] == 77, found


@pytest.mark.parametrize("capture", ["ring", "signal"])
def test_one_of_a_few(sparkprof, target, tmp_path, capture):
    """Each sample stands for ten calls; the first nine of a thread are in none."""
    t = target("NativeCalls")
    options = ("-i", "10", "--capture", capture, "--memory", "64m")
    calls(sparkprof, t, tmp_path, "mem:Java_java_lang_Throwable_fillInStackTrace:x", "throw 100", options=options)
    total = sparkprof("report", "--total", "-o", "collapsed", tmp_path / "x.jfr").stdout
    assert sum(int(x.rpartition(" ")[2]) for x in total.splitlines() if "NativeCalls.fail" in x) == 100, total


@pytest.mark.parametrize("event", ["clock_gettime", "syscall", "__errno_location"])
def test_functions_that_the_signals_handler_calls(sparkprof, target, tmp_path, event):
    """Each call in there would be another signal, and its thread would never leave the handler."""
    t = target("NativeCalls")
    file = tmp_path / "x.jfr"
    r = sparkprof("start", "-f", file, "-e", event, "--capture", "signal", t.pid)
    assert r.returncode == 0, r.stderr
    t.does("clock 1000")
    r = sparkprof("stop", t.pid)
    assert r.returncode == 0, r.stderr
    if event == "clock_gettime":
        printed = sparkprof("report", "-t", "-o", "collapsed", file).stdout.splitlines()
        calls = sum(int(x.rpartition(" ")[2]) for x in printed if ";NativeCalls.clock;" in x and x.rpartition(" ")[0].endswith("clock_gettime"))
        assert calls >= 1000, calls  # the JVM asks the time beside


def test_by_a_probe(sparkprof, target, tmp_path):
    """A probe in the library's file, where root may set one."""
    t = target("NativeCalls")
    lib = next(x.split()[-1] for x in t.maps() if x.endswith("/libjava.so"))
    event = f"uprobe:{lib}:Java_java_lang_Throwable_fillInStackTrace"
    if os.geteuid() or not os.path.exists("/sys/bus/event_source/devices/uprobe/type"):
        assert sparkprof("-e", event, "-d", "1", "-f", tmp_path / "x.jfr", t.pid).returncode == 3
        return
    # From the very first on, while the thread gets what its kernel's frames are kept in.
    found = calls(sparkprof, t, tmp_path, event, "throw 300", "threads 10 5", options=("--memory", "256m"))
    assert leaves(found, "NativeCalls.fail")[1] == 350, found


@pytest.fixture
def tracing():
    """Where the kernel's own list of tracepoints is. Mounted for a test, if it is not."""
    place = pathlib.Path("/sys/kernel/tracing")
    if not (place / "events").exists():
        parts.needs_root("mount tracefs")
        if subprocess.run(["mount", "-t", "tracefs", "nodev", place], capture_output=True).returncode:
            pytest.skip("this kernel has no tracepoints")
        yield
        subprocess.run(["umount", "-l", place], check=True)
    else:
        parts.needs_root("use tracepoints")
        yield


@pytest.mark.alone
def test_tracepoints_are_not_sampled_by_signals(sparkprof, target, tmp_path, tracing):
    """A handler ends by a system call: of these, each would be another signal, and its thread would never get on."""
    t = target("NativeCalls")
    event, file = ["-e", "raw_syscalls:sys_enter"], tmp_path / "x.jfr"
    r = sparkprof("start", *event, "--capture", "signal", "-f", file, t.pid)
    assert r.returncode != 0 and "not sampled by signals" in r.stderr, r
    t.does("throw 10")
    assert sparkprof("start", *event, "--memory", "2m", "-f", file, t.pid).returncode == 0
    t.does("throw 20")
    assert sparkprof("stop", t.pid).returncode == 0


def offset_of(lib, symbol):
    """Where a function lies in its file."""
    address = int(re.search(rf"^(\w+) T {symbol}$", subprocess.run(["nm", "-D", lib], capture_output=True, text=True).stdout, re.M)[1], 16)
    segments = subprocess.run(["readelf", "-lW", lib], capture_output=True, text=True).stdout
    for at, virtual, size in re.findall(r"LOAD +(0x\w+) (0x\w+) \S+ (0x\w+)", segments):
        if int(virtual, 16) <= address < int(virtual, 16) + int(size, 16):
            return address - int(virtual, 16) + int(at, 16)


@pytest.mark.skipif(not os.path.exists("/sys/bus/event_source/devices/uprobe/type"), reason="this kernel offers no probes")
def test_a_probe_in_the_middle_of_an_instruction_is_refused(sparkprof, target, tmp_path):
    """It would be the end of the JVM: what follows it there is no instruction."""
    t = target("NativeCalls")
    lib = next(x.split()[-1] for x in t.maps() if x.endswith("/libjava.so"))
    begin = offset_of(lib, "Java_java_lang_Throwable_fillInStackTrace")
    for where, why in ((f"{lib}+{begin + 6:#x}", "no function begins there"), (f"/etc/passwd+{begin:#x}", "not loaded in the target")):
        r = sparkprof("-e", f"uprobe:{where}", "-d", "100ms", "-f", tmp_path / "x.jfr", t.pid)
        assert r.returncode in (1, 2, 3) and why in r.stderr, r.stderr
    if os.geteuid() == 0:
        found = calls(sparkprof, t, tmp_path, f"uprobe:{lib}+{begin:#x}", "throw 50")
        assert leaves(found, "NativeCalls.fail")[1] == 50, found
    t.does("throw 1")


def test_where_it_may_not_be_watched(sparkprof, target, tmp_path):
    t = target("NativeCalls", wrap=deny.wrap("perf_event_open=EPERM"))
    r = sparkprof("-e", "malloc", "-d", "1", "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 3 and "malloc: " in r.stderr and "perf_event_open" in r.stderr, r.stderr


def test_what_is_nothing(sparkprof, target, tmp_path):
    t = target("NativeCalls")
    r = sparkprof("-e", "no_such_function", "-d", "1", "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 1 and "'no_such_function' is not an event, nor a function" in r.stderr, r.stderr
