"""Recordings in an HDFS that asks everybody for a ticket or a token: what drivers and executors on a secure YARN have, and what they keep
when tokens are replaced, when the user may not write, and when there is nothing to show at all."""
import os
import subprocess
import time

import pytest

from kit import kerberos, parts, recording, spark
from kit.traces import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
LIFE = 80  # seconds that a token lives at most
WORDS = "start,event=wall,interval=20ms,dfsinterval=3,file=hdfs://"


@pytest.fixture(scope="module")
def realm():
    with kerberos.Realm("alice", "bob") as r:
        yield r


def directories(cluster, *owned):
    """/profiles for everybody, and others for whom they belong to."""
    cluster.shell("-mkdir", "-p", "/profiles", *(f"/user/{name}" for name in owned))
    cluster.shell("-chmod", "1777", "/profiles")
    for name in owned:
        cluster.shell("-chown", name, f"/user/{name}")


@pytest.fixture(scope="module")
def hadoop(realm):
    tokens = "dfs.namenode.delegation.token"
    with kerberos.Cluster(realm, hdfs={f"{tokens}.max-lifetime": LIFE * 1000, f"{tokens}.renew-interval": LIFE * 500}) as c:
        directories(c, "alice", "bob")
        yield c


@pytest.fixture(scope="module")
def hdfs(realm):
    """All that goes to it is encrypted, words and blocks."""
    with kerberos.Cluster(realm, ("namenode", "datanode"), core={"hadoop.rpc.protection": "privacy"},
                          hdfs={"dfs.data.transfer.protection": "privacy", "dfs.encrypt.data.transfer": "true"}) as c:
        directories(c, "alice")
        yield c


def said(hadoop, app_id):
    logs = (hadoop.dir / "containers" / app_id).glob("*/stderr")
    return [x for log in logs for x in log.read_text(errors="replace").splitlines() if x.startswith("sparkprof:")]


def agent(where):
    return f"-agentpath:{recording.AGENT}={WORDS}{where}"


@pytest.mark.parametrize("version, jdk", [("4.3.0", 17), ("4.3.0", 25), ("3.5.7", 17)])
def test_tokens_that_spark_replaces(hadoop, realm, version, jdk):
    """The driver has a keytab, its executors have only tokens, which it sends them anew before they end. After the end of the first ones both
    still write, by connections that are made anew for each piece."""
    conf = {"spark.kerberos.principal": realm.principal("alice"), "spark.kerberos.keytab": realm.keytab,
            "spark.driver.extraJavaOptions": agent("/profiles"), "spark.executorEnv.JAVA_HOME": parts.jdk(jdk), "spark.yarn.appMasterEnv.JAVA_HOME": parts.jdk(jdk)}
    with hadoop.app(jvm=agent("/profiles"), timeout=300, version=version, jdk=jdk, conf=conf, args=(1_000_000, 2, 1)) as app:
        time.sleep(LIFE + 5)
        there, names = f"/profiles/{app.id}", {"profile-driver.jfr", "profile-exec-1.jfr"}
        sizes = hadoop.ls(there)
        assert set(sizes) == names
        wait_until(lambda: all(n > sizes[f] for f, n in hadoop.ls(there).items()), 120)
        assert not said(hadoop, app.id) and "sparkprof:" not in app.stderr()
        assert {hadoop.status(f"{there}/{f}")["owner"] for f in ("", *names)} == {"alice"}


JOB = """from pyspark.sql import SparkSession
s = SparkSession.builder.getOrCreate()
s.range(0, 300000000, 1, 4).selectExpr('sum(hash(id))').collect()
s.stop()
import time
time.sleep(10)  # in client mode YARN cancels the application's tokens meanwhile
"""


def submit(hadoop, realm, tmp_path, jdk, *args):
    """A job of alice, who has tickets by kinit and no keytab. Returns its id and what its driver's or its client's stderr says."""
    (tmp_path / "job.py").write_text(JOB)
    home, python = next(parts.pyspark().glob("lib/python*/site-packages/pyspark")), parts.pyspark() / "bin/python"
    conf = {"spark.yarn.jars": f"local:{home}/jars/*", "spark.executor.instances": 1, "spark.executor.memory": "512m", "spark.driver.memory": "512m",
            "spark.ui.enabled": "false", "spark.executor.extraJavaOptions": agent("/profiles"), "spark.driver.extraJavaOptions": agent("/profiles"),
            "spark.yarn.appMasterEnv.PYSPARK_PYTHON": python, "spark.yarn.appMasterEnv.JAVA_HOME": parts.jdk(jdk), "spark.executorEnv.JAVA_HOME": parts.jdk(jdk)}
    r = subprocess.run([home / "bin/spark-submit", "--master", "yarn", *args, *(x for k, v in conf.items() for x in ("--conf", f"{k}={v}")), tmp_path / "job.py"],
                       env={**os.environ, **hadoop.env, **realm.env("alice"), "JAVA_HOME": str(parts.jdk(jdk)), "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1",
                            "PYSPARK_PYTHON": str(python)}, capture_output=True, text=True, timeout=400, cwd=tmp_path)
    assert r.returncode == 0, r.stderr[-3000:]
    [app] = {w.strip(".,;()") for w in r.stderr.split() if w.startswith("application_")}
    return app, r.stderr


