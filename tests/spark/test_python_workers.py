"""Python workers of real executors: whose task they work on, below which JVM frames they stand, and that they do not notice."""
import collections
import json
import re
import signal
import subprocess
import time

import pytest

from kit import browser, deny, parts, python, recording, spark
from kit.parts import SPARKPROF


pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]  # Sparks of their own; test_stack.py asks whose task workers work on, too
JOINED = re.compile(r"ReaderIterator\S*;.*\[python worker\];")


def field(text, name):
    return re.search(rf"\b{name} = (-?\d+)", text)[1]


def sockets(r):
    """(thread of the JVM at the other end of a worker's socket, the task that the worker said), where it said one."""
    looks = [(int(field(text, "javaThread")), int(field(text, "taskId"))) for text in r.others["sparkprof.PythonSocket"]]
    return [(java, tid) for java, tid in looks if tid >= 0]


def socket_looks(file):
    """How many there are in a recording that grows."""
    with recording.still(file) as copy:
        out = subprocess.run([parts.jdk(17) / "bin/jfr", "print", "--events", "sparkprof.PythonSocket", copy], capture_output=True, text=True).stdout
    return len(re.findall(r"\btaskId = \d", out))


class Run:
    def __init__(self, tmp, version, conf, sparkprof):
        self.reuse = conf.get("spark.python.worker.reuse") != "false"
        self.daemon = conf.get("spark.python.use.daemon") != "false"
        self.jfr, self.collapsed = tmp / "x.jfr", tmp / "x.collapsed"
        env = {"PYTHONPATH": f"{parts.pandas()}:{spark.JOBS}"}
        with spark.App(job="workers.py", args=[tmp], version=version, conf=conf, env=env, timeout=1200) as app:
            pid = app.executors()[0]
            run = subprocess.Popen([str(SPARKPROF), "--attach-timeout=60s", "-e", "wall", "-i", "10ms", "-d", "1500", "--by", "task",
                                    "-f", str(self.jfr), "-f", str(self.collapsed), str(pid)], stderr=subprocess.PIPE, text=True)
            while not python.is_sampled(pid):
                assert run.poll() is None, run.stderr.read()
                time.sleep(0.1)
            self.rounds(app, run, 2)
            while socket_looks(self.jfr) < 4:  # once a second, where a worker has a core
                self.rounds(app, run, 1)
            run.send_signal(signal.SIGINT)
            self.said = run.communicate(timeout=100)[1]
            assert run.returncode == 0, self.said
            self.killed(pid, sparkprof)
            self.driver = tmp / "driver.collapsed"
            sparkprof("-q", "--attach-timeout=60s", "-e", "wall", "-i", "20ms", "-d", "2", "--all-threads", "-t", "-f", self.driver,
                      app.driver)
            self.stack = self.with_worker(lambda: sparkprof("stack", "--all", "--native", pid))
            denied = [*deny.wrap("process_vm_readv=EPERM", "ptrace=EPERM"), str(SPARKPROF), "stack", str(pid)]
            self.filtered = self.with_worker(lambda: subprocess.run(denied, capture_output=True, text=True, timeout=300))
            self.ps = next(j for j in json.loads(sparkprof("ps", "--json").stdout) if j["pid"] == pid)
            self.table = sparkprof("ps").stdout
            self.started = sparkprof("start", "--attach-timeout=60s", "-e", "wall", "-f", tmp / "started.jfr", pid).stderr
            end = time.monotonic() + 100
            self.after_start = ""
            while not JOINED.search(self.after_start) and time.monotonic() < end:
                time.sleep(1)
                self.after_start = sparkprof("report", "-o", "collapsed", tmp / "started.jfr").stdout
            sparkprof("stop", pid)
            assert app.proc.poll() is None
        self.stacks = {}
        for line in self.collapsed.read_text().splitlines():
            frames, _, count = line.rpartition(" ")
            self.stacks[tuple(frames.split(";"))] = int(count)

    @staticmethod
    def rounds(app, run, n):
        """Waits for so many rounds of the job."""
        begun = app.text.count(b"round")
        while app.text.count(b"round") < begun + n:
            assert run.poll() is None, run.stderr.read()
            app.text += app.proc.stdout.read() or b""
            time.sleep(0.1)

    @staticmethod
    def with_worker(call):
        """There is not a worker at every moment."""
        end = time.monotonic() + 100
        while "\n      python-worker-" not in (out := call()).stdout and time.monotonic() < end:
            pass
        return out

    def killed(self, pid, sparkprof):
        """A recording whose launcher was killed as soon as it had something of Python."""
        self.left = self.jfr.with_name("left.jfr")
        with subprocess.Popen([str(SPARKPROF), "-q", "--attach-timeout=60s", "-e", "wall", "-i", "10ms", "-d", "200", "-f", str(self.left),
                               str(pid)]) as run:
            end = time.monotonic() + 120
            while run.poll() is None and time.monotonic() < end:
                after = sparkprof("report", "-o", "collapsed", self.left).stdout if self.left.exists() else ""
                if JOINED.search(after):
                    break
                time.sleep(0.3)
            run.kill()


