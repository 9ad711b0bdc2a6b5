"""A JVM that records by its own -agentpath, and launchers that come later: one recording, whoever asks."""
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import zlib

import pytest

from kit import jvm, parts, recording
from kit.recording import Recording
from kit.traces import mapped, our_threads, wait_until


@pytest.fixture
def recorded(target, tmp_path):
    t = target("Idle", jvm=[recording.option(tmp_path / "own.jfr", event="wall")])
    wait_until(lambda: len(our_threads(t)) > 0)
    return t


def state(sparkprof, t):
    r = sparkprof("status", "--json", t.pid)
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)[0]


def test_status_knows_it(recorded, sparkprof):
    wait_until(lambda: state(sparkprof, recorded)["samples"] > 0)
    s = state(sparkprof, recorded)
    assert s["recording"] and s["detached"]
    assert "-agentpath" in s["by"] and "event=wall" in s["options"]


def test_a_recording_that_goes_on_is_not_called_killed(recorded, sparkprof, tmp_path):
    """Not in its first seconds either, when most of its first chunk is a hole."""
    said = []

    def read():
        r = sparkprof("report", "-e", "wall", "-o", "collapsed", tmp_path / "own.jfr")
        said.append(r.stderr)
        return "Idle.main" in r.stdout
    wait_until(read)
    assert not [x for x in said if "killed" in x], said


def test_never_two_samplers(recorded, sparkprof, tmp_path):
    for call in (["collect", "-d", "1s", "-f", tmp_path / "x.jfr"], ["start", "-f", tmp_path / "x.jfr"]):
        r = sparkprof(*call, recorded.pid)
        assert r.returncode == 3 and "recorded already, by the JVM's own option -agentpath" in r.stderr, r.stderr
        assert "'sparkprof dump' shows that recording" in r.stderr
    assert not (tmp_path / "x.jfr").exists()


def test_stack_shows_what_the_recording_sees(recorded, target, sparkprof, tmp_path):
    wait_until(lambda: state(sparkprof, recorded)["samples"] > 100)
    r = sparkprof("stack", recorded.pid)
    assert r.returncode == 0 and "showing the threads as that recording last saw them" in r.stderr, r.stderr
    [main] = [x for x in r.stdout.split("  thread ") if '"main"' in x.split("\n")[0]]
    assert "Idle.main" in main and len(re.findall(r"^  thread ", r.stdout, re.M)) > 8, r.stdout
    assert state(sparkprof, recorded)["recording"]
    t = target("Idle", jvm=[recording.option(tmp_path / "cpu.jfr", event="cpu")])
    r = sparkprof("stack", t.pid)
    assert r.returncode == 3 and r.stdout == "" and "it does not record wall; use 'sparkprof dump' to see it" in r.stderr, r.stderr


def test_dump_then_stop_write_what_it_recorded(recorded, sparkprof, tmp_path):
    wait_until(lambda: state(sparkprof, recorded)["samples"] > 0)
    r = sparkprof("dump", "-f", tmp_path / "dump.collapsed", recorded.pid)
    assert r.returncode == 0, r.stderr
    assert "Idle.main" in (tmp_path / "dump.collapsed").read_text()
    before = mapped(recorded)
    r = sparkprof("stop", "-f", tmp_path / "stop.txt", recorded.pid)
    assert r.returncode == 0, r.stderr
    assert "Samples" in (tmp_path / "stop.txt").read_text()
    assert Recording(tmp_path / "own.jfr").wall()
    wait_until(lambda: not our_threads(recorded))
    assert not state(sparkprof, recorded)["recording"]
    assert mapped(recorded) == before
    r = sparkprof("-e", "wall", "-d", "300ms", "-f", tmp_path / "next.jfr", recorded.pid)
    assert r.returncode == 0, r.stderr
    assert (recorded.stdout(), recorded.stderr()) == ("ready\n", "")


def test_stop_without_a_name_finishes_its_own_file(recorded, sparkprof, tmp_path):
    wait_until(lambda: state(sparkprof, recorded)["samples"] > 0)
    r = sparkprof("stop", recorded.pid)
    assert r.returncode == 0, r.stderr
    assert Recording(tmp_path / "own.jfr").wall()


