"""Getting in and out again: same user, other user, JVMs that cannot or will not, and what stays behind."""
import fcntl
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

from kit import jvm
from kit.parts import SPARKPROF
from kit.traces import droppings, mapped, our_threads, present, wait_until

JDKS = [11, 17, 21, 25]
USER = 185  # as in Spark's image: no passwd entry
STEADY = ["-Xint", "-XX:+UseSerialGC", "-XX:+EnableDynamicAgentLoading"]


@pytest.mark.parametrize("jdk", JDKS)
def test_in_and_out_on_every_jdk(target, sparkprof, jdk):
    t = target("Idle", jdk=jdk)
    for _ in range(2):
        r = sparkprof("status", t.pid)
        assert (r.returncode, r.stderr) == (0, "")
        assert re.fullmatch(rf"pid {t.pid}, JDK {jdk}\..*: nothing is being recorded\n", r.stdout)
    wait_until(lambda: not our_threads(t))
    assert t.stdout() == "ready\n"
    warnings = t.stderr().splitlines()
    assert len(warnings) == (3 if jdk >= 21 else 0), "once, and the JDK's own words"
    assert all(w.startswith("WARNING: ") for w in warnings)
    assert droppings(t.pid) == []
    assert len({line.split()[-2] for line in mapped(t)}) == 1, "the text is mapped once"


@pytest.mark.parametrize("jdk", [21, 25])
def test_no_warning_where_loading_is_allowed(target, sparkprof, jdk):
    t = target("Idle", jdk=jdk, jvm=["-XX:+EnableDynamicAgentLoading"])
    assert sparkprof("status", t.pid).returncode == 0
    assert (t.stdout(), t.stderr()) == ("ready\n", "")


def settled(count):
    """What it is when it stays: a stack is unmapped by a helper when its thread has gone already."""
    seen = [count()]
    wait_until(lambda: seen.append(count()) or time.sleep(0.05) or len(seen) > 5 and seen[-5:] == seen[-1:] * 5)
    return seen[-1]


@pytest.mark.parametrize("jdk", [11, 25])
def test_fifty_rounds_without_growth(target, sparkprof, jdk):
    t = target("Idle", jdk=jdk, jvm=STEADY if jdk >= 21 else STEADY[:2])

    def count():
        wait_until(lambda: not our_threads(t))
        return len(t.threads()), sorted(t.fds().values()), len(t.maps()), mapped(t), droppings(t.pid)
    for i in range(50):
        assert sparkprof("list" if i % 5 == 1 else "status", t.pid).returncode == 0
        if i == 1:
            second = settled(count)
    wait_until(lambda: count() == second)
    assert (t.stdout(), t.stderr()) == ("ready\n", "")


def test_root_enters_another_users_jvm(target, sparkprof):
    t = target("Idle", jdk=17, user=USER, cwd="/")
    r = sparkprof("status", t.pid)
    assert (r.returncode, r.stderr) == (0, "")
    r = sparkprof("list", "--json", t.pid)
    assert r.returncode == 0
    assert droppings(t.pid) == []


def test_a_plain_user_enters_his_own_jvm(target, sparkprof):
    t = target("Idle", jdk=17, user=USER, cwd="/")
    r = sparkprof("status", t.pid, user=USER, group=USER, extra_groups=[])
    assert (r.returncode, r.stderr) == (0, "")
    assert droppings(t.pid) == []


def test_a_plain_user_is_told_whose_it_is(target, sparkprof):
    t = target("Idle", jdk=17)
    r = sparkprof("status", t.pid, user=USER, group=USER, extra_groups=[])
    assert r.returncode == 3
    assert "root" in r.stderr and "sudo" in r.stderr
    assert r.stderr.count("\n") == 1
    assert not pathlib.Path(f"/tmp/.java_pid{t.pid}").exists(), "it was not even asked"


@pytest.mark.parametrize("jdk", jvm.every(11, 25))
def test_a_starting_jvm_is_never_killed(target, sparkprof, jdk):
    """A JVM without its handler dies of SIGQUIT: attach at every moment of its first 0.3 s."""
    for i in range(15):
        t = target("Idle", jdk=jdk, wait=False)
        time.sleep(0.02 * i)
        r = sparkprof("status", t.pid)
        assert r.returncode == 0, r.stderr
        t.wait_for("ready")
        assert t.stdout() == "ready\n", "no thread dump"
        t.close()


