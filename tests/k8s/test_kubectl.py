"""--via kubectl with a real Kubernetes: ./build.sh test-k8s."""
import os
import re
import signal

import pytest

from kit import k8s
from kit.recording import Recording
from kit.traces import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
NIGHTLY, OTHER = "spark-7f3c0e11aa", "spark-7f9d22bb44"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    k8s.needed()
    with k8s.Cluster(tmp_path_factory.mktemp("k8s")) as found:
        found.run("nightly-exec-1", NIGHTLY, 1)
        found.run("nightly-exec-2", NIGHTLY, 2)
        found.run("nightly-exec-3", NIGHTLY, 3, labels={"spark-exec-inactive": "true"})
        found.run("other-exec-1", OTHER, 1)
        found.wait_running("nightly-exec-1", "nightly-exec-2", "nightly-exec-3", "other-exec-1")
        yield found


def left(cluster, *pods):
    found = []
    for pod in pods or ("nightly-exec-1", "nightly-exec-2"):
        found += cluster.kubectl("-n", "spark", "exec", pod, "--", "sh", "-c", "ls -A /tmp /dev/shm | grep sparkprof; pgrep -l sparkprof").stdout.split()
    return found


def nothing_left(cluster):
    wait_until(lambda: not left(cluster), 60)


def in_tasks(file):
    return sum(any(f.startswith("org.apache.spark.OneStage.task ") for f in s.stack) for s in Recording(file).samples)


def test_ps_lists_the_executors_that_spark_has_not_given_up(cluster):
    r = cluster.sparkprof("ps", "-n", "spark")
    assert r.returncode == 0, r.stderr
    rows = [line.split() for line in r.stdout.splitlines() if " executor " in line]
    assert [(line[0], line[3]) for line in rows] == [("nightly-exec-1", "1"), ("nightly-exec-2", "2"), ("other-exec-1", "1")], r.stdout
    nothing_left(cluster)


def test_one_report_of_an_application(cluster, tmp_path):
    r = cluster.sparkprof("collect", "-n", "spark", "-e", "wall", "-d", "3", "-f", tmp_path / "x.jfr", "-f", tmp_path / "x.html", "spark-7f3")
    assert r.returncode == 0, r.stderr
    assert in_tasks(tmp_path / "x.jfr") > 0 and (tmp_path / "x.html").stat().st_size > 10000
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.html", "x.jfr"]
    nothing_left(cluster)


def test_stack_of_one_executor(cluster):
    def seen():
        r = cluster.sparkprof("stack", "-n", "spark", "spark-7f3/2")
        assert r.returncode == 0, r.stderr
        return "OneStage.task" in r.stdout
    wait_until(seen, 100)  # between two tasks there is none
    nothing_left(cluster)


def test_start_and_stop(cluster, tmp_path):
    assert cluster.sparkprof("start", "-n", "spark", "-e", "wall", NIGHTLY).returncode == 0
    r = cluster.sparkprof("stop", "-n", "spark", "-f", tmp_path / "x.txt", NIGHTLY)
    assert r.returncode == 0 and (tmp_path / "x.txt").stat().st_size, r.stderr
    nothing_left(cluster)


def test_a_killed_launcher_leaves_nothing_in_the_pods(cluster, tmp_path):
    p = cluster.popen("collect", "-n", "spark", "-e", "wall", "-d", "300", "-f", tmp_path / "x.jfr", NIGHTLY)
    wait_until(lambda: len([f for f in tmp_path.glob("sparkprof-parts-*/*.jfr") if f.stat().st_size]) == 2, 200)
    for child in descendants(p.pid):
        os.kill(child, signal.SIGKILL)
    p.kill()
    p.communicate()
    nothing_left(cluster)


def descendants(pid):
    found = []
    for child in open(f"/proc/{pid}/task/{pid}/children").read().split():
        found += [int(child), *descendants(int(child))]
    return found


