"""--via: whom a driver, a standalone master and --follow find, and what becomes of a call where something here is short."""
import itertools
import os
import re
import signal
import subprocess

import pytest

from kit import hosts as ssh_hosts, parts
from kit.hosts import here, in_tasks
from kit.traces import wait_until

APP = f"app-20261119780000-{os.getpid():07d}"  # other processes run other tests of this file


@pytest.fixture
def executor(target):
    """Makes an executor of an application that no other test has, on this host."""
    def make(number):
        t = target("org.apache.spark.executor.CoarseGrainedExecutorBackend", "--driver-url", "spark://x@10.77.0.1:1", "--executor-id", number, "--hostname", "here",
                   "--cores", 1, "--app-id", APP)
        t.send("")
        return t
    return make


def program(directory, name, text):
    (directory / name).write_text(f"#!/bin/sh\nfor last; do :; done\n{text}\n")
    (directory / name).chmod(0o755)


def path_of(directory):
    return {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}


DRIVER = """case $last in
    */applications) echo '[{"id": "%s"}]' ;;
    */executors) echo '[{"id": "driver", "hostPort": "d:1"}, {"id": "1", "hostPort": "n1:2"}]' ;;
esac""" % APP
MASTER = """case $last in
    http://m:8080/json/) echo '{"workers": [{"host": "n1", "state": "ALIVE", "webuiaddress": "http://n1:8081"}, {"host": "n2", "state": "ALIVE", "webuiaddress": "http://n2:8081"},
        {"host": "n3", "state": "DEAD"}, {"host": "n4", "state": "ALIVE", "webuiaddress": "http://n4:8081"}, {"host": "-oX=y", "state": "ALIVE"}]}' ;;
    http://n1:8081/json/) echo '{"executors": [{"id": 0, "appid": "app-2-0001"}]}' ;;
    http://n2:8081/json/) echo '{"executors": [{"id": 0, "appid": "app-2-0002"}]}' ;;
    *) exit 7 ;;
esac"""


def hosts_in(r):
    """Where --dry-run would go."""
    assert r.returncode == 0, r
    return re.findall(r"^ssh .* -- (\S+) \(this", r.stdout, re.M)


@pytest.mark.parametrize("word, expected", [("app-2-0001", ["n1", "n4"]), ("app-2", ["n1", "n2", "n4"]), ("executors", ["n1", "n2", "n4"])])
def test_a_standalone_master_knows_its_workers(sparkprof, tmp_path, word, expected):
    """One that does not answer is taken in; nothing that is an option is."""
    program(tmp_path, "curl", MASTER)
    program(tmp_path, "ssh", "echo sparkprof-answer; exit 7")
    assert hosts_in(sparkprof("stack", "--via", "ssh", "--master", "http://m:8080/", "--dry-run", word, env=path_of(tmp_path))) == expected


def test_a_master_that_does_not_answer(sparkprof, tmp_path):
    program(tmp_path, "curl", "echo 'curl: (7) no route' >&2; exit 7")
    program(tmp_path, "ssh", "echo 'ssh: no route either' >&2; exit 255")
    r = sparkprof("ps", "--via", "ssh", "--master", "http://m:8080", env=path_of(tmp_path))
    assert r.returncode == 3 and "no route; nor from that host by ssh: ssh: no route either; name the hosts by --hosts" in r.stderr, r


def test_a_driver_that_only_its_own_host_reaches(sparkprof, tmp_path):
    """curl cannot; ssh can, where a startup file prints something first. Both ask with a Kerberos ticket."""
    program(tmp_path, "curl", 'case "$*" in *"--negotiate --user :"*) ;; *) exit 9 ;; esac; [ "$THERE" ] || { echo "curl: (28) timed out" >&2; exit 28; }\n' + DRIVER)
    program(tmp_path, "ssh", f'echo "$*" >>{tmp_path}/asked; echo welcome; THERE=1 exec sh -c "$last"')
    r = sparkprof("ps", "--via", "ssh", "--user", "me", "--driver-ui", "http://d:4040", "--dry-run", env=path_of(tmp_path))
    assert hosts_in(r) == ["d", "n1"]
    assert all(" -l me " in line and " -- d exec sh -c " in line for line in (tmp_path / "asked").read_text().splitlines())