@pytest.fixture(scope="module", params=[
    pytest.param(("3.5.7", {"spark.python.daemon.module": "own_daemon"}), id="3.5.7-own-daemon"),
    pytest.param(("4.3.0", {"spark.python.worker.reuse": "false"}), id="4.3.0-no-reuse"),
    pytest.param(("4.3.0", {"spark.python.unix.domain.socket.enabled": "true"}), id="4.3.0-unix-sockets"),
    pytest.param(("4.3.0", {"spark.python.use.daemon": "false"}), id="4.3.0-no-daemon")])
def run(request, tmp_path_factory):
    def sparkprof(*args):
        return subprocess.run([str(SPARKPROF), *map(str, args)], capture_output=True, text=True, timeout=300)
    return Run(tmp_path_factory.mktemp("python"), *request.param, sparkprof)


def named_after(stack):
    """The TID in the name of a task's own function; way_of: by which way it came to its worker."""
    for frame in stack:
        if m := re.match(r"task_\w+_(\d+) ", frame):
            return int(m[1])
    return None


def way_of(stack):
    return next(f.split("_")[1] for f in stack if f.startswith("task_"))


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
    on_jvm, bare = collections.Counter(), 0
    for stack, n in run.stacks.items():
        if named_after(stack) is None:
            continue
        at = stack.index("[python worker]")
        below = stack[at - 1]
        if re.match(r"org/apache/spark/(api|sql/execution)/python/", below) and any("TaskRunner.run" in f for f in stack[:at]):
            on_jvm[way_of(stack)] += n
        else:
            bare += n
    assert on_jvm.total() > 9 * bare, (on_jvm, bare)
    assert set(on_jvm) == {"rdd", "udf", "arrow", "pandas", "mapInPandas", "applyInPandas", "foreachBatch", "state"}, on_jvm


def test_the_recording_has_workers_threads_tasks_and_memory(run):
    r = recording.Recording(run.jfr)
    names = {s.tid: s.thread for s in r.samples}
    workers = {s.tid for s in r.samples if any(re.search(r"task_[a-zA-Z]+_\d+", f) for f in s.stack)}
    assert workers and all(names[tid] == f"python-worker-{tid}" for tid in workers), names
    memory = r.others["sparkprof.PythonProcess"]
    sizes = [float(m) for text in memory for m in re.findall(r"\brss = ([\d.]+) MB", text)]
    assert sizes and all(5 < s < 500 for s in sizes)


def test_the_socket_leads_to_the_task_that_the_worker_says(run, sparkprof):
    """The other way to know it: which thread of the JVM waits at the other end, TCP or Unix."""
    r = recording.Recording(run.jfr)
    tasks = collections.defaultdict(set)  # that a thread of the JVM was named after
    for s in r.samples:
        if m := re.search(r"\(TID (\d+)\)", s.thread):
            tasks[s.tid].add(int(m[1]))
    said = sockets(r)
    right = [x for x in said if x[1] in tasks[x[0]]]
    assert len(said) >= 3 and len(right) >= 0.9 * len(said), (said, tasks)
    assert "named another task" not in sparkprof("report", "-f", "-", run.jfr).stdout


def test_what_python_does_by_stage(run, sparkprof):
    """CPU is told apart in json, and no moment counts twice, as the JVM's wait and as the worker's work; the page sums areas too, and
    shows the workers' memory. Of each task the workers burn 200 ms of CPU, however long they wait for a core."""
    out = json.loads(sparkprof("report", "-o", "json", run.jfr).stdout)
    stages = [s for s in next(e for e in out["events"] if e["event"] == "wall")["stages"] if "finished" in s and s["finished"] == s["tasks"]]
    python = [s for s in stages if s["time"].get("Python CPU")]
    ran, burnt = sum(s["time"]["Python CPU"] for s in python), sum(200_000_000 * s["tasks"] for s in python)
    assert len(python) >= 8 and ran > burnt / 2, (ran, burnt, python)
    told, took = sum(sum(s["time"].values()) for s in stages), sum(s["run_ns"] + s["launch_ns"] for s in stages)
    assert told < 1.1 * took, (told, took, stages)
    page = run.jfr.with_name("x.html")
    assert sparkprof("report", "-q", "-f", page, run.jfr).returncode == 0
    b = browser.Browser()
    try:
        b.open(page, ready="globalThis.sparkprof && sparkprof.strip.kinds && document.querySelector('table.stages td.areas')")
        assert "Python memory" in b.eval("sparkprof.strip.lanes.map((l) => l.label)")
        lines = b.eval("sparkprof.strip.tell(sparkprof.strip.buckets >> 1)")
        assert any(re.fullmatch(r"Python workers: cores busy \d\.\d\d", line) for line in lines), lines
        assert any(re.fullmatch(r"Python workers: resident [\d.]+ MB", line) for line in lines), lines
        areas = " ".join(b.eval("[...document.querySelectorAll('table.stages td.areas')].map((t) => t.title)"))
        assert "Python CPU " in areas, areas
        assert not b.ask("seen")["errors"]
    finally:
        b.close()