def test_another_build_beside_is_told_who_records(target, sparkprof, tmp_path):
    """The library of another build, as an older -agentpath would be: only its owner record is shared."""
    other = tmp_path / "libsparkprof-old.so"
    shutil.copy(recording.AGENT, other)
    build = subprocess.run(["readelf", "-n", other], capture_output=True, text=True).stdout.split("Build ID:")[1].split()[0]
    image = other.read_bytes()
    assert image.count(bytes.fromhex(build)) == 1
    other.write_bytes(image.replace(bytes.fromhex(build), os.urandom(20)))
    t = target("Idle", jvm=[recording.option(tmp_path / "own.jfr", event="wall", agent=other)])
    r = sparkprof("-e", "wall", "-d", "300ms", "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 3 and "by the JVM's own option -agentpath" in r.stderr, r.stderr
    r = sparkprof("status", t.pid)
    assert "by the JVM's own option -agentpath" in r.stdout and "another build of the agent is recording" in r.stdout
    assert "cpu" not in r.stdout and "samples" not in r.stdout  # what it records is not known here


def test_two_agentpaths_record_once(target, tmp_path):
    other = shutil.copy(recording.AGENT, tmp_path / "libsparkprof-two.so")
    t = target("Idle", jvm=[recording.option(tmp_path / "one.jfr", event="wall"),
                            recording.option(tmp_path / "two.jfr", event="wall", agent=other)])
    assert t.stderr().count("\n") == 1 and "recorded already" in t.stderr(), t.stderr()
    assert len(list(tmp_path.glob("*.jfr"))) == 1


def test_its_time_limit_ends_it(target, sparkprof, tmp_path):
    t = target("Idle", jvm=[recording.option(tmp_path / "own.jfr", event="wall", timeout="1s")])
    wait_until(lambda: not our_threads(t))
    assert not state(sparkprof, t)["recording"]
    assert Recording(tmp_path / "own.jfr").wall()


def test_environment_words_and_directories(target, sparkprof, tmp_path):
    """Options of both places, the command line's last; what async-profiler knows; names of functions without a launcher."""
    opts = f"start, event=cpu, interval=1s,jfr,threads,cstack=vm,width=1200,safemode=6,filter=,jstackdepth=20000,nostop,server=:0,file={tmp_path}/new/{{{{APP_ID}}}}/%p.jfr"
    t = target("Idle", jvm=[f"-agentpath:{recording.AGENT}=interval=20ms,event=cpu,wall=20ms"],
               env={**os.environ, "SPARKPROF_OPTS": opts})
    wait_until(lambda: state(sparkprof, t)["samples"] > 50)
    t.proc.stdin.close()
    assert t.proc.wait(timeout=100) == 0
    [path] = tmp_path.glob("new/*/*.jfr")
    assert path.name == f"{t.pid}.jfr" and path.parent.name == f"jvm-{os.uname().nodename}-{t.pid}"
    r = Recording(path)
    assert any("unsupported options ignored: filter, jstackdepth=20000, server, nostop" in x for x in r.others["jdk.ActiveSetting"])
    frames = {f for x in r.samples for f in x.stack}
    assert any("Idle.main" in f for f in frames)
    assert any("VMThread" in f for f in frames), frames
    assert not [f for f in frames if f.startswith("libjvm.so.0x")]
    assert t.stderr() == ""


def test_a_directory_that_comes_later(target, sparkprof, tmp_path):
    (tmp_path / "late").write_text("in the way")
    t = target("Idle", jvm=[recording.option(tmp_path / "late/own.jfr", event="wall")])
    assert t.stderr().count("\n") == 1 and "late/own.jfr: Not a directory; retrying until it works" in t.stderr()
    (tmp_path / "late").unlink()
    wait_until(lambda: (tmp_path / "late/own.jfr").exists() and state(sparkprof, t)["samples"] > 0)
    assert t.stderr().count("\n") == 1


@pytest.mark.parametrize("mode", [0o666, 0o644])
def test_what_another_user_has_laid_there_is_not_written_to(target, tmp_path, mode):
    """Also where it may be written to, and could be read and changed by him: names like /tmp/sparkprof-4711.1.jfr can be guessed."""
    parts.needs_other_users("lay a file there")
    with tempfile.TemporaryDirectory() as there:  # pytest's own are nobody's but ours
        os.chmod(there, 0o777)
        laid = pathlib.Path(there, "own.jfr")
        laid.write_bytes(b"FLR\0")
        os.chown(laid, 4242, 4242)
        laid.chmod(mode)
        t = target("Idle", jvm=[recording.option(laid, event="wall")], user=185, cwd="/")
        t.proc.stdin.close()
        assert t.proc.wait(timeout=100) == 0 and t.stderr() == ""
        assert laid.read_bytes() == b"FLR\0" and Recording(pathlib.Path(there, f"own-{t.pid}.jfr")).wall()


def test_pieces_that_nobody_took_are_told_where_they_lie(target, tmp_path):
    """With no Spark there is nobody to send them; what is in localdir= is read as any other."""
    t = target("Idle", jvm=[recording.option("hdfs:///profiles", event="wall", localdir=tmp_path)])
    t.proc.stdin.close()
    assert t.proc.wait(timeout=100) == 0
    [piece] = tmp_path.glob("*.jfr")
    assert piece.name == f"sparkprof-{t.pid}.1.jfr" and Recording(piece).wall()
    assert t.stderr() == f"sparkprof: 1 segment of the recording could not be sent: see {tmp_path}/sparkprof-{t.pid}.*.jfr on this host\n"


def test_given_twice_or_not_chosen(target, tmp_path):
    one = recording.option(tmp_path / "one.jfr", event="wall")
    t = target("Idle", jvm=[recording.option(tmp_path / "two.jfr", event="wall")], env={**os.environ, "JAVA_TOOL_OPTIONS": one})
    [_, ours] = t.stderr().splitlines()  # the other one is the JVM's own
    assert ours.startswith("sparkprof: ") and "names the library twice" in ours
    t = target("Idle", jvm=[recording.option(tmp_path / "three.jfr", event="wall", fraction=0)])
    assert not our_threads(t) and t.stderr() == ""
    assert [f.name for f in tmp_path.glob("*.jfr")] == ["one.jfr"]


@pytest.mark.parametrize("ours_first", [True, False])
def test_beside_async_profiler_the_job_is_done(tmp_path, ours_first):
    """Both configured by mistake, with the default set of Spark 4's plugin. Who comes second may be refused its allocations, in one line."""
    words = "start,event=wall,interval=10ms,alloc=2m,lock=10ms,chunktime=300s,file="
    options = [f"-agentpath:{recording.AGENT}={words}{tmp_path}/ours.jfr", f"-agentpath:{parts.async_profiler()}={words}{tmp_path}/theirs.jfr"]
    r = subprocess.run([parts.jdk(17) / "bin/java", *(options if ours_first else reversed(options)), "-cp", jvm.compiled(), "Mixture", "2"],
                       capture_output=True, text=True, timeout=100)
    assert r.returncode == 0 and "done" in r.stdout, r.stderr
    assert Recording(tmp_path / "theirs.jfr").wall()
    if ours_first:
        assert r.stderr == "" and Recording(tmp_path / "ours.jfr").wall()
    else:
        assert r.stderr.count("\n") == 1 and "another agent of this JVM samples its allocations (loaded: libasyncProfiler.so)" in r.stderr
        assert not (tmp_path / "ours.jfr").exists()


@pytest.mark.parametrize("file, made", [
    ("a b/100%%.jfr", "a b/100%.jfr"),
    ("été//日本.jfr", "été/日本.jfr"),
    ("no-extension", "no-extension"),
    ("file://{dir}/x.jfr", "x.jfr"),
    ("file:{dir}/d", "d/jvm-{host}-{pid}/profile-exec-jvm-{host}-{pid}.jfr"),
    ("%{LOG_DIR}/x.jfr", "log/x.jfr"),
    ("link.jfr", "link-{pid}.jfr"),
])
def test_names_of_files(target, tmp_path, file, made):
    """Odd ones, those that Hadoop and async-profiler understand, and a link, which is left alone."""
    (tmp_path / "link.jfr").symlink_to("elsewhere.jfr")
    t = target("Idle", jvm=[f"-agentpath:{recording.AGENT}=start,event=wall,file={file.replace('{dir}', str(tmp_path))}"], cwd=tmp_path,
               env={**os.environ, "LOG_DIR": str(tmp_path / "log")})
    made = made.format(host=os.uname().nodename, pid=t.pid)
    assert [str(f.relative_to(tmp_path)) for f in tmp_path.rglob("*") if f.is_file()] == [made] and t.stderr() == ""


@pytest.mark.parametrize("words, env, said", [
    ("start,event=wall,file=file://host/x.jfr", "", "file: 'file://host/x.jfr': is not on this host"),
    ("start,event=wall,file=/dev/stdout", "", "file: /dev/stdout: is not a regular file"),
    ("start,event=wall,file=%{NO_SUCH}.jfr", "", "file: %{NO_SUCH}: not set in the environment"),
    ("start,event=wall,intervall=10ms,file=x.jfr", "", "'intervall' is not an option of the agent"),
    ("start,event=wall,file=x.jfr", "interval=soon", "interval: 'soon' is not a time or a size; write 10ms, 500us, 512k"),
    ("start,event=wall,file=x.jfr,fraction=2", "", "fraction: '2' is not a part of one; write 0.1"),
    ("event=wall,file=x.jfr", "", "write start,event="),
])
def test_a_wrong_word_is_named_and_the_jvm_runs_on(target, tmp_path, words, env, said):
    t = target("Idle", jvm=[f"-agentpath:{recording.AGENT}={words}"], env={**os.environ, "SPARKPROF_OPTS": env}, cwd=tmp_path)
    assert t.stderr().count("\n") == 1 and t.stderr().startswith(f"sparkprof: {said}"), t.stderr()
    assert t.stderr().endswith("; nothing is recorded\n"), t.stderr()
    assert not our_threads(t) and not list(tmp_path.iterdir())
    t.proc.stdin.close()
    assert t.proc.wait(timeout=100) == 0


def test_a_file_for_each_loop(target, sparkprof, tmp_path):
    """Files that follow each other without a gap; a launcher asks, dumps, stops and starts as anywhere else."""
    t = target("Idle", jvm=[recording.option(tmp_path / "own-%n.jfr", event="wall", loop="1s", flush="200ms")])
    wait_until(lambda: (tmp_path / "own-3.jfr").exists())
    assert state(sparkprof, t)["recording"]
    r = sparkprof("dump", "-f", tmp_path / "dump.collapsed", t.pid)
    assert r.returncode == 0 and "Idle.main" in (tmp_path / "dump.collapsed").read_text(), r.stderr
    r = sparkprof("stop", t.pid)
    assert r.returncode == 0, r.stderr
    files = sorted(tmp_path.glob("own-*.jfr"), key=lambda f: int(f.stem[4:]))
    spans = sorted((s.time, s.time + s.span) for f in files for s in Recording(f).wall() if s.thread == "main")
    assert len(files) >= 3 and len(spans) >= 3
    covered = sum(to - since for since, to in spans)
    assert covered > 0.97 * (spans[-1][1] - spans[0][0]), spans
    r = sparkprof("start", "-e", "wall", "-f", tmp_path / "next.jfr", t.pid)
    assert r.returncode == 0, r.stderr
    assert sparkprof("stop", t.pid).returncode == 0 and Recording(tmp_path / "next.jfr").wall()
    assert t.stderr() == ""


def test_the_oldest_file_goes_when_the_disk_is_used_up(target, sparkprof, tmp_path):
    t = target("Idle", jvm=[recording.option(tmp_path / "own.jfr", event="wall", maxdisk="64k", flush="100ms")])
    wait_until(lambda: (tmp_path / "own.7.jfr").exists() and not (tmp_path / "own.1.jfr").exists())
    r = sparkprof("stop", t.pid)
    assert r.returncode == 0, r.stderr
    files = list(tmp_path.glob("own.*.jfr"))
    sizes = {f.name: f.stat().st_size for f in files}
    assert sum(sizes.values()) <= 64 << 10, sizes
    lost = [x for f in files for x in Recording(f).others["sparkprof.Lost"]]
    assert any("maxdisk" in x for x in lost), lost


def still(t, tid, words):
    """Whether a thread is in the call that it was in, and has not run since."""
    try:
        return pathlib.Path(f"/proc/{t.pid}/task/{tid}/syscall").read_text().split() == words
    except OSError:
        return False


def futex_waits(t):
    """Operation and time-out in seconds of each thread of ours that sits in futex(2)."""
    found = []
    for tid in (tid for tid, name in t.threads().items() if name == "sparkprof"):
        try:
            words = pathlib.Path(f"/proc/{t.pid}/task/{tid}/syscall").read_text().split()
        except OSError:
            continue  # ended meanwhile
        if words[0] == "202" and int(words[4], 16):  # x86-64's futex
            with open(f"/proc/{t.pid}/mem", "rb") as mem:
                mem.seek(int(words[4], 16))
                seconds = int.from_bytes(mem.read(8), "little")
            if still(t, tid, words):  # else that was something else's by then
                found.append((int(words[2], 16), seconds))
    return found


def test_no_step_of_the_wall_clock_moves_the_end(target, sparkprof, tmp_path):
    """What the agent waits with, as the kernel sees it: a relative wait, which follows the monotonic clock."""
    t = target("Idle")
    r = sparkprof("start", "-e", "wall", "--timeout", "1h", "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 0, r.stderr
    ops = wait_until(lambda: [op for op, seconds in futex_waits(t) if 3000 < seconds <= 3600])
    assert len(ops) == 1 and ops[0] & 0x7f == 0 and not ops[0] & 256, ops  # FUTEX_WAIT, no FUTEX_CLOCK_REALTIME
    assert sparkprof("stop", t.pid).returncode == 0
    wait_until(lambda: not our_threads(t))


def test_spark_that_comes_up_later_is_named(target, sparkprof, tmp_path):
    """A JVM that records from its start is asked what it is before Spark has its configuration."""
    file = tmp_path / "own.jfr"
    t = target("org.apache.spark.SparkEnv", jvm=[recording.option(file, event="wall")],
               classes=f"{jvm.compiled()}:/nowhere/spark-core_2.13-4.3.0.jar")
    applications = lambda: Recording(file).others["sparkprof.Application"]
    wait_until(lambda: file.exists() and len(applications()) == 1)
    t.send("")  # not before the first is written: of two that come between two flushes of a collector without a core the last is told
    wait_until(lambda: len(applications()) == 2)
    assert "came later" not in applications()[0] and "app-late" in applications()[1] and "came later" in applications()[1]
    assert sparkprof("stop", t.pid).returncode == 0
    r = sparkprof("report", file, "-f", tmp_path / "x.txt")
    assert 'driver of app-late "came later"' in (tmp_path / "x.txt").read_text(), r.stderr


def test_reports_of_several_tell_where_executors_ran(target, sparkprof, tmp_path):
    """The words that Spark starts an executor with; what the page makes of it: tests/page."""
    for i in ("3", "4"):
        t = target("Idle", "org.apache.spark.executor.CoarseGrainedExecutorBackend", "--executor-id", i, "--hostname", f"node-{i}", "--app-id", "app-1",
                   jvm=[recording.option(tmp_path / f"all/{i}.jfr", event="wall")])
        wait_until(lambda: state(sparkprof, t)["samples"] > 0)
        assert sparkprof("stop", t.pid).returncode == 0
    r = sparkprof("report", tmp_path / "all", "--all-threads", "-f", tmp_path / "x.html")
    assert r.returncode == 0, r.stderr
    text = sparkprof("report", tmp_path / "all", "--all-threads").stdout
    assert "Executors (2)" in text and all(re.search(rf"^ +\d+\.\d % +\S+ \w+ +{i} +node-{i}$", text, re.M) for i in "34"), text
    alone = sparkprof("report", tmp_path / "all", "--all-threads", "--host", "node-4", "--by", "executor", "-o", "collapsed", "-f", "-")
    assert {line.split(";")[0] for line in alone.stdout.splitlines()} == {"[executor 4]"}, alone
    nowhere = sparkprof("report", tmp_path / "all", "--host", "node-5")
    assert nowhere.returncode == 1 and "nothing passes the filters; there are 3 (node-3), 4 (node-4)" in nowhere.stderr, nowhere
    assert sparkprof("report", tmp_path / "all", "-f", tmp_path / "merged.jfr").returncode == 0
    merged = sparkprof("report", tmp_path / "merged.jfr", "--all-threads").stdout
    assert "2 executors of app-1" in merged and "does not keep executors apart" in merged, merged
    assert "[2 executors];" in sparkprof("report", tmp_path / "merged.jfr", "--all-threads", "--by", "executor", "-o", "collapsed").stdout
    data = re.search(r'<script [^>]*id="data">([^<]+)', (tmp_path / "x.html").read_text())[1]
    assert b'"hosts":{"executor 3":"node-3","executor 4":"node-4"}' in zlib.decompress(base64.b64decode(data))


@pytest.mark.parametrize("event, interval", [("cpu", "100us"), ("wall", "1ms")])
def test_the_main_thread_is_known_while_it_starts_and_ends(sparkprof, tmp_path, event, interval):
    """It waits for threads of ours, in functions that have unwind tables."""
    with jvm.Target("Syscalls", 0.3, jvm=[recording.option(tmp_path / "x.jfr", event=event, interval=interval)], wait=False) as t:
        assert t.proc.wait(timeout=300) == 0, t.stderr()
    found = sparkprof("report", "-o", "collapsed", tmp_path / "x.jfr").stdout
    ours = [x for x in found.splitlines() if "frames unknown" in x and re.search(r";(sp_\w+|on_vm_init|put_word)", x)]
    assert "Syscalls.main" in found and not ours, ours[:3]
