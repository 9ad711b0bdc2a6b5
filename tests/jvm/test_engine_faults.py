"""What the agent must survive, and what it must leave behind: nothing."""
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import time

import pytest
from kit import jvm, parts, recording
from kit.traces import our_threads, wait_until
from test_engines import record


@pytest.mark.parametrize("event,how,code", [pytest.param(event, how, code, marks=() if event == "cpu" or how in ("exit", "halt") else pytest.mark.long)
                                            for event in ("cpu", "ctimer", "wall") for how, code in (("exit", 7), ("halt", 9), ("return", 0), ("throw", 1))])
def test_leaving(target, tmp_path, event, how, code):
    t, r = record(target, tmp_path, "Leave", 0.7, how, code, event=event, interval="5ms")
    assert t.proc.returncode == code
    mine = sorted(s.time for s in r.samples if s.thread == "main")
    assert mine[-1] - mine[0] > 300_000_000  # to the end, not to the last flush: it used 0.7 s of CPU time


@pytest.mark.parametrize("event", [pytest.param("cpu", marks=pytest.mark.long), "wall"])
def test_exit_does_not_wait_for_our_threads(target, tmp_path, event):
    """HotSpot waits 300 ms at exit for threads in native code: ours must be gone. The best against the best of those that nobody
    records, in turns, 20 at most: such a wait would be in all of them, what a busy machine takes is not."""
    took = {True: [], False: []}
    for recorded in [True, False] * 20:
        options = [recording.option(tmp_path / f"{len(took[True])}.jfr", event=event)] if recorded else []
        t = target("Leave", 0.3, "exit", 3, wait=False, jvm=options)
        assert t.proc.wait(timeout=100) == 3
        left = next(int(x.split()[1]) for x in t.stdout().splitlines() if x.startswith("leaving"))
        took[recorded].append(time.time() * 1000 - left)
        if not recorded and len(took[False]) >= 3 and min(took[True]) - min(took[False]) < 200:
            break
    assert min(took[True]) - min(took[False]) < 200, took


def test_kill_loses_at_most_the_last_flush(target, tmp_path):
    file = tmp_path / "x.jfr"
    t = target("Split", 60, jvm=[recording.option(file, event="ctimer", interval="5ms", flush="300ms")])

    def now():
        return recording.Recording(file)
    wait_until(lambda: len(now().others["sparkprof.Counts"]) >= 6)
    before, killed = now(), time.time_ns()
    t.proc.kill()
    t.proc.wait()
    r = recording.Recording(file)
    kept = {(s.time, s.tid) for s in r.cpu()}
    assert {(s.time, s.tid) for s in before.cpu()} <= kept, "what was durable is there"
    # Each flush writes its counts: how late they come on this machine is in the recording.
    flushes = sorted(r.times["sparkprof.Counts"])
    late = max(b - a for a, b in zip(flushes, flushes[1:]))
    times = sorted(at for at, _ in kept)
    late += max(b - a for a, b in zip(times, times[1:]))  # so long none of its threads ran
    took = max(time.time_ns() - killed, 1)  # the time of the look before and of the kill
    assert killed - max(at for at, _ in kept) < 2 * late + took, "no more than one flush is missing"
    # No sample in between is missing either: 5 ms of CPU time each.
    spun = [at for at, tid in kept if tid == next(s.tid for s in r.cpu() if s.thread == "main")]
    assert len(spun) >= 20 and (r.counts()["lost"] == 0 or r.others["sparkprof.Lost"])  # a collector without a core loses some, and says so


def test_stop_and_continue(target, tmp_path):
    file = tmp_path / "x.jfr"
    t = target("Split", 2, jvm=[recording.option(file, event="cpu", interval="1ms")])
    for _ in range(5):
        t.proc.send_signal(signal.SIGSTOP)
        time.sleep(0.2)
        t.proc.send_signal(signal.SIGCONT)
        time.sleep(0.2)
    assert t.proc.wait(timeout=100) == 0
    # By its own clock it has used so much, and a stop of the process costs no sample: at most one interval at either end. A tenth is for a
    # machine that is not its own: where its host takes a core away for milliseconds, the kernel counts one event for several.
    r = recording.Recording(file)
    spun = sum(s.thread == "main" for s in r.cpu())
    used = int(t.stdout().split("done ")[1]) / 1e6
    assert used - 0.1 * used - 2 < spun + r.counts()["lost"] < used + 0.1 * used + 2, (spun, used)


