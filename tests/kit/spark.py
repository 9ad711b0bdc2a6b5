"""Starts a real Spark application whose job keeps running, and finds its JVMs through /proc.

    with spark.App() as app:              # local-cluster: one executor JVM with two cores
        app.executors()                   # [pid], app.driver → pid, app.id → "app-2026…-0000"
"""
import os
import pathlib
import re
import shlex
import signal
import subprocess
import tempfile
import time

from . import parts

JOBS = parts.ROOT / "tests/spark/jobs"
BACKEND = "ExecutorBackend"
HOME_PARTS = ("bin", "jars", "python", "sbin")


def java_children(root):
    """Pids of all JVMs below process @root, by what they execute, not by their words."""
    parents, found = {}, []
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = pathlib.Path(f"/proc/{p}/stat").read_text()
        except OSError:
            continue
        parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(p))
    todo = [root]
    while todo:
        pid = todo.pop()
        todo += parents.get(pid, [])
        try:
            if os.readlink(f"/proc/{pid}/exe").endswith("/bin/java"):
                found.append(pid)
        except OSError:
            pass
    return found


def cmdline(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def bare_classes(version="4.3.0"):
    """Compiles tests/spark/java against Spark; returns a class path with all of Spark's jars."""
    jars = next(parts.pyspark(version).glob("lib/python*/site-packages/pyspark/jars"))
    sources, out = sorted((parts.ROOT / "tests/spark/java").glob("*.java")), parts.ROOT / "build/targets/spark"

    def make():
        subprocess.run([parts.jdk(17) / "bin/javac", "-nowarn", "-cp", f"{jars}/*", "-d", out, *sources], check=True)
        (out / "stamp").touch()
    parts.fresh(out / "stamp", sources, make)
    return f"{out}:{jars}/*"


def spark_home(venv, where):
    """A SPARK_HOME of an application's own: local-cluster makes its workers' directories there, and nowhere else."""
    home = pathlib.Path(where, "spark")
    home.mkdir()
    for part in HOME_PARTS:
        (home / part).symlink_to(next(venv.glob("lib/python*/site-packages/pyspark")) / part)
    return home


def slow_network(rate="50mbit"):
    """For App(within=…): hosts of its own, whose loopback is no faster than that."""
    return ("unshare", "-n", "sh", "-ec", f'ip link set lo mtu 1500 up; tc qdisc add dev lo root tbf rate {rate} burst 256k latency 1s; exec "$@"', "sh")


class Standalone:
    """Spark's own cluster manager: a master, and a worker on each of @hosts, which are all this machine.

        with spark.Standalone() as cluster, spark.App(master=cluster.url): …"""

    def __init__(self, hosts=("127.0.0.1", "127.0.0.2"), cores=2, version="4.3.0", jdk=17):
        self.dir = tempfile.TemporaryDirectory(prefix="sparkcluster", ignore_cleanup_errors=True)
        self.home = next(parts.pyspark(version).glob("lib/python*/site-packages/pyspark"))
        self.env = {**os.environ, "JAVA_HOME": str(parts.jdk(jdk)), "SPARK_LOCAL_DIRS": self.dir.name, "SPARK_DAEMON_MEMORY": "256m",
                    "SPARK_NO_DAEMONIZE": "1"}
        self.daemons = []
        try:
            self._daemon("master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
            self.url = self._wait(0, r"Starting Spark master at (spark://\S+)")
            self.ui = self._wait(0, r"MasterWebUI.* started at (http://\S+)")
            for i, host in enumerate(hosts):
                self._daemon("worker.Worker", "--host", host, "--webui-port", "0", "--cores", str(cores), "--memory", "1g",
                             "--work-dir", self.dir.name, self.url)
            for i in range(len(hosts)):
                self._wait(1 + i, r"(Successfully registered)")
        except BaseException:
            self.close()
            raise

    def _daemon(self, main, *args):
        with open(f"{self.dir.name}/log{len(self.daemons)}", "wb") as log:
            self.daemons.append(subprocess.Popen([self.home / "bin/spark-class", f"org.apache.spark.deploy.{main}", *args], env=self.env,
                                                 stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True))

    def _wait(self, n, pattern, seconds=120):
        end, log = time.monotonic() + seconds, pathlib.Path(f"{self.dir.name}/log{n}")
        while not (found := re.search(pattern, log.read_text(errors="replace"))):
            if time.monotonic() > end or self.daemons[n].poll() is not None:
                raise RuntimeError(f"Spark's {['master', 'worker'][n > 0]} is not ready\n{log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.1)
        return found[1]

    def executors(self, app_id):
        """Executor pids of an application, in the order of their ids."""
        found = [p for d in self.daemons for p in java_children(d.pid) if any(w.endswith(BACKEND) for w in cmdline(p)) and app_id in cmdline(p)]
        return sorted(found, key=App.executor_id)

    def close(self):
        """Workers first, so that nobody starts executors again; these go with their session."""
        for d in reversed(self.daemons):
            jvms = java_children(d.pid)
            d.terminate()
            try:
                d.wait(20)
            except subprocess.TimeoutExpired:
                pass
            for pid in [*jvms, d.pid]:
                try:
                    os.kill(pid, signal.SIGKILL) if pid == d.pid or any("spark" in w for w in cmdline(pid)) else None
                except OSError:
                    pass
            d.wait()
        self.dir.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


class App:
    """One application. @job is a script in tests/spark/jobs that prints "ready <application id>" once its
    executors work, and ends when its standard input does; it may look at its arguments @args. @user is a plain one. @within: a command
    that executes what follows it, as slow_network() is one."""

    def __init__(self, master="local-cluster[1,2,1024]", job="busy.py", args=(), name="sparkprof test", conf=None,
                 jdk=17, version="4.3.0", env=None, timeout=500, jvm="", user=None, within=()):
        if user:
            parts.needs_other_users("start Spark as another user")
        venv = parts.pyspark(version)
        self.id = None
        self.dir = tempfile.TemporaryDirectory(prefix="sparkapp", ignore_cleanup_errors=True)
        home = spark_home(venv, self.dir.name)
        if user:
            for d in (self.dir.name, home):
                os.chown(d, user, user)
        conf = {"spark.ui.enabled": "false", "spark.executor.memory": "512m", "spark.driver.memory": "512m",
                "spark.executor.extraJavaOptions": jvm, "spark.driver.bindAddress": "127.0.0.1", **(conf or {})}
        flags = [x for k, v in conf.items() for x in ("--conf", f"{k}={v}")]
        self.log = open(os.path.join(self.dir.name, "log"), "w+b", buffering=0)
        self.proc = subprocess.Popen(
            [*within, venv / "bin/python", str(JOBS / job), *map(str, args)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, cwd=self.dir.name, start_new_session=True,
            user=user, group=user, extra_groups=[] if user else None,
            env={**os.environ, "HOME": self.dir.name, "SPARK_HOME": str(home), "JAVA_HOME": str(parts.jdk(jdk)), "PATH": f"{venv}/bin:{os.environ['PATH']}",
                 "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": f"{venv}/bin/python",
                 "SPARK_LOCAL_DIRS": self.dir.name,
                 "PYSPARK_SUBMIT_ARGS": shlex.join(["--master", master, "--name", name, *flags, "pyspark-shell"]),
                 **(env or {})})
        os.set_blocking(self.proc.stdout.fileno(), False)
        self.text = b""
        try:
            self.id = self._wait_ready(timeout)
        except BaseException:
            self.close()
            raise

    def _wait_ready(self, timeout):
        end = time.monotonic() + timeout
        while time.monotonic() < end and self.proc.poll() is None:
            self.text += self.proc.stdout.read() or b""
            for line in self.text.decode(errors="replace").splitlines():
                if line.startswith("ready "):
                    return line.split()[1]
            time.sleep(0.1)
        raise RuntimeError(f"Spark application is not ready; exit {self.proc.poll()}\n{self.text}\n{self.stderr()[-4000:]}")

    def stderr(self):
        return os.pread(self.log.fileno(), 1 << 24, 0).decode(errors="replace")

    def tell(self, line):
        """Has a job that listens execute a line of Python."""
        self.proc.stdin.write(line.encode() + b"\n")
        self.proc.stdin.flush()

    def said(self, word):
        """Has the job printed that line?"""
        self.text += self.proc.stdout.read() or b""
        return word in self.text.decode(errors="replace").split("\n")

    def count(self, word):
        """How often has it?"""
        self.said(word)
        return self.text.decode(errors="replace").split("\n").count(word)

    @property
    def driver(self):
        return next(p for p in java_children(self.proc.pid) if "org.apache.spark.deploy.SparkSubmit" in cmdline(p))

    def executors(self):
        """Executor pids in the order of their executor ids; empty in local mode."""
        found = [p for p in java_children(self.proc.pid) if any(w.endswith(BACKEND) for w in cmdline(p))]
        return sorted(found, key=self.executor_id)

    @staticmethod
    def executor_id(pid):
        words = cmdline(pid)
        return words[words.index("--executor-id") + 1]

    def close(self):
        """Ends the driver by the end of its standard input; whatever is left of its session is killed."""
        jvms = java_children(self.proc.pid)
        try:
            self.proc.stdin.close()
            self.proc.wait(20)
        except (subprocess.TimeoutExpired, OSError):
            pass
        for pid in jvms:  # also executors that lost their parent
            if any("spark" in w for w in cmdline(pid)):
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
        try:
            os.killpg(self.proc.pid, signal.SIGKILL)
        except OSError:
            pass
        self.proc.wait()
        self.proc.stdout.close()
        self.log.close()
        self.dir.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
