"""--begin and --end: samples only between the calls of two native functions."""
import pytest
from kit import deny, recording
from kit.recording import Recording
from kit.traces import wait_until

BEGIN, END = "Java_java_lang_Runtime_totalMemory", "Java_java_lang_Runtime_maxMemory"
QUIET = ["-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading"]


def places(file):
    """Samples in inside(), in outside() and of the thread that computes all the time."""
    samples = list(Recording(file).cpu())
    return [*(sum(any(f.startswith(f"Windows.{name} ") for f in s.stack) for s in samples) for name in ("inside", "outside")),
            sum(s.thread == "beside" for s in samples)]


def recorded(sparkprof, t, file, *options, line="rounds 3 80"):
    """What was sampled, and what was said."""
    r = sparkprof("start", "-i", "1ms", "-f", file, *options, t.pid)
    assert r.returncode == 0, r.stderr
    if line:
        t.does(line)
    r = sparkprof("stop", t.pid)
    assert r.returncode == 0, r.stderr
    return places(file), " ".join(sparkprof("report", file).stdout.split())


@pytest.mark.parametrize("jdk", [11, 25])
def test_between_two_functions(sparkprof, target, tmp_path, jdk):
    """A thread that calls the second one is sampled no more from its first instruction on; new threads are watched from their start."""
    t = target("Windows", jdk=jdk, jvm=QUIET)
    (inside, outside, beside), said = recorded(sparkprof, t, tmp_path / "x.jfr", "--begin", BEGIN, "--end", END)
    assert inside >= 10 and outside == 0, (inside, outside, beside)
    assert f"--begin: sampled from 3 calls of {BEGIN} on" in said, said
    (inside, outside, beside), said = recorded(sparkprof, t, tmp_path / "y.jfr", "--begin", BEGIN)
    assert inside >= 10 and outside >= 10 and beside > 0 and f"sampled from 1 call of {BEGIN} on" in said, (inside, outside, beside, said)
    assert len(Recording(tmp_path / "y.jfr").others["profiler.Window"]) == 1, "what nothing ended ends with the recording"


def test_outside_too(sparkprof, target, tmp_path):
    """--nostop: all is sampled, and when it was open is an event of its own."""
    t = target("Windows", jvm=QUIET)
    (inside, outside, beside), said = recorded(sparkprof, t, tmp_path / "x.jfr", "--begin", BEGIN, "--end", END, "--nostop")
    assert min(inside, outside, beside) >= 10, (inside, outside, beside)
    assert f"--begin: recorded from 3 calls of {BEGIN} on" in said, said
    assert len(Recording(tmp_path / "x.jfr").others["profiler.Window"]) == 3


def test_nothing_stays_and_what_is_never_called(sparkprof, target, tmp_path):
    t = target("Windows", jvm=QUIET)
    found, said = recorded(sparkprof, t, tmp_path / "x.jfr", "--begin", BEGIN, "--end", END, line=None)
    assert found == [0, 0, 0] and f"--begin: {BEGIN} was not called, so that nothing was sampled" in said, (found, said)
    found, said = recorded(sparkprof, t, tmp_path / "y.jfr", "-e", "ctimer")
    assert min(found) >= 10 and "--begin" not in said, (found, said)
    wait_until(lambda: not [x for x in t.fds().values() if "perf_event" in x])


def test_from_the_start(sparkprof, target, tmp_path):
    t = target("Windows", jvm=[recording.option(tmp_path / "x.jfr", event="cpu", interval=f"1ms,begin={BEGIN},end={END}"), *QUIET])
    t.does("rounds 2 100")
    t.proc.stdin.close()
    assert t.proc.wait(timeout=100) == 0
    inside, outside, _ = places(tmp_path / "x.jfr")
    assert inside >= 10 and outside == 0, (inside, outside)


def test_where_it_may_not_be_watched(sparkprof, target, tmp_path):
    t = target("Windows", wrap=deny.wrap("perf_event_open=EPERM"), jvm=QUIET)
    r = sparkprof("start", "--begin", BEGIN, "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 3 and f"--begin: {BEGIN}: perf_event_open" in r.stderr, r.stderr
    # --ttsp by its long name needs none.
    names = ("--begin", "SafepointSynchronize::begin", "--end", "RuntimeService::record_safepoint_synchronized")
    _, said = recorded(sparkprof, t, tmp_path / "y.jfr", *names, line=None)
    assert "--ttsp: " in said, said


@pytest.mark.parametrize("end, why", [("no_such_function", "--end: 'no_such_function' is no function of a library that is loaded in the target"),
                                      (BEGIN, "--begin and --end are the same function"), ("mem:environ:rw", "--end: 'mem:environ:rw' is no function")])
def test_what_is_nothing(sparkprof, target, tmp_path, end, why):
    t = target("Windows", jvm=QUIET)
    r = sparkprof("start", "--begin", BEGIN, "--end", end, "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode in (1, 2) and why in r.stderr, r.stderr


@pytest.mark.parametrize("options, why", [(("-e", "wall", "--begin", "f"), "--begin: works with -e cpu or ctimer alone"), (("--end", "f"), "--end: needs --begin"), (("--nostop",), "--nostop: needs --begin"),
                                          (("--ttsp", "--begin", "f"), "--ttsp and --begin: take one")])
def test_what_goes_not_with_it(sparkprof, options, why):
    r = sparkprof("-d", "1", *options, "1")
    assert r.returncode == 2 and why in r.stderr, r.stderr
