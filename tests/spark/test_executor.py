"""In and out of a real executor while it works: as root, as the executor's own plain user, and in a pod whose seccomp
denies perf_event_open."""
import os
import pathlib
import pwd
import re
import subprocess
import time

import pytest

from kit import container, spark
from kit.parts import SPARKPROF
from kit.traces import wait_until

USER = pwd.getpwnam("nobody").pw_uid  # Hadoop wants a user with a name
HALF = 20_000_000, 8, 0.5  # half of the time: tests beside this one want cores, too


class Host:
    """An application on this machine, and the launcher beside it."""

    def __init__(self, jdk, user=None):
        self.user, self.app = user, spark.App(jdk=jdk, user=user, args=HALF)
        self.target, self.driver = f"{self.app.id}/0", self.app.driver

    def executor(self):
        [pid] = self.app.executors()
        return pid

    def run(self, *args):
        return subprocess.run([SPARKPROF, *map(str, args)], capture_output=True, timeout=300, stdin=subprocess.DEVNULL,
                              user=self.user, group=self.user, extra_groups=[] if self.user else None)

    def close(self):
        self.app.close()


class Pod:
    """The same in a pod; the launcher runs in it, as by kubectl exec."""

    def __init__(self, jdk):
        self.pod = container.spark_pod(jdk=jdk, args=HALF)
        self.pod.put(SPARKPROF, "/tmp/sparkprof")
        self.target, self.driver = "executor", "driver"

    def executor(self):
        [pid] = [p for p in container.descendants(self.pod.pid) if any(w.endswith(spark.BACKEND) for w in spark.cmdline(p))]
        return pid

    def run(self, *args):
        return self.pod.exec("/tmp/sparkprof", *args, timeout=300, text=False)

    def close(self):
        self.pod.close()


PLACES = {"root": Host, "plain user": lambda jdk: Host(jdk, USER), "pod": Pod}
SHORT = [("plain user", 25), ("pod", 17)]  # as root, many other tests record executors
LONG = [("root", 17), ("root", 25), ("plain user", 17), ("pod", 25)]


@pytest.fixture(scope="module", ids=lambda p: f"{p[0]}, JDK {p[1]}",
                params=[*SHORT, *(pytest.param(p, marks=pytest.mark.long) for p in LONG)])
def place(request):
    name, jdk = request.param
    p = PLACES[name](jdk)
    p.name = name
    yield p
    p.close()


def ours(pid):
    """What is ours among threads and descriptors; a working executor has changing ones of its own."""
    def each(what, read):
        for name in os.listdir(f"/proc/{pid}/{what}"):
            try:
                yield read(f"/proc/{pid}/{what}/{name}")
            except OSError:
                pass  # gone meanwhile
    comms = each("task", lambda path: pathlib.Path(path, "comm").read_text())
    return [c for c in comms if "sparkprof" in c], [x for x in each("fd", os.readlink) if "sparkprof" in x]


def left(pid):
    """The same, once the thread that spoke with the launcher has seen it go."""
    end = time.monotonic() + 100
    while ours(pid) != ([], []) and time.monotonic() < end:
        time.sleep(0.05)
    return ours(pid)


def test_status_and_list_by_role(place):
    pid = place.executor()
    for action, who in (("status", place.target), ("list", place.target), ("status", place.target), ("status", place.driver)):
        r = place.run(action, who)
        assert r.returncode == 0, f"{action} {who}: {r.stderr}"
    assert left(pid) == ([], [])
    assert place.executor() == pid


@pytest.mark.parametrize("event", [pytest.param("itimer", marks=pytest.mark.long), "cpu", "wall"])
def test_profile_of_a_working_executor(place, event, tmp_path):
    """One recording by its standard output, and what report makes of it."""
    pid = place.executor()
    files = [tmp_path / f"x.{ext}" for ext in ("collapsed", "txt", "html")]

    def tasks_seen():
        """On a busy machine none may have had a core for three seconds."""
        r = place.run("-e", event, "-d", 3, "-o", "jfr", "-f", "-", place.target)
        assert r.returncode == 0, r.stderr
        (tmp_path / "x.jfr").write_bytes(r.stdout)
        made = subprocess.run([SPARKPROF, "report", tmp_path / "x.jfr", *[w for f in files for w in ("-f", f)]], capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        return r if "org/apache/spark/executor/Executor$TaskRunner.run" in files[0].read_text() else None
    r = wait_until(tasks_seen, 200)
    if place.name != "root" and event == "cpu":
        assert {"pod": b"seccomp", "plain user": b"perf_event_paranoid"}[place.name] in r.stderr
        assert b"using ctimer instead" in r.stderr
    text = files[1].read_text()
    lost, kept = (int(re.search(rf"^{word} +([\d,]+)", text, re.M)[1].replace(",", "")) for word in ("Lost", "Samples"))
    assert lost <= 0.1 * kept, text  # the agent's thread wants a core, too
    assert "executor 0 of app-" in text and "Stages (" in text and "Hot methods" in text
    assert files[2].stat().st_size > 50_000
    assert left(pid) == ([], [])
    assert place.executor() == pid


@pytest.mark.parametrize("ext", ["jfr", pytest.param("collapsed", marks=pytest.mark.long), "txt"])
def test_written_where_it_was_asked_for(place, ext):
    """Into a file, by the launcher itself: -f x.jfr, x.collapsed, x.txt."""
    script = f'"$@" -e wall -d 1 -f /tmp/spx-$$.{ext} {place.target} >&2 && cat /tmp/spx-$$.{ext} && rm /tmp/spx-$$.{ext}'
    def written():
        """There is not a task in every second."""
        if isinstance(place, Pod):
            r = place.pod.exec("sh", "-c", script, "sh", "/tmp/sparkprof", text=False)
        else:
            r = subprocess.run(["sh", "-c", script, "sh", SPARKPROF], capture_output=True, timeout=300, user=place.user,
                               group=place.user, extra_groups=[] if place.user else None)
        assert r.returncode == 0, r.stderr
        return {"jfr": b"FLR\0", "collapsed": b";", "txt": b"Hot methods"}[ext] in r.stdout
    wait_until(written)
