"""--via ssh: hosts with sshd in namespaces of this machine, and JVMs there that look like executors."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import time

import pytest

from kit import hosts as ssh_hosts, parts
from kit.hosts import HERE, here, in_tasks
from kit.recording import Recording
from kit.terminal import Terminal
from kit.traces import wait_until

APP = "app-20261119000000-0001"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    ssh_hosts.needed()
    found = ssh_hosts.Hosts(tmp_path_factory.mktemp("hosts"))
    yield found
    found.end()


@pytest.fixture(scope="module")
def executors(hosts):
    """Three executors of one application: 0 and 2 on the first host, 1 on the second."""
    found = [hosts.list[i % 2].executor(i) for i in range(3)]
    yield found
    for t in found:
        t.close()


def nothing_left(hosts):
    wait_until(lambda: not any(h.left() for h in hosts.list), 600)


def test_ps_is_one_table_of_all_hosts(hosts, executors):
    r = hosts.sparkprof("ps")
    assert r.returncode == 0, r.stderr
    head, *lines = r.stdout.splitlines()
    assert head.split()[:4] == ["HOST", "PID", "ROLE", "ID"]
    rows = [line.split() for line in lines if " executor " in line]
    assert [(row[0], row[3]) for row in rows] == [("10.77.0.11", "0"), ("10.77.0.11", "2"), ("10.77.0.12", "1")]
    found = json.loads(hosts.sparkprof("ps", "--json").stdout)
    assert {j["hostname"] for j in found} == {"10.77.0.11", "10.77.0.12"}
    nothing_left(hosts)


@pytest.mark.parametrize("word,expected", [(APP, "012"), pytest.param("executor:1", "1", marks=pytest.mark.long)])
def test_one_report_of_all_that_are_meant(hosts, executors, tmp_path, word, expected):
    def all_seen():
        """On a busy machine one may not have run in two seconds."""
        r = hosts.sparkprof("collect", "-e", "wall", "-d", "2", "-f", tmp_path / "x.collapsed", "--by", "executor", word)
        assert r.returncode == 0, r.stderr
        roots = {line.split(";")[0] for line in (tmp_path / "x.collapsed").read_text().splitlines()}
        seen = {n for n in "012" if any(re.search(rf"\b{n}\b", root) for root in roots)}
        assert seen <= set(expected), roots
        return seen == set(expected)
    wait_until(all_seen, 600)
    assert [p.name for p in tmp_path.iterdir()] == ["x.collapsed"]
    nothing_left(hosts)


def test_one_recording_of_all(hosts, executors, tmp_path):
    r = hosts.sparkprof("collect", "-e", "wall", "-d", "1", "-f", tmp_path / "x.jfr", "executors")
    assert r.returncode == 0 and Recording(tmp_path / "x.jfr").others["sparkprof.Counts"], r.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["x.jfr"]


def test_stack_of_all(hosts, executors):
    def in_a_task():
        """Between two of them there is none."""
        r = hosts.sparkprof("stack", "executors")
        assert r.returncode == 0, r.stderr
        assert len(re.findall(r"^== 10\.77\.0\.1[12], pid \d+, executor [012]$", r.stdout, re.M)) == 3
        return "OneStage.task" in r.stdout
    wait_until(in_a_task, 600)
    nothing_left(hosts)


def test_a_host_that_is_not_there_does_not_fail_the_rest(hosts, executors, tmp_path):
    more = hosts.names + ",10.77.0.99"
    r = hosts.sparkprof("collect", "-e", "wall", "-d", "0.5", "-f", tmp_path / "x.txt", "executors", hosts=more)
    assert r.returncode == 0 and "10.77.0.99: cannot be reached" in r.stderr and (tmp_path / "x.txt").exists(), r
    r = hosts.sparkprof("collect", "--strict", "-d", "0.5", "-f", tmp_path / "y.txt", "executors", hosts=more)
    assert r.returncode == 3 and not (tmp_path / "y.txt").exists(), r


@pytest.mark.parametrize("word", ["executor:7", *(pytest.param(w, marks=pytest.mark.long) for w in ("app-1", "com.acme.Nobody"))])
def test_what_is_nowhere(hosts, executors, word):
    r = hosts.sparkprof("collect", "-d", "1", "-f", "/nonexistent/x.txt", word)
    assert r.returncode == 3 and r.stderr.startswith("sparkprof: no JVM on the hosts that answered is") and r.stderr.count("\n") == 1, r
    nothing_left(hosts)


def test_a_pid_is_of_one_host(hosts):
    r = hosts.sparkprof("collect", "-d", "1", "1234")
    assert r.returncode == 2 and "a pid is of one host" in r.stderr, r


def arrived(tmp_path, least):
    """Recordings that have come here so far and hold samples of tasks."""
    return [f for f in tmp_path.glob("sparkprof-parts-*/*.jfr") if f.stat().st_size and in_tasks(f) >= least]


@pytest.mark.long
def test_ctrl_c_writes_what_there_is(hosts, executors, tmp_path):
    p = hosts.popen("collect", "-e", "wall", "-d", "300", "-f", tmp_path / "x.jfr", "executors", start_new_session=True)
    wait_until(lambda: len(arrived(tmp_path, 3)) == 3, 600)
    os.killpg(p.pid, signal.SIGINT)
    out, err = p.communicate(timeout=60)
    assert p.returncode == 0 and in_tasks(tmp_path / "x.jfr") >= 9, err
    nothing_left(hosts)


def test_a_killed_launcher_leaves_nothing_there_and_its_samples_here(hosts, executors, tmp_path):
    p = hosts.popen("collect", "-e", "wall", "-d", "300", "-f", tmp_path / "x.jfr", "executors", start_new_session=True)
    wait_until(lambda: len(arrived(tmp_path, 3)) == 3, 600)
    os.killpg(p.pid, signal.SIGKILL)
    p.communicate()
    nothing_left(hosts)
    assert len(arrived(tmp_path, 3)) == 3
    for t in executors:  # nothing records them any more
        wait_until(lambda: not [n for n in t.threads().values() if n.startswith("sparkprof")])


@pytest.mark.long
def test_packets_that_are_dropped_end_it_within_seconds(hosts, executors, tmp_path):
    p = hosts.popen("collect", "-e", "wall", "-d", "300", "-f", tmp_path / "x.jfr", "executor:1")
    wait_until(lambda: arrived(tmp_path, 3), 60)
    second = hosts.list[1]
    ssh_hosts.run("ip", "-n", hosts.switch, "link", "set", second.veth, "down")
    try:
        wait_until(lambda: not second.left(), 60)  # five seconds, and what the end of a recording takes
        assert p.wait(timeout=60) == 0
        assert "the connection ended" in p.stderr.read()
        assert in_tasks(tmp_path / "x.jfr") >= 3
    finally:
        ssh_hosts.run("ip", "-n", hosts.switch, "link", "set", second.veth, "up")
        p.kill()
    hosts.wait_for(second)


NOISE = {"noise on stdout": ("echo hello; printf 'sparkprof-0000 send\\n'; ", "/bin/sh"), "fish": ("", "/usr/bin/fish"), "csh": ("", "tcsh")}


@pytest.mark.long
@pytest.mark.parametrize("way", NOISE)
def test_login_shells_and_their_noise(hosts, executors, way):
    """A shell that takes ssh's command: what it prints first is not ours."""
    before, shell = NOISE[way]
    if shell == "tcsh":
        shell = parts.debian("tcsh", ["tcsh"]) / "bin/tcsh"
    if not os.path.exists(shell):
        pytest.skip(f"no {shell}")
    first = hosts.list[0]
    users = re.sub(r"^(root:.*):[^:]*$", r"\1:/run/login", first.run("cat", "/etc/passwd").stdout, flags=re.M)
    assert first.run("sh", "-c", "cat >/run/login; chmod 755 /run/login", input=f'#!/bin/sh\n{before}exec {shell} "$@"\n').returncode == 0
    assert first.run("sh", "-c", "cat >/run/users; mount --bind /run/users /etc/passwd", input=users).returncode == 0
    try:
        r = hosts.sparkprof("ps", hosts=first.address)
        assert r.returncode == 0 and " executor " in r.stdout and "hello" not in r.stdout, r
    finally:
        first.run("umount", "/etc/passwd")


