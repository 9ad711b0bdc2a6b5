"""async-profiler's words on a JVM: what is shown again, loops, numbers for Prometheus, the JVM that was started last."""
import re

import pytest

from kit.recording import Recording
from kit.traces import wait_until


def test_the_last_recording_is_shown_again(target, sparkprof, tmp_path, monkeypatch):
    """By stop and dump, in any format, however it was made; by nobody else, and in the target nothing is kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    t = target("Idle")
    r = sparkprof("stop", t.pid)
    assert r.returncode == 3 and "nothing is being recorded" in r.stderr, r.stderr
    made = sparkprof("-e", "wall", "-d", "1s", "-f", tmp_path / "x.html", t.pid)
    assert made.returncode == 0 and not (tmp_path / "x.html.jfr").exists(), made.stderr
    for action in ("stop", "dump"):
        r = sparkprof(action, "-o", "collapsed", t.pid)
        assert r.returncode == 0 and "Idle.main" in r.stdout and "this is the last recording" in r.stderr, r.stderr
    assert "Hot methods" in sparkprof("dump", "-o", "flat", t.pid).stdout
    assert sparkprof("dump", "-f", tmp_path / "again.jfr", t.pid).returncode == 0 and Recording(tmp_path / "again.jfr").wall()
    kept, = (tmp_path / "sparkprof").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600 and kept.parent.stat().st_mode & 0o777 == 0o700
    t.proc.stdin.close()
    t.proc.wait(timeout=200)
    other = target("Idle")
    assert sparkprof("dump", other.pid).returncode == 3
    assert sparkprof("-e", "wall", "-d", "1s", "-o", "text", other.pid).returncode == 0
    assert [f.name.split("-")[1] for f in (tmp_path / "sparkprof").iterdir()] == [str(other.pid)]  # of what has ended none stays


def test_nothing_is_kept_where_others_may_write(target, sparkprof, tmp_path, monkeypatch):
    open_to_all = tmp_path / "cache"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(open_to_all))
    t = target("Idle")
    assert sparkprof("-e", "wall", "-d", "500ms", "-o", "text", t.pid).returncode == 0
    assert not list(open_to_all.iterdir()) and sparkprof("dump", t.pid).returncode == 3


def test_a_loop_writes_file_after_file(target, sparkprof, tmp_path):
    """Without an action it means start; the JVM goes on by itself until stop, which finishes the file in hand."""
    t = target("Idle")
    r = sparkprof("-e", "wall", "--loop", "1s", "-f", "own.jfr", t.pid, cwd=tmp_path)
    assert r.returncode == 0 and "in a loop" in r.stderr and "'stop' ends it" in r.stderr, r.stderr
    wait_until(lambda: (tmp_path / "own.3.jfr").exists())
    assert "ends by itself" not in sparkprof("status", t.pid).stdout
    assert sparkprof("stop", t.pid).returncode == 0
    files = sorted(tmp_path.glob("own.*.jfr"))
    assert len(files) >= 3 and all(Recording(f).wall() for f in files[:2])
    wrong = sparkprof("start", "--loop", "1h", "-f", tmp_path / "x.html", t.pid)
    assert wrong.returncode == 2 and "--loop: needs one -f FILE.jfr" in wrong.stderr


def metrics(text):
    return {m[1]: float(m[2]) for m in re.finditer(r'^sparkprof_(\w+)\{pid="\d+"\} ([\d.]+)$', text, re.M)}


def test_metrics_for_prometheus(target, sparkprof, tmp_path):
    t = target("Idle")
    before = metrics(sparkprof("metrics", t.pid).stdout)
    assert before["recording"] == before["samples_total"] == before["recording_start_time_seconds"] == 0
    assert sparkprof("start", "-e", "wall", "-i", "1ms", "-f", tmp_path / "x.jfr", t.pid).returncode == 0
    wait_until(lambda: min(metrics(sparkprof("metrics", t.pid).stdout)[x] for x in ("samples_total", "recording_bytes")) > 0)
    text = sparkprof("metrics", t.pid).stdout
    now = metrics(text)
    assert now["recording"] == 1 and now["recording_start_time_seconds"] > 1.6e9 and now["recording_bytes"] > 0
    assert all(f"# TYPE sparkprof_{name} " in text and f"# HELP sparkprof_{name} " in text for name in now)
    assert sparkprof("stop", t.pid).returncode == 0


@pytest.mark.alone
def test_jps_is_the_jvm_that_was_started_last(target, sparkprof):
    """Of the test's own: other JVMs of this host may come any time. Beside other tests it would enter theirs, which may look at what is in there."""
    first, second = target("Idle"), target("Idle")
    said = sparkprof("status", "jps").stdout
    assert f"pid {first.pid}," not in said, (said, second.pid)