@pytest.mark.parametrize("listening", [False, True])
def test_a_stopped_jvm_times_out_with_a_sentence(target, sparkprof, listening):
    t = target("Idle", jdk=17)
    if listening:
        assert sparkprof("status", t.pid).returncode == 0
    os.kill(t.pid, signal.SIGSTOP)
    wait_until(lambda: "T (stopped)" in pathlib.Path(f"/proc/{t.pid}/status").read_text())
    r = sparkprof("status", "--attach-timeout", "500ms", t.pid)
    assert r.returncode == 3
    assert "stopped" in r.stderr and f"kill -CONT {t.pid}" in r.stderr
    assert droppings(t.pid) == []
    os.kill(t.pid, signal.SIGCONT)
    assert sparkprof("status", t.pid).returncode == 0
    assert t.stdout() == "ready\n", "no late thread dump"
    wait_until(lambda: not our_threads(t))


def test_a_stopped_jvm_that_goes_on_in_time_is_entered(target):
    t = target("Idle", jdk=17)
    os.kill(t.pid, signal.SIGSTOP)
    p = subprocess.Popen([SPARKPROF, "status", str(t.pid)], stdout=subprocess.PIPE, text=True)
    wait_until(lambda: present(t.pid))
    os.kill(t.pid, signal.SIGCONT)
    assert "nothing is being recorded" in p.communicate(timeout=100)[0]


def test_attaching_switched_off(target, sparkprof):
    t = target("Idle", jdk=17, jvm=["-XX:+DisableAttachMechanism"])
    r = sparkprof("status", t.pid)
    assert r.returncode == 3
    assert "DisableAttachMechanism" in r.stderr
    assert t.stdout() == "ready\n", "SIGQUIT would have printed a thread dump"


@pytest.mark.parametrize("jdk", [21, 25])
def test_agent_loading_switched_off(target, sparkprof, jdk):
    t = target("Idle", jdk=jdk, jvm=["-XX:-EnableDynamicAgentLoading"])
    r = sparkprof("status", t.pid)
    assert r.returncode == 3
    assert "agent loading is disabled there: -XX:-EnableDynamicAgentLoading" in r.stderr
    assert droppings(t.pid) == []


def test_what_is_not_a_jvm(sparkprof):
    with subprocess.Popen(["sleep", "60"]) as p:
        r = sparkprof("status", p.pid)
        p.kill()
    assert r.returncode == 3
    assert "JVM" in r.stderr


def test_a_thread_is_no_process_and_its_jvm_dumps_nothing(target, sparkprof):
    t = target("Idle")
    tid = next(tid for tid in t.threads() if int(tid) != t.pid)
    r = sparkprof("status", tid)
    assert r.returncode == 3
    assert f"thread of pid {t.pid}" in r.stderr
    assert t.stdout() == "ready\n"
    assert droppings(t.pid) == []


def test_a_jvm_that_cannot_start_a_thread_is_not_made_to(target, sparkprof):
    """It would exit: the JDK's attach listener ends the VM where it gets no thread."""
    group = pathlib.Path("/sys/fs/cgroup/pids" if os.path.isdir("/sys/fs/cgroup/pids") else "/sys/fs/cgroup",
                         f"sparkprof-test-{os.getpid()}")
    try:
        group.mkdir()
    except OSError as e:
        pytest.skip(f"no cgroup for processes can be made here: {e}")
    try:
        t = target("Idle")
        (group / "cgroup.procs").write_text(str(t.pid))
        (group / "pids.max").write_text((group / "pids.current").read_text())
        r = sparkprof("status", t.pid)
        assert r.returncode == 3
        assert "pids.max" in r.stderr
        assert t.alive() and t.stdout() == "ready\n"
        (group / "pids.max").write_text("max")
        assert sparkprof("status", t.pid).returncode == 0
        t.close()
    finally:
        group.rmdir()


