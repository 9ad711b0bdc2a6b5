"""A target that lies, on its attach socket and then as an agent: the launcher says so, ends in time, and neither its terminal
nor its files nor other processes are the target's to use. No JVM is in it: tests/kit/liar.py only looks like one."""
import json
import os
import pathlib
import signal
import tempfile

import pytest

from kit import parts
from kit.liar import Liar
from kit.terminal import Terminal
from kit.traces import droppings, wait_until

USER = 185
UNSAFE = "\x1b\x07\x9b\u202e"


def safe(r):
    """It ended by itself, and nothing of the target's reached the terminal as more than text."""
    assert r.returncode in (0, 1, 3, 4), r
    assert not [c for c in UNSAFE if c in r.stdout + r.stderr], r
    return r


@pytest.mark.parametrize("attach, words", [
    ("silent", "did not answer in time"), ("slow", "did not answer in time"), ("endless", "answers without end"),
    ("evil", "the JVM answered 7"), ("junk", "the JVM answered"), ("closes", "closed the attach connection"),
    ("again", "pid"), ("never", "the agent has not reported"), ("knocks", "the agent has not reported"),
    ("wrong proof", "the agent has not reported")])
def test_an_attach_socket_that_lies(sparkprof, attach, words):
    # Who answers is heard in time on a busy machine, too; and who does not is not given up before it has come as far as that.
    patience = {"silent": "1s", "slow": "1s", "again": "2s", "never": "4s", "knocks": "4s", "wrong proof": "4s"}.get(attach, "60s")
    with Liar(attach) as t:
        r = safe(sparkprof("status", "--attach-timeout", patience, t.pid))
        assert r.returncode in (1, 3) and words in r.stderr and r.stderr.count("\n") == 1, r
        assert droppings(t.pid) == [] and t.alive()


@pytest.mark.parametrize("control, call, words", [
    ("other kind", ["status"], "unexpected answer"), ("junk", ["status"], "control connection"),
    ("descriptors", ["status"], "control connection"), ("progress", ["status"], "unexpected answer"),
    ("other kind", ["list"], "unexpected answer"), ("rows", ["list"], "table is damaged"), ("honest", ["list"], "owned"),
    ("other kind", ["stop"], "unexpected answer"), ("other kind", ["dump"], "unexpected answer"),
    ("honest", ["stop"], "did not hand over"), ("pipe:text -", ["stop"], "did not hand over"),
    ("directory:text -", ["stop"], "did not hand over"), ("junk:text -", ["stop"], ""), ("huge:text -", ["stop"], ""),
    ("junk:nonsense", ["stop"], "answer about its outputs cannot be read")])
def test_an_agent_that_lies(sparkprof, control, call, words):
    with Liar(control=control) as t:
        r = safe(sparkprof(*call, t.pid))
        assert r.returncode in (1, 3) and words in r.stderr and r.stderr, r
        assert t.alive()


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_state_that_is_none(sparkprof, form):
    with Liar() as t:
        r = safe(sparkprof("status", *form, t.pid))
        assert r.returncode == 0 and "owned" in r.stdout
        if form:
            assert json.loads(r.stdout)[0]["samples"] == 2**64 - 1


@pytest.mark.parametrize("control, words", [
    ("honest", "owned"), ("other kind", "unexpected answer"), ("no answer", "unexpected answer"),
    ("logs", "more than is shown")])
def test_a_recording_of_a_liar(sparkprof, tmp_path, control, words):
    with Liar(control=control) as t:
        r = safe(sparkprof("-d", "500ms", "-f", tmp_path / "x.txt", "-f", tmp_path / "x.jfr", t.pid))
        assert r.returncode != 0 and words in r.stderr, r
        assert len(r.stderr) < 100_000 and t.alive()


def test_stages_on_the_progress_line(tmp_path):
    with Liar(control="stages") as t, Terminal([parts.SPARKPROF, "-d", "100s", "-f", tmp_path / "x.txt", t.pid], columns=120) as term:
        wait_until(lambda: b"7 samples" in term.seen)
        term.proc.send_signal(signal.SIGINT)
        seen = term.end()
    shown = [line.removesuffix(b"\x1b[K") for line in seen.split(b"\r") if b"7 samples" in line]
    assert shown and b"owned" in shown[-1], seen
    for bad in (b"\x1b", b"\x07", b"\xc2\x9b", b"\xe2\x80\xae"):
        assert not [line for line in shown if bad in line], bad


def test_events_of_others_are_not_handed_out(sparkprof, tmp_path):
    """The launcher may be root: it opens perf events of the target's own threads only."""
    parts.needs_root("open perf events")
    with Liar(control="perf", user=USER) as t:
        safe(sparkprof("-e", "cpu", "-d", "200ms", "-f", tmp_path / "x.jfr", t.pid))
        assert "perf 0" in t.said()


def test_names_of_outputs_are_the_callers_word(sparkprof):
    """The agent keeps them between start and stop: root writes none because a target says so."""
    parts.needs_other_users("call as root what belongs to another")
    with tempfile.TemporaryDirectory() as d, Liar(control=f"junk:html {d}/planted.html\njfr {d}/planted.jfr", user=USER) as t:
        safe(sparkprof("stop", t.pid))
        safe(sparkprof("stop", "-f", pathlib.Path(d, "mine.txt"), t.pid))
        assert set(os.listdir(d)) <= {"mine.txt"}