def chunks(path):
    """(start by the time of day, duration) of each chunk, from its header, in nanoseconds."""
    data, at, found = recording.at_one_moment(path), 0, []
    while at < len(data):
        size, _, _, start, duration = struct.unpack_from(">5Q", data, at + 8)
        found.append((start, duration))
        at += size
    return found


def test_steps_of_the_clock_as_a_preloaded_library_shows_them(target, tmp_path):
    """The time of day goes back an hour and forward three, between chunks of a second: each chunk begins behind the one
    before, and only the step forward leaves a gap."""
    file, shift = tmp_path / "x.jfr", tmp_path / "shift"
    shift.write_bytes(bytes(8))
    t = target("Split", 30, env={**os.environ, "LD_PRELOAD": str(recording.native("clockstep")), "CLOCKSTEP": str(shift)},
               jvm=[recording.option(file, event="ctimer", interval="5ms", chunktime="1s", flush="200ms")])
    hour, before = 3_600_000_000_000, 1
    for step in (-hour, 2 * hour, 2 * hour):
        wait_until(lambda: len(chunks(file)) > before + 1)
        before = len(chunks(file))
        shift.write_bytes(step.to_bytes(8, "little", signed=True))
    t.proc.kill()
    t.proc.wait()
    found = chunks(file)
    gaps = [start - (last + took) for (last, took), (start, _) in zip(found, found[1:])]
    assert min(gaps) >= 0 and [g > hour / 10 for g in gaps].count(True) == 1 and 1.9 * hour < max(gaps) < 3.1 * hour, gaps
    times = [s.time for s in recording.Recording(file).cpu() if s.thread == "main"]
    assert len(times) > 10 and times == sorted(times)  # it may have had little of a busy machine


@pytest.mark.parametrize("event,more", [("cpu", {"capture": "ring"}), ("cpu", {"capture": "signal"}), ("ctimer", {}),
                                        ("itimer", {}), ("wall", {})])
def test_nothing_is_left_after_stop(target, tmp_path, event, more):
    file = tmp_path / "x.jfr"
    t = target("Waits", 600, 2, jvm=[recording.option(file, event=event, interval="5ms", timeout="2s", **more)])
    deadline = time.monotonic() + 100
    while any(n.startswith("sparkprof") for n in t.threads().values()):
        assert time.monotonic() < deadline, t.threads()
        time.sleep(0.1)
    wait_until(lambda: not [f for f in t.fds().values() if "perf_event" in f or "x.jfr" in f or "/task/" in f])
    wait_until(lambda: pathlib.Path(f"/proc/{t.pid}/timers").read_text() == "")
    wait_until(lambda: not [m for m in t.maps() if "perf_event" in m or "/dev/zero" in m])
    assert recording.Recording(file).samples
    if more.get("capture") != "ring" and event != "wall":
        # A late SIGPROF, under SIG_DFL, would end the JVM: the handler stays, empty.
        t.proc.send_signal(signal.SIGPROF)
        time.sleep(0.3)
    assert t.alive()


def test_fork_in_a_loop_makes_progress_and_children_are_not_sampled(target, tmp_path):
    lib = recording.native("strangers")
    for event, more in [("cpu", {"capture": "ring"}), ("cpu", {"capture": "signal"}), ("ctimer", {})]:
        out = tmp_path / f"counts-{event}-{more}"
        _, r = record(target, tmp_path, "Split", 1.5, event=event, interval="1ms", **more,  # of CPU time, as all below that count
                      jvm=[f"-agentpath:{lib}=fork"], env={"STRANGER": str(out)})
        forks, _, failed = map(int, out.read_text().split()[:3])
        assert forks > 20 and failed == 0
        assert not [s for s in r.cpu() if any("child_spin" in f for f in s.stack)]


