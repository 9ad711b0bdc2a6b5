"""The command line through the real binary: what is refused, how, and that nothing else is said."""
import random
import re
import subprocess

import pytest

from kit import parts, table

NOBODY = "999999999"  # no such pid: an accepted call gets as far as looking for it


def accepted(r):
    """The call itself was right: it failed at the target, or at the file."""
    return r.returncode == 3 or (r.returncode == 1 and "No such file" in r.stderr)


def goals(action):
    """What an action wants to be told: nothing, two files, or something that is not there."""
    return {"ps": [], "version": [], "diff": [NOBODY, NOBODY + "9"]}.get(action, [NOBODY])


def refused(r, *words):
    """A wrong call: exit 2, one line on stderr that holds these words, nothing on stdout."""
    assert r.returncode == 2, r
    assert r.stdout == ""
    assert r.stderr.startswith("sparkprof: ") and r.stderr.count("\n") == 1, r.stderr
    for word in words:
        assert word in r.stderr, r.stderr


REFUSED = [
    (["-d", "xyz", "1"], "-d: 'xyz' is not a duration", "30s"),
    (["--duration=xyz", "1"], "--duration: 'xyz' is not a duration"),
    (["-d", "0", "1"], "-d: '0' is out of range"),
    (["-d", "-5", "1"], "-d: '-5' is out of range"),
    (["-d", "1e9", "1"], "-d: '1e9'"),
    (["-d"], "-d: needs a value"),
    (["start", "-d", "30", "1"], "-d", "start", "--timeout"),
    (["start", "--duration", "30", "1"], "--duration", "start", "--timeout"),
    (["-d", "30", "start", "1"], "-d", "start", "--timeout"),
    (["start", "--timeout", "24:00:00", "1"], "--timeout: '24:00:00' is not a duration"),
    (["collect", "--timeout", "30", "1"], "--timeout", "collect", "-d"),
    (["collect", "--loop", "1h", "1"], "--loop", "collect", "start"),
    (["ps", "-e", "cpu"], "-e", "ps"),
    (["--alloc", "xyz", "1"], "--alloc: 'xyz' is not a size; write 512k, 2m"),
    (["--alloc", "512k", "-e", "cpu,ctimer", "1"], "'cpu' and 'ctimer' cannot be sampled together"),
    (["--all", "-e", "cpu", "1"], "--all: has its own events"),
    (["-e", "alloc", "-i", "10ms", "1"], "-i: '10ms' is not a size"),
    (["-e", "alloc", "-f", "x-{{EVENT}}.jfr", "1"], "a recording holds all events"),
    (["--memory", "12x", "1"], "--memory: '12x' is not a size"),
    (["--memory", "1k", "1"], "--memory: '1k' is out of range", "2m", "1g"),
    (["-j", "1.5", "1"], "-j: '1.5' is not a whole number"),
    (["-j0", "1"], "-j: '0' is out of range"),
    (["-i", "1us", "1"], "-i: '1us' is out of range", "100us"),
    (["-i", "abc", "1"], "-i: 'abc' is not an interval"),
    (["-e", "page-faults", "-i", "1ms", "1"], "-i: '1ms' is not a number of events", "page-faults"),
    (["--capture", "magic", "1"], "--capture: 'magic' is not one of ring|signal"),
    (["--native", "--python=off", "1"],
     "--native: is about Python processes, which --python=off leaves out; omit one of them"),
    (["--blocking", "--python", "off", "1"],
     "--blocking: is about Python processes, which --python=off leaves out; omit one of them"),
    (["--driver-ui", "host:4040", "1"], "--driver-ui: 'host:4040' is not an address; write http://host:4040, or none"),
    (["--filter", "1-", "1"], "--filter: '1-' is not a list of thread ids"),
    (["--filter", "5-2", "1"], "--filter: '5-2'"),
    (["--filter", "0", "1"], "--filter: '0'"),
    (["--thread", "", "1"], "--thread: is empty"),
    (["-I", "", "1"], "-I: is empty"),
    (["-f", "", "1"], "-f: is empty"),
    (["-e", "", "1"], "-e: is empty"),
    (["-e", "cpu,", "1"], "-e: is empty"),
    (["-e", "cpu,cpu", "1"], "-e: 'cpu' is given twice"),
    (["-e", "cpu", "-e", "cycles", "1"], "-e: 'cpu' and 'cycles' cannot be sampled together"),
    (["-e", "cpuu", "1"], "-e: 'cpuu' is not an event", "did you mean cpu"),
    (["-e", "non-sense", "1"], "-e: 'non-sense' is not an event", "sparkprof list"),
    (["-e", "a:b:c", "1"], "-e: 'a:b:c' is not well formed"),
    (["-e", "cycles:u", "1"], "-e: 'cycles:u'", "not supported", "write cycles"),
    (["--wall", "5ms", "-i", "1ms", "1"], "-i: '1ms' belongs to no -e"),
    (["-i", "1ms", "-e", "cpu", "-i", "2ms", "1"], "-i: '1ms' belongs to no -e"),
    (["-e", "java/lang/Object.wait", "1"], "'java/lang/Object.wait'", "is not an event"),
    (["-e", "java.lang.Object.", "1"], "'java.lang.Object.'", "is not a Java method"),
    (["--trace", "wait", "1"], "--trace: 'wait' is not a Java method"),
    (["--trace", "java.lang.Object.wait:soon", "1"], "--trace: 'soon' is not a time"),
    (["-e", "java.lang.Object.wait", "-i", "10ms", "1"], "-i: '10ms' is not a number of events"),
    (["-o", "xml", "1"], "-o: 'xml' is not a format"),
    (["-f", "x.pdf", "1"], "-f: 'x.pdf'", ".pdf", ".html, .svg", "-o"),
    (["report", "-f", "a.b/x.html.bak", "1"], ".bak", ".html"),
    (["-o", "flat=x", "1"], "-o: 'flat=x': how many? write flat=20"),
    (["-o", "collapsed,nonsense", "1"], "-o: 'nonsense' is not a format"),
    (["-o", "collapsed,total=1", "1"], "-o total: takes no value"),
    (["-o", "text,title", "1"], "-o title: needs a value: TEXT"),
    (["-F", "pcaddr", "1"], "-F: 'pcaddr' is not supported", "mixed"),
    (["--clock", "sundial", "1"], "--clock: 'sundial'", "tsc monotonic"),
    (["--minwidth", "wide", "1"], "--minwidth: 'wide' is not a percentage"),
    (["--loop", "soon", "-f", "x.jfr", "1"], "--loop: 'soon' is not a time", "00:00:00"),
    (["--log", "loud", "1"], "--log: 'loud' is not one of debug|info"),
    (["-o", "collapsed", "-f", "x.jfr", "1"], "-o collapsed", "x.jfr"),
    (["-o", "jfr", "1"], "-o jfr: needs -f"),
    (["-f", "a", "-f", "a", "1"], "-f: 'a' is given twice"),
    (["-f", "%q", "1"], "-f: '%q'", "%p"),
    (["-f", "{{TASK}}", "1"], "-f: '{{TASK}}'", "{{APP_ID}}"),
    (["-f", "%n{x}", "1"], "-f: ", "%n{MAX}"),
    (["-s", "-f", "x.jfr", "1"], "-s: changes nothing in a jfr"),
    (["-f", "x.jfr", "1", "2"], "several targets", "%p", "'x.jfr'"),
    (["1", "2"], "several targets"),
    ([], "no target", "sparkprof ps"),
    (["start"], "start: no target"),
    (["ps", "1"], "ps: takes no target"),
    (["list", "1", "2"], "list: takes 1 target"),
    ([""], "target is empty"),
    (["stat", "1"], "'stat' is not an action; did you mean status?"),
    (["strat", "1"], "'strat' is not an action; did you mean start?"),
    (["colect", "executor"], "'colect' is not an action; did you mean collect?"),
    (["statsu", "1"], "'statsu' is not an action; did you mean status?"),
    (["profile", "executor"], "'profile' is not an action; without one it is collect"),
    (["attach", "4711"], "'attach' is not an action; without one it is collect"),
    (["driver", "2"], "several targets"),
    (["-i", "10", "1"], "-i: '10' is out of range; write 100us to 1h"),
    (["--quiet=1", "1"], "--quiet: takes no value"),
    (["--durtion", "3", "1"], "--durtion: no such option; did you mean --duration?"),
    (["--dur", "3", "1"], "--dur: no such option; did you mean --duration?"),
    (["--chunk-size", "3", "1"], "--chunk-size: no such option; did you mean --chunksize?"),
    (["--xyzzyx", "1"], "--xyzzyx: no such option; --help lists them"),
    (["-D", "3", "1"], "-D: no such option; did you mean -d"),
    (["-z", "1"], "-z: no such option"),
    (["-tz", "1"], "-z: no such option"),
    (["--help=durtion"], "--help: 'durtion' is not an option", "--duration"),
    (["meminfo", "1"], "meminfo is not an action", "metrics"),
    (["check", "cpu", "1"], "check is not an action", "list PID"),
    (["threaddump", "1"], "threaddump is not an action", "stack --all"),
    (["--\x1b[31m", "1"], "--?[31m: no such option"),
]


