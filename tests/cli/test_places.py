"""The product where its files lie in a directory with spaces and umlauts, and a tree that is built there."""
import os
import shutil
import subprocess

import pytest

from kit import jvm, parts, recording

ODD = "a b \u00fcml\u00e4ut 'quoted' $HOME"


@pytest.fixture
def place(tmp_path):
    there = tmp_path / ODD
    there.mkdir()
    return there


def test_launcher_and_outputs(target, place):
    launcher = shutil.copy(parts.SPARKPROF, place)
    r = subprocess.run([launcher, "-e", "wall", "-d", "300ms", "-f", place / "x.jfr", "-f", place / "x.html", str(target("Idle", cwd=place).pid)],
                       capture_output=True, text=True, timeout=300)
    assert r.returncode == 0 and sorted(os.listdir(place)) == ["sparkprof", "x.html", "x.jfr"], r.stderr
    assert recording.Recording(place / "x.jfr").wall()


def test_agent_and_recording(target, place):
    agent = shutil.copy(recording.AGENT, place)
    t = target("Idle", jvm=[recording.option(place / "x.jfr", event="wall", agent=agent)])
    t.proc.stdin.close()
    assert t.proc.wait(timeout=100) == 0 and t.stderr() == ""
    assert recording.Recording(place / "x.jfr").wall()


def test_parts_and_classes_have_a_plain_name(place):
    """What Spark, Hadoop and podman could not hold in their options is a link for them."""
    (place / "Idle.class").write_bytes((jvm.compiled() / "Idle.class").read_bytes())
    plain = parts.plain(place)
    try:
        assert " " not in str(plain) and str(plain).isascii() and (plain / "Idle.class").exists() and parts.plain(place) == plain
        assert parts.plain(parts.ROOT) == parts.ROOT
    finally:
        plain.unlink()
