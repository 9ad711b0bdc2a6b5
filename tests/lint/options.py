"""Man page, completions and README say what launcher/cli/options.def says; a difference is named with its place."""
import re
import sys

from lint import ROOT, end

sys.path.insert(0, str(ROOT / "tests"))
from kit import table  # noqa: E402

OPTIONS, ACTIONS = table.options(), table.actions()
REFUSED = {f"--{n}" for n in table.foreign()}
ALWAYS = table.always()
findings = []


def say(path, line, text):
    findings.append(f"{path}:{line}: {text} (launcher/cli/options.def)")


def compare(path, line, what, got, want):
    if got != want:
        say(path, line, f"{what}: says {got or 'nothing'}, the table {want or 'nothing'}")


def lines_of(path):
    return list(enumerate((ROOT / path).read_text().splitlines(), 1))


def man_heads(path):
    """Option paragraphs of the man page: name → (line, letter, value, text)."""
    found, current = {}, None
    for number, line in lines_of(path):
        m = re.fullmatch(r"(?:\*-(\w)\*, )?\*--([a-z-]+)\*(?:\[?=_([^_]+)_\]?)?", line)
        if m:
            current = found[m[2]] = [number, m[1] or "", m[3] or "", ""]
        elif line.startswith("\t") and current:
            current[3] += line.strip() + " "
        elif line and not line.startswith("\t"):
            current = None
    return found


def check_man(path="man/sparkprof.1.scd"):
    found = man_heads(path)
    for name, o in OPTIONS.items():
        if name not in found:
            say(path, 1, f"--{name} is missing")
            continue
        line, letter, value, text = found[name]
        compare(path, line, f"letter of --{name}", letter, o.letter)
        compare(path, line, f"value of --{name}", value, o.value)
        default = re.search(r"Default: (.+?)(?:;[^.]*)?\. ", text)
        compare(path, line, f"default of --{name}", default[1] if default else "", o.default)
        bounds = re.search(r"From (\S+) to (\S+?)\. ", text)
        compare(path, line, f"bounds of --{name}", bounds.groups() if bounds else None,
                (o.least, o.most) if o.least else None)
    for name in sorted(found.keys() - OPTIONS.keys()):
        say(path, found[name][0], f"--{name} is not an option")
    check_words(path)
    said = {m[1] for _, line in lines_of(path) if (m := re.fullmatch(r"\*([a-z]+)\*", line))}
    for action in sorted(ACTIONS.keys() - said):
        say(path, 1, f"action {action} is missing")


# Up to " -- ", a backtick or the end the options are another command's.
OTHERS = re.compile(r"\b(kubectl|meson|ninja|podman|spark-submit|java|jcmd|git|perf|pytest|build\.sh)\b.*?(?= -- |`|$)")


def check_words(path):
    """No option or action of ours is mentioned that is not taken: unknown or refused. A table of another tool's words is
    for tests/lint/words.py."""
    other = False
    for number, line in lines_of(path):
        if line.startswith("# "):
            other = line == "# COMING FROM ASYNC-PROFILER"
        if other:
            continue
        line = OTHERS.sub("", line)
        for word in re.findall(r"(?<![\w-])--[a-z][a-z-]+", line):
            if word[2:] not in OPTIONS and word[2:] not in ALWAYS:
                say(path, number, f"{word} is {'refused' if word in REFUSED else 'not an option'}")
        for word in re.findall(r"\bsparkprof ([a-z]+)\b", line):
            if word in table.actions(kept=True):
                say(path, number, f"action {word} is refused")


def check_bash(path="completions/sparkprof.bash"):
    text = (ROOT / path).read_text()
    block = re.search(r"_sparkprof_options\(\).*?esac", text, re.S)
    offered = {}
    for m in re.finditer(r"^    ([a-z |]+)\)\n\s+echo \"(.*?)\" ;;", block[0], re.S | re.M):
        for action in m[1].split(" | "):
            offered[action] = (text[:block.start() + m.start()].count("\n") + 1, set(m[2].split()))
    for action in ACTIONS:
        line, got = offered.pop(action, (1, set()))
        want = {s for o in OPTIONS.values() if action in o.actions for s in o.spellings()}
        for word in sorted(got ^ want):
            say(path, line, f"{action}: {word} is {'too much' if word in got else 'missing'}")
    for action, (line, _) in offered.items():
        say(path, line, f"{action} is not an action")
    events = re.search(r'_sparkprof_events="(.*?)"', text, re.S)
    check_events(path, text, events)
    for name, o in OPTIONS.items():
        if o.value and o.kind != "HELP":
            for word in o.spellings():
                if not re.search(rf"(^|\| |    ){word}( \||\))", text.split("_sparkprof_value()")[1], re.M):
                    say(path, 1, f"{word} takes a value, but not here")
        if o.kind in ("ENUM", "FORMAT") and f'-W "{o.value.replace("|", " ")}"' not in text:
            say(path, 1, f"values of --{name} are not {o.value}")


