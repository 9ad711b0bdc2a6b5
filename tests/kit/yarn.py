"""Real HDFS and YARN on this machine: NameNode, DataNode, ResourceManager and NodeManager, each its own JVM, from
Hadoop's minicluster jar. Spark talks to them with master "yarn".

    with yarn.Cluster() as hadoop, hadoop.app() as app:
        hadoop.executors(app.id)          # pids of its executors' JVMs
"""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from . import parts, spark

HADOOP = ["org.apache.hadoop:hadoop-client-minicluster:3.5.0", "org.slf4j:slf4j-reload4j:1.7.36",
          "org.bouncycastle:bcpkix-jdk18on:1.78.1"]
DAEMONS = {"namenode": "org.apache.hadoop.hdfs.server.namenode.NameNode",
           "datanode": "org.apache.hadoop.hdfs.server.datanode.DataNode",
           "resourcemanager": "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager",
           "nodemanager": "org.apache.hadoop.yarn.server.nodemanager.NodeManager"}
JAVA = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true", "--add-opens=java.base/java.lang=ALL-UNNAMED",
        "--add-exports=java.base/sun.net.dns=ALL-UNNAMED", "--add-exports=java.base/sun.net.util=ALL-UNNAMED"]
LOG4J = """log4j.rootLogger=INFO,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %p %c{2}: %m%n
"""