def test_a_worker_that_waits_for_work_is_in_no_task(run):
    """One that is used again waits between two tasks: the second did not begin on it before it began in the JVM. It began after the last look that
    saw none, which comes late where the reader has no core."""
    r = recording.Recording(run.jfr)
    begun, workers = {}, []
    for start, text in zip(r.times["sparkprof.Task"], r.others["sparkprof.Task"]):
        tid = int(re.search(r"taskId = (\d+)", text)[1])
        if "helper = false" in text and "begun = true" in text:
            begun[tid] = start
        elif "python-worker-" in text:
            workers.append((tid, start))
    early = [(tid, begun[tid] - start) for tid, start in workers if tid in begun and start < begun[tid] - 100_000_000]
    assert workers and not early, early


def test_stack_and_ps_show_the_workers(run):
    assert run.daemon == bool(re.search(r"^python-daemon-\d+, Python 3\.", run.stack.stdout, re.M)), run.stack.stderr
    # without reuse or a daemon there may be none at that moment
    assert not (run.reuse and run.daemon) or (run.ps["python_workers"] and re.search(r"^ +\d Python workers?: \d+", run.table, re.M))


def test_stack_shows_workers_below_the_thread_of_their_task(run):
    assert run.stack.returncode == 0 and "\n      python-worker-" in run.stack.stdout, run.stack.stderr


def test_a_pods_filter_takes_no_worker_from_its_task(run):
    """The filter of containerd's default profile denies process_vm_readv(2): workers are read by their files, and are workers."""
    assert run.filtered.returncode == 0 and re.search(r"\n      python-worker-\d+.*\n +stage \d+, partition \d+, TID \d+", run.filtered.stdout), \
        run.filtered.stdout + run.filtered.stderr


def test_start_samples_workers_too(run):
    """As collect does."""
    assert "recording to" in run.started and "not sampled" not in run.started, run.started
    assert JOINED.search(run.after_start), run.after_start[:2000]


def test_a_killed_launcher_leaves_python_too(run, sparkprof):
    """In the one file, which the agent ends."""
    assert not list(run.left.parent.glob("*.python.jfr"))
    assert JOINED.search(sparkprof("report", "-o", "collapsed", run.left).stdout)
    first = sparkprof("report", "-f", "-", run.left).stdout
    time.sleep(1.2)
    assert sparkprof("report", "-f", "-", run.left).stdout == first, "told by when it is read"


def test_the_recording_lasts_as_long_as_it_did(run, sparkprof):
    """Readers add the lengths of chunks up; those of Python are of the same time as the JVM's."""
    summary = subprocess.run([parts.jdk(17) / "bin/jfr", "summary", run.jfr], capture_output=True, text=True, check=True).stdout
    told = int(re.search(r"Duration: (\d+) s", summary)[1])
    lasted = re.search(r"^Duration +(?:(\d+) min )?([\d.]+) s", sparkprof("report", "-f", "-", run.jfr).stdout, re.M)
    assert abs(told - 60 * int(lasted[1] or 0) - float(lasted[2])) <= 3, (summary, lasted[0])


def test_below_a_driver_no_worker_of_its_executors(run):
    """A local cluster's executors are its driver's children."""
    text = run.driver.read_text()
    assert "DAGScheduler" in text or "dag-scheduler" in text, text[:1000]
    assert "python-worker" not in text and "python-daemon" not in text and "[python worker]" not in text


def test_samples_outside_of_tasks_are_counted_apart(run, sparkprof):
    """What collect shows is of tasks; with --all-threads it is as much more as collect said."""
    shown, outside = (int(n.replace(",", "")) for n in re.search(r"([\d,]+) samples, .*; ([\d,]+) outside of tasks", run.said).groups())
    out = sparkprof("report", "--all-threads", "-f", run.jfr.with_name("all.collapsed"), run.jfr)
    everything = int(re.search(r"([\d,]+) samples, ", out.stderr)[1].replace(",", ""))
    assert abs(everything - shown - outside) <= 1 and "outside" not in out.stderr, (run.said, out.stderr)


def test_the_story_of_a_slow_pandas_udf(sparkprof, tmp_path):
    """As README tells it: most of what workers do is making a pattern, below the function that does so."""
    out = tmp_path / "o.collapsed"
    with spark.App(job="slow_udf.py", env={"PYTHONPATH": f"{parts.pandas()}:{spark.JOBS}"}, timeout=300) as app:
        pid, end, found = app.executors()[0], time.monotonic() + 900, collections.Counter()
        while found["worker"] < 100 and time.monotonic() < end:
            assert sparkprof("-q", "--attach-timeout=60s", "-e", "cpu", "-i", "10ms", "-d", "10", "-f", out, pid).returncode == 0
            for stack, _, n in (line.rpartition(" ") for line in out.read_text().splitlines()):
                found["worker"] += int(n) * ("[python worker]" in stack and "cleaned (slow_udf.py)" in stack)
                found["compile"] += int(n) * ("clean (slow_udf.py);compile (re/__init__.py)" in stack)
    assert found["worker"] >= 100 and found["compile"] > found["worker"] / 2, found