@pytest.mark.long
def test_a_slow_link(hosts, executors, tmp_path):
    """8 Mbit/s both ways, and full buffers: the copy of this program takes seconds. That is no clock that is off, and nothing is lost."""
    second = hosts.list[1]
    ends = [["-n", hosts.switch, "qdisc", "{}", "dev", second.veth, "root"], ["-n", second.net, "qdisc", "{}", "dev", "eth0", "root"]]
    for end in ends:
        ssh_hosts.run("tc", *(w.format("add") for w in end), "tbf", "rate", "8mbit", "burst", "32k", "latency", "1s")
    try:
        r = hosts.sparkprof("collect", "-e", "wall", "-d", "3", "-f", tmp_path / "x.jfr", "executor:1", hosts=second.address, timeout=300)
        assert r.returncode == 0 and "clock" not in r.stderr and in_tasks(tmp_path / "x.jfr") > 0, r
        nothing_left(hosts)
    finally:
        for end in ends:
            ssh_hosts.run("tc", *(w.format("del") for w in end))


def over(host, places, options):
    for place in places:
        assert host.run("mount", "-t", "tmpfs", "-o", options, "none", place).returncode == 0


def uncover(host, places):
    for place in places:
        host.run("umount", place)


@pytest.mark.long
@pytest.mark.parametrize("options", ["mode=1777,noexec", "mode=1777,ro"])
def test_places_that_forbid_execution_or_writing(hosts, options):
    first, places = hosts.list[0], ("/tmp", "/var/tmp")
    over(first, places, options)
    try:
        r = hosts.sparkprof("ps", hosts=first.address)
        assert r.returncode == 0, r.stderr
        nothing_left(hosts)
    finally:
        uncover(first, places)


