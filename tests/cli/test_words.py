"""async-profiler's words, and what they do to a report: formats, parts of the text, names, pictures. Input is collapsed text."""
import base64
import re
import sys
import zlib

import pytest

from kit import parts

STACKS = """\
java/lang/Thread.run;com/acme/Job.run;com/acme/Job.work 60
java/lang/Thread.run;com/acme/Job.run;com/acme/Job.rest 39
java/lang/Thread.run;com/acme/Other.run 1
"""


@pytest.fixture
def stacks(tmp_path):
    path = tmp_path / "in.collapsed"
    path.write_text(STACKS)
    return path


@pytest.fixture
def report(sparkprof, stacks):
    def run(*args):
        r = sparkprof("report", *args, stacks)
        assert r.returncode == 0, r.stderr
        return r.stdout
    return run


def meta(page):
    """The page's first section: its facts as JSON."""
    data = re.search(r'id="data">([^<]+)<', page)[1]
    text = zlib.decompress(base64.b64decode(data)).decode(errors="replace")
    return text[text.index('{"start"'):]


def test_flat_and_traces_are_these_parts_alone(report):
    whole, flat, traces = report(), report("-o", "flat=1"), report("-o", "traces=2")
    assert "Hot methods" in flat and "Hot methods" not in traces
    assert "com.acme.Job.work" in flat and "com.acme.Job.rest" not in flat
    assert traces.count("--- ") == 2 and "  [ 0] com.acme.Job.work\n  [ 1] com.acme.Job.run\n  [ 2] java.lang.Thread.run\n" in traces
    both = report("-o", "flat=20,traces")
    assert "com.acme.Job.rest" in both and both.count("--- ") == 3
    assert "Hot methods" in whole and "--- " not in whole
    assert report("-o", "text") == whole


def test_words_of_formats_and_how_they_look(report):
    assert "<html" in report("-o", "flamegraph") and "<html" in report("-o", "tree")
    lines = report("-o", "collapsed,total,dot,simple").splitlines()
    assert "Thread.run;Job.run;Job.work 60" in lines
    assert "java.lang.Thread.run;com.acme.Job.run;com.acme.Job.work 60" in report("-o", "collapsed", "--dot")
    only = report("-o", "collapsed,include=*work")
    assert only == "java/lang/Thread.run;com/acme/Job.run;com/acme/Job.work 60\n"


def test_the_last_of_total_and_samples_counts(report):
    assert report("-o", "collapsed", "--total", "--samples") == report("-o", "collapsed,total,samples") == report("-o", "collapsed")


def test_title_and_narrow_frames(report):
    for kind in ("html", "svg", "text", "md"):
        shown = report("-o", kind, "--title", "Nightly <run>")
        assert {"text": "Nightly <run>", "md": r"Nightly \<run\>"}.get(kind, "Nightly &lt;run&gt;") in shown, kind
    svg = report("-o", "svg", "--minwidth", "2")
    assert "Job.rest" in svg and "Other.run" not in svg and "narrower than 2.00 %" in svg
    assert "Other.run" in report("-o", "svg")
    assert '"minwidth":2' in meta(report("-o", "html,minwidth=2"))


def rows(svg):
    """Where each frame is drawn, the picture's head being y 0."""
    return {m[1]: int(m[2]) for m in re.finditer(r"<title>(\S+) \(.*?</title><rect x=\"[\d.]+\" y=\"(\d+)\"", svg)}


def test_which_way_a_picture_grows(report):
    usual, inverted = rows(report("-o", "svg")), rows(report("-o", "svg", "--inverted"))
    assert usual["all"] > usual["com/acme/Job.run"] > usual["com/acme/Job.work"]
    assert inverted["all"] < inverted["com/acme/Job.run"] < inverted["com/acme/Job.work"]
    reverse, both = rows(report("-o", "svg", "--reverse")), rows(report("-o", "svg", "--reverse", "--inverted"))
    assert reverse["all"] < reverse["com/acme/Job.work"] < reverse["com/acme/Job.run"]
    assert both["all"] > both["com/acme/Job.work"] > both["com/acme/Job.run"]
    assert '"opens":{}' in meta(report("-o", "html"))
    assert '"opens":{"view":"callers","up":"1"}' in meta(report("-o", "html", "--reverse"))
    assert '"opens":{"view":"callers"}' in meta(report("-o", "html", "--reverse", "--inverted"))
    assert '"opens":{"up":"1"}' in meta(report("-o", "html", "--inverted"))


def test_otlp_is_what_the_protocol_says(report, tmp_path):
    """Read by OpenTelemetry's own classes: stacks, sums, and a first entry of each table that is empty."""
    sys.path.insert(0, str(parts.opentelemetry()))
    from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2
    report("-f", tmp_path / "x.otlp", "--title", "etl")
    request = profiles_service_pb2.ExportProfilesServiceRequest.FromString((tmp_path / "x.otlp").read_bytes())
    d = request.dictionary
    for name in ("mapping", "location", "function", "link", "attribute", "stack"):
        table = getattr(d, f"{name}_table")
        assert table[0] == type(table[0])(), name
    assert d.string_table[0] == ""
    resource, = request.resource_profiles
    assert {a.key: a.value.string_value for a in resource.resource.attributes}["service.name"] == "etl"
    scope, = resource.scope_profiles
    assert scope.scope.name == "sparkprof"
    assert len({p.profile_id for p in scope.profiles}) == len(scope.profiles) == 2
    for profile in scope.profiles:
        got = {}
        for s in profile.samples:
            names = [d.string_table[d.function_table[d.location_table[i].lines[0].function_index].name_strindex]
                     for i in d.stack_table[s.stack_index].location_indices]
            got[";".join(reversed(names))] = sum(s.values)
        assert got == dict((k, int(v)) for k, v in (line.rsplit(" ", 1) for line in STACKS.splitlines()))
        assert profile.HasField("sample_type") and d.string_table[profile.sample_type.unit_strindex] == "count"


def test_the_lint_of_words_finds_what_is_said_wrongly(tmp_path):
    """A row whose state is not the sources', a word without a row, and a row for no word."""
    import shutil
    import subprocess
    root = tmp_path / "tree"
    for name in ("tests/lint/words.py", "tests/lint/lint.py", "tests/kit/__init__.py", "tests/kit/table.py", "tests/data/async-profiler-words.txt",
                 "launcher/cli/options.def", "launcher/cli/events.def", "agent/options/args.c", "agent/options/args_words.c", "agent/options/arg_report.c", "man/sparkprof.1.scd"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(parts.ROOT / name, root / name)

    def lint():
        return subprocess.run([sys.executable, root / "tests/lint/words.py"], capture_output=True, text=True)
    assert lint().returncode == 0, lint().stdout
    man, words = root / "man/sparkprof.1.scd", root / "tests/data/async-profiler-words.txt"
    man.write_text(man.read_text().replace("|  *--sched*, *sched*\n:  not here", "|  *--sched*, *sched*\n:  same"))
    words.write_text(words.read_text() + "option --fresh\n")
    found = lint()
    assert found.returncode == 1
    assert "option --sched: 'same' is not so" in found.stdout and "option --fresh of tests/data" in found.stdout, found.stdout