@pytest.mark.parametrize("args, words", [(c[0], c[1:]) for c in REFUSED], ids=lambda v: " ".join(v) if v else "none")
def test_wrong_calls_are_refused_by_name(sparkprof, args, words):
    refused(sparkprof(*args), *words)


ACCEPTED = [
    ["-d", "30", NOBODY], ["-d30", NOBODY], ["--duration=0.5s", NOBODY], [NOBODY, "-d", "2m"], ["collect", NOBODY],
    ["-e", "wall", "-i", "20ms", "-f", "/tmp/x.jfr", NOBODY], ["-e", "cpu,wall", NOBODY], ["-tsal", NOBODY],
    ["start", "--timeout", "23:59:59", "-f", "/tmp/x.jfr", NOBODY], ["--loop", "hh:00:00", "-f", "/tmp/x.jfr", NOBODY], ["start", "--timeout", "5m", "-f", "/tmp/x.jfr", NOBODY], ["stop", NOBODY], ["status", "--json", NOBODY],
    ["-e", "sched:sched_switch", NOBODY], ["-e", "java.util.*.put", "-i", "7", "--trace", "a.B.<init>", NOBODY], ["--", NOBODY], ["-q", "--", NOBODY], ["-I", "*a*", "-X", "b", NOBODY],
]