@pytest.mark.long
def test_a_full_disk_is_said(hosts):
    first, places = hosts.list[0], ("/tmp",)
    over(first, places, "mode=1777,size=64k")
    try:
        r = hosts.sparkprof("ps", hosts=first.address)
        assert r.returncode == 3 and "did not arrive whole" in r.stderr, r
        nothing_left(hosts)
    finally:
        uncover(first, places)


SSH = r'''#!/usr/bin/python3
"""Stands in for ssh: says what a far side might say that lies."""
import re, struct, sys
marker = re.search(r"m=(sparkprof-[0-9a-f]+);", sys.argv[-1])[1]
out = sys.stdout.buffer
packet = lambda kind, data: struct.pack("<IHH", len(data), kind, 0) + data
out.write(b"welcome\nsparkprof-0000000000000000 send\n" + marker.encode() + b" send\n")
out.flush()
way = sys.argv[sys.argv.index("--") + 1]
if way == "aarch64":
    sys.exit(out.write(marker.encode() + b" machine Linux aarch64\n") and 3)
if way != "early":
    sys.stdin.buffer.read(1000)
    out.write(marker.encode() + b" far\n")
if way == "noise":
    out.write(bytes(range(256)) * 100)
elif way == "huge":
    out.write(struct.pack("<IHH", 0xffffffff, 5, 0))
elif way == "other":
    out.write(packet(5, struct.pack("<QQ256s", 1, 2, b"x" * 256)))
elif way == "short":
    out.write(packet(5, b"x"))
elif way == "jvm":
    out.write(packet(6, b"\xff" * 77))
out.flush()
print("reason \x1b[31m \u202e of ssh", file=sys.stderr)
'''


