"""What ./build.sh demo shows: a real Spark executor (or, where PyPI is out of reach, a small Java workload that says so), found,
entered and left alone again, and the page of a wall profile of it, with its path as the last line. What it writes lies in build/demo
(or in $SPARKPROF_DEMO_DIR)."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from kit import jvm, parts, spark  # noqa: E402
from kit.parts import SPARKPROF  # noqa: E402

OUT = pathlib.Path(os.environ.get("SPARKPROF_DEMO_DIR", parts.ROOT / "build/demo"))
BOLD, DIM, PLAIN = ("\033[1m", "\033[2m", "\033[0m") if sys.stdout.isatty() else ("", "", "")


def say(text):
    print(f"\n{BOLD}{text}{PLAIN}", flush=True)


def note(text):
    print(f"{DIM}  {text}{PLAIN}", flush=True)


def run(*args, shown=30):
    """Shows one command of the launcher and the head of what it prints."""
    words = [str(a.relative_to(parts.ROOT) if isinstance(a, pathlib.Path) and a.is_relative_to(parts.ROOT) else a) for a in args]
    say("$ build/sparkprof " + " ".join(words))
    r = subprocess.run([SPARKPROF, *words], cwd=parts.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = r.stdout.splitlines()
    for line in lines[:shown]:
        print("  " + line)
    if len(lines) > shown:
        note(f"… and {len(lines) - shown} lines more")
    if r.returncode != 0:
        sys.exit(f"demo: that ended with exit code {r.returncode}")


@contextlib.contextmanager
def workload():
    """Starts what there is to profile; gives its pid."""
    started = time.monotonic()
    try:
        parts.pyspark()
        note("starting Spark 4.3 from PyPI: local-cluster, one executor with two cores, a SQL job that does not end")
        with spark.App(name="sparkprof demo") as app:
            note(f"it runs after {time.monotonic() - started:.0f} s; its application id is {app.id}")
            yield app.executors()[0]
    except pytest.skip.Exception as e:
        note(f"no Spark here ({str(e).splitlines()[0]})")
        note("so this shows the bundled Java workload instead: tests/jvm/targets/DemoWork.java")
        with jvm.Target("DemoWork") as t:
            yield t.pid


def names(pid, what):
    """Names of a process's threads or targets of its descriptors; one that ends meanwhile has none."""
    for entry in pathlib.Path(f"/proc/{pid}/{what}").iterdir():
        with contextlib.suppress(OSError):
            yield (entry / "comm").read_text() if what == "task" else os.readlink(entry)


def files_of_ours(pid):
    dirs = ("/tmp", "/dev/shm", "/var/tmp", os.readlink(f"/proc/{pid}/cwd"))
    return {pathlib.Path(d, f) for d in dirs for f in os.listdir(d) if "sparkprof" in f}


def visit(pid):
    """What it could leave behind, by name: Spark's own threads and descriptors come and go meanwhile."""
    before = files_of_ours(pid)
    run("status", pid)
    run("status", pid)
    threads = sum(n.startswith("sparkprof") for n in names(pid, "task"))
    descriptors = sum("perf_event" in n or "sparkprof" in n for n in names(pid, "fd"))
    note(f"in and out twice. left behind by us: {threads} threads, {descriptors} descriptors, {len(files_of_ours(pid) - before)} files")


def profile(pid):
    """Records ten seconds of wall time (or $SPARKPROF_DEMO_SECONDS), as README's first example does; returns the page."""
    files = [OUT / "wall.html", OUT / "wall.txt", OUT / "wall.jfr"]
    run("-e", "wall", "-d", os.environ.get("SPARKPROF_DEMO_SECONDS", "10"), *(x for f in files for x in ("-f", f)), pid)
    for line in files[1].read_text().splitlines()[:40]:
        print("  " + line)
    return files[0]


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    say("sparkprof demo")
    with workload() as pid:
        run("ps")
        run("list", pid, shown=20)
        visit(pid)
        page = profile(pid)
        if not os.path.exists(f"/proc/{pid}"):
            sys.exit("demo: the target did not survive")
    say("Done. On your own machine: build/sparkprof ps")
    say("The page of this profile, for a browser:")
    print(page.resolve())


if __name__ == "__main__":
    main()