@pytest.mark.parametrize("args", ACCEPTED, ids=" ".join)
def test_right_calls_are_accepted(sparkprof, args):
    r = sparkprof(*args)
    assert accepted(r), r


@pytest.mark.parametrize("event", table.events(built=True))
def test_every_built_event_is_taken(sparkprof, event):
    assert accepted(sparkprof("-e", event, NOBODY))


def sample(option):
    """A value the option takes."""
    by_kind = {"EVENT": "cpu", "INTERVAL": "5ms", "BESIDE_TIME": "5ms", "BESIDE_SIZE": "1m", "IDS": "7", "DOTTED": "5",
               "TEXT": "x", "PATTERN": "x", "PERCENT": "0.5", "FRACTION": "0.5", "LOOP": "1h", "FILE": "/tmp/x.txt", "FORMAT": "text", "WHEN": "10s", "STATES": "lock", "METHOD": "a.B.c:1ms"}
    if option.kind == "ENUM":
        return option.value.split("|")[0]
    if option.value == "URL":
        return "http://x:1"
    if option.value == "CPU":
        return "1"
    if option.name == "features":
        return "vtable,mixed"
    return by_kind.get(option.kind) or option.default or option.least


VALUED = [o for o in table.options().values() if o.kind not in ("FLAG", "HELP", "VERSION")]
ELSEWHERE = {"hosts": "ssh", "user": "ssh", "ssh-option": "ssh", "rm": "ssh", "master": "ssh", "parallel": "ssh", "executors": "ssh", "slowest": "ssh", "fraction": "kubectl", "driver": "kubectl",
             "namespace": "kubectl", "context": "kubectl", "container": "kubectl"}  # only beside --via