@pytest.mark.parametrize("limit, name", [("nproc", "ulimit -u"), ("as", "ulimit -v")])
def test_a_jvm_at_its_limits_is_not_made_to_start_a_thread(target, sparkprof, limit, name):
    alone = 60000 + os.getpid() % 5000  # the limit counts all of a user's threads, those of a test beside this one, too
    t = target("Idle", user=alone)
    if limit == "nproc":
        used, room = len(list(pathlib.Path(f"/proc/{t.pid}/task").iterdir())), 3
    else:
        used, room = int(pathlib.Path(f"/proc/{t.pid}/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE"), 4 << 20
    subprocess.run(["prlimit", "--pid", str(t.pid), f"--{limit}={used + room}:"], check=True, user=alone, group=alone)
    r = sparkprof("status", t.pid)
    assert r.returncode == 3
    assert name in r.stderr
    assert t.alive() and t.stdout() == "ready\n"
    more = used + (1000 if limit == "nproc" else 1 << 32)
    subprocess.run(["prlimit", "--pid", str(t.pid), f"--{limit}={more}:"], check=True, user=alone, group=alone)
    assert sparkprof("status", t.pid).returncode == 0


def test_a_pid_that_is_gone(sparkprof):
    p = subprocess.Popen(["true"])
    p.wait()
    r = sparkprof("status", p.pid)
    assert r.returncode == 3
    assert str(p.pid) in r.stderr


def test_a_starved_attach_tidies_up_before_it_is_given_up(target):
    """Its child gets no CPU until its time is long over (here: it is stopped); it is not killed with its files there."""
    t = target("Idle", jdk=17)
    os.kill(t.pid, signal.SIGSTOP)
    p = subprocess.Popen([SPARKPROF, "status", "--attach-timeout", "1s", str(t.pid)], stderr=subprocess.PIPE, text=True)
    wait_until(lambda: present(t.pid))
    child = int(pathlib.Path(f"/proc/{p.pid}/task/{p.pid}/children").read_text().split()[0])
    os.kill(child, signal.SIGSTOP)
    time.sleep(8)
    os.kill(child, signal.SIGCONT)
    err = p.communicate(timeout=100)[1]
    assert p.returncode == 3 and "--attach-timeout" in err
    assert droppings(t.pid) == []


def test_a_jvm_that_dies_in_between(target):
    t = target("Idle", jdk=17)
    os.kill(t.pid, signal.SIGSTOP)
    p = subprocess.Popen([SPARKPROF, "status", str(t.pid)], stderr=subprocess.PIPE, text=True)
    wait_until(lambda: present(t.pid))
    t.close()
    err = p.communicate(timeout=100)[1]
    assert p.returncode == 3
    assert "ended" in err
    assert droppings(t.pid) == []


def test_many_launchers_at_once(target):
    t = target("Idle", jdk=17)
    crowd = [subprocess.Popen([SPARKPROF, "status", "-q", str(t.pid)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(6)]
    for p in crowd:
        out, err = p.communicate(timeout=100)
        assert (p.returncode, err) == (0, ""), err
    assert len({line.split()[-2] for line in mapped(t)}) == 1
    assert droppings(t.pid) == []


def test_the_second_launcher_is_told_who_holds_the_lock(target, sparkprof):
    t = target("Idle", jdk=17)
    lock = pathlib.Path(f"/tmp/.sparkprof-{t.pid}.lock")
    try:
        with open(lock, "w") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            f.write("pid 77, user alice, host node7, since 2026-01-01 00:00:00 UTC")
            f.flush()
            r = sparkprof("status", "--attach-timeout", "300ms", t.pid)
        assert r.returncode == 3
        assert "pid 77, user alice, host node7, since 2026-01-01" in r.stderr
        assert sparkprof("status", t.pid).returncode == 0, "a dead holder's file is taken over"
        assert not lock.exists()
    finally:
        lock.unlink(missing_ok=True)


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_launcher_that_ends_while_getting_in_leaves_nothing(target, sparkprof, sig):
    t = target("Idle", jdk=17)
    assert sparkprof("status", t.pid).returncode == 0  # the listener is there: the next one hangs in load
    os.kill(t.pid, signal.SIGSTOP)
    p = subprocess.Popen([SPARKPROF, "status", str(t.pid)], stderr=subprocess.DEVNULL)
    wait_until(lambda: any(f.endswith(".sock") for f in present(t.pid)))
    p.send_signal(sig)
    p.wait(100)
    wait_until(lambda: droppings(t.pid) == [])
    os.kill(t.pid, signal.SIGCONT)
    assert sparkprof("status", t.pid).returncode == 0
    wait_until(lambda: not our_threads(t))


@pytest.mark.parametrize("calls", ["openat2", "openat2,pidfd_open,pidfd_send_signal,getrandom", "openat2=EPERM"])
def test_older_kernels(target, calls):
    t = target("Idle", jdk=17, user=USER, cwd="/")
    wrapper = pathlib.Path(__file__).parents[1] / "kit/seccomp.py"
    r = subprocess.run([sys.executable, wrapper, calls, "--", SPARKPROF, "status", str(t.pid)],
                       capture_output=True, text=True, timeout=300)
    assert (r.returncode, r.stderr) == (0, "")
    assert droppings(t.pid) == []