def free_ports(n):
    """Numbers that follow each other and nobody listens on now. They lie below those that the kernel gives to connections, and tests
    that run beside each other have different ones."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    share = 20000 // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    while True:
        first = 10000 + worker * share + random.randrange(0, share - n)
        try:
            for port in range(first, first + n):
                socket.create_server(("127.0.0.1", port)).close()
            return list(range(first, first + n))
        except OSError:
            pass  # somebody does


class Cluster:
    """One node of everything, or of HDFS only, in a directory of its own. @env is for its daemons and applications; @node_env: variables of the
    NodeManager's own environment that containers inherit, as yarn-env.sh and yarn.nodemanager.env-whitelist give them; @site: more of yarn-site.xml."""

    def __init__(self, daemons=tuple(DAEMONS), env=None, node_env=None, site=None):
        self.node_env, self.more_site = node_env or {}, site or {}
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="syarn"))
        self.conf = self.dir / "conf"
        self.procs = {}
        self.env = {"HADOOP_CONF_DIR": str(self.conf), **(env or {})}
        self.jars = parts.jars("hadoop-3.5.0", *HADOOP)
        self._configure()
        try:
            self._run("format", DAEMONS["namenode"], "-format", "-nonInteractive").wait(timeout=240)
            for name in daemons:
                self.start(name)
            self._wait_up()
        except BaseException:
            self.close()
            raise

    def _configure(self):
        self.conf.mkdir()
        d, local = self.dir, [f"127.0.0.1:{p}" for p in free_ports(16)]
        at = iter(local)
        self.files, self.web, self.rm_web = local[0], local[1], local[9]
        self._site("core-site", {"fs.defaultFS": f"hdfs://{next(at)}", "hadoop.tmp.dir": f"{d}/tmp",
                                 "hadoop.http.staticuser.user": "root"})
        self._site("hdfs-site", {
            "dfs.replication": 1, "dfs.namenode.name.dir": f"file://{d}/name", "dfs.datanode.data.dir": f"file://{d}/data",
            "dfs.permissions.enabled": "false", "dfs.namenode.safemode.extension": 1000,
            "dfs.namenode.http-address": next(at), "dfs.datanode.address": next(at),
            "dfs.datanode.http.address": next(at), "dfs.datanode.ipc.address": next(at)})
        rm = "yarn.resourcemanager"
        nm = "yarn.nodemanager"
        self._site("yarn-site", {
            f"{rm}.hostname": "127.0.0.1", f"{rm}.address": next(at), f"{rm}.scheduler.address": next(at),
            f"{rm}.resource-tracker.address": next(at), f"{rm}.admin.address": next(at), f"{rm}.webapp.address": next(at),
            f"{nm}.hostname": "127.0.0.1", f"{nm}.bind-host": "127.0.0.1", f"{nm}.address": next(at),
            f"{nm}.localizer.address": next(at), f"{nm}.collector-service.address": next(at), f"{nm}.webapp.address": next(at),
            f"{nm}.local-dirs": f"{d}/local", f"{nm}.log-dirs": f"{d}/containers",
            f"{nm}.resource.memory-mb": 6144, f"{nm}.resource.cpu-vcores": 8, "yarn.scheduler.minimum-allocation-mb": 128,
            f"{nm}.delete.debug-delay-sec": 3600,  # what a container leaves can be looked at
            f"{nm}.vmem-check-enabled": "false", f"{nm}.env-whitelist": ",".join(["JAVA_HOME", "PATH", "LANG", "TZ", *self.node_env]),
            f"{nm}.disk-health-checker.max-disk-utilization-per-disk-percentage": 99.5, **self.more_site})
        queue = "yarn.scheduler.capacity"
        self._site("capacity-scheduler", {f"{queue}.root.queues": "default", f"{queue}.root.default.capacity": 100,
                                          f"{queue}.maximum-am-resource-percent": 1.0})
        (self.conf / "log4j.properties").write_text(LOG4J)

    def _site(self, name, properties):
        body = "".join(f"<property><name>{k}</name><value>{v}</value></property>\n" for k, v in properties.items())
        (self.conf / f"{name}.xml").write_text(f"<configuration>\n{body}</configuration>\n")

    def _run(self, name, main, *args):
        java = [*JAVA, "-cp", f"{self.conf}:{self.jars}/*"]
        with open(self.dir / f"{name}.log", "wb") as log:
            return subprocess.Popen([parts.jdk(17) / "bin/java", *java, main, *args], stdin=subprocess.DEVNULL, stdout=log,
                                    stderr=log, cwd=self.dir, env={**os.environ, **self.env, **(self.node_env if name == "nodemanager" else {})})

    def _wait_up(self, timeout=240):
        end = time.monotonic() + timeout
        words = {"nodemanager": "egistered with ResourceManager", "datanode": "Successfully sent block report"}
        for name, word in words.items():
            log = self.dir / f"{name}.log"
            while name in self.procs and word not in log.read_text(errors="replace"):
                dead = [n for n, p in self.procs.items() if p.poll() is not None]
                if dead or time.monotonic() > end:
                    tail = (self.dir / f"{(dead or [name])[0]}.log").read_text(errors="replace")[-3000:]
                    raise RuntimeError(f"Hadoop is not up; ended: {dead}\n{tail}")
                time.sleep(0.2)

    def app(self, **kw):
        """A Spark application in client mode; keywords as for spark.App."""
        home = next(parts.pyspark(kw.get("version", "4.3.0")).glob("lib/python*/site-packages/pyspark"))
        conf = {"spark.yarn.jars": f"local:{home}/jars/*", "spark.executor.instances": 1, "spark.yarn.am.memory": "512m",
                "spark.executor.cores": 2, **kw.pop("conf", {})}
        env = {**self.env, "SPARK_HOME": str(home), **kw.pop("env", {})}
        return spark.App(master="yarn", conf=conf, env=env, **kw)

    def submit(self, script, name, version="4.3.0", timeout=240, conf=None):
        """A Python script as an application in cluster mode, its driver in a container; returns its id once it runs. It ends with the cluster."""
        venv = parts.pyspark(version)
        home = next(venv.glob("lib/python*/site-packages/pyspark"))
        conf = {"spark.yarn.jars": f"local:{home}/jars/*", "spark.executor.instances": 1, "spark.executor.memory": "512m", "spark.driver.memory": "512m",
                "spark.executor.cores": 2, "spark.yarn.submit.waitAppCompletion": "false", "spark.yarn.appMasterEnv.PYSPARK_PYTHON": "/usr/bin/python3", **(conf or {})}
        r = subprocess.run([venv / "bin/spark-submit", "--master", "yarn", "--deploy-mode", "cluster", "--name", name,
                            *(x for k, v in conf.items() for x in ("--conf", f"{k}={v}")), script], cwd=self.dir, capture_output=True, text=True,
                           timeout=timeout, env={**os.environ, **self.env, "SPARK_HOME": str(home), "JAVA_HOME": str(parts.jdk(17)),
                                                 "PYSPARK_PYTHON": "/usr/bin/python3"})
        found = re.search(r"Submitted application (application_\w+)", r.stderr)
        if not found:
            raise RuntimeError(f"spark-submit: {r.returncode}\n{r.stderr[-3000:]}")
        return found[1]

    def shell(self, *args, main="org.apache.hadoop.fs.FsShell", env=None):
        """A command of `hdfs dfs`, or of what else has a @main, as HDFS's superuser. Returns what it printed."""
        r = subprocess.run([parts.jdk(17) / "bin/java", *JAVA, "-cp", f"{self.conf}:{self.jars}/*", main, *map(str, args)], env={**os.environ, **self.env, **(env or {})},
                           capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
        if r.returncode:
            raise RuntimeError(f"{args}: {r.returncode}\n{r.stderr[-2000:]}")
        return r.stdout

    def _web(self, path, op):
        return urllib.request.urlopen(f"http://{self.web}/webhdfs/v1{path}?op={op}&user.name=root", timeout=30)

    def ls(self, path):
        """Name → length of what lies in a directory of HDFS; nothing where there is none."""
        try:
            with self._web(path, "LISTSTATUS") as r:
                return {f["pathSuffix"]: f["length"] for f in json.load(r)["FileStatuses"]["FileStatus"]}
        except urllib.error.HTTPError as e:
            if e.code != 404:
                raise
            return {}

    def status(self, path):
        with self._web(path, "GETFILESTATUS") as r:
            return json.load(r)["FileStatus"]

    def mode(self, path):
        return self.status(path)["permission"]

    def fetch(self, path, to):
        """Copies a directory of HDFS."""
        to.mkdir(parents=True)
        for name in self.ls(path):
            with self._web(f"{path}/{name}", "OPEN") as r:
                (to / name).write_bytes(r.read())

    def kill_app(self, app_id):
        """As `yarn application -kill` does it, by the ResourceManager."""
        url = f"http://{self.rm_web}/ws/v1/cluster/apps/{app_id}/state?user.name=root"
        ask = urllib.request.Request(url, b'{"state": "KILLED"}', {"Content-Type": "application/json"}, method="PUT")
        urllib.request.urlopen(ask, timeout=60).close()

    def stop(self, name):
        """Kills a daemon."""
        self.procs[name].kill()
        self.procs[name].wait()

    def start(self, name, *args):
        """Starts it again, or where a number is behind its name another of its kind."""
        self.procs[name] = self._run(name, DAEMONS[name.rstrip("0123456789")], *args)

    def add_datanodes(self, *numbers):
        for i in numbers:
            own = {"data.dir": f"file://{self.dir}/data{i}", **{f"{x}address": "127.0.0.1:0" for x in ("", "http.", "ipc.")}}
            self.start(f"datanode{i}", *(w for k, v in own.items() for w in ("-D", f"dfs.datanode.{k}={v}")))

    def datanodes(self):
        """How many of them the NameNode knows to live."""
        with urllib.request.urlopen(f"http://{self.web}/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState", timeout=30) as r:
            return json.load(r)["beans"][0]["NumLiveDataNodes"]

    def executors(self, app_id):
        """JVMs below the NodeManager that are executors of that application, not the shells around them."""
        return [p for p in spark.java_children(self.procs["nodemanager"].pid)
                if app_id in spark.cmdline(p) and any(w.endswith("ExecutorBackend") for w in spark.cmdline(p))]

    def close(self):
        """Nothing in here is worth an orderly end."""
        containers = [j for p in self.procs.values() for j in spark.java_children(p.pid)]
        for pid in {*containers, *(p.pid for p in self.procs.values())}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for p in self.procs.values():
            p.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
