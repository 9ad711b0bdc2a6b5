"""Python workers in recordings that no launcher makes: from a JVM's start, and by start and stop. The agent samples them, into its own file."""
import collections
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from kit import chance, recording, spark, yarn
from kit.parts import SPARKPROF

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]  # jvm/test_python_inside.py has the same with any Python
SHARES = (("half", 0.5), ("third", 0.3), ("fifth", 0.2))


def sparkprof(*args, code=0):
    r = subprocess.run([str(SPARKPROF), *map(str, args)], capture_output=True, text=True, timeout=300)
    assert r.returncode == code, r.stderr
    return r.stdout + r.stderr


def stacks(*args):
    """{stack: samples} of a report, collapsed."""
    found = collections.Counter()
    for line in sparkprof("report", "-q", "-o", "collapsed", *args).splitlines():
        stack, _, n = line.rpartition(" ")
        found[tuple(stack.split(";"))] += int(n)
    return found


def shares(found):
    """Samples in each of the three, and of all of them."""
    each = {name: sum(n for s, n in found.items() if f"{name} (shares.py)" in s) for name, _ in SHARES}
    return each, sum(each.values())


def check_shares(found, least):
    """A look in 20 ms at what lasts 10 ms at least: two of three are taken to be independent."""
    each, n = shares(found)
    assert n >= least, each
    for name, share in SHARES:
        assert chance.within(each[name] * 2 // 3, n * 2 // 3, share, slack=0.02), each


def check_tasks(found):
    """Each stack that says whose task it is stands in that one, below the JVM's frame that waits for it where that was seen."""
    right, wrong, joined = 0, collections.Counter(), 0
    for stack, n in found.items():
        tid = next((m[1] for f in stack if (m := re.match(r"task_(\d+) ", f))), None)
        if tid is None:
            continue
        at = stack.index("[python worker]")
        if re.fullmatch(rf"\[task \d+\.\d+ TID {tid}\]", stack[0]):
            right += n
        else:
            wrong[stack[0], tid] += n
        joined += n * ("api/python" in stack[at - 1] or "execution/python" in stack[at - 1])
    assert right and sum(wrong.values()) <= right / 50, (right, wrong)
    return right, joined


def wait_until(true, seconds=400):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.2)


def rounds(app, n):
    begun = app.count("round")
    wait_until(lambda: app.count("round") >= begun + n)


