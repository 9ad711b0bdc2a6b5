"""Dependencies point one way (launcher → src, agent → src, agent/sig → src/base), read from #include lines.
With a compiler as argument it also compiles every header alone."""
import re
import subprocess
import sys

from lint import PRODUCT, ROOT, end, files, rel

# Headers of plain data that a signal handler fills.
SIG_MAY_SEE = {"src/unwind/snapshot.h"}

# from (longest prefix wins) → where its includes may lie
RULES = {
    "src/base/": ("src/base/",),
    "src/": ("src/",),
    "agent/": ("agent/", "src/"),
    "agent/sig/": ("agent/sig/", "src/base/"),
    "launcher/": ("launcher/", "src/"),
}
# Only the launcher is linked with these.
LAUNCHER_ONLY = re.compile(r"<(libelf|gelf|libdw|libunwind\S*)\.h>|\"elf/")
findings = []


def place_of(path, name):
    for base in (path.parent, ROOT / "src", ROOT / rel(path).split("/")[0]):
        if (base / name).exists():
            return rel((base / name).resolve())
    return None


def check(path):
    me = rel(path)
    allowed = RULES[max((p for p in RULES if me.startswith(p)), key=len)]
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
            findings.append(f"{me}:{number}: {m[2]} is neither beside it nor under src/")
        elif not to.startswith(allowed) and not (me.startswith("agent/sig/") and to in SIG_MAY_SEE):
            findings.append(f"{me}:{number}: {to} may not be included from here; only {', '.join(allowed)}")


def compile_alone(compiler, flags):
    """One run of the compiler for all headers, each twice in a file of its own: whole, and guarded."""
    for path in files(*PRODUCT, ext=(".h",)):
        source = f'#include "{path}"\n#include "{path}"\n'
        r = subprocess.run([*compiler, *flags, "-fsyntax-only", "-x", "c", "-"], input=source, text=True,
                           capture_output=True)
        if r.returncode:
            findings.append(f"{rel(path)}:1: does not compile alone:\n{r.stderr}")


for f in files(*PRODUCT):
    check(f)
if len(sys.argv) > 1:
    split = sys.argv.index("--")
    compile_alone(sys.argv[1:split], sys.argv[split + 1:])
end(findings)
