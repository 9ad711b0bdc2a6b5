"""Code that a signal handler executes (agent/sig) calls only what tests/lint/sigsafe.txt lists with a reason, read from
the undefined symbols of its objects, and keeps nothing in thread-local storage. Argument: the build directory."""
import json
import pathlib
import re
import subprocess
import sys

from lint import ROOT, end, rel

build = pathlib.Path(sys.argv[1])
LIST = ROOT / "tests/lint/sigsafe.txt"
LINKER = {"_GLOBAL_OFFSET_TABLE_"}
findings = []


def allowed():
    for number, line in enumerate(LIST.read_text().splitlines(), 1):
        if not line.startswith("#"):
            symbol, _, reason = line.partition("\t")
            if not reason.strip():
                findings.append(f"{rel(LIST)}:{number}: {symbol} has no reason")
            yield symbol


def objects():
    """Objects of agent/sig by source, from how the build compiles them."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        base = pathlib.Path(entry["directory"])
        source = (base / entry["file"]).resolve()
        in_agent = entry["output"].startswith("agent/")  # tests compile them with sanitizers
        if in_agent and source.is_relative_to(ROOT / "agent/sig") and (base / entry["output"]).exists():
            yield source, base / entry["output"]


def symbols(path):
    """(type, name) of each symbol, as nm has them."""
    out = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^[\da-f ]{16} (\w) (\S+)$", out, re.M)


found = {source: (path, symbols(path)) for source, path in objects()}
ours = {name for _, table in found.values() for kind, name in table if kind not in "Uw"}
fine = set(allowed()) | ours | LINKER
for source, (path, table) in found.items():
    for kind, name in table:
        if kind in "Uw" and name not in fine:
            findings.append(f"{rel(source)}:1: calls {name}, which {rel(LIST)} does not allow in a handler")
    if re.search(r"\.t(bss|data)\b", subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout):
        findings.append(f"{rel(source)}:1: has thread-local storage")
if not found:
    findings.append("agent/sig: none of its objects is in that build directory")
print(f"{len(found)} object(s) of agent/sig")
end(findings)