@pytest.mark.parametrize("event", ["ctimer", pytest.param("itimer", marks=pytest.mark.long), "cpu"])
def test_other_users_of_sigprof_are_served(target, tmp_path, event):
    out = tmp_path / "counts"
    more = {"capture": "signal"} if event == "cpu" else {}
    _, r = record(target, tmp_path, "Split", 2, event=event, interval="10ms", **more,
                  jvm=[f"-agentpath:{recording.native('strangers')}=timer"], env={"STRANGER": str(out)})
    ticks, _, _, foreign = map(int, out.read_text().split())
    assert ticks > 50
    assert foreign == 0
    assert len(r.cpu()) > 20


@pytest.mark.parametrize("event", ["ctimer", pytest.param("cpu", marks=pytest.mark.long), "wall"])
@pytest.mark.parametrize("neighbour", [False, True])
def test_users_of_sigsegv_are_served(target, tmp_path, event, neighbour):
    """The JVM itself, and a neighbour who passes it on to the JVM."""
    out = tmp_path / "counts"
    lib = recording.native("strangers")
    t, r = record(target, tmp_path, "Faults", 1.5, event=event, interval="5ms",
                  jvm=["-XX:-OmitStackTraceInFastThrow", *([f"-agentpath:{lib}=segv"] if neighbour else [])],
                  env={"STRANGER": str(out)})
    assert t.proc.returncode == 0, t.stdout() + t.stderr()
    assert any(s.thread == "main" for s in r.samples)
    if neighbour:
        faults, _, _, taken = map(int, out.read_text().split())
        assert faults > 10 and taken == 0


def test_a_heap_dump_in_mid_recording(target, tmp_path):
    file, dump = tmp_path / "x.jfr", tmp_path / "x.hprof"
    t = target("Unload", 200, jvm=[recording.option(file, event="wall", interval="10ms", flush="200ms"), "-Xmx64m"])
    wait_until(lambda: b"Unload" in file.read_bytes())
    done = subprocess.run([parts.jdk(17) / "bin/jcmd", str(t.pid), "GC.heap_dump", dump], capture_output=True, text=True)
    dumped = time.time_ns()
    assert dump.exists() and dump.stat().st_size > 100_000, done.stdout + done.stderr
    main = lambda: [s.time for s in recording.Recording(file).wall() if s.thread == "main"]
    wait_until(lambda: max(main()) > dumped)  # it goes on
    t.proc.terminate()
    assert t.proc.wait(timeout=100) == 143
    assert min(main()) < dumped < max(main())


def test_a_handler_over_ours_that_calls_us(target, sparkprof, tmp_path):
    """The first recording leaves its handler, a neighbour takes it over; the second calls him and he calls it."""
    out = tmp_path / "counts"
    t = target("Waits", 600, 1, jvm=[f"-agentpath:{recording.native('strangers')}=over"], env={"STRANGER": str(out)})
    for _ in range(2):
        r = sparkprof("-e", "ctimer", "-d", "1", "-f", tmp_path / "x.jfr", t.pid)
        assert r.returncode == 0 and t.alive(), r.stderr
        before = int(out.read_text().split()[0])
    wait_until(lambda: int(out.read_text().split()[0]) > before > 0)


@pytest.mark.parametrize("event", ["cpu", pytest.param("ctimer", marks=pytest.mark.long), "wall"])
def test_xcheck_jni_is_silent(target, tmp_path, event):
    t, _ = record(target, tmp_path, "Churn", 1.5, jvm=["-Xcheck:jni"], event=event, interval="5ms")
    bare = target("Churn", 0.5, jvm=["-Xcheck:jni"], wait=False)
    bare.proc.wait(timeout=100)
    warnings = [l for l in t.stdout().splitlines() + t.stderr().splitlines() if "WARN" in l or "FATAL" in l]
    expected = [l for l in bare.stdout().splitlines() + bare.stderr().splitlines() if "WARN" in l or "FATAL" in l]
    assert len(warnings) <= len(expected), warnings


@pytest.mark.parametrize("event", ["cpu", "wall"])
def test_classes_that_come_and_go(target, tmp_path, event):
    t, r = record(target, tmp_path, "Unload", 4, event=event, interval="1ms", jvm=["-Xmx128m"])
    assert t.proc.returncode == 0
    callers = set()
    for s in r.samples:
        for callee, caller in zip(s.stack, s.stack[1:]):
            if callee.startswith("Unload$Generated.twice "):
                callers.add(caller.split(" ")[0])
    # Of a method that is unloaded in that moment the caller may have no name, never a wrong one; how many have none is bounded.
    assert "Unload$Generated.applyAsLong" in callers and callers <= {"Unload$Generated.applyAsLong", ".[unknown]"}, callers
    assert r.counts()["unknown"] <= 0.05 * r.counts()["samples"] + 2