@pytest.mark.parametrize("args, jdk, owner", [("", 17, "alice"), ("--deploy-mode cluster", 17, "alice"), ("--proxy-user bob", 17, "bob"),
                                              ("--proxy-user bob --deploy-mode cluster", 17, "bob"), ("--proxy-user bob", 25, "alice")])
def test_who_writes(hadoop, realm, tmp_path, args, jdk, owner):
    """The user who submits or whom he stands for, in driver and executors alike: neither could enter a directory of the other's. On JDK 25 Spark
    itself forgets for whom it stands, for its threads inherit no user."""
    app, stderr = submit(hadoop, realm, tmp_path, jdk, *args.split())
    assert not said(hadoop, app) and "sparkprof:" not in stderr and not list(tmp_path.glob("sparkprof-*"))
    names = hadoop.ls(f"/profiles/{app}")
    assert set(names) == {"profile-driver.jfr", "profile-exec-1.jfr"}
    assert {hadoop.status(f"/profiles/{app}/{f}")["owner"] for f in ("", *names)} == {owner}
    hadoop.fetch(f"/profiles/{app}", tmp_path / "got")
    assert all(recording.Recording(f).wall() for f in (tmp_path / "got").iterdir())


def bare(hdfs, target, tmp_path, env, where="/profiles"):
    """A JVM with Spark's SparkEnv, in a directory of its own."""
    return target("BareExecutor", "--app-id", tmp_path.name, "--executor-id", 7, jvm=["-Xcheck:jni", agent(where)], classes=f"{hdfs.conf}:{spark.bare_classes()}",
                  cwd=tmp_path, env={**os.environ, **env}, wait=False)


def refused(t, tmp_path, words):
    """It says why and where the recording is, in two lines in all, and keeps it; the JVM ends as it was told to."""
    t.wait_for("ready", 120)
    wait_until(lambda: "kept here and sent later" in t.stderr(), 180)
    t.proc.terminate()
    assert t.proc.wait(60) == 143
    ours = [x for x in t.stderr().splitlines() if x.startswith("sparkprof:")]
    assert len(ours) == 2 and words in ours[0] and f"could not be sent: see {tmp_path}/sparkprof-{t.pid}" in ours[1], ours
    assert [s for f in tmp_path.glob("sparkprof-*.jfr") for s in recording.Recording(f).wall()]


def test_everything_encrypted(hdfs, realm, target, tmp_path):
    t = bare(hdfs, target, tmp_path, realm.env("alice"))
    sizes = set()
    wait_until(lambda: sizes.add(hdfs.ls(f"/profiles/{tmp_path.name}").get("profile-exec-7.jfr", 0)) or len(sizes) > 3, 180)
    t.proc.terminate()
    assert t.proc.wait(60) == 143 and "sparkprof:" not in t.stderr() and not list(tmp_path.glob("sparkprof-*.jfr")), t.stderr()
    assert "WARNING in native method" not in t.stdout()
    hdfs.fetch(f"/profiles/{tmp_path.name}", tmp_path / "got")
    assert recording.Recording(tmp_path / "got/profile-exec-7.jfr").wall()


def test_nobody(hdfs, realm, target, tmp_path):
    """Neither ticket nor token."""
    refused(bare(hdfs, target, tmp_path, {**realm.java, "KRB5CCNAME": str(tmp_path / "none")}), tmp_path, "annot authenticate via")


def test_a_directory_of_somebody_else(hdfs, realm, target, tmp_path):
    refused(bare(hdfs, target, tmp_path, realm.env("alice"), "/user"), tmp_path, "Permission denied: user=alice, access=WRITE")


def test_more_than_the_quota(hdfs, realm, target, tmp_path):
    hdfs.shell("-setSpaceQuota", 1, "/user/alice", main="org.apache.hadoop.hdfs.tools.DFSAdmin")
    refused(bare(hdfs, target, tmp_path, realm.env("alice"), "/user/alice"), tmp_path, "quota of /user/alice is exceeded")
