"""Pod-like containers around the tiny Java targets: podman with runc, or bubblewrap alone.

    with container.Pod("Idle", userns=True) as pod:   # uid 185, read-only root, no capabilities, tini is PID 1
        pod.pid                                       # the JVM's pid on the host
        pod.put(SPARKPROF, "/tmp/sparkprof")          # by cat, as without tar
        pod.exec("/tmp/sparkprof", "ps")
"""
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from . import jvm, parts, rootfs, spark

SECCOMP = parts.ROOT / "tests/data/seccomp-pod.json"
POOR = """--network none --read-only --read-only-tmpfs=false --cap-drop ALL --security-opt no-new-privileges
    --passwd=false --log-driver none --ulimit nofile=20000:20000 --ulimit nproc=10000:10000""".split()
USERNS = ["--no-hosts", "--uidmap", "0:100000:65536", "--gidmap", "0:100000:65536"]
TMPFS = {"exec": "/tmp:mode=1777,exec", "noexec": "/tmp:mode=1777,noexec", "ro": "/tmp:mode=1777,ro"}


def descendants(pid):
    """All processes below @pid."""
    found = []
    try:
        for t in os.listdir(f"/proc/{pid}/task"):
            for child in pathlib.Path(f"/proc/{pid}/task/{t}/children").read_text().split():
                found += [int(child), *descendants(int(child))]
    except OSError:
        pass
    return found


def find_java(pid):
    for p in [pid, *descendants(pid)]:
        try:
            if os.readlink(f"/proc/{p}/exe").endswith("/bin/java"):
                return p
        except OSError:
            pass
    return None


class Boxed:
    """A Java target behind some wall: its output, and its pid as this side sees it."""

    def _begin(self, prefix):
        self.dir = tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)  # podman lets go of it late
        self.out = open(os.memfd_create("stdout"), "w+b", buffering=0)
        self.err = open(os.memfd_create("stderr"), "w+b", buffering=0)

    def stdout(self):
        return os.pread(self.out.fileno(), 1 << 24, 0).decode(errors="replace")

    def stderr(self):
        return os.pread(self.err.fileno(), 1 << 24, 0).decode(errors="replace")

    def _wait_ready(self):
        self.wait_for(lambda: any(line.split()[:1] == ["ready"] for line in self.stdout().splitlines()), timeout=500)

    def wait_for(self, happened, timeout=180):
        end = time.monotonic() + timeout
        while not happened():
            if self.proc.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"container: not there in time; exit {self.proc.poll()}\n{self.stdout()}{self.stderr()}")
            time.sleep(0.02)

    def alive(self):
        try:
            return os.readlink(f"/proc/{self.pid}/exe").endswith("/java")
        except OSError:
            return False

    def _end(self):
        self.proc.stdin.close()
        try:
            self.proc.wait(5)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
        self.out.close()
        self.err.close()
        self.dir.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


class Pod(Boxed):
    """One container as Kubernetes would start an executor's."""

    def __init__(self, main="Idle", *args, jvm_flags=(), userns=False, tmp="exec", uid=185, java=None, options=(),
                 command=None):
        parts.needs_root("start a container")
        if userns:
            parts.needs_other_users("start a container with users of its own")
        self._begin("spod")
        d = self.dir.name
        # By default all podmans of a machine share their locks, whatever their --root is; the first call in a new --tmpdir frees all of them.
        conf = pathlib.Path(d, "containers.conf")
        conf.write_text('[engine]\nlock_type = "file"\n')
        self.podman = ["env", f"CONTAINERS_CONF={conf}", *"podman --cgroup-manager cgroupfs --runtime runc --storage-driver vfs --events-backend file".split(),
                       "--root", f"{d}/root", "--runroot", f"{d}/run", "--tmpdir", f"{d}/tmp"]
        self.root = rootfs.pod()
        os.chmod(d, 0o711)
        command = command or [java or rootfs.java(self.root), *jvm_flags, "-cp", "/classes", main, *map(str, args)]
        users = [*(USERNS if userns else []), "--user", f"{uid}:{uid}"]
        self.proc = self._run("target", [*users, *self._tmp(tmp), *options], ["tini", "-s", "--", *command])
        try:
            self._wait_ready()
            self.pid = find_java(int(self._inspect("target", "{{.State.Pid}}")))
        except BaseException:
            self.close()
            raise

    def _tmp(self, kind):
        """Options for its /tmp; "emptyDir" is as Kubernetes makes one: for all, without a sticky bit."""
        if kind != "emptyDir":
            return ["--tmpfs", TMPFS[kind]]
        empty = pathlib.Path(self.dir.name, "empty")
        empty.mkdir()
        empty.chmod(0o777)
        return ["-v", f"{empty}:/tmp"]

    def _run(self, name, options, command):
        return subprocess.Popen(
            [*self.podman, "run", "-i", "--name", name, "--rootfs", *POOR, "--security-opt", f"seccomp={SECCOMP}",
             "-v", f"{jvm.compiled()}:/classes:ro", "--workdir", "/", *options, str(self.root), *command],
            stdin=subprocess.PIPE, stdout=self.out, stderr=self.err)

    def _inspect(self, name, what):
        return subprocess.run([*self.podman, "inspect", "-f", what, name], check=True, capture_output=True,
                              text=True).stdout.strip()

    def exec(self, *command, name="target", user=None, timeout=300, **kw):
        """Runs a command in there as `kubectl exec` does."""
        who = ["--user", user] if user else []
        return subprocess.run([*self.podman, "exec", "-i", *who, name, *map(str, command)], capture_output=True,
                              timeout=timeout, **{"stdin": subprocess.DEVNULL, "text": True, **kw})

    def put(self, file, path, name="target"):
        """Copies a file in through the standard input of a shell, as an image without tar needs it."""
        with open(file, "rb") as f:
            r = self.exec("sh", "-c", f"cat >{path} && chmod +x {path}", name=name, stdin=f)
        assert r.returncode == 0, r.stderr

    def debug(self, uid):
        """Starts a second container in the pid namespace of the first, with its own root, as `kubectl debug --target`
        does; returns its name for exec and put. Not with userns: runc does not join another's mapping."""
        name = f"debug{uid}"
        self._run(name, ["--pid", "container:target", "--user", f"{uid}:{uid}", "--tmpfs", "/tmp:mode=1777,exec"],
                  ["sleep", "300"])
        end = time.monotonic() + 100
        while self.exec("true", name=name).returncode != 0:
            assert time.monotonic() < end, self.stderr()
            time.sleep(0.1)
        return name

    def close(self):
        subprocess.run([*self.podman, "rm", "-f", "-t", "0", "-a"], capture_output=True)
        self._end()


