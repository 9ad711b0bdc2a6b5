"""Python workers of real executors: whose task they work on, below which JVM frames they stand, and that they do not notice."""
import collections
import json
import re
import signal
import subprocess
import time

import pytest

from kit import recording, spark
from kit.parts import SPARKPROF


class Run:
    def __init__(self, tmp, version, reuse, sparkprof):
        self.reuse = reuse
        self.jfr, self.collapsed = tmp / "x.jfr", tmp / "x.collapsed"
        conf = {"spark.python.worker.reuse": str(reuse).lower()}
        with spark.App(job="workers.py", version=version, conf=conf, timeout=300) as app:
            pid = app.executors()[0]
            run = subprocess.Popen([str(SPARKPROF), "--attach-timeout=60s", "-e", "wall", "-i", "10ms", "-d", "200", "--by", "task",
                                    "-f", str(self.jfr), "-f", str(self.collapsed), str(pid)], stderr=subprocess.PIPE, text=True)
            while not self.jfr.with_name("x.jfr.python.jfr").exists():
                assert run.poll() is None, run.stderr.read()
                time.sleep(0.1)
            begun = app.text.count(b"round")
            while app.text.count(b"round") < begun + 2 and run.poll() is None:
                app.text += app.proc.stdout.read() or b""
                time.sleep(0.1)
            run.send_signal(signal.SIGINT)
            assert run.wait(60) == 0, run.stderr.read()
            run.stderr.close()
            self.stack = sparkprof("stack", pid)
            self.ps = next(j for j in json.loads(sparkprof("ps", "--json").stdout) if j["pid"] == pid)
            self.table = sparkprof("ps").stdout
            assert app.proc.poll() is None
        self.stacks = {}
        for line in self.collapsed.read_text().splitlines():
            frames, _, count = line.rpartition(" ")
            self.stacks[tuple(frames.split(";"))] = int(count)


@pytest.fixture(scope="module", params=[("3.5.7", True), ("4.3.0", False)], ids=["3.5.7", "4.3.0-no-reuse"])
def run(request, tmp_path_factory):
    def sparkprof(*args):
        return subprocess.run([str(SPARKPROF), *map(str, args)], capture_output=True, text=True, timeout=120)
    return Run(tmp_path_factory.mktemp("python"), *request.param, sparkprof)


def named_after(stack):
    """The TID in the name of a task's own function."""
    for frame in stack:
        if m := re.match(r"task_(\d+) ", frame):
            return int(m[1])
    return None


def test_samples_stand_in_the_task_that_the_worker_works_for(run):
    right, wrong = 0, collections.Counter()
    for stack, n in run.stacks.items():
        tid = named_after(stack)
        if tid is None:
            continue
        if re.fullmatch(rf"\[task \d+\.\d+ TID {tid}\]", stack[0]):
            right += n
        else:
            wrong[stack[0], tid] += n
    assert right > 100 and sum(wrong.values()) <= right / 100, wrong


def test_workers_stand_on_the_frame_that_waits_for_them(run):
    on_jvm = bare = 0
    for stack, n in run.stacks.items():
        if named_after(stack) is None:
            continue
        at = stack.index("[python worker]")
        below = stack[at - 1]
        if re.match(r"org/apache/spark/(api|sql/execution)/python/", below) and any("TaskRunner.run" in f for f in stack[:at]):
            on_jvm += n
        else:
            bare += n
    assert on_jvm > 9 * bare, (on_jvm, bare)


def test_the_recording_has_workers_threads_tasks_and_memory(run):
    r = recording.Recording(run.jfr)
    names = {s.tid: s.thread for s in r.samples}
    workers = {s.tid for s in r.samples if any("task_" in f for f in s.stack)}
    assert workers and all(names[tid] == f"python-worker-{tid}" for tid in workers), names
    memory = r.others["sparkprof.PythonProcess"]
    sizes = [float(m) for text in memory for m in re.findall(r"\brss = ([\d.]+) MB", text)]
    assert sizes and all(5 < s < 500 for s in sizes)
    assert not run.jfr.with_name("x.jfr.python.jfr").exists()


def test_stack_and_ps_show_the_workers(run):
    assert re.search(r"^python-daemon-\d+, Python 3\.", run.stack.stdout, re.M), run.stack.stderr
    # without reuse there may be none at that moment
    assert run.reuse is False or (run.ps["python_workers"] and re.search(r"^ +\d Python workers?: \d+", run.table, re.M))
