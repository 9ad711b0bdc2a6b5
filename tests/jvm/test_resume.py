"""resume: a stopped recording goes on in its own file, and every reader sees one recording."""
import os
import subprocess

import pytest

from kit import parts
from kit.recording import Recording, at_one_moment
from kit.traces import our_threads, wait_until

WALL = ["-e", "wall", "-i", "10ms"]


def chunks(path):
    """Sizes of a file's chunks; they must add up."""
    data, at, sizes = at_one_moment(path), 0, []
    while at < len(data):
        assert data[at:at + 4] == b"FLR\0", at
        sizes.append(int.from_bytes(data[at + 8:at + 16], "big"))
        at += sizes[-1]
    assert at == len(data)
    return sizes


def threads(path):
    return {s.thread for s in Recording(path).wall()}


@pytest.fixture
def stopped(target, sparkprof, tmp_path):
    """A JVM with a recording of its first life, in which there is no thread "second"."""
    t = target("Late")
    t.send("first")
    path = tmp_path / "x.jfr"
    r = sparkprof("start", *WALL, "-f", path, t.pid)
    assert r.returncode == 0, r.stderr
    wait_until(lambda: b"first" in path.read_bytes())
    assert sparkprof("stop", t.pid).returncode == 0
    wait_until(lambda: not our_threads(t))
    return t, path


def test_old_and_new_samples_are_in_one_file(stopped, sparkprof, tmp_path):
    t, path = stopped
    os.chmod(path, 0o640)
    before = len(Recording(path).wall())
    assert before and "second" not in threads(path)
    t.send("second")
    r = sparkprof("resume", *WALL, "-f", path, t.pid)
    assert r.returncode == 0, r.stderr
    chunks(path)
    assert path.stat().st_mode & 0o777 == 0o640
    assert len(Recording(path).wall()) >= before  # valid while it runs
    wait_until(lambda: b"second" in path.read_bytes())
    chunks(path)
    r = sparkprof("stop", "-f", tmp_path / "x.collapsed", t.pid)
    assert r.returncode == 0, r.stderr
    assert len(chunks(path)) >= 2
    assert len(Recording(path).wall()) > before
    assert {"first", "second"} <= threads(path)
    assert "Late.spin" in (tmp_path / "x.collapsed").read_text()
    r = subprocess.run([parts.jdk(17) / "bin/jfr", "summary", path], capture_output=True, text=True)
    assert r.returncode == 0, r.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.collapsed", "x.jfr"]


def test_again_and_again(stopped, sparkprof):
    t, path = stopped
    counts = [len(Recording(path).wall())]
    for _ in range(3):
        assert sparkprof("resume", *WALL, "-f", path, t.pid).returncode == 0
        size = path.stat().st_size
        wait_until(lambda: path.stat().st_size != size or b"sparkprof.Counts" in path.read_bytes())
        assert sparkprof("stop", t.pid).returncode == 0
        chunks(path)
        counts.append(len(Recording(path).wall()))
    assert counts == sorted(counts)


@pytest.mark.parametrize("content, words", [
    (None, "No such file"), (b"hello", "not a whole JFR"), (b"FLR\0" + bytes(4) + (1 << 20).to_bytes(8, "big") + bytes(60), "not complete")])
def test_what_cannot_go_on_is_left_as_it_was(target, sparkprof, tmp_path, content, words):
    t = target("Idle")
    path = tmp_path / "x.jfr"
    if content:
        path.write_bytes(content)
    r = sparkprof("resume", "-f", path, t.pid)
    assert r.returncode in (1, 2) and words in r.stderr, r
    assert [p.name for p in tmp_path.iterdir()] == (["x.jfr"] if content else [])
    assert not content or path.read_bytes() == content
    wait_until(lambda: not our_threads(t))


def test_needs_the_recording(target, sparkprof, tmp_path):
    t = target("Idle")
    r = sparkprof("resume", "-f", tmp_path / "x.txt", t.pid)
    assert r.returncode == 2 and "resume: name the recording" in r.stderr, r


def test_a_killed_recording_goes_on(target, sparkprof, tmp_path):
    """What a JVM that died left behind is a whole recording: a new JVM can go on with it."""
    path = tmp_path / "x.jfr"
    first = target("Late")
    first.send("first")
    assert sparkprof("start", *WALL, "-f", path, first.pid).returncode == 0
    wait_until(lambda: b"first" in path.read_bytes())
    first.close()
    second = target("Late")
    second.send("second")
    r = sparkprof("resume", *WALL, "-f", path, second.pid)
    assert r.returncode == 0, r.stderr
    wait_until(lambda: b"second" in path.read_bytes())
    assert sparkprof("stop", second.pid).returncode == 0
    assert {"first", "second"} <= threads(path)