def spark_pod(jdk=17, job="busy.py", args=(), **kw):
    """A pod with a whole small Spark in it: driver, worker and an executor with two cores, all of uid 185."""
    packages = next(parts.pyspark().glob("lib/python*/site-packages"))
    env = {"SPARK_HOME": "/tmp/spark", "PYTHONPATH": "/data", "PYSPARK_PYTHON": "python3", "JAVA_HOME": "/java",
           "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_USER": "spark",
           "PYSPARK_SUBMIT_ARGS": "--master local-cluster[1,2,1024] --conf spark.ui.enabled=false "
                                  "--conf spark.driver.memory=512m --conf spark.executor.memory=512m pyspark-shell"}
    mounts = {packages: "/data", parts.ROOT / "tests/spark/jobs": "/jobs", parts.jdk(jdk): "/java"}
    options = [*(x for k, v in env.items() for x in ("--env", f"{k}={v}")),
               *(x for k, v in mounts.items() for x in ("-v", f"{os.path.realpath(k)}:{v}:ro"))]
    links = " ".join(f"/data/pyspark/{p}" for p in spark.HOME_PARTS)
    start = f"mkdir /tmp/spark && ln -s {links} /tmp/spark/ && exec python3 /jobs/{' '.join(map(str, (job, *args)))}"
    # Hadoop wants a user with a name; Spark's own image adds one to /etc/passwd as it starts.
    passwd = parts.ROOT / "build/targets/passwd"
    parts.fresh(passwd, [], lambda: passwd.write_text("root:x:0:0::/root:/bin/sh\nspark:x:185:185::/tmp:/bin/sh\n"))
    return Pod(command=["sh", "-c", start], options=[*options, "-v", f"{passwd}:/etc/passwd:ro"], **kw)


class Bubble(Boxed):
    """A target in all namespaces that bubblewrap makes, with a user namespace and uid 185 in it."""

    def __init__(self, main="Idle", *args, root=None, classes=None, jvm_flags=(),
                 options=("--unshare-all", "--uid", "185", "--gid", "185")):
        self._begin("sbub")
        root = root or rootfs.pod()
        self.proc = subprocess.Popen(
            ["bwrap", *options, "--die-with-parent", "--ro-bind", root, "/", "--proc", "/proc", "--dev", "/dev",
             "--tmpfs", "/tmp", "--ro-bind", classes or jvm.compiled(), "/classes", "--chdir", "/",
             rootfs.java(root), *jvm_flags, "-cp", "/classes", main, *map(str, args)],
            stdin=subprocess.PIPE, stdout=self.out, stderr=self.err)
        try:
            self._wait_ready()
            self.pid = find_java(self.proc.pid)
        except BaseException:
            self.close()
            raise

    def close(self):
        if self.proc.poll() is None and getattr(self, "pid", None):
            os.kill(self.pid, signal.SIGKILL)
        self._end()