def check_events(path, text, match):
    line = text[:match.start()].count("\n") + 1
    for name in sorted(set(match[1].replace("\\", "").split()) ^ set(table.events())):
        findings.append(f"{path}:{line}: event {name} is in one place only (launcher/cli/events.def)")


def check_rows(path, pattern, read):
    """Completions with a line per option: read(match) → (actions, name, letter, takes a value, values)."""
    seen = {}
    for number, line in lines_of(path):
        m = re.search(pattern, line)
        if not m:
            continue
        actions, name, letter, valued, values = read(m)
        seen[name] = number
        o = OPTIONS.get(name)
        if not o:
            say(path, number, f"--{name} is not an option")
            continue
        compare(path, number, f"actions of --{name}", sorted(actions), sorted(o.actions))
        compare(path, number, f"letter of --{name}", letter, o.letter)
        compare(path, number, f"value of --{name}", valued, o.kind not in ("FLAG", "VERSION", "HELP"))
        if o.kind in ("ENUM", "FORMAT"):
            compare(path, number, f"values of --{name}", values, o.value.replace("|", " "))
    for name in sorted(OPTIONS.keys() - seen.keys()):
        say(path, 1, f"--{name} is missing")


def check_zsh(path="completions/_sparkprof"):
    def read(m):
        spec = m[2]
        name = re.search(r"--([a-z-]+?)(?==|\[|\}|-\[)", spec)[1]
        letter = re.search(r"(?:\{|\))-(\w)", spec)
        values = re.search(r":value:\((.*?)\)", spec)
        actions = set(ACTIONS) if m[1] == "every" else set(m[1].split())
        valued = f"--{name}=" in spec and f"--{name}=-" not in spec
        return actions, name, letter[1] if letter else "", valued, values[1] if values else ""
    check_rows(path, r"_sparkprof_add '([a-z ]+)' (.*)", read)
    text = (ROOT / path).read_text()
    check_events(path, text, re.search(r"local -a events=\((.*?)\)", text, re.S))
    check_actions(path, {m[1]: m[2].replace("'\\''", "'") for m in re.finditer(r"^        '(\w+):(.*)'$", text, re.M)})


def check_fish(path="completions/sparkprof.fish"):
    def read(m):
        rest = m[1]
        letter = re.search(r" -s (\w)", rest)
        values = re.search(r" -a '([^'(]*)'", rest)
        condition = re.search(r"-n '__sparkprof_action ([a-z ]+)'", rest)
        return (set(condition[1].split()) if condition else set(ACTIONS), re.search(r" -l ([a-z-]+)", rest)[1],
                letter[1] if letter else "", bool(re.search(r" -[xr]\b", rest)), values[1] if values else "")
    check_rows(path, r"^complete -c sparkprof(.* -l .*)", read)
    text = (ROOT / path).read_text()
    check_events(path, text, re.search(r"set -l events \\\n(.*?)\n\n", text, re.S))
    check_actions(path, dict(re.findall(r'__fish_is_first_arg -a (\w+) -d "(.*)"', text)))


def check_actions(path, got):
    for name in sorted(got.keys() | ACTIONS.keys()):
        compare(path, 1, f"action {name}", got.get(name), ACTIONS.get(name))


def check_perf(path="src/probe/perf_table.c"):
    """Every perf event that -e takes can be opened, and the other way round."""
    rows = re.findall(r'^EVENT\("([^"]+)",\s*(\w+),', (ROOT / "launcher/cli/events.def").read_text(), re.M)
    want = {name for name, group in rows if group not in ("ENGINE", "HOOK")}
    got = set(re.findall(r'^\s*\w+\("([^"]+)", ', (ROOT / path).read_text(), re.M))
    for name in sorted(want ^ got):
        findings.append(f"{path}:1: event {name} is in one place only (launcher/cli/events.def)")


check_perf()
check_man()
check_words("README.md")
check_bash()
check_zsh()
check_fish()
end(findings)
