"""Somebody else has been in the target's directories before us: nothing of his is followed, opened or loaded."""
import os
import pathlib
import signal
import socket
import subprocess
import tempfile

import pytest

from kit import jvm, parts
from kit.parts import SPARKPROF
from kit.traces import droppings, mapped, open_to_all, our_threads, present, wait_until

USER, FOE = 185, 4242


def as_foe(what, user=FOE):
    """Runs a function in a child of another user; what it returns, or the error's number."""
    parts.needs_other_users("do things as another user")
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            try:
                os.write(w, str(what() or 0).encode())
            except OSError as e:
                os.write(w, str(-e.errno).encode())
        finally:
            os._exit(0)
    os.close(w)
    with os.fdopen(r) as f:
        text = f.read()
    os.waitpid(pid, 0)
    return int(text)


@pytest.fixture
def foes_file():
    made = []

    def make(path, how):
        if os.path.lexists(path):  # left by an earlier process of that number
            os.unlink(path)
        made.append(path)
        assert as_foe(lambda: how(path)) == 0
        return path
    yield make
    for p in made:
        if os.path.lexists(p):
            os.unlink(p)


def write(path):
    pathlib.Path(path).write_text("x")
    os.chmod(path, 0o666)


def link_to_passwd(path):
    os.symlink("/etc/passwd", path)


def fifo(path):
    os.mkfifo(path, 0o666)
    os.chmod(path, 0o666)


def listening(path):
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    os.chmod(path, 0o777)
    s.listen()


@pytest.mark.parametrize("how", [write, link_to_passwd, fifo, listening])
@pytest.mark.parametrize("name", [".sparkprof-{}.lock", ".attach_pid{}"])
def test_names_that_can_be_guessed_are_taken(target, sparkprof, foes_file, how, name):
    t = target("Idle", jdk=17, user=USER, cwd="/tmp")
    if name == ".attach_pid{}":
        # Both places of the trigger are one here, and the foe sits on it: refused, not followed.
        foes_file("/tmp/" + name.format(t.pid), how)
        before = os.stat("/etc/passwd").st_mtime_ns
        r = sparkprof("status", "--attach-timeout", "2s", t.pid)
        assert r.returncode == 3 and f"{name.format(t.pid)} in /tmp" in r.stderr and "remove it" in r.stderr
        assert os.stat("/etc/passwd").st_mtime_ns == before
        assert t.stdout() == "ready\n"
        return
    foes_file("/tmp/" + name.format(t.pid), how)
    r = sparkprof("status", t.pid)
    assert (r.returncode, r.stderr) == (0, "")
    assert t.alive()


def test_a_trigger_of_another_in_the_working_directory(target, sparkprof, tmp_path):
    """The JVM looks there first; ours goes to /tmp, and the JVM skips his, for he is not root."""
    open_to_all(tmp_path)
    t = target("Idle", jdk=17, user=USER, cwd=str(tmp_path))
    assert as_foe(lambda: write(tmp_path / f".attach_pid{t.pid}")) == 0
    r = sparkprof("status", "--attach-timeout", "2s", t.pid)
    assert r.returncode in (0, 3)
    assert (tmp_path / f".attach_pid{t.pid}").exists(), "not ours to remove"


@pytest.mark.parametrize("how", [write, link_to_passwd, fifo, listening])
def test_an_attach_socket_of_another_is_not_spoken_to(target, sparkprof, foes_file, how):
    t = target("Idle", jdk=17, user=USER, cwd="/")
    foes_file(f"/tmp/.java_pid{t.pid}", how)
    r = sparkprof("status", "--attach-timeout", "2s", t.pid)
    assert r.returncode == 3
    assert f".java_pid{t.pid}" in r.stderr
    assert droppings(t.pid) == []


def test_a_library_put_where_ours_was_is_not_loaded(target, sparkprof, foes_file, tmp_path):
    """The name of a loaded agent can be read in /tmp for a moment: its constructor would run as the target."""
    proof = tmp_path / "loaded"
    open_to_all(tmp_path)
    source = tmp_path / "evil.c"
    source.write_text(f'#include <stdio.h>\n__attribute__((constructor)) static void f(void) '
                      f'{{ fopen("{proof}", "w"); }}\nint Agent_OnAttach(void *a, char *b, void *c) {{ return 0; }}\n')
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "evil.so", source], check=True)
    evil = (tmp_path / "evil.so").read_bytes()
    t = target("Idle", jdk=17, user=USER, cwd="/")
    assert sparkprof("status", t.pid).returncode == 0
    path = mapped(t)[0].split()[5]
    foes_file(path, lambda p: pathlib.Path(p).write_bytes(evil) and 0)
    os.chmod(path, 0o755)
    r = sparkprof("status", t.pid)
    assert (r.returncode, r.stderr) == (0, "")
    assert not proof.exists()
    assert pathlib.Path(path).exists(), "not ours to remove"


