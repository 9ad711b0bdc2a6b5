"""Wrong calls: each sentence says what failed, on what, and what to try."""
import subprocess

import pytest

from kit.parts import SPARKPROF

CALLS = [
    ("report nothere.jfr", "nothere.jfr: cannot be read: No such file or directory; check the name"),
    ("report text.txt/x.jfr", "text.txt/x.jfr: cannot be read: Not a directory; a part of the path is a file"),
    ("report text.txt", "text.txt: is neither a JFR recording nor collapsed text, pprof or perf script; give a file that a profiler wrote"),
    ("report empty.jfr", "empty.jfr: is empty; record or copy it again"),
    ("report emptydir", "emptydir: no recording in it; files that end in .jfr"),
    ("report /dev/zero", "/dev/zero: is a device, not a recording; give a file"),
    ("report", "report: no file; name recordings, or a directory of them"),
    ("report -f nodir/x.html good.collapsed", "nodir/x.html: cannot be written: No such file or directory; make its directory first, or name another file with -f"),
    ("report -f text.txt/x.html good.collapsed", "text.txt/x.html: cannot be written: Not a directory; a part of the path is a file"),
    ("report -f emptydir good.collapsed", "emptydir", "; name a file in it"),
    ("report -f /dev/full -o text good.collapsed", "/dev/full: cannot be written: No space left on device; make room there"),
    ("report -f x.unknown good.collapsed", "no format is called .unknown; there are .txt, .html"),
    ("report -f x.html -f x.html good.collapsed", "-f: 'x.html' is given twice; omit one"),
    ("report --event-log nolog good.collapsed", "--event-log: nolog: cannot be read: No such file or directory; check the name"),
    ("report --event-log emptydir good.collapsed", "--event-log: emptydir: is a directory without events_…; give the log itself"),
    ("report --event-log text.txt good.collapsed", "--event-log: text.txt: is not an event log of Spark; name the application's file in spark.eventLog.dir"),
    ("report --stage x good.collapsed", "--stage: 'x' is not a stage; write 5, or 5.1 for one attempt"),
    ("diff nothere.jfr good.collapsed", "nothere.jfr: cannot be read: No such file or directory; check the name"),
    ("diff good.collapsed", "diff: takes two files: sparkprof diff BASE NEW"),
    ("ps foo", "ps: takes no target, but 'foo' is given; omit it"),
    ("--quiet=1 1", "--quiet: takes no value; write it alone"),
    ("999999999", "999999999: no such process that this user can see: look with 'sparkprof ps'"),
    ("stack executor:77", "executor:77: no such target; ", ": look with 'sparkprof ps'"),
    ("-e foo/ 1", "-e: 'foo/' is not an event; 'sparkprof list' shows them"),
    ("-o xyz 1", "-o: 'xyz' is not a format; there are text, html"),
    ("--xyzzyx", "--xyzzyx: no such option; --help lists them"),
    ("-d 1 {sleep}", "pid {sleep}: is not a JVM; it executes ", ": look with 'sparkprof ps'"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    d = tmp_path_factory.mktemp("messages")
    (d / "text.txt").write_text("hello\n")
    (d / "empty.jfr").touch()
    (d / "emptydir").mkdir()
    (d / "good.collapsed").write_text("a;b 1\n")
    return d


@pytest.fixture(scope="module")
def sleep():
    p = subprocess.Popen(["sleep", "1000"])
    yield p.pid
    p.kill()
    p.wait()


@pytest.mark.parametrize("call", CALLS, ids=lambda c: c[0])
def test_a_wrong_call_says_what_to_try(place, sleep, call):
    command, *wants = (text.replace("{sleep}", str(sleep)) for text in call)
    r = subprocess.run([SPARKPROF, *command.split()], cwd=place, capture_output=True, text=True)
    assert r.returncode and r.stdout == "" and r.stderr.count("\n") == 1, r
    assert r.stderr.startswith("sparkprof: "), r.stderr
    for want in wants:
        assert want in r.stderr, r.stderr


def test_a_comparison_says_what_its_chance_is_of(place):
    """Not of what two runs of one program differ by."""
    (place / "new.collapsed").write_text("a;b 5\n")
    r = subprocess.run([SPARKPROF, "diff", "good.collapsed", "new.collapsed"], cwd=place, capture_output=True, text=True)
    assert "chance: the difference that sampling alone shows between identical runs. Real runs of one program" in " ".join(r.stdout.split()), r


def test_source_must_be_a_directory_and_lines_are_listed(place):
    for path, says in (("nodir", "--source: nodir: cannot be read: No such file or directory; check the name"),
                       ("text.txt", "--source: text.txt: is a file; name the top directory of your source code")):
        r = subprocess.run([SPARKPROF, "report", "--source", path, "good.collapsed"], cwd=place, capture_output=True, text=True)
        assert r.returncode == 1 and says in r.stderr, r