def test_another_machine_is_refused(sparkprof, tmp_path):
    fake = tmp_path / "ssh"
    fake.write_text(SSH)
    fake.chmod(0o755)
    r = sparkprof("ps", "--via", "ssh", "--hosts", "aarch64", env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert r.returncode == 3 and r.stderr == "sparkprof: aarch64: is a Linux aarch64; this sparkprof cannot run there\n", r


@pytest.mark.parametrize("way", ["early", "noise", "huge", "other", "short", "jvm", "nothing"])
def test_a_far_side_that_lies(sparkprof, tmp_path, way):
    fake = tmp_path / "ssh"
    fake.write_text(SSH)
    fake.chmod(0o755)
    r = sparkprof("ps", "--via", "ssh", "--hosts", way, env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert r.returncode == 3 and r.stdout == "" and r.stderr.startswith(f"sparkprof: {way}: ") and r.stderr.count("\n") == 1, r
    assert r.stderr.strip().isprintable(), r.stderr


FOE = r'''#!/bin/sh
mv "{dir}/foes" "$THERE" && chown 4242 "$THERE"
exec {wc} "$@"
'''


def begins(file, text):
    """Whether a file begins so; those of tests beside this one come and go."""
    with contextlib.suppress(OSError):
        return file.is_file() and file.read_bytes().startswith(text)


def test_what_another_has_put_there_is_not_run(sparkprof, tmp_path):
    """The name is his from the moment that the shell there counts what has come; the program is ours."""
    parts.needs_root("give a file to another user")
    (tmp_path / "there").mkdir()
    for name, text in (("ssh", HERE.replace("{shell}", "sh")), ("there/wc", FOE.format(dir=tmp_path, wc=shutil.which("wc"))),
                       ("foes", f"#!/bin/sh\ntouch {tmp_path}/run\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    r = sparkprof("ps", "--via", "ssh", "--hosts", "here", env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert r.returncode == 0 and not (tmp_path / "run").exists() and not (tmp_path / "foes").exists(), r
    left = [f for f in pathlib.Path("/tmp").glob(".sparkprof-*") if begins(f, f"#!/bin/sh\ntouch {tmp_path}/run".encode())]
    for f in left:
        f.unlink()
    assert len(left) == 1, "his is left alone"


@pytest.fixture
def seventh(target):
    """An executor on this host, of an application that no other test has."""
    t = target("org.apache.spark.executor.CoarseGrainedExecutorBackend", "--driver-url", "spark://x@10.77.0.1:1", "--executor-id", 77, "--hostname", "here",
               "--cores", 1, "--app-id", "app-20261119770000-0077")
    t.send("")
    return "app-20261119770000-0077/77"


def test_a_terminal_shows_each_recording(tmp_path, seventh):
    """With its samples, and in its place; at the end the lines are gone."""
    words = ["env", f"PATH={here(tmp_path)['PATH']}", parts.SPARKPROF, "collect", "--via", "ssh", "--hosts", "here", "-e", "wall", "-d", "300", "-f", tmp_path / "x.jfr", seventh]
    with Terminal(words, columns=100) as term:
        wait_until(lambda: re.search(rb"  here  executor 77  recording +[1-9]\d* samples +0 lost +0\.\d MB\x1b\[K\n\d+ s, 1 recording: [1-9]\d* samples, 0 lost, ", term.seen))
        term.proc.send_signal(signal.SIGINT)
        seen = term.end()
    assert term.code == 0 and b"\r\x1b[2A\x1b[J" in seen and b"sparkprof-progress" not in seen, seen[-2000:]
    assert Recording(tmp_path / "x.jfr").samples


AHEAD = r'''#!/usr/bin/python3
"""Stands in for ssh: the host is this one, but an hour ahead: what it says of its clock is changed on the way."""
import os, struct, subprocess, sys
p = subprocess.Popen(["sh", "-c", sys.argv[-1]], stdin=0, stdout=subprocess.PIPE)
out = sys.stdout.buffer
line = b""
while not line.endswith(b" far\n"):
    line = p.stdout.readline() or sys.exit(p.wait())
    out.write(line)
    out.flush()
assert not os.path.exists("/tmp/." + line.split()[0].decode())  # removed before it says a word
while head := p.stdout.read(8):
    length, kind, number = struct.unpack("<IHH", head)
    data = p.stdout.read(length)
    if kind == 4:
        data = struct.pack("<Q", struct.unpack("<Q", data)[0] + 3600 * 10**9)
    out.write(head + data)
    out.flush()
sys.exit(p.wait())
'''


def test_times_of_a_host_whose_clock_is_off_become_ours(sparkprof, tmp_path, seventh):
    """Said, and put right in what is recorded. This clock is right, so that what is put right is an hour early."""
    r = sparkprof("collect", "--via", "ssh", "--hosts", "here", "-e", "wall", "-d", "1", "-f", tmp_path / "x.jfr", seventh, env=here(tmp_path, AHEAD))
    off = re.search(r"sparkprof: here: its clock is ([\d.]+) s ahead; the times of its recordings are corrected\n", r.stderr)
    assert r.returncode == 0 and abs(float(off[1]) - 3600) < 60, r
    start = struct.unpack(">Q", (tmp_path / "x.jfr").read_bytes()[32:40])[0] / 1e9
    assert abs(start - (time.time() - 3600)) < 300
    assert Recording(tmp_path / "x.jfr").others["sparkprof.Counts"]
    r = sparkprof("collect", "--via", "ssh", "--hosts", "here", "-e", "wall", "-d", "1", "-f", tmp_path / "y.jfr", seventh, env=here(tmp_path))
    assert r.returncode == 0 and "clock" not in r.stderr, r


SUDO = {"refuses": ("echo sudo: a password is required >&2; exit 1", "here: sudo does not make this user root there without a password; log in as root by --user, or "
                    "omit --sudo and see JVMs of your own: sudo: a password is required\n"),
        "is not there": ("echo 'sh: 1: sudo: not found' >&2; exit 127", "sudo: not found\n"),
        "lets in": ('shift; exec "$@"', None)}


@pytest.mark.parametrize("way", SUDO)
def test_sudo_that_lets_in_and_that_does_not(sparkprof, tmp_path, way):
    """Asked for before anything is written there."""
    does, sentence = SUDO[way]
    (tmp_path / "there").mkdir()
    for name, text in (("ssh", HERE.replace("{shell}", "sh")), ("there/sudo", f'#!/bin/sh\n[ "$1" = -n ] || exit 9\nprintf "%s\\n" "$*" >>{tmp_path}/asked\n{does}\n')):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    r = sparkprof("ps", "--via", "ssh", "--hosts", "here", "--sudo", env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[0] == "-n true" and len(asked) == (2 if sentence is None else 1), asked
    if sentence is None:
        assert r.returncode == 0 and re.fullmatch(r"-n /tmp/\.sparkprof-\w+ @far .*", asked[1]), (r, asked)
        assert not pathlib.Path(asked[1].split()[1]).exists()
    else:
        assert r.returncode == 3 and r.stderr.startswith("sparkprof: here: sudo does not") and r.stderr.endswith(sentence.split("here: ")[-1]), r


@pytest.mark.parametrize("call,sentence", [
    (["ps", "--via", "ssh"], "--via: no hosts"),
    (["ps", "--hosts", "n1"], "--hosts: is about other hosts; write --via ssh too"),
    (["ps", "--via", "ssh", "--hosts", "-oProxyCommand=x"], "is no name of a host"),
    (["ps", "--via", "ssh", "--hosts", "n1;reboot"], "is no name of a host"),
    (["ps", "--via", "ssh", "--hosts", "@/nonexistent"], "--hosts: /nonexistent"),
    (["start", "--via", "ssh", "--hosts", "n1", "-f", "x.jfr", "executor"], "--via"),
    (["ps", "--driver-ui", "http://x:1"], "--driver-ui: is about other hosts with ps"),
    (["stack", "--via", "ssh", "--hosts", "n1", "--slowest", "3", "executors"], "--slowest needs Spark's driver"),
    (["ps", "--via", "ssh", "--rm", "x:1"], "--rm: 'x:1' is not an address"),
])
def test_wrong_calls(sparkprof, call, sentence):
    r = sparkprof(*call, env={k: v for k, v in os.environ.items() if k not in ("HADOOP_CONF_DIR", "YARN_CONF_DIR")})
    assert r.returncode == 2 and sentence in r.stderr and r.stderr.count("\n") == 1, r


def test_dry_run_connects_to_nobody(sparkprof):
    r = sparkprof("collect", "--via", "ssh", "--hosts", "n1,n2,n1", "--dry-run", "-e", "wall", "-d", "30", "--by", "stage", "-f", "x.html", "executors")
    assert r.returncode == 0 and r.stdout.count("ssh -T") == r.stdout.count("-o BatchMode=yes") == 2  # no password is asked for
    assert "sparkprof collect --event=wall --duration=30 --output=jfr --file=- -- PID" in r.stdout and "--by" not in r.stdout