def test_stops_while_threads_come_and_go(target, sparkprof, tmp_path):
    """A ThreadStart or ThreadEnd may be under way in our callback whenever a recording ends."""
    t = target("Churn", 600)
    for n in range(40):
        r = sparkprof("-e", ["wall", "ctimer"][n % 2], "-i", "5ms", "-d", "0.05", "-f", tmp_path / "x.jfr", t.pid)
        assert r.returncode == 0 and t.alive(), (n, r.stderr, t.stdout())


@pytest.mark.alone
@pytest.mark.parametrize("more", [[], ["-XX:-UsePerfData"]])
def test_a_class_that_lies_where_another_lay_has_its_own_name(target, tmp_path, more):
    """Interpreted, so that no compiled code tells; and without the JVM's count of unloaded classes. A collector that gets
    no CPU for as long as a class is there cannot tell, so a few may be wrong."""
    _, r = record(target, tmp_path, "Reuse", 3, event="ctimer", interval="4ms", jvm=["-Xint", "-XX:+UseSerialGC", *more])
    for who, other in (("One", "Two"), ("Two", "One")):
        seen = [s for s in r.cpu() if any(f.startswith(f"Reuse.run{who} ") for f in s.stack)]
        right = [s for s in seen if any(f.startswith(f"Reuse${who}.") for f in s.stack)]
        wrong = [s for s in seen if any(f.startswith(f"Reuse${other}.") for f in s.stack)]
        assert len(right) > 0.6 * len(seen) > 10 and len(wrong) < 0.2 * len(seen), (who, len(seen), len(right), len(wrong))


def test_samples_of_threads_that_no_scan_has_seen(target, tmp_path):
    """ITIMER_PROF hits threads that are born and gone between two looks at /proc."""
    t, r = record(target, tmp_path, "Split", 1.5, event="itimer", interval="1ms", wall="5ms",
                  jvm=[f"-agentpath:{recording.native('strangers')}=threads"])
    assert t.proc.returncode == 0
    assert [s for s in r.cpu() if any("thread_spin" in f for f in s.stack)]


