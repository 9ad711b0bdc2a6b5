"""launcher/cli/options.def and events.def as Python data, for the tests that compare other things with them.
Standard library only: lint tests use it without a venv."""
import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEF = ROOT / "launcher/cli/options.def"
MASKS = {
    "PRINTING": {"collect", "stop", "dump", "report", "diff"},
    "SHOWING": {"collect", "stop", "dump", "report"},
    "RECORDING": {"collect", "start", "resume"},
    "WRITING": {"collect", "start", "stop", "dump", "resume", "report", "diff"},
    "REMOTE": {"collect", "start", "stop", "dump", "status", "list", "ps", "stack"},
    "ATTACHING": {"collect", "start", "stop", "dump", "resume", "status", "metrics", "list", "stack"},
}


@dataclasses.dataclass
class Option:
    name: str
    letter: str
    kind: str
    least: str
    most: str
    default: str
    actions: set
    value: str
    help: str
    line: int

    def spellings(self):
        return ([f"-{self.letter}"] if self.letter else []) + [f"--{self.name}"]


def _rows():
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), DEF.read_text(), flags=re.S)
    for number, line in enumerate(text.splitlines(), 1):
        m = re.fullmatch(r"(\w+)\((.*)\)", line.strip())
        if m:
            cells = re.findall(r'"(?:[^"\\]|\\.)*"|\'.\'|[^,"\']+', m[2])
            yield number, m[1], [c.strip().strip("\"'") for c in cells if c.strip()]
        elif line.strip():
            raise ValueError(f"{DEF.name}:{number}: not one line: {line}")


def actions(kept=False):
    """Actions by name with their help; with kept=True those that are refused, with the reason."""
    return {c[1]: c[-1] for _, macro, c in _rows() if macro == ("NOACTION" if kept else "ACTION")}


def options(macro="OPTION"):
    """Rows of OPTION by name."""
    every = set(actions())
    out = {}
    for number, m, c in _rows():
        if m != macro:
            continue
        name, letter, kind, _field, least, most, default, taken, value, text = c
        words = set(taken.split(" | ")) - {"SHAPES"}
        by = set().union(*(every if w == "EVERY" else MASKS.get(w, {w.lower()}) for w in words))
        out[name] = Option(name, letter.strip("0"), kind, least, most, default, by, value, text, number)
    return out


def foreign():
    """async-profiler's options that are refused: name → (letter, takes a value, what to do instead)."""
    return {c[0]: (c[1].strip("0"), c[2] == "VALUE", c[3]) for _, m, c in _rows() if m == "FOREIGN"}


def always():
    """async-profiler's options that are taken and not needed: name → (letter, takes a value, the values, why)."""
    return {c[0]: (c[1].strip("0"), c[2] == "VALUE", c[3].split() if len(c) > 4 else [], c[-1])
            for _, m, c in _rows() if m == "ALWAYS"}


def events(built=True):
    rows = re.findall(r'^EVENT\("([^"]+)",\s*\w+,\s*(\w+),', (ROOT / "launcher/cli/events.def").read_text(), re.M)
    return [name for name, state in rows if (state == "true") == built]
