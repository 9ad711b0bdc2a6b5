"""--via kubectl with a program that stands in for kubectl, and podman's containers for pods. With a real Kubernetes: tests/k8s;
what is asked there as well is long here."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from kit import container, jvm, parts
from kit.traces import wait_until

MAIN = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
NIGHTLY, OTHER = "spark-7f3c0e11aa", "spark-7f9d22bb44"
NO_SHELL = ('error: Internal error occurred: error executing command in container: failed to exec in container: failed to start exec "5d41": OCI runtime exec '
            'failed: exec failed: unable to start container process: exec: "sh": executable file not found in $PATH: unknown')


def row(name, app, number, phase="Running", deleted="", role="executor", containers="spark-kubernetes-executor"):
    return [name, phase, deleted, app, role, str(number), containers]


class World:
    """Pods: two executors of one application, one of another, and what is no pod of a running executor."""

    def __init__(self, directory):
        self.dir, self.boxes = pathlib.Path(directory), {}
        shutil.copy(pathlib.Path(__file__).parents[1] / "kit/standin_kubectl.py", self.dir / "kubectl")
        (self.dir / "kubectl").chmod(0o755)
        try:
            for name, app, number in (("nightly-exec-1", NIGHTLY, 1), ("nightly-exec-2", NIGHTLY, 2), ("other-exec-1", OTHER, 1)):
                box = container.Pod(MAIN, "--driver-url", "spark://x@10.1.1.1:1", "--executor-id", number, "--hostname", name, "--cores", 1, "--app-id", app)
                self.boxes[name] = box
                box.proc.stdin.write(b"\n")  # its tasks begin
                box.proc.stdin.flush()
        except BaseException:
            self.end()
            raise
        self.write()

    def write(self, extra=(), **more):
        pods = [{"row": row("nightly-exec-1", NIGHTLY, 1), "podman": self.boxes["nightly-exec-1"].podman},
                {"row": row("nightly-exec-2", NIGHTLY, 2, containers="istio spark-kubernetes-executor"), "podman": self.boxes["nightly-exec-2"].podman},
                {"row": row("other-exec-1", OTHER, 1, containers="jvm"), "podman": self.boxes["other-exec-1"].podman}]
        (self.dir / "world.json").write_text(json.dumps({"namespaces": {"spark": [*pods, *extra], "default": []}, **more}))
        (self.dir / "calls").write_text("")

    def calls(self):
        return [json.loads(line) for line in (self.dir / "calls").read_text().splitlines()]

    def env(self):
        return {**os.environ, "PATH": f"{self.dir}:{os.environ['PATH']}", "STANDIN_KUBECTL": str(self.dir)}

    def sparkprof(self, action, *words, namespace="spark", timeout=200, **more):
        return subprocess.run([parts.SPARKPROF, action, "--via", "kubectl", *(["-n", namespace] if namespace else []), *map(str, words)], env=self.env(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, **more)

    def left(self):
        found = []
        for box in self.boxes.values():
            found += box.exec("sh", "-c", "ls -A /tmp /var/tmp /dev/shm | grep sparkprof; pgrep -l sparkprof").stdout.split()
        return found

    def end(self):
        for box in self.boxes.values():
            box.close()


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    parts.needs_root("start containers")
    world = World(tmp_path_factory.mktemp("kubectl"))
    yield world
    world.end()


@pytest.fixture
def world(standing):
    standing.write()
    yield standing
    wait_until(lambda: not standing.left(), 200)


def executed(world):
    """Pods that were entered."""
    return sorted(c[c.index("--") - 1] for c in world.calls() if "exec" in c)


@pytest.mark.long
def test_ps_is_one_table_of_all_pods(world):
    r = world.sparkprof("ps")
    assert r.returncode == 0, r.stderr
    rows = [line.split() for line in r.stdout.splitlines() if " executor " in line]
    assert [(line[0], line[3]) for line in rows] == [("nightly-exec-1", "1"), ("nightly-exec-2", "2"), ("other-exec-1", "1")], r.stdout


@pytest.mark.parametrize("word,pods", [
    ("executor:2", "2"), pytest.param("spark-7f3", "12", marks=pytest.mark.long),
    pytest.param(NIGHTLY, "12", marks=pytest.mark.long), pytest.param("spark-7f3/2", "2", marks=pytest.mark.long),
])
def test_the_pods_that_are_meant_and_no_others_are_entered(world, tmp_path, word, pods):
    r = world.sparkprof("collect", "-e", "wall", "-d", "1", "-f", tmp_path / "x.jfr", word)
    assert r.returncode == 0 and (tmp_path / "x.jfr").stat().st_size, r.stderr
    assert executed(world) == [f"nightly-exec-{n}" for n in pods]
    assert [p.name for p in tmp_path.iterdir()] == ["x.jfr"]


@pytest.mark.long
def test_the_report_tells_executors_apart(world, tmp_path):
    def all_seen():
        """On a busy machine one may not have run in two seconds."""
        r = world.sparkprof("collect", "-e", "wall", "-d", "2", "-f", tmp_path / "x.collapsed", "--by", "executor", NIGHTLY)
        assert r.returncode == 0, r.stderr
        roots = {line.split(";")[0] for line in (tmp_path / "x.collapsed").read_text().splitlines()}
        return {n for n in "12" if any(re.search(rf"\b{n}\b", root) for root in roots)} == {"1", "2"}
    wait_until(all_seen, 200)


@pytest.mark.long
def test_the_container_of_sparks_is_named(world):
    assert world.sparkprof("status", "executors").returncode == 0
    named = {c[c.index("--") - 1]: [w for w in c if w.startswith("--container=")] for c in world.calls() if "exec" in c}
    assert named == {"nightly-exec-1": ["--container=spark-kubernetes-executor"], "nightly-exec-2": ["--container=spark-kubernetes-executor"], "other-exec-1": []}
    world.write()
    assert world.sparkprof("status", "--container", "mine", "spark-7f3/1").returncode == 0
    assert any("--container=mine" in c for c in world.calls())


@pytest.mark.long
def test_stack_of_one_executor_without_a_shell_in_its_pod(world):
    def in_a_task():
        """Between two of them there is none."""
        r = world.sparkprof("stack", "spark-7f3/2")
        assert r.returncode == 0, r
        return "OneStage.task" in r.stdout
    wait_until(in_a_task, 200)


def test_start_dump_and_stop(world, tmp_path):
    """A recording that goes on with nobody connected is brought by dump and stop."""
    r = world.sparkprof("start", "-e", "wall", NIGHTLY)
    assert r.returncode == 0 and "recording" in r.stderr, r
    assert "recording" in world.sparkprof("status", NIGHTLY).stdout
    for action in ("dump", "stop"):
        r = world.sparkprof(action, "-f", tmp_path / f"{action}.txt", NIGHTLY)
        assert r.returncode == 0 and (tmp_path / f"{action}.txt").stat().st_size, r
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dump.txt", "stop.txt"]


@pytest.mark.long
def test_list_of_one_executor(world):
    r = world.sparkprof("list", "--json", "spark-7f3/1")
    assert r.returncode == 0 and {"wall", "cpu"} <= {e["event"] for e in json.loads(r.stdout)}, r


@pytest.mark.long
def test_executors_are_chosen_by_number_and_by_lot(world, tmp_path):
    for chosen, pods in (("2", ["nightly-exec-2"]), ("0-1", ["nightly-exec-1"]), ("1,2", ["nightly-exec-1", "nightly-exec-2"])):
        world.write()
        assert world.sparkprof("status", "--executors", chosen, NIGHTLY).returncode == 0
        assert executed(world) == pods
    world.write()
    assert world.sparkprof("status", "--fraction", "0.4", NIGHTLY).returncode == 0
    assert len(executed(world)) == 1


@pytest.mark.long
def test_pods_that_do_not_run_are_left_out(world):
    world.write([{"row": row("nightly-exec-3", NIGHTLY, 3, phase="Pending")}, {"row": row("nightly-exec-4", NIGHTLY, 4, deleted="2026-11-19T00:00:00Z")},
                 {"row": row("nightly-exec-5", NIGHTLY, 5, phase="Failed")}])
    r = world.sparkprof("status", NIGHTLY)
    assert r.returncode == 0 and executed(world) == ["nightly-exec-1", "nightly-exec-2"]
    assert r.stderr == "sparkprof: nightly-exec-3: not yet running, left out\n", r
    world.write([{"row": row("late-exec-1", "spark-1", 1, phase="Pending")}])
    r = world.sparkprof("status", "spark-1")
    assert r.returncode == 3 and "late-exec-1 does not run yet" in r.stderr, r


FAULTS = {
    "no permission to exec": ('Error from server (Forbidden): pods "gone" is forbidden: User "eve" cannot create resource "pods/exec" in API group "" in the namespace "spark"',
                              "the permission 'create pods/exec'"),
    "the pod is gone": ('Error from server (NotFound): pods "gone" not found', "the pod is gone"),
    "no shell": (NO_SHELL, "kubectl -n spark debug gone --image=busybox --target=spark-kubernetes-executor"),
    "not connected": ("The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?", "is that the right cluster?"),
}


@pytest.mark.parametrize("fault", [pytest.param(f, marks=() if f == "no permission to exec" else pytest.mark.long) for f in FAULTS])
def test_what_kubectl_says_of_one_pod_does_not_fail_the_rest(world, fault):
    says, advice = FAULTS[fault]
    world.write([{"row": row("gone", NIGHTLY, 9), "says": says}])
    r = world.sparkprof("status", NIGHTLY)
    assert r.returncode == 0 and r.stderr.startswith("sparkprof: gone: ") and advice in r.stderr and r.stderr.count("\n") == 1, r
    assert world.sparkprof("status", "--strict", NIGHTLY).returncode == 3


def test_what_kubectl_says_of_all(world):
    r = world.sparkprof("ps", "--context", "there")
    assert r.returncode == 3 and 'context "there" does not exist; \'kubectl config get-contexts\' lists them' in r.stderr and r.stderr.count("\n") == 1, r
    r = world.sparkprof("ps", namespace=None)
    assert r.returncode == 3 and "no pod of Spark's (label spark-role) runs in kubectl's namespace" in r.stderr, r
    r = world.sparkprof("stack", "spark-9")
    assert r.returncode == 3 and f"there are executors or drivers of {NIGHTLY}, {OTHER}" in r.stderr and not executed(world), r
    r = world.sparkprof("status", "spark-7f")
    assert r.returncode == 2 and "is the beginning of several applications" in r.stderr and not executed(world), r
    world.write(forbidden=True)
    r = world.sparkprof("ps")
    assert r.returncode == 3 and "the permissions 'get pods' and 'list pods'" in r.stderr and r.stderr.count("\n") == 1, r


def test_without_kubectl(sparkprof):
    r = sparkprof("ps", "--via", "kubectl", env={**os.environ, "PATH": "/nonexistent"})
    assert r.returncode == 3 and "kubectl cannot be run" in r.stderr and "install kubectl" in r.stderr, r


HOSTILE = ["-oProxyCommand=x", "a;reboot", "$(touch pwned)", "`id`", "a b", "..%2f", "\x1b[31mred", ""]


def test_hostile_names_of_pods_are_not_entered(world, tmp_path):
    """What an API server that lies calls a pod, an application or a container is no word for kubectl or a shell."""
    world.write([{"row": row(name, NIGHTLY, 7), "says": "entered"} for name in HOSTILE])
    r = world.sparkprof("status", NIGHTLY, cwd=tmp_path)
    assert r.returncode == 0 and executed(world) == ["nightly-exec-1", "nightly-exec-2"] and not list(tmp_path.iterdir()), r
    world.write([{"row": row("evil", "spark-\x1b[31m$(id)", "1;id"), "says": "\x1b[31mno"}])
    r = world.sparkprof("status", "spark-9")
    assert r.returncode == 3 and r.stderr.strip().isprintable(), r


def test_dry_run_enters_no_pod(world):
    r = world.sparkprof("collect", "--dry-run", "-d", "30", "-e", "wall", "-f", "x.html", NIGHTLY)
    assert r.returncode == 0 and r.stdout.count("kubectl --namespace=spark exec -i --container=spark-kubernetes-executor nightly-exec-") == 2, r
    assert "sparkprof collect --duration=30 --event=wall --output=jfr --file=- -- PID" in r.stdout and not executed(world), r


@pytest.mark.parametrize("call,sentence", [
    (["ps", "--namespace", "x"], "--namespace: is about pods; write --via kubectl too"),
    (["ps", "--via", "ssh", "--hosts", "a", "--context", "x"], "--context: is not for --via ssh"),
    (["ps", "--via", "kubectl", "--sudo"], "--sudo: is not for --via kubectl"),
    (["ps", "--via", "kubectl", "--hosts", "a;b"], "is no name of a pod"),
    (["ps", "--via", "kubectl", "--container", "-x"], "is no name"),
    (["status", "--via", "kubectl", "--executors", "1-", "x"], "is not a list of executors"),
    (["status", "--via", "kubectl", "--fraction", "2", "x"], "is not a part of one"),
    (["start", "--via", "kubectl", "-f", "x.jfr", "executors"], "-f x.jfr: with --via the recording stays in the JVM there"),
])
def test_wrong_calls(sparkprof, call, sentence):
    r = sparkprof(*call)
    assert r.returncode == 2 and sentence in r.stderr and r.stderr.count("\n") == 1, r


def test_n_is_norm_without_kubectl(sparkprof):
    """-n is async-profiler's --norm, and what it is for kubectl only beside --via kubectl, wherever that is."""
    assert "no such namespace" not in sparkprof("report", "-n", "/nonexistent.jfr").stderr
    r = sparkprof("ps", "-nx", "--via=kubectl", "--dry-run", env={**os.environ, "PATH": "/nonexistent"})
    assert r.returncode == 3 and "kubectl cannot be run" in r.stderr, r
