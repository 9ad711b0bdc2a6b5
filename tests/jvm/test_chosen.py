"""What is recorded when only some threads, or events of the kernel, are asked for; and calls that are refused before the target is touched."""
import os
import pathlib
import subprocess

import pytest

from kit.traces import wait_until


def collapsed(path):
    """{first named frame or thread: samples} of a collapsed file with threads."""
    lines = [x.rpartition(" ") for x in path.read_text().splitlines()]
    return {stack: int(n) for stack, _, n in lines}


@pytest.fixture
def waits(target):
    return target("Waits", 600, 2)


def tid(t, name):
    return next(n for n, comm in t.threads().items() if comm == name)


@pytest.mark.parametrize("event", ["cpu", "wall"])
def test_threads_by_name(sparkprof, waits, tmp_path, event):
    out = tmp_path / "x.collapsed"

    def something():
        done = sparkprof("-e", event, "-d", "1", "-t", "--thread", "spinner-[1]", "-f", out, waits.pid)
        assert done.returncode == 0, done.stderr
        return collapsed(out)
    wait_until(something)  # beside others it may not have a core for a second
    assert all("spinner-1" in s.split(";")[0] for s in collapsed(out)), collapsed(out)


def test_threads_by_number(sparkprof, waits, tmp_path):
    out = tmp_path / "x.collapsed"
    wanted = [tid(waits, "sleeper"), tid(waits, "spinner-0")]
    done = sparkprof("-e", "wall", "-d", "3", "-t", "--filter", ",".join(map(str, wanted)), "-f", out, waits.pid)
    assert done.returncode == 0, done.stderr
    assert {s.split(";")[0].split(" ")[0].strip("[]") for s in collapsed(out)} == {"sleeper", "spinner-0"}, collapsed(out)


@pytest.mark.parametrize("option,value", [("--thread", "nobody-*"), ("--filter", "4194303")])
def test_threads_that_are_not_there_are_a_sentence(sparkprof, waits, tmp_path, option, value):
    done = sparkprof("-d", "1", option, value, "-f", tmp_path / "x.txt", waits.pid)
    assert done.returncode == 0
    assert f"{option}: " in done.stderr and "thread" in done.stderr, done.stderr
    assert f"{option}: " in (tmp_path / "x.txt").read_text()  # and in the report


def test_one_target_named_twice_is_one(sparkprof, waits, tmp_path):
    done = sparkprof("-d", "1", "-f", tmp_path / "x.txt", waits.pid, waits.pid)
    assert done.returncode == 0 and (tmp_path / "x.txt").exists(), done.stderr


@pytest.mark.parametrize("file,says", [(".", "is a directory"), ("no/such/x.html", "No such file or directory")])
def test_outputs_that_cannot_be_are_refused_before_the_target_is_touched(sparkprof, target, tmp_path, file, says):
    t = target("Idle")
    done = sparkprof("-d", "1", "-f", tmp_path / file, t.pid)
    assert done.returncode == 1 and says in done.stderr, done.stderr
    assert "Attach Listener" not in t.threads().values()
    assert not list(tmp_path.iterdir())


def test_a_breakpoint_samples_who_comes_by(sparkprof, target, tmp_path):
    """System.nanoTime() in the interpreter calls this function of libjvm."""
    t = target("Leave", 600, "exit", 0, jvm=["-Xint"])
    maps = pathlib.Path(f"/proc/{t.pid}/maps").read_text().splitlines()
    base, path = next((int(x.split("-")[0], 16), x.split()[-1]) for x in maps if x.endswith("/libjvm.so"))
    symbols = subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True).stdout
    offset = next(int(x.split()[0], 16) for x in symbols.splitlines() if " T JVM_NanoTime@" in x or x.endswith(" T JVM_NanoTime"))
    out = tmp_path / "x.collapsed"

    def seen():
        """It may not have a core for a second."""
        done = sparkprof("-e", f"mem:{base + offset:#x}:x", "-i", "10", "-d", "1", "-f", out, t.pid)
        if done.returncode:
            assert "mem:" in done.stderr and ("does not count" in done.stderr or "perf" in done.stderr), done.stderr
            return True
        stacks = [s for s in collapsed(out) if not s.startswith("[lost:")]  # 15,000 a second fill the ring at times
        assert all("JVM_NanoTime" in s.split(";")[-1] for s in stacks), stacks
        return stacks
    wait_until(seen)


@pytest.mark.parametrize("event,where", [("sched:sched_switch", "events/sched/sched_switch/id"), ("kprobe:do_nanosleep", None)])
def test_tracepoints_and_probes_are_recorded_or_a_sentence_says_why_not(sparkprof, waits, tmp_path, event, where):
    out = tmp_path / "x.collapsed"
    there = (os.path.exists(f"/sys/kernel/tracing/{where}") if where else os.path.exists("/sys/bus/event_source/devices/kprobe/type"))
    done = sparkprof("-e", event, "-i", "1", "-d", "1", "-f", out, waits.pid)
    if there and os.geteuid() == 0:
        assert done.returncode == 0 and collapsed(out), done.stderr
    else:
        assert done.returncode == 1
        assert f"{event}: " in done.stderr and ("tracefs" in done.stderr or "no such probes" in done.stderr), done.stderr
