"""What report is given: directories, cut and damaged files, standard input, many files, none."""
import contextlib
import gzip
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

from kit import native, parts, peers
from kit.parts import SPARKPROF
from test_report import lines, total


def test_files_as_sparks_profiler_plugin_leaves_them(sparkprof, tmp_path):
    """Made by async-profiler with the options, names and way of joining of Spark 4's plugin; not by the plugin itself."""
    app = tmp_path / "app-20261116112820-0000"
    app.mkdir()
    files = [app / f"profile-the-exec-job-exec-{n}.jfr" for n in (3, 4)]
    one = peers.recording(tmp_path / "one.jfr", "event=wall,interval=10ms,alloc=2m,lock=10ms,chunktime=300s", "Mixture", 2)
    for file, times in zip(files, (2, 1)):  # a chunk for each time that the plugin has stopped, dumped and gone on
        file.write_bytes(one.read_bytes() * times)
    sums = {}
    for event in ("wall", "alloc"):
        r = sparkprof("report", app, "-e", event, "--by", "executor", "-f", tmp_path / "x.collapsed")
        assert r.returncode == 0, r.stderr
        for line in (tmp_path / "x.collapsed").read_text().splitlines():
            root, n = line.split(";")[0], int(line.rsplit(" ", 1)[1])
            sums[event, root] = sums.get((event, root), 0) + n
    assert {root for _, root in sums} == {"[executor 3]", "[executor 4]"}
    assert all(sums[e, "[executor 3]"] == 2 * sums[e, "[executor 4]"] > 0 for e in ("wall", "alloc")), sums
    r = sparkprof("report", app, "-e", "wall", "--executor", "4", "-o", "collapsed")
    assert sum(int(line.rsplit(" ", 1)[1]) for line in r.stdout.splitlines()) == sums["wall", "[executor 4]"], r.stderr


def test_gzipped_directories_and_stdin(sparkprof, recordings, tmp_path):
    d = tmp_path / "in"
    d.mkdir()
    shutil.copy(recordings / "cpu.jfr", d / "a.jfr")
    (d / "b.jfr.gz").write_bytes(gzip.compress((recordings / "cpu.jfr").read_bytes(), 1))
    (d / "notes.txt").write_text("not a recording 1\n")
    sparkprof("report", recordings / "cpu.jfr", "-e", "cpu", "-f", tmp_path / "one.collapsed")
    r = sparkprof("report", d, "-e", "cpu", "-f", tmp_path / "two.collapsed")
    assert r.returncode == 0, r.stderr
    assert total(tmp_path / "two.collapsed") == 2 * total(tmp_path / "one.collapsed")
    with open(d / "b.jfr.gz") as f:
        r = subprocess.run([parts.SPARKPROF, "report", "-", "-e", "cpu", "-o", "collapsed", "-f", "-"], stdin=f,
                           capture_output=True)
    assert sorted(r.stdout.splitlines()) == lines(tmp_path / "one.collapsed")


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9, 0.999])
def test_a_cut_file_gives_a_sentence_and_the_rest(sparkprof, recordings, tmp_path, cut):
    data = (recordings / "cpu.jfr").read_bytes()
    joined = data + data[:int(len(data) * cut)]
    (tmp_path / "cut.jfr").write_bytes(joined)
    sparkprof("report", recordings / "cpu.jfr", "-e", "cpu", "-f", tmp_path / "one.collapsed")
    r = sparkprof("report", tmp_path / "cut.jfr", "-e", "cpu", "-f", tmp_path / "x.collapsed")
    assert r.returncode == 0 and "cut.jfr" in r.stderr, r.stderr
    assert total(tmp_path / "x.collapsed") >= total(tmp_path / "one.collapsed")