def test_disk_full(target, sparkprof, tmp_path):
    """Somebody else fills the disk in mid-recording. The JVM's stderr says nothing; who asks, and the recording, do."""
    disk = tmp_path / "disk"
    disk.mkdir()
    parts.needs_root("mount a small disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], check=True)
    try:
        file = disk / "x.jfr"
        t = target("Unload", 200, jvm=[recording.option(file, event="cpu", interval="500us", flush="300ms")])
        flushes = set()
        wait_until(lambda: flushes.add(file.stat().st_mtime_ns) or len(flushes) > 3)
        sampled = time.time_ns()  # two flushes later, of a few writes each, all until now is in the file
        wait_until(lambda: flushes.add(file.stat().st_mtime_ns) or len(flushes) > 10)
        with open(disk / "filler", "wb", buffering=0) as f, pytest.raises(OSError):
            while True:
                f.write(bytes(4096))
        assert os.statvfs(disk).f_bavail == 0
        wait_until(lambda: "no space left" in (json.loads(sparkprof("status", "--json", t.pid).stdout) or [{}])[0].get("note", ""))
        assert "no space left" in sparkprof("status", t.pid).stdout
        t.proc.terminate()
        assert t.proc.wait(timeout=100) == 143
        assert t.stderr() == ""
        assert "the recording ends early: it could not be written (no space left on its disk)" in sparkprof("report", file).stdout.replace("\n          ", "")
        times = [s.time for s in recording.Recording(file).cpu()]
        assert min(times) < sampled < max(times)  # all flushes before are there
    finally:
        subprocess.run(["umount", "-l", disk])


def test_a_recording_goes_on_when_its_disk_has_room_again(target, sparkprof, tmp_path):
    """Twice, beside the file before, and within the limits that were given to the whole."""
    disk = tmp_path / "disk"
    disk.mkdir()
    parts.needs_root("mount a small disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], check=True)
    status = lambda: json.loads(sparkprof("status", "--json", t.pid).stdout)[0]
    try:
        t = target("Idle", jvm=[recording.option(disk / "x.jfr", event="wall", flush="100ms", timeout="10m")])
        for file in ("x.jfr", "x.2.jfr", "x.3.jfr"):
            wait_until(lambda: (disk / file).exists() and status()["samples"] > 100)
            assert "no space" not in status().get("note", "")
            if file == "x.3.jfr":
                break
            with open(disk / "filler", "wb", buffering=0) as f, pytest.raises(OSError):
                while True:
                    f.write(bytes(4096))
            wait_until(lambda: "no space left" in status().get("note", ""))
            (disk / "filler").unlink()
        assert status()["ends"]
        assert sparkprof("stop", t.pid).returncode == 0
        wait_until(lambda: not our_threads(t))
        assert sorted(f.name for f in disk.iterdir()) == ["x.2.jfr", "x.3.jfr", "x.jfr"]
        assert all(recording.Recording(f).wall() for f in disk.iterdir())
        assert t.stderr() == ""
    finally:
        subprocess.run(["umount", "-l", disk])


def test_a_disk_that_is_full_at_the_start_is_waited_for(target, sparkprof, tmp_path):
    disk, older = tmp_path / "disk", b"FLR\0" + bytes(5000)
    disk.mkdir()
    parts.needs_root("mount a small disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], check=True)
    try:
        (disk / "filler").write_bytes(bytes(3 << 19))
        (disk / "x.jfr").write_bytes(older)
        t = target("Idle", jvm=[recording.option(disk / "x.jfr", event="wall")])
        assert t.stderr().count("\n") == 1 and "x.jfr: No space left on device; retrying until it works" in t.stderr()
        time.sleep(1.5)
        assert (disk / "x.jfr").read_bytes() == older  # not given up for nothing
        (disk / "filler").unlink()
        wait_until(lambda: json.loads(sparkprof("status", "--json", t.pid).stdout)[0].get("samples", 0) > 0)
        assert t.stderr().count("\n") == 1
    finally:
        subprocess.run(["umount", "-l", disk])


def test_a_disk_that_is_nearly_full_keeps_what_fits(target, sparkprof, tmp_path):
    """The first flush alone is larger than the disk."""
    disk = tmp_path / "disk"
    disk.mkdir()
    parts.needs_root("mount a small disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", disk], check=True)
    try:
        t = target("Mixture", 600)
        r = sparkprof("-e", "cpu", "-i", "200us", "-d", 2, "-f", disk / "x.jfr", t.pid)
        assert r.returncode == 1 and "no space left" in r.stderr, r.stderr
        assert os.listdir(disk) == ["x.jfr"] and t.alive()
        kept = recording.Recording(disk / "x.jfr")
        assert len(kept.cpu()) > 100 and all(s.stack for s in kept.cpu())
        assert sparkprof("start", "-f", tmp_path / "next.jfr", t.pid).returncode == 0
        said = sparkprof("status", t.pid).stdout
        assert "recording cpu" in said and "no space" not in said
        assert sparkprof("stop", t.pid).returncode == 0
    finally:
        subprocess.run(["umount", "-l", disk])


def test_flight_recorder_beside(target, tmp_path):
    theirs = tmp_path / "theirs.jfr"
    t, r = record(target, tmp_path, "Split", 3, event="ctimer", interval="5ms",
                  jvm=[f"-XX:StartFlightRecording=filename={theirs},settings=profile", "-Xlog:disable"])
    assert t.proc.returncode == 0
    used = int(t.stdout().split("done ")[1]) / 5e6
    spun = sum(s.thread == "main" for s in r.cpu())
    assert abs(spun + r.counts()["lost"] - used) < 0.1 * used + 2, (spun, used)
    assert theirs.stat().st_size > 0


@pytest.mark.parametrize("event,more", [pytest.param("ctimer", {}, marks=pytest.mark.long), ("itimer", {}), ("wall", {"capture": "signal"})])
def test_async_profiler_beside_is_named(target, tmp_path, event, more):
    file = tmp_path / "x.jfr"
    theirs = f"-agentpath:{parts.async_profiler()}=start,event=itimer,file={tmp_path}/theirs.jfr"
    t = target("Leave", 1, "exit", 5, wait=False, jvm=[theirs, recording.option(file, event=event, **more)])
    assert t.proc.wait(timeout=100) == 5
    assert "async-profiler is sampling this JVM" in t.stderr()
    assert not file.exists()


@pytest.mark.parametrize("jdk", [17, 25])
def test_async_profiler_that_comes_second_does_not_end_the_jvm(target, tmp_path, jdk):
    """It sets breakpoints in the JVM's code where another agent has the JVM's own events of allocations; threads of ours that
    call Java run into them, so SIGTRAP must not be blocked there, and neither any other signal of a thread's own."""
    theirs = f"-agentpath:{parts.async_profiler()}=start,alloc=2m,file={tmp_path}/theirs.jfr"
    t = target("Idle", jdk=jdk, jvm=[recording.option(tmp_path / "x.jfr", event="wall", alloc="2m"), theirs])
    wait_until(lambda: our_threads(t))
    own = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGSYS}
    for tid in (tid for tid, name in t.threads().items() if name.startswith("sparkprof")):
        status = pathlib.Path(f"/proc/{t.pid}/task/{tid}/status").read_text()
        blocked = int(re.search(r"SigBlk:\s*(\w+)", status)[1], 16)
        assert not [s for s in own if blocked >> (s - 1) & 1] and blocked >> (signal.SIGPROF - 1) & 1, status
    t.proc.stdin.close()
    assert t.proc.wait(timeout=100) == 0
    assert recording.Recording(tmp_path / "x.jfr").wall()


def test_ring_beside_async_profiler(target, tmp_path):
    theirs = f"-agentpath:{parts.async_profiler()}=start,event=itimer,file={tmp_path}/theirs.jfr"
    t, r = record(target, tmp_path, "Split", 1, jvm=[theirs], event="cpu", capture="ring", interval="5ms")  # a second of CPU
    assert t.proc.returncode == 0
    assert len(r.cpu()) > 20
    assert (tmp_path / "theirs.jfr").stat().st_size > 0


@pytest.mark.parametrize("jdk", jvm.every())
def test_nobody_writes_into_memory_the_host_has_freed(target, sparkprof, tmp_path, jdk):
    """Threads of the time before one recording end before the next: HotSpot must know."""
    said = tmp_path / "said"
    env = {**os.environ, "LD_PRELOAD": str(recording.native("quarantine")), "QUARANTINE": str(said)}
    t = target("Generations", jdk=jdk, env=env)
    for turn, event in enumerate(["cpu", "wall", "itimer", "cpu,alloc,live,lock", "lock,live"], 1):
        r = sparkprof("-q", "-e", event, "-d", 0.3, "-f", tmp_path / "x.jfr", t.pid)
        assert r.returncode == 0, r.stderr
        t.send("")
        t.wait_for(f"turn {turn}")
    time.sleep(1)  # for the last look at what is kept
    assert t.alive()
    assert not said.exists(), said.read_text()


@pytest.mark.parametrize("jdk", [17, 21, 25])
def test_native_threads_that_attached_during_a_recording_end_after_another(target, sparkprof, tmp_path, jdk):
    """JDK 21 makes two JVMTI states for a thread whose Thread object was sampled as an allocation, and forgets one of them."""
    said = tmp_path / "said"
    env = {**os.environ, "LD_PRELOAD": str(recording.native("quarantine")), "QUARANTINE": str(said)}
    t = target("Attachers", recording.native("attachers"), jdk=jdk, env=env)

    def turn(n):
        t.send("")
        t.wait_for(f"turn {n}")

    def recorded(*words):
        r = sparkprof(*words, "-f", tmp_path / "x.jfr", t.pid)
        assert r.returncode == 0, r.stderr

    recorded("start", "-q", "-e", "alloc", "-i", 1)
    turn(1)  # they come
    assert sparkprof("stop", "-q", t.pid).returncode == 0
    recorded("-q", "-e", "cpu", "-d", 0.1)
    turn(2)  # they go
    recorded("-q", "-e", "cpu", "-d", 0.1)
    time.sleep(1)  # for the last look at what is kept
    assert t.alive()
    assert not said.exists(), said.read_text()
