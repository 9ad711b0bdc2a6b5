"""Standard input, output and error that are closed or full: an error in a sentence, and nothing in a wrong file."""
import os
import subprocess

import pytest
from kit import jvm
from kit.parts import SPARKPROF
from kit.traces import wait_until


@pytest.fixture(scope="module")
def busy():
    with jvm.Target("Waits", 600, 1) as t:
        yield t


@pytest.fixture
def stacks(tmp_path):
    (tmp_path / "in.collapsed").write_text("main;a 3\nmain;b 4\n")
    return tmp_path / "in.collapsed"


def run(*args, redirect, cwd):
    return subprocess.run(["bash", "-c", f'exec "$0" "$@" {redirect}', SPARKPROF, *map(str, args)], cwd=cwd, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=200)


PRINTING = {"version": ["version"], "help": ["--help"], "ps": ["ps"], "ps-json": ["ps", "--json"],
            "list": ["list", "PID"], "status": ["status", "PID"], "stack": ["stack", "PID"],
            "report": ["report", "FILE"], "report-html": ["report", "FILE", "-o", "html", "-f", "-"],
            "diff": ["diff", "FILE", "FILE"], "collect": ["-d", "0.2", "PID"],
            "collect-html": ["-d", "0.2", "-o", "html", "-f", "-", "PID"],
            "stream": ["-d", "0.2", "-o", "jfr", "-f", "-", "PID"]}


def words(name, stacks, busy):
    return [{"PID": busy.pid, "FILE": stacks}.get(w, w) for w in PRINTING[name]]


@pytest.mark.parametrize("name", PRINTING)
def test_a_closed_output_is_an_error(busy, stacks, tmp_path, name):
    before = set(os.listdir(tmp_path))
    r = run(*words(name, stacks, busy), redirect=">&-", cwd=tmp_path)
    assert r.returncode == 1, (r.returncode, r.stderr)
    assert len([l for l in r.stderr.splitlines() if "standard output" in l or "stdout" in l]) == 1, r.stderr
    assert set(os.listdir(tmp_path)) == before
    assert stacks.read_text() == "main;a 3\nmain;b 4\n"


@pytest.mark.parametrize("name", [n for n in PRINTING if n != "stream"])
def test_a_full_output_is_an_error(busy, stacks, tmp_path, name):
    r = run(*words(name, stacks, busy), redirect=">/dev/full", cwd=tmp_path)
    assert r.returncode == 1, (r.returncode, r.stderr)
    assert "stdout" in r.stderr or "standard output" in r.stderr


@pytest.mark.parametrize("redirect", ["2>&-", "<&-", "<&- >&- 2>&-", ">&- 2>&-"])
def test_no_file_gets_the_number_of_a_closed_stream(busy, stacks, tmp_path, redirect):
    """Progress, notes and errors would be written into it."""
    out = tmp_path / "out.collapsed"
    r = run("report", stacks, "-f", out, redirect=redirect, cwd=tmp_path)
    assert r.returncode == 0 and sorted(out.read_text().splitlines()) == ["main;a 3", "main;b 4"]

    def recorded():
        """On a busy machine nothing may have been looked at in so short a time."""
        r = run("-e", "wall", "-d", "0.3", "-f", tmp_path / "x.jfr", busy.pid, redirect=redirect, cwd=tmp_path)
        assert r.returncode == 0
        r = run("report", tmp_path / "x.jfr", "-f", out, redirect=redirect, cwd=tmp_path)
        assert r.returncode == 0 and "sparkprof:" not in out.read_text()
        return "Waits" in out.read_text()
    wait_until(recorded)
    assert sorted(os.listdir(tmp_path)) == ["in.collapsed", "out.collapsed", "x.jfr"]


def test_a_failure_is_told_by_the_exit_code_where_errors_are_closed(stacks, tmp_path):
    assert run("report", tmp_path / "none.jfr", redirect=">&- 2>&-", cwd=tmp_path).returncode == 1
    assert run("report", "-", redirect="<&-", cwd=tmp_path).returncode == 1