def test_another_user_and_the_own_user_on_our_socket(target, sparkprof):
    """0600 keeps others out; the target's own user gets in but does not know the token."""
    t = target("Idle", jdk=17, user=USER, cwd="/")
    assert sparkprof("status", t.pid).returncode == 0
    os.kill(t.pid, signal.SIGSTOP)
    p = subprocess.Popen([SPARKPROF, "status", str(t.pid)], stdout=subprocess.PIPE, text=True)
    wait_until(lambda: any(f.endswith(".sock") for f in present(t.pid)))
    name = "/tmp/" + next(f for f in present(t.pid) if f.endswith(".sock"))
    assert os.stat(name).st_mode & 0o777 == 0o600

    def knock():
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect(name)
        s.send(b"x" * 16)
    assert as_foe(knock) == -13  # EACCES
    assert as_foe(knock, user=USER) == 0
    os.kill(t.pid, signal.SIGCONT)
    assert "nothing is being recorded" in p.communicate(timeout=100)[0]
    wait_until(lambda: not our_threads(t))


def in_bwrap(*args, jdk=17):
    def bind(*dirs):
        return [a for d in map(str, dirs) if os.path.exists(d) for a in ("--ro-bind", d, d)]
    # The checkout, and a JDK of its parts, may lie below a directory that @args hide: they are shown last, the classes as /classes.
    home = parts.jdk(jdk)
    return ["bwrap", *bind("/usr", "/lib", "/lib64", "/bin", "/etc"), "--proc", "/proc", "--dev", "/dev", *args,
            "--ro-bind", jvm.compiled(), "/classes", *([] if home.is_relative_to("/usr") else bind(home))]


def java_below(pid):
    """The java that bwrap has started, as the host sees it."""
    found = []
    for d in os.listdir("/proc"):
        if not d.isdigit():
            continue
        try:
            stat = pathlib.Path(f"/proc/{d}/stat").read_text()
            parent = int(stat.rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if parent == pid:
            found += [int(d)] if stat.split("(", 1)[1].startswith("java)") else java_below(int(d))
    return found


@pytest.fixture
def outside():
    """A directory of the host, not below /tmp, where everybody may write."""
    parts.needs_root("write to /mnt")
    with tempfile.TemporaryDirectory(dir="/mnt") as d:
        os.chmod(d, 0o1777)
        yield d


@pytest.mark.parametrize("seccomp", [False, True])
def test_tmp_as_a_link_to_a_host_directory(target, sparkprof, outside, seccomp):
    """Inside, /tmp points to a path that exists inside and outside: only the inner one is used."""
    t = target("Idle", jdk=17, cwd="/", classes="/classes", wrap=in_bwrap("--perms", "1777", "--tmpfs", outside,
               "--symlink", outside, "/tmp", "--tmpfs", "/var/tmp", "--chdir", "/"))
    pid, = java_below(t.pid) or [t.pid]
    kit = pathlib.Path(__file__).parents[1] / "kit/seccomp.py"
    cmd = ["python3", str(kit), "openat2", "--"] if seccomp else []
    r = subprocess.run([*cmd, str(SPARKPROF), "status", "--attach-timeout", "60s", str(pid)],
                       capture_output=True, text=True, timeout=300)
    assert (r.returncode, r.stderr) == (0, "")
    assert os.listdir(outside) == []


@pytest.mark.parametrize("name,wrap,user", [
    ("pid, mount, net and ipc namespace", ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--tmpfs", "/tmp"], None),
    ("user namespace, uid 185 inside", ["--unshare-user", "--uid", "185", "--gid", "185", "--unshare-pid",
                                        "--tmpfs", "/tmp"], 4243),
    ("everything of its own", ["--unshare-all", "--uid", "185", "--gid", "185", "--tmpfs", "/tmp"], 4243),
    ("no /tmp to write to but a working directory", ["--unshare-pid", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp",
                                                    "--tmpfs", "/home", "--chdir", "/home"], None),
])
@pytest.mark.parametrize("jdk", [17, 25])
def test_from_the_host_into_namespaces(target, sparkprof, name, wrap, user, jdk):
    t = target("Idle", jdk=jdk, cwd="/", classes="/classes", wrap=in_bwrap(*wrap, jdk=jdk), user=user, jvm=["-XX:+EnableDynamicAgentLoading"])
    pid, = java_below(t.pid) or [t.pid]
    for _ in range(2):
        r = sparkprof("status", pid)
        assert (r.returncode, r.stderr) == (0, "")
    root = f"/proc/{pid}/root"
    assert not [f for d in ("/tmp", "/var/tmp", "/dev/shm") if os.path.isdir(root + d)
                for f in os.listdir(root + d) if ".sparkprof-" in f or ".attach_pid" in f]
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    assert len({line.split()[5] for line in maps.splitlines() if ".sparkprof-" in line}) == 1
    assert (t.stdout(), t.stderr()) == ("ready\n", "")
