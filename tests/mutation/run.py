"""Changes one line of the core at a time (table.py), in a copy of the tree, and runs the unit tests of its module: at least nine
of ten must be noticed, and each that is not has its reason in the table.
    tests/mutation/run.py [WORD…]    only lines of files that contain one of the words
    tests/mutation/run.py --check    only whether the table fits the tree
A change that does not end, or does not compile, is an error of the table or noticed: the first is said."""
import os
import pathlib
import shutil
import subprocess
import sys
import time

from table import EXPECTED, MUTANTS

ROOT = pathlib.Path(__file__).resolve().parents[2]
TREE = ROOT / "build/mutation/tree"
BUILD = ROOT / "build/mutation/build"
LEAST = 0.9
TIMEOUT = 120  # the longest of these tests takes seconds

# Where a line is → the unit tests that have to notice; the first that fails is enough.
TESTS = {
    "src/unwind/": ["cfi", "unwind", "hotspot", "native"],
    "src/dict/": ["dict"],
    "src/jfr/": ["jfr", "load", "report"],
    "src/prof/": ["prof", "coarsen", "load", "out", "report", "time_class"],
    "src/out/": ["out", "elide", "report", "page", "drawn", "in"],
    "agent/capture/perf_chain.c": ["perf_chain"],
    "agent/spark/task_table.c": ["tasks", "task_tracker"],
    "agent/threads/threads_index.c": ["threads"],
    "agent/capture/wall_accounting.c": ["wall_accounting"],
    "agent/capture/itimer_weight.c": ["itimer_weight"],
    "agent/hooks/alloc_interval_history.c": ["drawn", "live_objects"],
    "agent/threads/thread_name_history.c": ["tasks"],
}


def tests_of(path):
    return next((names for place, names in TESTS.items() if path.startswith(place)), [])


def copy_changed(source, to):
    """With the time of now, where it differs: what was made of the file before is older then, and only then."""
    source, to = pathlib.Path(source), pathlib.Path(to)
    if not to.exists() or source.read_bytes() != to.read_bytes():
        shutil.copy(source, to)


def copy_tree():
    for name in ("src", "agent", "launcher", "tests", "man", "completions"):
        shutil.copytree(ROOT / name, TREE / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"),
                        copy_function=copy_changed)
    for name in ("meson.build", "meson_options.txt", "LICENSE", "README.md"):
        copy_changed(ROOT / name, TREE / name)
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["meson", "setup", BUILD, TREE, "-Db_sanitize=address,undefined"], check=True, stdout=subprocess.DEVNULL)


def build(names):
    return subprocess.run(["ninja", "-C", BUILD, *(f"tests/unit/unit-{n}" for n in names)], capture_output=True, text=True)


def fails(name):
    """Whether that unit test fails: by itself, by the sanitizers, or by not ending."""
    env = {**os.environ, "SP_DATA": str(TREE / "tests/data"), "UBSAN_OPTIONS": "halt_on_error=1"}
    try:
        done = subprocess.run([BUILD / f"tests/unit/unit-{name}", "--tap", "-j1", "--timeout", "30"], env=env, capture_output=True,
                              timeout=TIMEOUT, cwd=BUILD)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0 or b"\nnot ok" in done.stdout


def places(path, line):
    lines = (ROOT / path).read_text().split("\n") if (ROOT / path).exists() else []
    return [i for i, text in enumerate(lines) if text.strip() == line]


def noticed_by(path, line, instead):
    """The test that notices; None: nobody."""
    file = TREE / path
    before = file.read_text()
    lines, (at,) = before.split("\n"), places(path, line)
    lines[at] = lines[at].replace(line, instead)
    try:
        file.write_text("\n".join(lines))
        for name in tests_of(path):
            done = build([name])
            if done.returncode:
                sys.exit(f"{path}: does not compile: {instead}\n{done.stdout[-2000:]}")
            if fails(name):
                return name
    finally:
        file.write_text(before)
    return None


def stale():
    """What of the table does not fit the tree."""
    for path, line, instead in MUTANTS:
        if len(places(path, line)) != 1:
            yield f"{path}: not there just once: {line}"
        if not tests_of(path):
            yield f"{path}: no tests are named for it"
    for instead in EXPECTED.keys() - {m[2] for m in MUTANTS}:
        yield f"a reason for what is not in the table: {instead}"


def main(words):
    if wrong := list(stale()):
        sys.exit("the table does not fit the tree:\n  " + "\n  ".join(wrong))
    if words == ["--check"]:
        return 0
    chosen = [m for m in MUTANTS if not words or any(w in m[0] for w in words)]
    names = sorted({n for m in chosen for n in tests_of(m[0])})
    copy_tree()
    done = build(names)
    if done.returncode:
        sys.exit(done.stdout[-4000:])
    broken = [n for n in names if fails(n)]
    if broken:
        sys.exit(f"these fail before anything is changed: {', '.join(broken)}")
    survivors, start = [], time.monotonic()
    for n, (path, line, instead) in enumerate(chosen, 1):
        by = noticed_by(path, line, instead)
        if not by:
            survivors.append((path, instead))
        left = (time.monotonic() - start) / n * (len(chosen) - n)
        print(f"{n}/{len(chosen)} {by or 'NOBODY':14} {path}: {instead}  ({left / 60:.0f} min left)", flush=True)
    noticed = len(chosen) - len(survivors)
    print(f"noticed {noticed} of {len(chosen)}, {noticed / len(chosen):.0%}")
    for path, instead in survivors:
        print(f"  {path}: {instead}: {EXPECTED.get(instead, 'NO REASON')}")
    unexplained = [s for s in survivors if s[1] not in EXPECTED]
    return 1 if unexplained or noticed < LEAST * len(chosen) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