class Run:
    def __init__(self, tmp, version, jdk, conf):
        self.file, self.second, self.driver = tmp / "own.jfr", tmp / "second.jfr", tmp / "driver.jfr"
        jvm = recording.option(self.file, event="cpu", interval="20ms", wall="20ms")
        conf = {**conf, "spark.driver.extraJavaOptions": recording.option(self.driver, event="wall", interval="20ms")}
        with spark.App(job="shares.py", version=version, jdk=jdk, conf=conf, jvm=jvm, timeout=300) as app:
            self.pid = app.executors()[0]
            rounds(app, 4)
            app.tell("many 100 40")
            wait_until(lambda: app.said("done"))
            self.workers = [int(p) for p in next(line for line in app.text.decode().splitlines() if line.startswith("pids ")).split()[1:]]
            self.daemons, orphans = self.daemon(), []
            if self.daemons:
                orphans = self.children(self.daemons[0])
                app.tell(f"killdaemon {self.daemons[0]}")
                wait_until(lambda: self.daemon() and self.daemon() != self.daemons)
            rounds(app, 2)
            self.stopped = sparkprof("stop", self.pid)
            self.threads_left = self.own_threads()
            self.fds_left = self.own_fds()
            self.end(orphans)  # they go on without their daemon, and are nobody's children: a recording that begins now does not find them
            self.started = sparkprof("start", "--attach-timeout=60s", "-e", "cpu", "-i", "20ms", "--wall", "20ms", "-f", self.second, self.pid)
            rounds(app, 4)
            self.told = sparkprof("status", self.pid)
            before = self.running_tid()
            wait_until(lambda: self.running_tid() - before or time.sleep(0.5))
            time.sleep(2.5)  # flushes are a second apart
            os.kill(self.pid, signal.SIGKILL)

    def daemon(self):
        return [p for p in self.children() if b"pyspark.daemon" in pathlib.Path(f"/proc/{p}/cmdline").read_bytes()]

    def children(self, pid=None):
        return [int(p) for t in pathlib.Path(f"/proc/{pid or self.pid}/task").iterdir() for p in (t / "children").read_text().split()]

    @staticmethod
    def end(pids):
        for p in pids:
            try:
                os.kill(p, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def own_threads(self):
        return [c for t in pathlib.Path(f"/proc/{self.pid}/task").iterdir() if (c := (t / "comm").read_text().strip()).startswith("sparkprof-py")]

    def own_fds(self):
        """Of other processes' files: the recording's thread had some."""
        found = []
        for fd in pathlib.Path(f"/proc/{self.pid}/fd").iterdir():
            try:
                to = os.readlink(fd)
            except OSError:
                continue
            found += [to] if re.match(r"/proc/\d+/(mem|task/\d+/(syscall|schedstat|stat))$", to) else []
        return found

    def running_tid(self):
        return set(stacks("--all-threads", "--by", "task", "-e", "wall", self.second))


@pytest.fixture(scope="module", params=[
    pytest.param(("3.5.7", 17, {"spark.python.worker.reuse": "false"}), id="3.5.7-no-reuse"),
    pytest.param(("4.3.0", 25, {}), id="4.3.0")])
def run(request, tmp_path_factory):
    return Run(tmp_path_factory.mktemp("inside"), *request.param)


def test_a_known_split_from_the_start_of_the_jvm(run):
    check_shares(stacks("-e", "cpu", run.file), 100)


def test_workers_stand_in_their_task_and_on_the_frame_that_waits(run):
    right, joined = check_tasks(stacks("-e", "wall", "--by", "task", run.file))
    assert joined > right / 2, (right, joined)


def test_workers_that_come_and_go(run):
    """Of a hundred tasks of 40 ms of CPU, each with a worker of its own where these are not used again, nearly all are seen."""
    r = recording.Recording(run.file)
    seen = {s.tid for s in r.samples if s.thread.startswith("python-worker-")}
    assert chance.at_least(len(seen & set(run.workers)), len(run.workers), 0.9), (len(seen), len(run.workers))


def test_memory_and_cpu_by_process(run):
    r = recording.Recording(run.file)
    sizes = [float(m) for text in r.others["sparkprof.PythonProcess"] for m in re.findall(r"\brss = ([\d.]+) MB", text)]
    assert sizes and all(1 < s < 500 for s in sizes)


def test_nothing_is_left_behind(run):
    assert run.threads_left == [] and run.fds_left == []


def test_a_recording_by_start_of_a_jvm_that_was_killed(run):
    """All is in the one file up to the last flush, also the task that ran when the JVM was killed."""
    assert "not sampled" not in run.started
    check_shares(stacks("-e", "cpu", run.second), 30)
    check_tasks(stacks("-e", "wall", "--by", "task", run.second))
    r = recording.Recording(run.second)
    python = [s.time + s.span for s in r.wall() if s.thread.startswith("python-")]
    java = [s.time + s.span for s in r.wall() if s.java_id]
    assert max(java) - max(python) < 3_000_000_000, "Python's samples end with the JVM's"


def test_a_drivers_application_is_in_its_own_recording(run):
    """Python started that JVM: it is its parent. Workers of executors are theirs."""
    names = {s.thread for s in recording.Recording(run.driver).samples if s.thread.startswith("python-")}
    assert any(n.startswith("python-driver-") for n in names) and not any(n.startswith("python-worker-") for n in names), names


def test_no_report_says_that_python_is_missing(run):
    for file in (run.file, run.second):
        said = " ".join(sparkprof("report", "-f", "-", file).split())
        assert "not in this recording" not in said and "was not sampled" not in said, said


def test_pieces_in_the_clusters_files(tmp_path):
    """Python is in each piece as the JVM is; of an executor that is killed what was sent is there."""
    with yarn.Cluster(("namenode", "datanode")) as hdfs:
        there, got = f"/{tmp_path.name}", tmp_path / "got"
        jvm = recording.option(f"hdfs://{hdfs.files}{there}", event="cpu", interval="20ms", wall="20ms", dfsinterval=1)
        with spark.App(job="shares.py", version="4.3.0", jdk=25, jvm=jvm, timeout=300) as app:
            def enough():
                shutil.rmtree(got, ignore_errors=True)
                hdfs.fetch(f"{there}/{app.id}", got)
                return shares(stacks("-e", "cpu", got))[1] > 150
            wait_until(lambda: hdfs.ls(f"{there}/{app.id}") and (enough() or time.sleep(3)))
            os.kill(app.executors()[0], signal.SIGKILL)
        check_shares(stacks("-e", "cpu", got), 150)
        check_tasks(stacks("-e", "wall", "--by", "task", got))
