"""Python processes as the kernel has them: without a core, as another program, with more threads than files may be open."""
import contextlib
import os
import pathlib
import resource
import signal
import subprocess

import pytest

from kit import chance, parts, python, recording

PYTHONS = python.installed()


def collect(tmp_path, pid, *args, seconds=3, **how):
    """{stack, root first: samples} and what was said."""
    out = tmp_path / "o.collapsed"
    run = subprocess.run([str(parts.SPARKPROF), "-d", str(seconds), *args, "-f", str(out), "-f", str(tmp_path / "o.jfr"), str(pid)],
                         capture_output=True, text=True, timeout=300, **how)
    assert run.returncode == 0, run.stderr
    lines = [line.rpartition(" ") for line in out.read_text().splitlines()]
    return {tuple(stack.split(";")): int(n) for stack, _, n in lines}, run.stderr


def schedstat(pid):
    """How long it ran and waited for a core, ns, and how often it got one."""
    return [int(x) for x in pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()]


@pytest.mark.parametrize("interval", [10, pytest.param(50, marks=pytest.mark.long)])
def test_who_has_no_core_does_not_run(sparkprof, tmp_path, interval):
    """Three that want one core: how long it ran and how long it waited is told as the kernel has it."""
    with contextlib.ExitStack() as stack:
        core = ["taskset", "-c", str(max(os.sched_getaffinity(0)))]
        p, *_ = [stack.enter_context(python.Process([*core, *PYTHONS["debian"]], python.TARGETS / "spin.py")) for _ in range(3)]
        before = schedstat(p.pid)
        collect(tmp_path, p.pid, "-e", "wall", "-i", f"{interval}ms", seconds=4)
        ran, waited, turns = (b - a for a, b in zip(before, schedstat(p.pid)))
    shown = []
    for state in ("running", "runnable"):
        text = sparkprof("report", "--state", state, "-o", "collapsed", tmp_path / "o.jfr").stdout
        shown.append(sum(int(line.rpartition(" ")[2]) for line in text.splitlines()))
    # A look may be wrong at both ends; waits are known once they are over, and begin and end outside of the recording.
    unsure = 0.03 + (2e6 * interval + 4 * waited / turns) / (ran + waited)
    assert waited > ran and chance.within(shown[0], sum(shown), ran / (ran + waited), slack=unsure), (shown, ran, waited, turns)


def test_a_child_is_sampled_for_as_long_as_its_jvm(target, tmp_path):
    """On a busy machine a JVM may take a second to end its recording: what it waits for until then is what its child does."""
    t = target("Parent", "setpriv", "--pdeathsig", "KILL", *PYTHONS["debian"], python.TARGETS / "spin.py")  # ends with the JVM
    collect(tmp_path, t.pid, "-e", "wall", "-i", "10ms", "--python", "on", seconds=1)
    ends = {True: 0, False: 0}
    for s in recording.Recording(tmp_path / "o.jfr").wall():
        child = s.thread.startswith("python")
        ends[child] = max(ends[child], s.time + s.span)
    assert ends[True] >= ends[False] > 0, ends[True] - ends[False]


def test_one_that_executes_another_is_followed(tmp_path):
    with python.Process(PYTHONS["debian"], python.TARGETS / "another.py") as p:
        found, said = collect(tmp_path, p.pid, "-e", "wall", "-i", "10ms", seconds=4)
    parts_of = {name: sum(n for stack, n in found.items() if f"{name} (another.py)" in stack) for name in ("even", "odd")}
    assert min(parts_of.values()) > 20 and "has ended" not in said, (found, said)


@pytest.mark.parametrize("name", [n for n in PYTHONS if n in ("3.8", "3.11", "3.12", "3.13")])
def test_a_thread_in_another_interpreter_counts_once(tmp_path, name):
    with python.Process(PYTHONS[name], python.TARGETS / "interpreters.py") as p:
        found, _ = collect(tmp_path, p.pid, "-e", "wall", "-i", "10ms", "-t", seconds=2)
    assert len({stack[0] for stack in found}) == 2 and any("inside (<string>)" in stack for stack in found), found
    assert not any("run (interpreters.py)" in stack for stack in found), found


def test_more_threads_than_files_may_be_open(tmp_path):
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
    with python.Process(PYTHONS["debian"], python.TARGETS / "spin.py", "150") as p:
        found, said = collect(tmp_path, p.pid, "-e", "wall", "-i", "20ms", "-t", seconds=2, preexec_fn=few)
    assert len({stack[0] for stack in found}) == 151 and "has ended" not in said, (len(found), said)


def test_a_thousand_children_are_all_seen(tmp_path):
    """More than fit into one piece of the kernel's list."""
    with subprocess.Popen([*PYTHONS["debian"], "-c", "import os, time\nfor _ in range(1000):\n    if os.fork() == 0: break\n"
                           "else: print('ready', flush=True)\ntime.sleep(1000)"], stdout=subprocess.PIPE, start_new_session=True) as p:
        try:
            assert p.stdout.readline() == b"ready\n"
            found, _ = collect(tmp_path, p.pid, "-e", "wall", "-i", "500ms", "-t", seconds=6)
        finally:
            os.killpg(p.pid, signal.SIGKILL)
    assert len({stack[0] for stack in found}) == 1001, len(found)
