"""-e alloc and --live: known splits of bytes and of what survives, on every JDK and collector; nothing is left behind."""
import json
import re
import subprocess

import pytest
from kit import jvm, parts, peers, recording
from kit.traces import wait_until

QUIET = ["-XX:+UnlockExperimentalVMOptions", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading"]


def every(*quick):
    """All pairs of JDK and collector; those that are not @quick only in the long run."""
    return list(quick) + [pytest.param(jdk, gc, marks=pytest.mark.long) for jdk in (11, 17, 21, 25) for gc in
                          ("G1", "Serial", "Parallel", "Z", "Shenandoah") if (jdk, gc) not in quick]


def has(jdk, gc):
    unlock = "-XX:+UnlockExperimentalVMOptions"
    return subprocess.run([parts.jdk(jdk) / "bin/java", unlock, f"-XX:+Use{gc}GC", "-version"],
                          capture_output=True).returncode == 0


def collapsed(sparkprof, file, event):
    """Weights by stack, leaf last."""
    r = sparkprof("report", "-e", event, "--total", "-o", "collapsed", file)
    assert r.returncode == 0, r.stderr
    return {tuple(s.split(";")): int(n) for s, n in (line.rsplit(" ", 1) for line in r.stdout.splitlines())}


def estimated(sparkprof, file, event, frame, truth):
    """What the recording says against the truth, within five standard deviations for so many samples of much the same weight."""
    found = sum(n for s, n in collapsed(sparkprof, file, event).items() if frame in s)
    counts = sparkprof("report", "-e", event, "-o", "collapsed", file).stdout
    samples = sum(int(line.rsplit(" ", 1)[1]) for line in counts.splitlines() if frame in line.split(";"))
    assert samples >= 100 and found == pytest.approx(truth, rel=0.01 + 5 / samples ** 0.5), (found, truth, samples)
    return found


def shares(weights, *frames):
    total = sum(weights.values())
    return [100 * sum(n for s, n in weights.items() if f in s) / total for f in frames]


def samples(sparkprof, file, event):
    return sum(int(line.rsplit(" ", 1)[1]) for line in sparkprof("report", "-e", event, "-o", "collapsed", file).stdout.splitlines())


@pytest.mark.parametrize("jdk, gc", every((17, "Shenandoah"), (25, "Serial")))
def test_a_known_split_of_bytes(sparkprof, target, tmp_path, jdk, gc):
    if not has(jdk, gc):
        pytest.skip(f"JDK {jdk} here is built without {gc}")
    t = target("Alloc", 600, "paced", jdk=jdk, jvm=["-Xmx512m", *QUIET, f"-XX:+Use{gc}GC"])
    before = t.stdout(), t.stderr()
    r = sparkprof("-e", "alloc", "-i", "64k", "-d", 2, "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 0, r.stderr
    weights = collapsed(sparkprof, tmp_path / "x.jfr", "alloc")
    split = shares(weights, "Alloc.seventy", "Alloc.twenty", "Alloc.ten")
    # Of n samples of one weight, a share p has a standard deviation of √(p(1-p)/n): here five of them; 0.6 points each at 5,600. Where
    # the program catches up after it had no core, one sample stands for several of those that the limit leaves out: as if there
    # were a quarter of them.
    n = samples(sparkprof, tmp_path / "x.jfr", "alloc")
    for found, p in zip(split, (0.7, 0.2, 0.1)):
        assert n > 300 and found == pytest.approx(100 * p, abs=0.5 + 500 * (p * (1 - p) / (n / 4)) ** 0.5), (split, n)
    # The class is the last frame, the caller stands before it, and nothing of the JVM or of ours between them.
    leaves = {s[-2:] for s in weights if any(f.startswith("Alloc.") for f in s)}
    assert {("Alloc.seventy", "byte[]"), ("Alloc.twenty", "long[]"), ("Alloc.ten", "Alloc$Small")} <= leaves
    assert (t.stdout(), t.stderr()) == before and t.alive()


def test_what_other_threads_allocate_is_not_added(sparkprof, target, tmp_path):
    file = tmp_path / "x.jfr"
    t = target("Alloc", 1, "beside", jvm=[f"-agentpath:{parts.ROOT}/build/libsparkprof.so=start,event=alloc,interval=64k,thread=main,file={file}"])
    t.wait_for("done")
    t.proc.wait(100)
    mine = int(re.search(r"mine (\d+)", t.stdout())[1])
    weights = collapsed(sparkprof, file, "alloc")
    assert not [s for s in weights if "Alloc.beside" in s]
    n = samples(sparkprof, file, "alloc")
    assert n > 60 and sum(weights.values()) == pytest.approx(mine, rel=0.02 + 5 / n ** 0.5), n


@pytest.mark.parametrize("jdk, gc", every((17, "Parallel"), (25, "Z")))
def test_what_is_alive_is_estimated_without_bias(sparkprof, target, tmp_path, jdk, gc):
    if not has(jdk, gc):
        pytest.skip(f"JDK {jdk} here is built without {gc}")
    t = target("Live", jdk=jdk, jvm=["-Xmx600m", *QUIET, f"-XX:+Use{gc}GC", "-Xcheck:jni"])
    said = "ready\n"
    for one_in in (10, 2):
        t.send("1000 2")  # something before: not of this recording
        said += "live 512000\n"
        t.wait_for(said)
        sparkprof("start", "-e", "alloc,live", "-i", "64k", "-f", tmp_path / f"{one_in}.jfr", t.pid)
        t.send(f"200000 {one_in}")
        said += f"live {200000 // one_in * 1024}\n"
        t.wait_for(said)
        assert sparkprof("stop", t.pid).returncode == 0
        alive = estimated(sparkprof, tmp_path / f"{one_in}.jfr", "live", "Live.keep", 200000 // one_in * 1024)
        weights = collapsed(sparkprof, tmp_path / f"{one_in}.jfr", "live")
        # The last dropped one may still be in a local variable's slot.
        assert sum(n for s, n in weights.items() if "Live.drop" in s) < alive / 100
        estimated(sparkprof, tmp_path / f"{one_in}.jfr", "alloc", "Live.work", 200000 * 1024)
    assert t.stdout() == said and "WARNING" not in t.stderr()


@pytest.mark.parametrize("jdk", jvm.every())
def test_first_samples_stand_for_the_interval_they_were_drawn_by(sparkprof, target, tmp_path, jdk):
    """The JVM draws a thread's next sample when it takes the last one: the first of a recording is of its own 512 KiB, or of the
    recording before. Weighed as all others, 200 threads that allocate 1 MiB each have two thirds of it, and then twice as much."""
    t = target("Firsts", 200, jdk=jdk, jvm=["-Xmx600m", "-XX:TLABSize=16k", "-XX:-ResizeTLAB", *QUIET])
    # The first sample of 200 threads at 512 KiB or less, most of which have one in a MiB, has 5 and 7 % of all as its standard
    # deviation, the others less: six of them. JDK 11 draws first samples by steps of 355 KiB, so that a MiB is not told evenly: 0.93
    # of it, and far less chance (0.79 before that was known).
    for interval, count, off in (("64k", 1024, 0.3), ("1m", 1025, 0.45)):
        assert sparkprof("start", "-e", "alloc", "-i", interval, "-f", tmp_path / f"{interval}.jfr", t.pid).returncode == 0
        t.send(str(count))
        t.wait_for(f"did {count}")
        assert sparkprof("stop", t.pid).returncode == 0
        weights = collapsed(sparkprof, tmp_path / f"{interval}.jfr", "alloc")
        assert sum(n for s, n in weights.items() if "Firsts.work" in s) == \
            (pytest.approx(0.93 * (200 << 20), rel=0.08) if (jdk, interval) == (11, "64k") else pytest.approx(200 << 20, rel=off)), interval


def test_only_what_is_alive_with_its_age(sparkprof, target, tmp_path):
    t = target("Live")
    sparkprof("start", "--alloc", "64k", "--live", "-f", tmp_path / "x.jfr", t.pid)
    t.send("100000 2")
    t.wait_for("live 51200000")
    # Dumps show what is alive by then, each by itself; in other readers' eyes there are none.
    for name in ("one.json", "two.json"):
        assert sparkprof("dump", "-f", tmp_path / name, t.pid).returncode == 0
        event, = json.loads((tmp_path / name).read_text())["events"]
        assert event["event"] == "live" and event["weight"] == pytest.approx(51200000, rel=0.3)
    assert "objectClass" not in jfr(tmp_path / "x.jfr", "profiler.LiveObject")
    assert sparkprof("stop", t.pid).returncode == 0
    event, = json.loads(sparkprof("report", "-o", "json", tmp_path / "x.jfr").stdout)["events"]
    assert event["event"] == "live" and event["weight"] == pytest.approx(51200000, rel=0.3)
    r = sparkprof("report", "-e", "alloc", "-o", "collapsed", tmp_path / "x.jfr")
    assert r.stdout == ""
    ages = re.findall(r"gcAge = (\d+)", jfr(tmp_path / "x.jfr", "sparkprof.LiveAge"))
    assert sum(int(a) >= 2 for a in ages) > 0.9 * len(ages) > 50  # two collections were asked for at the end


def jfr(path, events):
    with recording.still(path) as copy:
        return subprocess.run([parts.jdk(17) / "bin/jfr", "print", "--events", events, copy], check=True,
                              capture_output=True, text=True).stdout


def test_other_readers_take_it_as_their_own(sparkprof, target, tmp_path):
    t = target("Alloc", 600)
    sparkprof("-e", "alloc,live", "-i", "128k", "-d", 2, "-f", tmp_path / "x.jfr", t.pid)
    subprocess.run([*peers.converter(), "--alloc", "--total", "-o", "collapsed", tmp_path / "x.jfr", tmp_path / "x.txt"],
                   check=True, capture_output=True)
    theirs = {}
    for line in (tmp_path / "x.txt").read_text().splitlines():
        stack, n = line.rsplit(" ", 1)
        theirs[tuple(re.sub(r"_\[.\]$", "", f) for f in stack.split(";"))] = int(n)
    assert shares(theirs, "Alloc.seventy") == \
        pytest.approx(shares(collapsed(sparkprof, tmp_path / "x.jfr", "alloc"), "Alloc.seventy"), abs=0.1)
    event = jfr(tmp_path / "x.jfr", "jdk.ObjectAllocationInNewTLAB")
    assert "objectClass = byte[]" in event and "Alloc.seventy(int)" in event.replace(" line:", "(int)")
    subprocess.run([*peers.converter(), "--live", "-o", "collapsed", tmp_path / "x.jfr", tmp_path / "x.txt"],
                   check=True, capture_output=True)
    assert "allocationTime" in jfr(tmp_path / "x.jfr", "profiler.LiveObject")


def test_beside_cpu_and_wall_in_one_recording(sparkprof, target, tmp_path):
    t = target("Alloc", 600)
    files = ["x.jfr", "x.html", "x-{{EVENT}}.svg", "x.collapsed"]
    r = sparkprof("-e", "cpu", "--wall", "20ms", "--alloc", "512k", "-d", 2, *[w for f in files for w in ("-f", f)], t.pid,
                  cwd=tmp_path)
    assert r.returncode == 0, r.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x-alloc.svg", "x-cpu.svg", "x-wall.svg", "x.collapsed", "x.html",
                                                          "x.jfr"]
    assert "x.collapsed shows cpu; for " in r.stderr and "{{EVENT}}" in r.stderr
    assert "Alloc.seventy" in (tmp_path / "x-alloc.svg").read_text() and "byte[]" in (tmp_path / "x-alloc.svg").read_text()
    assert "byte[]" not in (tmp_path / "x-cpu.svg").read_text()
    for event in ("cpu", "wall", "alloc"):
        assert "Alloc.main" in sparkprof("report", "-e", event, "-o", "collapsed", tmp_path / "x.jfr").stdout
    seen = recording.Recording(tmp_path / "x.jfr")
    assert seen.cpu() and seen.wall() and seen.others["jdk.ObjectAllocationInNewTLAB"]


@pytest.mark.parametrize("jdk", [17, *(pytest.param(n, marks=pytest.mark.long) for n in (11, 21, 25))])
def test_rounds_leave_nothing(sparkprof, target, tmp_path, jdk):
    """The JVM's interval is what it was: without us, an agent that samples would see it (here: our next round)."""
    t = target("Alloc", 120, jdk=jdk, jvm=["-Xcheck:jni", "-Xmx256m", *QUIET])
    before = t.stdout(), t.stderr()
    for _ in range(20):
        r = sparkprof("-e", "live", "-i", "64k", "-d", "50ms", "-f", tmp_path / "x.jfr", t.pid)
        assert r.returncode == 0, r.stderr
    wait_until(lambda: not [n for n in t.threads().values() if n.startswith("sparkprof")])
    wait_until(lambda: not [f for f in t.fds().values() if ".jfr" in f or "sparkprof" in f])
    weak = subprocess.run([parts.jdk(17) / "bin/jcmd", str(t.pid), "Thread.print"], capture_output=True, text=True).stdout
    assert re.search(r"JNI global refs: \d+, weak refs: (\d+)", weak)[1] == "0", weak
    assert (t.stdout(), t.stderr()) == before and t.alive()


def test_another_agent_that_samples_allocations_is_named(sparkprof, target):
    t = target("Alloc", 600, jvm=[f"-agentpath:{parts.async_profiler()}=start,event=alloc,alloc=1m,file=/dev/null,collapsed"])
    r = sparkprof("-e", "alloc", "-d", 1, t.pid)
    assert r.returncode == 3 and "libasyncProfiler" in r.stderr and "stop it first" in r.stderr
    assert sparkprof("-e", "ctimer", "-d", "200ms", t.pid).returncode == 0


def test_who_is_alive_is_asked_at_the_jvms_end(sparkprof, target, tmp_path):
    """It ends right after a collection: what that took must not be told as alive."""
    t = target("Live")
    sparkprof("start", "-e", "live", "-i", "64k", "-f", tmp_path / "x.jfr", t.pid)
    t.send("200000 10 2000")  # within a tenth of a second where there is a core
    t.proc.stdin.close()
    assert t.proc.wait(timeout=100) == 0
    estimated(sparkprof, tmp_path / "x.jfr", "live", "Live.keep", 20480000)
    assert sum(n for s, n in collapsed(sparkprof, tmp_path / "x.jfr", "live").items() if "Live.drop" in s) < 20480000 / 20