def test_a_pod_that_is_deleted_does_not_fail_the_rest(cluster, tmp_path):
    cluster.run("short-exec-1", "spark-short", 1)
    cluster.run("short-exec-2", "spark-short", 2)
    cluster.wait_running("short-exec-1", "short-exec-2")
    p = cluster.popen("collect", "-n", "spark", "-e", "wall", "-d", "20", "-f", tmp_path / "x.jfr", "spark-short")
    wait_until(lambda: len([f for f in tmp_path.glob("sparkprof-parts-*/*.jfr") if f.stat().st_size]) == 2, 200)
    cluster.kubectl("-n", "spark", "delete", "pod", "short-exec-2", "--now", check=True)
    out, err = p.communicate(timeout=300)
    assert p.returncode == 0 and "short-exec-2" in err and in_tasks(tmp_path / "x.jfr") > 0, err
    cluster.kubectl("-n", "spark", "delete", "pod", "short-exec-1", "--now", check=True)


def test_an_image_without_a_shell_and_the_way_by_kubectl_debug(cluster, tmp_path):
    """The sentence says how, and what it says works."""
    cluster.run("bare-exec-1", "spark-bare", 1, image="localhost/bare:1")
    cluster.wait_running("bare-exec-1")
    r = cluster.sparkprof("stack", "-n", "spark", "spark-bare/1")
    assert r.returncode == 3 and r.stderr.count("\n") == 1 and r.stderr.startswith("sparkprof: bare-exec-1: its image has no shell. "), r
    words = re.search(r"kubectl (-n spark debug .*? -- sleep 3600)", r.stderr)[1].replace("busybox", "localhost/jvm:1").split()
    cluster.kubectl(*words[:3], "--image-pull-policy=Never", *words[3:], check=True)
    cluster.wait(lambda: cluster.kubectl("-n", "spark", "exec", "bare-exec-1", "-c", "sparkprof", "--", "true").returncode == 0, "debugging container")
    r = cluster.sparkprof("collect", "-n", "spark", "--container", "sparkprof", "-e", "wall", "-d", "2", "-f", tmp_path / "x.jfr", "spark-bare/1")
    assert r.returncode == 0 and in_tasks(tmp_path / "x.jfr") > 0, r.stderr


def test_a_root_that_is_read_only_is_recorded(cluster, tmp_path):
    """This program runs from the emptyDir at /tmp, which has no sticky bit; the agent comes from memory."""
    cluster.run("hard-exec-1", "spark-hard", 1, read_only=True)
    cluster.wait_running("hard-exec-1")
    r = cluster.sparkprof("ps", "-n", "spark")
    assert r.returncode == 0 and "hard-exec-1" in r.stdout, r
    for _ in range(2):
        r = cluster.sparkprof("collect", "-n", "spark", "-e", "wall", "-d", "3", "-f", tmp_path / "x.jfr", "spark-hard")
        assert r.returncode == 0 and in_tasks(tmp_path / "x.jfr") > 0, r
    wait_until(lambda: not left(cluster, "hard-exec-1"), 60)


@pytest.mark.parametrize("words,sentence", [
    (["--context", "reader", "-n", "spark"], "the permission 'create pods/exec'"),
    (["--context", "eve", "-n", "spark"], "the permissions 'get pods' and 'list pods'"),
    (["--context", "nowhere", "-n", "spark"], "'kubectl config get-contexts' lists them"),
    (["--context", "gone", "-n", "spark"], "is that the right cluster?"),
    (["-n", "default"], "no pod of Spark's (label spark-role) runs in namespace default"),
    (["-n", "spark", "--hosts", "not-there"], "the pod is gone"),
])
def test_what_kubectl_says_comes_with_what_to_try(cluster, words, sentence):
    r = cluster.sparkprof("status", *words, "executor:2")
    assert r.returncode == 3 and sentence in r.stderr and r.stderr.count("\n") == 1, r