BESIDE = {"slowest": ["--driver-ui=http://x:1"], "end": ["--begin=y"], "loop": ["-f", "/tmp/x.jfr"]}


@pytest.mark.parametrize("option", [o for o in VALUED if o.name not in ELSEWHERE], ids=lambda o: o.name)
def test_values_are_taken_in_every_spelling(sparkprof, option):
    action, value = sorted(option.actions)[0], sample(option)
    forms = [[f"--{option.name}={value}"], [f"--{option.name}", value]]
    if option.letter:
        forms += [[f"-{option.letter}{value}"], [f"-{option.letter}", value], [f"-q{option.letter}", value]]
    for form in forms:
        r = sparkprof(action, *form, *BESIDE.get(option.name, []), *goals(action))
        assert accepted(r), (form, r)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_values_about_other_hosts_are_taken_beside_via(sparkprof, name):
    value = "7" if name == "executors" else sample(table.options()[name])
    for form in ([f"--{name}={value}"], [f"--{name}", value], *([["-n", value]] if name == "namespace" else [])):
        r = sparkprof("collect", "--via", ELSEWHERE[name], "--hosts", "y", *form, *BESIDE.get(name, []), "--dry-run", "executors")
        assert r.returncode == 0 and r.stderr == "", (form, r)
        assert value != "x" or re.search(r"^(ssh -T|kubectl) .*\bx\b", r.stdout), (form, r)


@pytest.mark.parametrize("option", [o for o in table.options().values() if o.kind not in ("HELP", "VERSION")],
                         ids=lambda o: o.name)
def test_actions_that_do_not_take_an_option_refuse_it(sparkprof, option):
    value = [] if option.kind == "FLAG" else [sample(option)]
    for action in sorted(set(table.actions()) - option.actions):
        refused(sparkprof(action, f"--{option.name}", *value, *goals(action)), f"--{option.name}", action)


@pytest.mark.parametrize("option", [o for o in VALUED if o.least], ids=lambda o: o.name)
def test_bounds(sparkprof, option):
    action = sorted(option.actions)[0]
    beside = ["--via", ELSEWHERE[option.name], "--hosts", "y", "--dry-run", *BESIDE.get(option.name, [])] if option.name in ELSEWHERE else []
    for value in (option.least, option.most):
        r = sparkprof(action, f"--{option.name}={value}", *beside, *(["executors"] if beside else goals(action)))
        assert r.returncode == 0 if beside else accepted(r), r
    refused(sparkprof(action, f"--{option.name}=99999d" if option.kind in ("DURATION", "INTERVAL", "BESIDE_TIME")
                      else f"--{option.name}=99999999999", *beside, *goals(action)), "out of range", option.least, option.most)


@pytest.mark.parametrize("name", table.always())
def test_what_is_always_done_is_taken_with_one_line(sparkprof, name):
    letter, takes, words, why = table.always()[name]
    for spelling in [f"--{name}"] + ([f"-{letter}"] if letter else []):
        r = sparkprof(spelling, *([words[0] if words else "x"] if takes else []), spelling, *([words[-1] if words else "x"] if takes else []), NOBODY)
        assert accepted(r) and r.stderr.startswith(f"sparkprof: --{name}: not needed: {why}\n"), r
        assert r.stderr.count(why) == 1 and f"--{name} is taken, but not needed" in sparkprof(f"--help={name}").stdout


@pytest.mark.parametrize("name", table.foreign())
def test_foreign_options_name_what_to_do(sparkprof, name):
    letter, takes, instead = table.foreign()[name]
    for spelling in [f"--{name}"] + ([f"-{letter}"] if letter else []):
        refused(sparkprof(spelling, *(["x"] if takes else []), NOBODY), spelling, instead)


# Every option of async-profiler 4.5's command, so that each works or is refused with a word of help.
PEER = [w.split()[1] for w in (parts.ROOT / "tests/data/async-profiler-words.txt").read_text().splitlines() if w.startswith("option ")]


