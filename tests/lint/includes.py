"""Dependencies point one way: a file includes its own room, rooms above it in tests/lint/rooms.txt, and src; agent/sig only
src/base. No header includes itself by way of others, and no name of a file or struct means two things. With a compiler as argument it also compiles every header alone."""
import re
import subprocess
import sys

from lint import PRODUCT, ROOT, end, files, rel

# Headers of plain data that a signal handler fills.
SIG_MAY_SEE = {"src/unwind/snapshot.h"}
# Only the launcher is linked with these.
LAUNCHER_ONLY = re.compile(r"<(libelf|gelf|libdw|libunwind\S*)\.h>|\"elf/")
# Edges that point back, with the reason: "from to" → why.
EXCEPTIONS = {}
ROOMS = [line.split("\t")[0] for line in (ROOT / "tests/lint/rooms.txt").read_text().splitlines() if line[0] != "#"]
findings = []
headers = {}


def place_of(path, name):
    for base in (path.parent, ROOT / "src", ROOT / rel(path).split("/")[0]):
        if (base / name).exists():
            return rel((base / name).resolve())
    return None


def room_of(path):
    """Its room by its number in the table; None: it lies in none."""
    return next((n for n, r in enumerate(ROOMS) if path.rpartition("/")[0] == r), None)


def may_include(me, to):
    if me.startswith("agent/sig/"):
        return to.startswith(("agent/sig/", "src/base/")) or to in SIG_MAY_SEE
    here, there = room_of(me), room_of(to)
    if here is None or there is None:
        return False
    half, other = me.split("/")[0], to.split("/")[0]
    return there <= here if half == other else other == "src"


def check(path):
    me = rel(path)
    if room_of(me) is None:
        findings.append(f"{me}:1: lies in no room of tests/lint/rooms.txt")
    for number, line in enumerate(path.read_text().splitlines(), 1):
        m = re.match(r'\s*#\s*include\s+([<"])([^>"]+)[>"]', line)
        if not m:
            continue
        if me.startswith("agent/") and LAUNCHER_ONLY.search(line):
            findings.append(f"{me}:{number}: the agent must not use {m[2]}: it is the launcher's")
        if m[1] == "<":
            continue
        to = place_of(path, m[2])
        if to is None:
            findings.append(f"{me}:{number}: {m[2]} is neither beside it nor in a room")
            continue
        if not may_include(me, to) and f"{me} {to}" not in EXCEPTIONS:
            findings.append(f"{me}:{number}: {to} may not be included from here; see tests/lint/rooms.txt")
        if me.endswith(".h"):
            headers.setdefault(me, []).append(to)


def check_cycles():
    """Each header's includes, depth first: one that is met again on the way is a cycle."""
    done, way = set(), []

    def visit(h):
        if h in way:
            findings.append(f"{h}:1: includes itself: {' → '.join(way[way.index(h):] + [h])}")
        elif h not in done:
            way.append(h)
            for to in headers.get(h, ()):
                visit(to)
            done.add(way.pop())
    for h in sorted(headers):
        visit(h)


def check_names():
    """One name, one file (with its header), and one struct, enum or union."""
    stems, tags = {}, {}
    for path in files(*PRODUCT):
        me = rel(path)
        other = stems.setdefault(path.stem, me)
        if other.rpartition("/")[0] != me.rpartition("/")[0]:
            findings.append(f"{me}:1: {other} has the same name")
        for m in re.finditer(r"^(?:struct|enum|union) (sp_\w+) \{$", path.read_text(), re.M):
            if m[1] in tags:
                findings.append(f"{me}:1: {m[1]} is also in {tags[m[1]]}")
            tags[m[1]] = me


def compile_alone(compiler, flags):
    """One run of the compiler for each header, twice in a file of its own: whole, and guarded."""
    for path in files(*PRODUCT, ext=(".h",)):
        source = f'#include "{path}"\n#include "{path}"\n'
        r = subprocess.run([*compiler, *flags, "-fsyntax-only", "-x", "c", "-"], input=source, text=True,
                           capture_output=True)
        if r.returncode:
            findings.append(f"{rel(path)}:1: does not compile alone:\n{r.stderr}")


for f in files(*PRODUCT):
    check(f)
check_cycles()
check_names()
if len(sys.argv) > 1:
    split = sys.argv.index("--")
    compile_alone(sys.argv[1:split], sys.argv[split + 1:])
end(findings)
