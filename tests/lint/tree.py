"""The shape of the tree: what lies at the top, sources of at most 500 lines, words that must not be there."""
import re
import subprocess

from lint import PRODUCT, ROOT, end, files, rel, without_comments

TOP = {"meson.build", "meson_options.txt", "src", "agent", "launcher", "tests", "man", "completions", "README.md",
       "build.sh", "LICENSE", "ARCHITECTURE.md", "CONTRIBUTING.md", "HOST.md", "SECURITY.md", "api"}
MAY_BE = {"spark", "build"}
LONGEST = 500

# where → (what, why)
BANNED_CODE = {
    "": [(r"\b(gets|strcpy|strcat|sprintf|vsprintf|tmpnam|mktemp)\s*\(", "unbounded; use snprintf or sp_buf")],
    "src/": [(r"\b(printf|puts|fprintf|perror|exit|abort|assert)\s*\(", "the library never prints and never exits"),
             (r"\bstd(err|out)\b", "the library never prints")],
    "agent/": [(r"\b(printf|puts|fprintf|perror|exit|_exit|abort|assert)\s*\(", "the agent never prints and never exits"),
               (r"\b(__thread|_Thread_local)\b", "no thread-local storage in the target")],
}
BANNED_TEXT = [(r"\b(TODO|FIXME|XXX|HACK)\b", "do it or say it as a plain sentence"),
               (r"(?<![\w}%*.])/(work|root)/[\w.]", "a path of one machine")]
findings = []


def check_top():
    names = {p.name for p in ROOT.iterdir() if not p.name.startswith((".", "build-"))}
    for name in sorted(names - TOP - MAY_BE):
        findings.append(f"{name}: does not belong at the top of the tree")
    for name in sorted(TOP - names):
        findings.append(f"{name}: is missing at the top of the tree")


def check_code(path):
    text = path.read_text()
    lines = text.count("\n")
    if lines > LONGEST:
        findings.append(f"{rel(path)}:{LONGEST}: {lines} lines; cut it in two")
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        for where, words in BANNED_CODE.items():
            for pattern, why in words if rel(path).startswith(where) else []:
                m = re.search(pattern, line)
                if m:
                    findings.append(f"{rel(path)}:{number}: {m[0].rstrip('( ')}: {why}")


def check_text(path):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        for pattern, why in BANNED_TEXT:
            m = re.search(pattern, line)
            if m:
                findings.append(f"{rel(path)}:{number}: '{m[0]}': {why}")


check_top()
for f in files(*PRODUCT):
    check_code(f)
for f in files("tests"):
    if f.read_text().count("\n") > LONGEST:
        findings.append(f"{rel(f)}:{LONGEST}: more than {LONGEST} lines; cut it in two")
everything = [p for p in files(*PRODUCT, "man", "completions", "tests", ext=(".c", ".h", ".S", ".def", ".py", ".scd",
                                                                           ".bash", ".fish", ".build", ".java"))]
for f in everything + [ROOT / n for n in ("README.md", "build.sh", "meson.build")]:
    if f.resolve() != ROOT / "tests/lint/tree.py":
        check_text(f)
for script in ("build.sh", "completions/sparkprof.bash"):
    r = subprocess.run(["shellcheck", "-f", "gcc", "-s", "bash", ROOT / script], capture_output=True, text=True)
    findings += [line.replace(str(ROOT) + "/", "") for line in r.stdout.splitlines()]
end(findings)
