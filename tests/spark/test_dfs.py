"""Recordings in the cluster's files: through faults that a stand-in has on demand, and on a real HDFS whose daemons go away."""
import os
import pathlib
import subprocess

import pytest

from kit import parts, recording, spark, yarn
from kit.traces import wait_until

AGENT = f"-agentpath:{recording.AGENT}=start,event=wall,interval=20ms,dfsinterval=1,file="


def roots(sparkprof, tmp_path, by, *inputs):
    out = tmp_path / "x.collapsed"
    r = sparkprof("report", "--by", by, "-f", out, *inputs)
    assert r.returncode == 0 and r.stderr.count("\n") <= 1, r.stderr
    return {line.split(";")[0] for line in out.read_text().splitlines()}


def cover(files):
    """How much of the time from first to last sample the spans of the longest thread tell of."""
    spans = {}
    for f in files:
        for s in recording.Recording(f).wall():
            spans.setdefault(s.tid, []).append((s.time, s.time + s.span))
    best = max(spans.values(), key=lambda v: max(b for _, b in v) - min(a for a, _ in v))
    return sum(b - a for a, b in best) / (max(b for _, b in best) - min(a for a, _ in best))


def test_one_file_through_every_fault(target, tmp_path):
    """Spark's SparkEnv and Hadoop's FileSystem in a JVM without tasks: appended to, away, broken off, without append, the end."""
    files, cwd, app = tmp_path / "cluster", tmp_path / "cwd", tmp_path / "cluster/app-1"
    files.mkdir()
    cwd.mkdir()
    t = target("BareExecutor", "--app-id", "app-1", "--executor-id", 7, "spark.hadoop.fs.standin.impl=StandInFileSystem",
               f"spark.hadoop.standin.dir={files}", jvm=[f"{AGENT}standin://{files}"], classes=spark.bare_classes(), cwd=cwd,
               wait=False)
    t.wait_for("ready", 120)

    def waiting():
        return len(list(cwd.glob("sparkprof-*.jfr")))

    def grows(name):
        size = (app / name).stat().st_size if (app / name).exists() else 0
        wait_until(lambda: (app / name).exists() and (app / name).stat().st_size > size, 60)
    grows("profile-exec-7.jfr")
    grows("profile-exec-7.jfr")
    wait_until(lambda: waiting() <= 1, 60)
    for fault in ("down", "torn"):
        (files / fault).touch()
        wait_until(lambda: waiting() >= 4, 60)
        (files / fault).unlink()
        wait_until(lambda: waiting() <= 1, 60)
    (files / "noappend").touch()
    wait_until(lambda: (app / "profile-exec-7.2.jfr").exists(), 60)
    t.proc.terminate()
    assert t.proc.wait(60) == 143
    assert waiting() == 0, "the last piece was sent"
    assert app.stat().st_mode & 0o777 == 0o770 and (app / "profile-exec-7.jfr").stat().st_mode & 0o777 == 0o660
    ours = [x for x in t.stderr().splitlines() if x.startswith("sparkprof:")]
    assert len(ours) == 1 and "the stand-in is down; the recording is kept here and sent later" in ours[0], ours
    assert cover(app.glob("*.jfr")) > 0.97


@pytest.fixture(scope="module")
def hadoop():
    with yarn.Cluster() as c:
        yield c


def said(hadoop, app_id, words=""):
    """Lines of the agent in the stderr of an application's containers."""
    logs = (hadoop.dir / "containers" / app_id).glob("*/stderr")
    return [x for log in logs for x in log.read_text(errors="replace").splitlines() if x.startswith("sparkprof:") and words in x]


def outage(hadoop, tmp_path, down, up):
    """An application that is recorded while something is down; what is kept meanwhile arrives."""
    with hadoop.app(jvm=f"{AGENT}hdfs:///profiles", timeout=300) as app:
        there = f"/profiles/{app.id}"
        wait_until(lambda: hadoop.ls(there).get("profile-exec-1.jfr"), 60)
        [executor] = hadoop.executors(app.id)
        cwd = pathlib.Path(os.readlink(f"/proc/{executor}/cwd"))
        down()
        wait_until(lambda: said(hadoop, app.id, "kept here and sent later"), 180)
        wait_until(lambda: len(list(cwd.glob("sparkprof-*.jfr"))) >= 4, 60)
        up()
        wait_until(lambda: len(list(cwd.glob("sparkprof-*.jfr"))) <= 2, 240)
        assert len(said(hadoop, app.id)) == 1, said(hadoop, app.id)
        size = sum(hadoop.ls(there).values())
        wait_until(lambda: sum(hadoop.ls(there).values()) > size, 60)
    hadoop.fetch(there, tmp_path / "got")
    assert cover(tmp_path.glob("got/*.jfr")) > 0.97


@pytest.mark.long
@pytest.mark.timeout(900)
def test_name_node_that_is_away_for_a_while(hadoop, tmp_path):
    outage(hadoop, tmp_path, lambda: hadoop.stop("namenode"), lambda: hadoop.start("namenode"))


@pytest.mark.long
@pytest.mark.timeout(900)
def test_data_node_that_is_full_for_a_while(hadoop, tmp_path):
    def again(*args):
        hadoop.stop("datanode")
        hadoop.start("datanode", *args)
    outage(hadoop, tmp_path, lambda: again("-D", f"dfs.datanode.du.reserved={1 << 60}"), again)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_driver_in_cluster_mode(hadoop, sparkprof, tmp_path):
    """The library travels as a file of the application; YARN ends the containers."""
    (tmp_path / "job.py").write_text("from pyspark.sql import SparkSession\n"
                                     "s = SparkSession.builder.getOrCreate()\n"
                                     "s.range(0, 300000000, 1, 8).selectExpr('sum(hash(id))').collect()\ns.stop()\n")
    home = next(parts.pyspark().glob("lib/python*/site-packages/pyspark"))
    agent = AGENT.replace(str(recording.AGENT), f"./{recording.AGENT.name}") + "hdfs:///profiles"
    python = parts.pyspark() / "bin/python"
    conf = {"spark.yarn.jars": f"local:{home}/jars/*", "spark.executor.instances": 1, "spark.executor.memory": "512m",
            "spark.driver.memory": "512m", "spark.executor.extraJavaOptions": agent, "spark.driver.extraJavaOptions": agent,
            "spark.yarn.appMasterEnv.PYSPARK_PYTHON": python, "spark.executorEnv.PYSPARK_PYTHON": python}
    r = subprocess.run([home / "bin/spark-submit", "--master", "yarn", "--deploy-mode", "cluster", "--files", recording.AGENT,
                        *[x for k, v in conf.items() for x in ("--conf", f"{k}={v}")], tmp_path / "job.py"],
                       env={**os.environ, "JAVA_HOME": str(parts.jdk(17)), "HADOOP_CONF_DIR": str(hadoop.conf),
                            "SPARK_HOME": str(home)}, capture_output=True, text=True, timeout=400)
    assert r.returncode == 0, r.stderr[-3000:]
    [app] = {w.strip(".,;()") for w in r.stderr.split() if w.startswith("application_")}
    names = hadoop.ls(f"/profiles/{app}")
    assert set(names) >= {"profile-driver.jfr", "profile-exec-1.jfr"}, names
    assert not said(hadoop, app)
    hadoop.fetch(f"/profiles/{app}", tmp_path / "got")
    assert "[stage 0.0]" in roots(sparkprof, tmp_path, "stage", tmp_path / "got")