def test_what_has_no_end_is_not_waited_for(sparkprof):
    for device in ("/dev/zero", "/dev/full"):
        r = sparkprof("report", device)
        assert r.returncode != 0 and f"{device}: is a device" in r.stderr, r.stderr
    pipe = subprocess.Popen([SPARKPROF, "report", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    pipe.stdin.write(b"a;b 1\n")
    pipe.stdin.flush()
    pipe.terminate()
    assert pipe.wait(100) == -signal.SIGTERM
    pipe.stdin.close()
    pipe.stderr.close()


@pytest.mark.parametrize("header", [False, True])
def test_memory_does_not_grow_with_a_sparse_file(recordings, tmp_path, header):
    """Nothing but a hole behind a recording, and behind a header that has it for its chunk."""
    data = bytearray((recordings / "wall.jfr").read_bytes())
    if header:
        data = data[:68]
        data[8:16] = (3 << 30).to_bytes(8, "big")
    (tmp_path / "x.jfr").write_bytes(data)
    os.truncate(tmp_path / "x.jfr", 3 << 30)
    small = ("import resource, subprocess, sys; r = subprocess.call(sys.argv[1:]); "
             "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(r)")  # it has the starter's peak for its own
    r = subprocess.run([sys.executable, "-c", small, SPARKPROF, "report", tmp_path / "x.jfr"], capture_output=True, text=True)
    assert r.returncode == (1 if header else 0) and "offset" in r.stdout + r.stderr, r.stdout + r.stderr
    assert header or "Hot methods" in r.stdout
    assert int(r.stdout.split()[-1]) < 64 << 10, r.stdout[-100:]  # KiB


@pytest.mark.long  # what lies in the middle of a recording of another profiler differs from run to run: not always an event
def test_damage_is_told_with_its_place_and_what_was_readable(sparkprof, recordings, tmp_path):
    data = bytearray((recordings / "cpu.jfr").read_bytes() * 3)
    place = len(data) // 2  # in the second of three chunks
    data[place:place + 64] = b"\xff" * 64
    (tmp_path / "bad.jfr").write_bytes(data)
    r = sparkprof("report", tmp_path / "bad.jfr", "-e", "cpu", "-f", tmp_path / "x.collapsed")
    said = re.search(r"bad.jfr: .* at offset (\d+) cannot be read; the rest is shown: (\d+) events of (\d+) chunks", r.stderr)
    assert r.returncode == 0 and said, r.stderr
    assert len(data) // 3 <= int(said[1]) < place + 64 and int(said[3]) == 3  # the event that was hit, or the first inside
    sparkprof("report", recordings / "cpu.jfr", "-e", "cpu", "-f", tmp_path / "one.collapsed")
    one = total(tmp_path / "one.collapsed")
    assert 2 * one <= total(tmp_path / "x.collapsed") <= 3 * one and int(said[2]) >= 2 * one


def test_a_directory_counts_a_run_once(sparkprof, recordings, tmp_path):
    """What collect wrote of one run, side by side; files that are named are all read."""
    d = tmp_path / "in"
    d.mkdir()
    shutil.copy(recordings / "wall.jfr", d / "w.jfr")
    derived = [d / "w.collapsed", d / "w.pb.gz"]
    assert sparkprof("report", d, "-f", derived[0], "-f", derived[1]).returncode == 0
    once = total(derived[0])
    r = sparkprof("report", d, "-f", tmp_path / "x.collapsed", "-f", tmp_path / "x.txt")
    assert r.returncode == 0 and total(tmp_path / "x.collapsed") == once and "2 files of other formats left out" in r.stderr, r.stderr
    assert f"{once:,}" in (tmp_path / "x.txt").read_text()
    r = sparkprof("report", d, derived[1], "-f", tmp_path / "x.collapsed")
    assert r.returncode == 0 and total(tmp_path / "x.collapsed") == 2 * once
    (d / "w.jfr").unlink()
    r = sparkprof("report", d, "-f", tmp_path / "x.txt")
    assert r.returncode == 0 and "left out" not in r.stderr
    assert re.search(rf"Samples +{2 * once:,}\b", (tmp_path / "x.txt").read_text())


def test_names_of_outputs_and_odd_directories(sparkprof, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.collapsed").write_text("main;f 1\n")
    r = sparkprof("report", tmp_path / "in", "-f", tmp_path / "%t-%{WHO}.collapsed", env={"WHO": "me/../you"})
    made = [p.name for p in tmp_path.glob("*.collapsed")]
    assert r.returncode == 0 and len(made) == 1 and re.fullmatch(r"\d{8}-\d{6}-me_.._you\.collapsed", made[0]), (r.stderr, made)
    assert r.stderr.startswith("sparkprof: 1 sample, ") or "1 sample, " in r.stderr
    r = sparkprof("report", tmp_path / "in", "-f", tmp_path / "%p.txt")
    assert r.returncode == 2 and "%p needs a target" in r.stderr
    # what is no recording is left alone; what is none in spite of its name is said
    (tmp_path / "in/sub.jfr").mkdir()
    (tmp_path / "in/empty.jfr").write_bytes(b"")
    (tmp_path / "in/noise.jfr").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "in/.hidden.jfr").write_bytes(b"x")
    (tmp_path / "in/notes.md").write_text("f 3\n")
    os.mkfifo(tmp_path / "in/pipe.jfr")
    r = sparkprof("report", tmp_path / "in", "-o", "collapsed")
    assert r.returncode == 0 and r.stdout == "main;f 1\n"
    assert "empty.jfr" in r.stderr and "noise.jfr" in r.stderr and "hidden" not in r.stderr
    (tmp_path / "none").mkdir()
    (tmp_path / "none/only.jfr").mkdir()
    r = sparkprof("report", tmp_path / "none")
    assert r.returncode == 1 and "no recording in it" in r.stderr


def test_directories_of_applications(sparkprof, tmp_path):
    """What file=DIR/ leaves: one application is read, several are named, the latest first."""
    for i in (1, 2, 3, 4, 5, 10):
        app = tmp_path / f"all/application_1_{i:04}"
        app.mkdir(parents=True)
        (app / "profile-exec-1.collapsed").write_text(f"main;f{i} 1\n")
    (tmp_path / "all/application_1_0011").mkdir()
    (tmp_path / "all/application_1_0011/x.jfr").mkdir()
    (tmp_path / "all/application_1_0011/notes.txt").write_text("x\n")
    r = sparkprof("report", tmp_path / "all", "-o", "collapsed")
    assert r.returncode == 1 and r.stdout == "", r.stderr
    names = [f"application_1_{i}" for i in ("0010", "0005", "0004", "0003")]
    assert f"{tmp_path}/all: the recordings are in its subdirectories: {', '.join(names)} and 2 more; name the ones to merge" in r.stderr, r.stderr
    r = sparkprof("report", tmp_path / "all/application_1_0002", tmp_path / "all/application_1_0010", "-o", "collapsed")
    assert r.returncode == 0 and r.stdout == "main;f10 1\nmain;f2 1\n", r.stderr
    (tmp_path / "one/.old").mkdir(parents=True)
    (tmp_path / "one/.old/x.collapsed").write_text("main;old 1\n")
    (tmp_path / "one/app").symlink_to(tmp_path / "all/application_1_0002")
    r = sparkprof("report", tmp_path / "one", "-o", "collapsed")
    assert r.returncode == 0 and r.stdout == "main;f2 1\n", r.stderr


def test_inputs_that_are_none_are_refused(sparkprof, recordings, tmp_path):
    """Sources and logs have lines that end in a number; a bomb unpacks to anything."""
    source = tmp_path / "job.py"
    source.write_text("import sys\n\nrows = 100\nfor i in range(rows):\n    print(i)\nx = 5\n")
    r = sparkprof("report", source)
    assert r.returncode != 0 and r.stdout == "" and str(source) in r.stderr, r.stderr
    bomb = tmp_path / "bomb.collapsed.gz"
    with gzip.open(bomb, "wb", compresslevel=9) as f:
        for _ in range(1100):
            f.write(b"a;b 1\n" * (1 << 20 >> 3))
            f.write(b"\n" * (1 << 18))
    r = sparkprof("report", bomb)
    assert r.returncode != 0 and "times its size" in r.stderr, r.stderr


def test_a_file_given_twice_counts_once(sparkprof, recordings, tmp_path):
    (tmp_path / "link.jfr").symlink_to(recordings / "wall.jfr")
    once = sparkprof("report", recordings / "wall.jfr", "-o", "collapsed", "-f", "-")
    twice = sparkprof("report", recordings / "wall.jfr", recordings / "wall.jfr", tmp_path / "link.jfr", tmp_path, "-o", "collapsed", "-f", "-")
    assert twice.returncode == 0 and twice.stdout == once.stdout and twice.stderr.count("given twice") == 2, twice.stderr


def test_many_files_are_each_asked_for_a_few_times(tmp_path):
    """Where each piece is a file, an application leaves tens of thousands: what is asked of the system grows as they do."""
    there, log, n = tmp_path / "pieces", tmp_path / "calls", 300
    there.mkdir()
    for i in range(n):
        (there / f"{i}.collapsed").write_text("a;b 1\n")
    for given in ([there], list(there.iterdir())):
        subprocess.run(["strace", "-f", "-o", log, "-e", "trace=%file", SPARKPROF, "report", "-q", *given, "-f", tmp_path / "x.txt"], check=True)
        assert n <= log.read_text().count(f'"{there}/') < 10 * n


def read_at_a_terminal(*args):
    """What a terminal sees of it."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([SPARKPROF, *args], stderr=theirs) as p:
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while more := os.read(ours, 4096):
                said += more
    os.close(ours)
    assert p.returncode == 0
    return said


def test_long_reading_tells_a_terminal_how_far_it_is(tmp_path):
    """Also where each file is one chunk. Not on a disk: a gigabyte would keep all others from writing."""
    memory = pathlib.Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if shutil.disk_usage(memory).free > 2e9 else tmp_path) as app:
        one = tmp_path / "one.jfr"
        subprocess.run([native.jfr_long(), one, "300", "64", "8", "2000"], check=True)
        for i in range(500):  # half a second passes before anything is said
            shutil.copy(one, f"{app}/{i}.jfr")
        said = read_at_a_terminal("report", "-f", tmp_path / "x.collapsed", app)
    done = [float(n) for n in re.findall(rb"\rreading ([0-9.]+) MB of [0-9.]+ MB", said)]
    whole = {float(n) for n in re.findall(rb" MB of ([0-9.]+) MB", said)}
    assert done and done == sorted(done) and len(whole) == 1 and done[-1] <= whole.pop(), said


def test_empty_files_of_killed_jvms_are_no_obstacle(sparkprof, recordings, tmp_path):
    """A driver that was killed between its file's name and its first piece; what all others left is reported, also as one recording."""
    for name in ("profile-driver.jfr", "profile-exec-1.jfr"):
        (tmp_path / "app" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "app" / name).touch()
    r = sparkprof("report", tmp_path / "app")
    assert r.returncode == 1 and r.stdout == "" and "app: profile-driver.jfr and 1 more: empty (the JVM was killed before it wrote anything)" in r.stderr, r.stderr
    shutil.copy(recordings / "cpu.jfr", tmp_path / "app/profile-exec-2.jfr")
    alone = sparkprof("report", recordings / "cpu.jfr", "-o", "collapsed")
    for words in (["-o", "collapsed"], ["-f", tmp_path / "merged.jfr"]):
        r = sparkprof("report", tmp_path / "app", *words)
        assert r.returncode == 0 and r.stderr.count(": empty (the JVM was killed") == 1, r.stderr
        assert r.stdout in (alone.stdout, ""), words
    assert sparkprof("report", tmp_path / "merged.jfr", "-o", "collapsed").stdout == alone.stdout