@pytest.mark.long
def test_connections_live_while_the_driver_is_asked(sparkprof, tmp_path, executor):
    """A far side that hears nothing for five seconds ends."""
    executor(1)
    program(tmp_path, "curl", f"""sleep 8; case $last in */applications) echo '[{{"id": "{APP}"}}]' ;; *) echo '[{{"id": "1", "completedTasks": 1, "totalDuration": 9}}]' ;; esac""")
    r = sparkprof("collect", "--via", "ssh", "--hosts", "here", "--driver-ui", "http://d:4040", "--slowest", "1", "--attach-timeout", "5m", "-e", "wall", "-d", "1", "-f", tmp_path / "x.txt", APP,
                  env=here(tmp_path))
    assert r.returncode == 0 and (tmp_path / "x.txt").exists(), r


def test_an_executor_that_comes_while_it_records(tmp_path, executor):
    """By the connection that is there."""
    executor(1)
    env = here(tmp_path)
    os.rename(tmp_path / "ssh", tmp_path / "ssh-here")
    program(tmp_path, "ssh", f'echo x >>{tmp_path}/connections; exec {tmp_path}/ssh-here "$@"')
    p = subprocess.Popen([parts.SPARKPROF, "collect", "--via", "ssh", "--hosts", "here", "--follow", "--attach-timeout", "5m", "-e", "wall", "-d", "300", "--by", "executor", "-f", tmp_path / "x.collapsed", APP],
                         env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    files = lambda: sorted(f.name for f in tmp_path.glob("sparkprof-parts-*/*.jfr") if f.stat().st_size and in_tasks(f))
    try:
        wait_until(lambda: files() == ["0.jfr"], 100)
        executor(12)
        line = p.stderr.readline()
        assert re.fullmatch(r"here: executor 12 has come after [\d.]+ s and is recorded, too\n", line), line
        wait_until(lambda: files() == ["0.jfr", "1.jfr"], 100)
        p.send_signal(signal.SIGINT)
        assert p.wait(100) == 0, p.stderr.read()
    finally:
        p.kill()
    assert (tmp_path / "connections").read_text() == "x\n"
    roots = {line.split(";")[0] for line in (tmp_path / "x.collapsed").read_text().splitlines()}
    assert {n for n in ("1", "12") for root in roots if re.search(rf"\b{n}\b", root)} == {"1", "12"}, roots


LATE = """case "$*" in
    *' -- late '*) [ -e {dir}/up ] || {{ echo 'ssh: connect to host late port 22: Connection refused' >&2; exit 255; }} ;;
    *' -- shut '*) echo x >>{dir}/tries; echo 'me@shut: Permission denied (publickey).' >&2; echo 'Connection closed by UNKNOWN port 65535' >&2; exit 255 ;;
esac
exec {dir}/ssh-here "$@"
"""


def test_a_host_that_could_not_be_reached_is_tried_again(tmp_path, executor):
    """But none that refuses the user: some lock him out for that. The late host's executor is the first one's: that it is taken in is what counts."""
    executor(1)
    env = here(tmp_path)
    os.rename(tmp_path / "ssh", tmp_path / "ssh-here")
    program(tmp_path, "ssh", LATE.format(dir=tmp_path))
    p = subprocess.Popen([parts.SPARKPROF, "collect", "--via", "ssh", "--hosts", "here,shut,late", "--follow", "--attach-timeout", "5m", "-e", "wall", "-d", "300", "-f", tmp_path / "x.jfr", APP],
                         env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert p.stderr.readline() == "sparkprof: shut: cannot be reached: Connection closed by UNKNOWN port 65535\n"
        assert p.stderr.readline() == "sparkprof: late: cannot be reached: ssh: connect to host late port 22: Connection refused\n"
        wait_until(lambda: [f for f in tmp_path.glob("sparkprof-parts-*/0.jfr") if f.stat().st_size])  # something is recorded
        (tmp_path / "up").touch()
        assert re.fullmatch(r"late: executor 1 has come after [\d.]+ s and is recorded, too\n", p.stderr.readline())
        assert (tmp_path / "tries").read_text() == "x\n"
        p.send_signal(signal.SIGINT)
        assert p.wait(100) == 0, p.stderr.read()
    finally:
        p.kill()


@pytest.mark.long
def test_a_host_that_comes_while_it_records(tmp_path_factory, tmp_path):
    """The driver's UI names it later."""
    ssh_hosts.needed()
    hosts = ssh_hosts.Hosts(tmp_path_factory.mktemp("hosts"))
    found = [hosts.list[0].executor(1, APP)]
    program(tmp_path, "curl",
            f'case $last in */applications) echo \'[{{"id": "{APP}"}}]\' ;; *) cat {tmp_path}/executors ;; esac')
    (tmp_path / "executors").write_text('[{"id": "1", "hostPort": "10.77.0.11:1"}]')
    words = ["ip", "netns", "exec", hosts.switch, parts.SPARKPROF, "collect", "--via", "ssh", "--user", "root", *hosts.ssh_options, "--driver-ui", "http://10.77.0.11:4040", "--follow",
             "--attach-timeout", "5m", "-e", "wall", "-d", "300", "--by", "executor", "-f", tmp_path / "x.collapsed", APP]
    p = subprocess.Popen([*map(str, words)], env=path_of(tmp_path), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: [f for f in tmp_path.glob("sparkprof-parts-*/0.jfr") if f.stat().st_size and in_tasks(f)], 100)
        found.append(hosts.list[1].executor(2, APP))
        (tmp_path / "executors").write_text('[{"id": "1", "hostPort": "10.77.0.11:1"}, {"id": "2", "hostPort": "10.77.0.12:1"}]')
        assert re.match(r"10\.77\.0\.12: executor 2 has come after ", p.stderr.readline())
        wait_until(lambda: [f for f in tmp_path.glob("sparkprof-parts-*/1.jfr") if f.stat().st_size and in_tasks(f)], 100)
        p.send_signal(signal.SIGINT)
        assert p.wait(100) == 0, p.stderr.read()
        wait_until(lambda: not any(h.left() for h in hosts.list), 30)
    finally:
        p.kill()
        for t in found:
            t.close()
        hosts.end()


@pytest.mark.parametrize("call, sentence", [
    (["collect", "--follow", "executors"], "--follow: is about other hosts; write --via ssh too"),
    (["collect", "--via", "ssh", "--hosts", "n1", "--follow", "--fraction", "0.5", "executors"], "--follow: whether one that comes later is among those of --fraction"),
    (["ps", "--via", "ssh", "--master", "spark://m:7077"], "--master: 'spark://m:7077' is not an address of its UI"),
    (["ps", "--master", "http://m:8080"], "--master: is about other hosts"),
])
def test_wrong_calls(sparkprof, call, sentence):
    r = sparkprof(*call)
    assert r.returncode == 2 and sentence in r.stderr and r.stderr.count("\n") == 1, r


def test_a_program_that_never_arrives_leaves_nothing(sparkprof, tmp_path):
    """Its packets are dropped: the shell there gives up after ten minutes, here one second."""
    (tmp_path / "there").mkdir()
    program(tmp_path / "there", "timeout", '[ "$1" = 600 ] || exec /usr/bin/timeout "$@"; shift; exec /usr/bin/timeout 1 "$@"')
    os.mkfifo(tmp_path / "link")
    program(tmp_path, "ssh", f'm=${{last#*m=}}; echo "/tmp/.${{m%%;*}}" >{tmp_path}/file; exec 3<>{tmp_path}/link; PATH={tmp_path}/there:$PATH exec sh -c "$last" <&3')
    r = sparkprof("ps", "--via", "ssh", "--hosts", "n1", env=path_of(tmp_path))
    assert r.returncode == 3 and "did not arrive whole" in r.stderr and not os.path.exists((tmp_path / "file").read_text().strip()), r


def test_no_more_hosts_at_a_time_than_parallel(sparkprof, tmp_path):
    program(tmp_path, "ssh", f'echo 1 >>{tmp_path}/log; sleep 0.1; echo -1 >>{tmp_path}/log; m=${{last#*m=}}; echo "${{m%%;*}} machine Linux mips"')
    r = sparkprof("ps", "--via", "ssh", "--parallel", "2", "--hosts", "n1,n2,n3,n4,n5,n6", env=path_of(tmp_path))
    at_once = list(itertools.accumulate(map(int, (tmp_path / "log").read_text().split())))
    assert r.returncode == 3 and len(at_once) == 12 and max(at_once) <= 2, (r, at_once)


def test_a_place_to_run_where_spark_may_write_alone(sparkprof, tmp_path):
    """As in a pod with a read-only root: the first of SPARK_LOCAL_DIRS."""
    parts.needs_root("mount what nobody may write")
    cover = "for d in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o ro none $d; done; mount -t tmpfs none /mnt"
    program(tmp_path, "ssh", f"""exec 3>{tmp_path}/left; export LAST="$last" HOME=/nonexistent SPARK_LOCAL_DIRS=/mnt,/elsewhere; exec unshare -m sh -c '{cover}; sh -c "$LAST"; ls -A /mnt >&3; echo end >&3'""")
    r = sparkprof("ps", "--json", "--via", "ssh", "--hosts", "n1", env=path_of(tmp_path))
    assert r.returncode == 0 and not r.stderr, r
    wait_until(lambda: "end" in (tmp_path / "left").read_text())
    assert (tmp_path / "left").read_text() == "end\n"


@pytest.mark.long
def test_a_host_that_says_nothing_is_given_up(tmp_path):
    """After a minute."""
    program(tmp_path, "ssh", "exec sleep 1000")
    r = subprocess.run([parts.SPARKPROF, "ps", "--via", "ssh", "--hosts", "n1"], env=path_of(tmp_path), capture_output=True, text=True, timeout=300)
    assert r.returncode == 3 and r.stderr == "sparkprof: n1: nothing came for 60 s\n", r


def test_more_hosts_than_open_files(tmp_path):
    """The soft limit is raised; ssh gets the one that was there."""
    program(tmp_path, "ssh", f'ulimit -Sn >>{tmp_path}/limits; sleep 1; m=${{last#*m=}}; echo "${{m%%;*}} machine Linux mips"')
    names = ",".join(f"n{i}" for i in range(30))
    r = subprocess.run(["prlimit", "--nofile=64:1024", parts.SPARKPROF, "ps", "--via", "ssh", "--hosts", names], env=path_of(tmp_path), capture_output=True, text=True, timeout=100)
    assert r.returncode == 3 and r.stderr.count(": is a Linux mips; this sparkprof cannot run there\n") == 30, r
    assert (tmp_path / "limits").read_text() == "64\n" * 30


def test_a_disk_that_is_full_here_loses_nothing_that_came(sparkprof, tmp_path, executor):
    parts.needs_root("mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    executor(1)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24k", "none", disk], check=True)
    try:
        r = sparkprof("collect", "--via", "ssh", "--hosts", "here", "--attach-timeout", "5m", "-e", "wall", "-d", "3", "-f", disk / "x.html", APP, env=here(tmp_path))
        assert r.returncode == 1 and "a recording cannot be written here: No space left on device" in r.stderr, r
        kept = re.search(r"the recordings are in (\S+)$", r.stderr, re.M)
        assert kept and os.path.getsize(f"{kept[1]}/0.jfr") > 4096, r
    finally:
        subprocess.run(["umount", disk])


def test_a_device_as_output(sparkprof, tmp_path, executor):
    """What arrives does not go beside it."""
    executor(1)

    def printed():
        """On a busy machine no task may have run in a second."""
        r = sparkprof("collect", "--via", "ssh", "--hosts", "here", "--attach-timeout", "5m", "-e", "wall", "-d", "1", "-o", "collapsed", "-f", "/dev/stdout", APP, env=here(tmp_path))
        assert r.returncode == 0 and not [n for n in os.listdir("/dev") if n.startswith("sparkprof")], r
        return r.stdout
    wait_until(printed)


@pytest.mark.long
@pytest.mark.timeout(2400)
def test_twenty_hosts(tmp_path_factory, tmp_path):
    """One page of all; an executor that dies and a host that vanishes fail nobody else, and nothing is left anywhere."""
    ssh_hosts.needed()
    hosts = ssh_hosts.Hosts(tmp_path_factory.mktemp("hosts"), 20)
    found, gone = [], hosts.list[5]
    try:
        found += [h.executor(i, APP, busy=False) for i, h in enumerate(hosts.list)]
        p = hosts.popen("collect", "--attach-timeout", "5m", "-e", "wall", "-d", "600", "-f", tmp_path / "x.jfr", "-f", tmp_path / "x.collapsed", "--by", "executor", APP)
        # At a load of 80 to 120 on two cores the twenty JVMs were not attached to within 300 s.
        wait_until(lambda: p.poll() is not None or len([f for f in tmp_path.glob("sparkprof-parts-*/*.jfr") if f.stat().st_size]) == 20, 1200)
        assert p.poll() is None, p.communicate()[1]
        os.kill(found[3].pid, signal.SIGKILL)
        ssh_hosts.run("ip", "-n", hosts.switch, "link", "set", gone.veth, "down")
        wait_until(lambda: not gone.left(), 100)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=300)
        assert p.returncode == 0 and "10.77.0.13: " in err and "10.77.0.16: the connection ended" in err and "of 20 targets failed" in err, err
        roots = {line.split(";")[0] for line in (tmp_path / "x.collapsed").read_text().splitlines()}
        assert {int(n) for root in roots for n in re.findall(r"\b\d+\b", root)} >= set(range(20)), roots
        wait_until(lambda: not any(h.left() for h in hosts.list), 60)
    finally:
        p.kill()
        for t in found:
            t.close()
        hosts.end()
