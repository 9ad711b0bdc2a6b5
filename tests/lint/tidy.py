"""clang-tidy with the short list of .clang-tidy over the build's compile_commands.json (argument: its directory).
A source that passed is not looked at again until it, a header or the list changes; the stamps lie in the build."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

from lint import PRODUCT, ROOT, end, files

GCC_ONLY = re.compile(r" -f(no-)?tree-\S+")
build = pathlib.Path(sys.argv[1])
stamps = build / "tidy-stamps"
stamps.mkdir(exist_ok=True)


def digest(*paths):
    h = hashlib.sha256()
    for p in paths:
        h.update(p.read_bytes())
    return h.hexdigest()


shared = digest(ROOT / ".clang-tidy", *files(*PRODUCT, ext=(".h", ".def")))


def sources():
    """Each source once, with one of the ways it is compiled, which is written down for clang-tidy."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        if path.suffix == ".c" and path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in PRODUCT:
            entry["command"] = GCC_ONLY.sub("", entry["command"])
            found[path] = entry
    (stamps / "compile_commands.json").write_text(json.dumps(list(found.values())))
    return sorted(found)


def check(path):
    stamp = stamps / hashlib.sha256(f"{path}{shared}{digest(path)}".encode()).hexdigest()
    if stamp.exists():
        return []
    # gcc's own warning options are no finding
    r = subprocess.run(["clang-tidy", "-quiet", "-extra-arg=-Wno-unknown-warning-option", "-p", stamps, path],
                       capture_output=True, text=True)
    if r.returncode == 0:
        stamp.touch()
        return []
    return [re.sub(r"^\S*?(?=(src|agent|launcher)/)", "", line) for line in (r.stdout + r.stderr).splitlines()
            if ": error: " in line] \
        or [f"{path.relative_to(ROOT)}:1: clang-tidy failed: {r.stderr[-500:]}"]


with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
    end(sorted({finding for found in pool.map(check, sources()) for finding in found}))