@pytest.mark.parametrize("spelling", PEER)
def test_every_option_of_async_profiler_is_known(sparkprof, spelling):
    assert "no such option" not in sparkprof(spelling).stderr


def test_help_comes_from_the_table(sparkprof):
    short, whole = sparkprof("-h"), sparkprof("--help")
    for r in (short, whole):
        assert r.returncode == 0 and r.stderr == ""
        assert all(len(line) <= 96 and line == line.rstrip() for line in r.stdout.splitlines())
        assert all(f"  {a} " in r.stdout for a in table.actions())
    assert len(short.stdout) < len(whole.stdout)
    for o in table.options().values():
        assert f"--{o.name}" in whole.stdout, o
        assert o.default in whole.stdout
        assert f"={o.value}" in re.sub(r"\|\n +", "|", whole.stdout) or not o.value, o
    for name in [*table.always(), *table.foreign()]:
        assert not re.search(rf"--{name}(?![\w-])", whole.stdout), name


@pytest.mark.parametrize("name", [*table.options(), *table.always(), *table.foreign()])
def test_help_of_one_option(sparkprof, name):
    option = table.options().get(name)
    topics = [name, f"--{name}"] + ([option.letter, f"-{option.letter}"] if option and option.letter else [])
    for topic in topics:
        r = sparkprof(f"--help={topic}")
        assert r.returncode == 0 and f"--{name}" in r.stdout and r.stderr == ""
    if option:
        assert option.help in r.stdout and option.default in r.stdout and option.value in r.stdout


@pytest.mark.parametrize("action", list(table.actions()))
def test_help_of_one_action(sparkprof, action):
    """Its usage, every option that it takes and none that it does not, and two examples."""
    r = sparkprof(action, "-h")
    assert r.returncode == 0 and r.stderr == "" and r.stdout == sparkprof(action, "--help").stdout
    lines = r.stdout.splitlines()
    assert lines[0].startswith("Usage: sparkprof ") and action in lines[0]
    assert all(len(line) <= 96 and line == line.rstrip() for line in lines), r.stdout
    taken = {name for name, o in table.options().items() if action in o.actions}
    assert set(re.findall(r"^  (?:-\w, |    )--([\w-]+)", r.stdout, re.M)) == taken
    assert len([line for line in lines[lines.index("Examples") + 1:] if line.startswith("  sparkprof ")]) == 2


def test_version_as_option(sparkprof):
    assert sparkprof("-v").stdout == sparkprof("--version").stdout == sparkprof("version").stdout


def test_help_into_a_full_disk_fails():
    with open("/dev/full", "w") as full:
        for arg in ("--help", "version"):
            r = subprocess.run([parts.ROOT / "build/sparkprof", arg], stdout=full, stderr=subprocess.PIPE, text=True)
            assert r.returncode == 1 and r.stderr.startswith("sparkprof: "), arg


def test_random_words_end_in_a_documented_exit_code(sparkprof):
    rnd = random.Random(3)
    words = [*table.actions(), *(f"--{n}" for n in table.options()), *(f"-{c}" for c in "deifotsaljIXqgnLF"),
             "", "-", "--", "=", "30", "x.jfr", "%", "cpu", "a,b", "é", "\x7f", "9" * 4000, "-" * 50, "--=x", "-d="]
    for _ in range(150):
        args = [rnd.choice(words) for _ in range(rnd.randrange(1, 9))]
        if "ps" in args or "list" in args:
            continue
        r = sparkprof(*args)
        assert r.returncode in (0, 1, 2, 3), (args, r)


def test_man_pages_have_no_marks_left():
    """An underscore that scdoc takes for a letter stands in the page as it is."""
    for page in (parts.ROOT / "man").glob("*.scd"):
        roff = subprocess.run(["scdoc"], stdin=page.open(), check=True, capture_output=True, text=True).stdout
        assert not re.findall(r"(?<!\w)_/?[A-Z]+_(?!\w)", roff), page
