"""Recordings in the cluster's files: through faults that a stand-in has on demand, and on a real HDFS whose daemons go away."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.request
import xml.etree.ElementTree

import pytest

from kit import parts, recording, spark, yarn
from kit.traces import wait_until

AGENT = f"-agentpath:{recording.AGENT}=start,event=wall,interval=20ms,dfsinterval=1,file="


def roots(sparkprof, tmp_path, by, *inputs):
    out = tmp_path / "x.collapsed"
    r = sparkprof("report", "--by", by, "-f", out, *inputs)
    assert r.returncode == 0 and "damaged" not in r.stderr and ": empty (the JVM" not in r.stderr, r.stderr
    return {line.split(";")[0] for line in out.read_text().splitlines()}


def cover(files):
    return recording.cover(*map(recording.Recording, files))


def piece_number(f):
    return int(f.name.split(".")[-2])


@contextlib.contextmanager
def witness(cwd):
    """A second name for every piece of a recording on this host, so that it is still there when it was sent and removed: what HDFS has is
    compared with that. Called after the JVM's end, gives the pieces' bytes one behind the other."""
    over, kept = threading.Event(), pathlib.Path(f"{cwd}-witness")
    kept.mkdir()

    def link():
        while not over.wait(0.01):  # a piece is there for a second at least
            for f in (f for f in cwd.glob("sparkprof-*.jfr") if not (kept / f.name).exists()):
                with contextlib.suppress(FileNotFoundError):
                    os.link(f, kept / f.name)

    def whole(first=1):
        files = sorted(kept.iterdir(), key=piece_number)
        first = first or piece_number(files[0])
        assert [piece_number(f) for f in files] == list(range(first, first + len(files))), "the witness has missed a piece"
        assert len(files) >= 4, files
        return b"".join(f.read_bytes() for f in files)
    t = threading.Thread(target=link)
    t.start()
    try:
        yield whole
    finally:
        over.set()
        t.join()


def in_order(there):
    """Files of one executor as they were begun: x.jfr, x.1.jfr, x.2.jfr."""
    return sorted(there.glob("*.jfr"), key=lambda f: int(f.name.split(".")[-2]) if f.name.count(".") > 1 else 0)


def test_one_file_through_every_fault(target, tmp_path):
    """Spark's SparkEnv and Hadoop's FileSystem in a JVM without tasks: appended to, away, broken off, without append, the end."""
    files, cwd, app = tmp_path / "cluster", tmp_path / "cwd", tmp_path / "cluster/app-1"
    files.mkdir()
    cwd.mkdir()
    t = target("BareExecutor", "--app-id", "app-1", "--executor-id", 7, "spark.hadoop.fs.standin.impl=StandInFileSystem",
               f"spark.hadoop.standin.dir={files}", jvm=[f"{AGENT}standin://{files}"], classes=spark.bare_classes(), cwd=cwd,
               wait=False)
    t.wait_for("ready", 240)

    def waiting():
        return len(list(cwd.glob("sparkprof-*.jfr")))

    def grows(name):
        size = (app / name).stat().st_size if (app / name).exists() else 0
        wait_until(lambda: (app / name).exists() and (app / name).stat().st_size > size)
    grows("profile-exec-7.jfr")
    grows("profile-exec-7.jfr")
    wait_until(lambda: waiting() <= 1)
    for fault in ("down", "torn"):
        (files / fault).touch()
        wait_until(lambda: waiting() >= 4)
        (files / fault).unlink()
        wait_until(lambda: waiting() <= 1)
    (files / "noappend").touch()
    wait_until(lambda: (app / "profile-exec-7.2.jfr").exists())
    t.proc.terminate()
    assert t.proc.wait(200) == 143
    assert waiting() == 0, "the last piece was sent"
    assert app.stat().st_mode & 0o777 == 0o770 and (app / "profile-exec-7.jfr").stat().st_mode & 0o777 == 0o660
    ours = [x for x in t.stderr().splitlines() if x.startswith("sparkprof:")]
    assert len(ours) == 1 and "the stand-in is down; the recording is kept here and sent later" in ours[0], ours
    assert cover(app.glob("*.jfr")) > 0.97


def test_file_systems_that_the_application_closes(target, tmp_path):
    """FileSystem.closeAll() in a job's code, for whatever reason: another one is opened, and nobody hears of it. The JVM itself looks
    for calls that do not ask for exceptions, and would tell of them on stdout."""
    files, cwd, file = tmp_path / "cluster", tmp_path / "cwd", tmp_path / "cluster/app-1/profile-exec-7.jfr"
    files.mkdir()
    cwd.mkdir()
    t = target("BareExecutor", "--app-id", "app-1", "--executor-id", 7, "spark.hadoop.fs.standin.impl=StandInFileSystem",
               f"spark.hadoop.standin.dir={files}", jvm=["-Xcheck:jni", f"{AGENT}standin://{files}"], classes=spark.bare_classes(), cwd=cwd,
               wait=False)
    wait_until(file.exists, 240)
    for _ in range(2):
        t.send("")
        size = file.stat().st_size
        wait_until(lambda: file.stat().st_size > size)
    t.send("")
    t.proc.stdin.close()
    assert t.proc.wait(200) == 0 and not list(cwd.glob("*.jfr"))
    assert t.stdout() == "ready\n" and "sparkprof:" not in t.stderr()
    assert list(file.parent.glob("*.jfr")) == [file]
    assert cover([file]) > 0.97


def begun(f):
    return min(s.time for s in recording.Recording(f).wall())


def begun_if_whole(f):
    """0 of a file whose name is just being taken again: it is empty, or not there, for a moment."""
    with tempfile.NamedTemporaryFile(suffix=".jfr") as copy:
        try:
            shutil.copyfile(f, copy.name)
            return begun(copy.name)
        except (FileNotFoundError, AssertionError, ValueError):
            return 0


def test_a_dump_has_all_that_is_still_here_and_says_what_is_not(target, sparkprof, tmp_path):
    files, cwd, dump = tmp_path / "cluster", tmp_path / "cwd", tmp_path / "dump.jfr"
    files.mkdir()
    cwd.mkdir()
    t = target("BareExecutor", "--app-id", "app-1", "--executor-id", 7, "spark.hadoop.fs.standin.impl=StandInFileSystem",
               f"spark.hadoop.standin.dir={files}", jvm=[f"{AGENT}standin://{files}"], classes=spark.bare_classes(), cwd=cwd, wait=False)
    wait_until((files / "app-1/profile-exec-7.jfr").exists, 240)
    wait_until(lambda: not list(cwd.glob("sparkprof-*.1.jfr")), 200)  # the first piece is sent, and gone here
    (files / "down").touch()
    wait_until(lambda: "the stand-in is down" in t.stderr(), 200)  # from now on nothing is sent
    wait_until(lambda: len(list(cwd.glob("sparkprof-*.jfr"))) >= 4, 200)
    oldest = begun(min(cwd.glob("sparkprof-*.jfr"), key=piece_number))
    r = sparkprof("dump", "--attach-timeout=60s", "-f", dump, t.pid)
    assert r.returncode == 0, r.stderr
    assert "of the recording" in r.stderr and f"sent to standin://{files}" in r.stderr, r.stderr
    assert begun(dump) <= oldest and cover([dump]) > 0.97
    assert "damaged" not in sparkprof("report", dump).stderr


@pytest.mark.parametrize("append", [True, False])
@pytest.mark.long
def test_turns_of_a_recording_in_the_cluster(target, tmp_path, append):
    """loop= begins another file there; %n{MAX} keeps so many of them, and takes its names again."""
    files, cwd = tmp_path / "cluster", tmp_path / "cwd"
    files.mkdir()
    cwd.mkdir()
    if not append:
        (files / "noappend").touch()
    of = [target("BareExecutor", "--app-id", f"app-{i}", "--executor-id", 7, "spark.hadoop.fs.standin.impl=StandInFileSystem",
                 f"spark.hadoop.standin.dir={files}", jvm=[f"{AGENT}standin://{files}{name},loop=3"], classes=spark.bare_classes(), cwd=cwd, wait=False)
          for i, name in enumerate(("", "/{{APP_ID}}/x-%n{2}.jfr"))]
    plain, few = files / "app-0", files / "app-1"
    wait_until(lambda: (few / "x-2.jfr").exists(), 120)
    first = [wait_until(lambda: begun_if_whole(few / f"x-{i}.jfr")) for i in (1, 2)]
    wait_until(lambda: all(begun_if_whole(few / f"x-{i}.jfr") > first[1] for i in (1, 2)))
    for t in of:
        t.proc.terminate()
    assert [t.proc.wait(60) for t in of] == [143, 143] and not list(cwd.glob("*.jfr"))
    assert not any("sparkprof:" in t.stderr() for t in of)
    kept, every = sorted(few.iterdir()), sorted(plain.glob("*.jfr"))
    assert cover(kept) > 0.97 and cover(every) > 0.97 and {f.name[:4] for f in kept} == {"x-1.", "x-2."}, (kept, every)
    if append:
        assert [f.name for f in kept] == ["x-1.jfr", "x-2.jfr"]
        assert {f.name for f in every} == {"profile-exec-7.jfr", *(f"profile-exec-7.{i}.jfr" for i in range(1, len(every)))} and len(every) >= 4


@pytest.mark.parametrize("fault", ["down", "forbidden"])
def test_a_file_system_that_stays_away_does_not_keep_the_jvm(target, tmp_path, fault):
    """One more attempt, and a line that says where the recording lies."""
    files, cwd = tmp_path / "cluster", tmp_path / "cwd"
    files.mkdir()
    cwd.mkdir()
    (files / fault).touch()
    t = target("BareExecutor", "--app-id", "app-1", "--executor-id", 7, "spark.hadoop.fs.standin.impl=StandInFileSystem",
               f"spark.hadoop.standin.dir={files}", jvm=[f"{AGENT}standin://{files}"], classes=spark.bare_classes(), cwd=cwd,
               wait=False)
    wait_until(lambda: "kept here and sent later" in t.stderr(), 200)
    t.proc.terminate()
    assert t.proc.wait(100) == 143  # a pod has 30 seconds, of a machine that is less busy
    ours = [x for x in t.stderr().splitlines() if x.startswith("sparkprof:")]
    assert len(ours) == 2 and f"could not be sent: see {cwd}/sparkprof-{t.pid}" in ours[1], ours
    assert list(cwd.glob(f"sparkprof-{t.pid}.*.jfr"))


def s3_call(url, method="GET"):
    """A signature that moto takes as it is."""
    signed = {"Authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"}
    return urllib.request.urlopen(urllib.request.Request(url, method=method, headers=signed))


@pytest.fixture
def s3(tmp_path):
    """Address of a bucket in moto's server, which stands in for S3."""
    [port] = yarn.free_ports(1)
    with open(tmp_path / "moto.log", "wb") as log:
        server = subprocess.Popen(["/usr/bin/python3", "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log,
                                  stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(parts.moto())})
    try:
        wait_until(lambda: "Running on" in (tmp_path / "moto.log").read_text(), 120)
        bucket = f"http://127.0.0.1:{port}/profiles"
        s3_call(bucket, "PUT").close()
        yield bucket
    finally:
        server.kill()
        server.wait()


@pytest.mark.long
def test_a_file_for_each_piece_on_s3a_with_moto_standing_in_for_its_server(target, s3, sparkprof, tmp_path):
    """Hadoop's real S3A, which cannot append."""
    def there():
        with s3_call(f"{s3}?list-type=2&prefix=app-1/profile") as r:
            return {e.text for e in xml.etree.ElementTree.parse(r).iter() if e.tag.endswith("}Key")}
    cwd, got = tmp_path / "cwd", tmp_path / "got"
    cwd.mkdir()
    got.mkdir()
    conf = {"endpoint": s3.rpartition("/")[0], "path.style.access": "true", "access.key": "a", "secret.key": "b", "endpoint.region": "us-east-1"}
    t = target("BareExecutor", "--app-id", "app-1", "--executor-id", 7, *(f"spark.hadoop.fs.s3a.{k}={v}" for k, v in conf.items()),
               jvm=[f"{AGENT}s3a://profiles"], classes=f"{spark.bare_classes()}:{parts.s3a()}/*", cwd=cwd, wait=False)
    wait_until(lambda: len(there()) >= 4, 120)
    t.proc.terminate()
    assert t.proc.wait(60) == 143 and not list(cwd.glob("sparkprof-*.jfr")), t.stderr()
    assert "sparkprof:" not in t.stderr()
    names = there()
    assert names == {"app-1/profile-exec-7.jfr", *(f"app-1/profile-exec-7.{i}.jfr" for i in range(1, len(names)))}
    for name in names:
        with s3_call(f"{s3}/{name}") as r:
            (got / os.path.basename(name)).write_bytes(r.read())
    assert cover(got.glob("*.jfr")) > 0.97
    assert roots(sparkprof, tmp_path, "executor", "--all-threads", got) == {"[executor 7]"}


@pytest.fixture(scope="module")
def hadoop():
    with yarn.Cluster() as c:
        yield c


def said(hadoop, app_id, words=""):
    """Lines of the agent in the stderr of an application's containers."""
    logs = (hadoop.dir / "containers" / app_id).glob("*/stderr")
    return [x for log in logs for x in log.read_text(errors="replace").splitlines() if x.startswith("sparkprof:") and words in x]


@pytest.fixture(scope="module")
def hdfs():
    with yarn.Cluster(("namenode", "datanode")) as c:
        yield c


@pytest.mark.long
def test_fewer_nodes_than_a_file_should_have_copies(hdfs, target, tmp_path):
    """One DataNode, and Hadoop's default of three copies: it is appended to all the same."""
    t = target("BareExecutor", "--app-id", "app-1", "--executor-id", 7, jvm=[f"{AGENT}hdfs://{hdfs.files}/{tmp_path.name}"],
               classes=spark.bare_classes(), cwd=tmp_path, wait=False)
    sizes = set()
    wait_until(lambda: sizes.add(hdfs.ls(f"/{tmp_path.name}/app-1").get("profile-exec-7.jfr", 0)) or len(sizes) > 3, 120)
    t.proc.terminate()
    assert t.proc.wait(60) == 143 and "sparkprof:" not in t.stderr(), t.stderr()
    assert set(hdfs.ls(f"/{tmp_path.name}/app-1")) == {"profile-exec-7.jfr"} and not list(tmp_path.glob("sparkprof-*.jfr"))


def outage(hdfs, target, tmp_path, down, up):
    """A JVM that is recorded while something is down; what is kept meanwhile arrives. What is there in the end is, byte for byte, what was
    written here: nothing is lost or doubled by a write."""
    there, name, cwd = f"/{tmp_path.name}/app-1", "profile-exec-7.jfr", tmp_path / "cwd"
    cwd.mkdir()

    def waiting():
        return len(list(cwd.glob("sparkprof-*.jfr")))
    with witness(cwd) as whole:
        t = target("BareExecutor", "--app-id", "app-1", "--executor-id", 7, "spark.hadoop.dfs.replication=1",
                   jvm=[f"{AGENT}hdfs://{hdfs.files}/{tmp_path.name}"], classes=spark.bare_classes(), cwd=cwd, wait=False)
        wait_until(lambda: hdfs.ls(there).get(name), 120)
        down()
        wait_until(lambda: "kept here and sent later" in t.stderr(), 180)
        wait_until(lambda: waiting() >= 4)
        up()
        wait_until(lambda: waiting() <= 1, 240)
        t.proc.terminate()
        assert t.proc.wait(60) == 143 and waiting() == 0
    assert t.stderr().count("sparkprof:") == 1, t.stderr()
    hdfs.fetch(there, tmp_path / "got")
    files = in_order(tmp_path / "got")
    assert b"".join(f.read_bytes() for f in files) == whole()
    assert cover(files) > 0.97


@pytest.mark.long
@pytest.mark.timeout(600)
def test_name_node_that_is_away_for_a_while(hdfs, target, tmp_path):
    outage(hdfs, target, tmp_path, lambda: hdfs.stop("namenode"), lambda: hdfs.start("namenode"))


@pytest.mark.long
@pytest.mark.timeout(600)
def test_name_node_that_hangs_when_a_jvm_ends(hdfs, target, tmp_path):
    """It answers nobody, nor does it refuse. A JVM ends within the grace of a container all the same, with time left for others, and says
    where its pieces are; one that it answers while it ends has lost nothing."""
    there, name = f"/{tmp_path.name}", "profile-exec-7.jfr"
    cwd = [tmp_path / "one", tmp_path / "two"]
    for d in cwd:
        d.mkdir()
    one, two = [target("BareExecutor", "--app-id", d.name, "--executor-id", 7, "spark.hadoop.dfs.replication=1", jvm=[f"{AGENT}hdfs://{hdfs.files}{there}"],
                       classes=spark.bare_classes(), cwd=d, wait=False) for d in cwd]
    wait_until(lambda: all(hdfs.ls(f"{there}/{d.name}").get(name) for d in cwd), 120)
    with witness(cwd[1]) as whole:
        wait_until(lambda: len(list(cwd[1].glob("sparkprof-*.jfr"))) == 1)
        os.kill(hdfs.procs["namenode"].pid, signal.SIGSTOP)
        try:
            one.proc.terminate()
            assert one.proc.wait(30) == 143  # a pod has so many seconds
            two.proc.terminate()
            time.sleep(2)
        finally:
            os.kill(hdfs.procs["namenode"].pid, signal.SIGCONT)
        assert two.proc.wait(60) == 143
    assert f"could not be sent: see {cwd[0]}/sparkprof-{one.pid}" in one.stderr() and list(cwd[0].glob("sparkprof-*.jfr"))
    assert not list(cwd[1].glob("sparkprof-*.jfr")) and "could not be sent" not in two.stderr(), two.stderr()
    hdfs.fetch(f"{there}/two", tmp_path / "got")
    assert b"".join(f.read_bytes() for f in in_order(tmp_path / "got")).endswith(whole(first=None))


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_directory_with_erasure_coding(target, tmp_path):
    """HDFS appends to no file there: each piece is one."""
    with yarn.Cluster(("namenode", "datanode")) as c:
        c.add_datanodes(2, 3)
        wait_until(lambda: c.datanodes() == 3, 120)
        c.shell("-mkdir", "/coded")
        for words in (("-enablePolicy", "-policy", "XOR-2-1-1024k"), ("-setPolicy", "-policy", "XOR-2-1-1024k", "-path", "/coded")):
            c.shell(*words, main="org.apache.hadoop.hdfs.tools.ECAdmin")
        t = target("BareExecutor", "--app-id", "app-1", "--executor-id", 7, jvm=[f"{AGENT}hdfs://{c.files}/coded"], classes=spark.bare_classes(), cwd=tmp_path,
                   wait=False)
        wait_until(lambda: len(c.ls("/coded/app-1")) >= 4, 180)
        t.proc.terminate()
        assert t.proc.wait(60) == 143 and "sparkprof:" not in t.stderr() and not list(tmp_path.glob("sparkprof-*.jfr")), t.stderr()
        c.fetch("/coded/app-1", tmp_path / "got")
    names = {f.name for f in (tmp_path / "got").iterdir()}
    assert names == {"profile-exec-7.jfr", *(f"profile-exec-7.{i}.jfr" for i in range(1, len(names)))}
    assert cover((tmp_path / "got").iterdir()) > 0.97


@pytest.mark.long
def test_a_driver_that_ends_before_its_first_piece(hdfs, sparkprof, tmp_path):
    """SparkContext.stop() takes SparkEnv away, and the JVM ends behind it. What it leaves is of the user who submitted, as an executor's is."""
    home = next(parts.pyspark().glob("lib/python*/site-packages/pyspark"))
    (tmp_path / "job.py").write_text("from pyspark.sql import SparkSession\ns = SparkSession.builder.getOrCreate()\n"
                                     "s.range(0, 300000000, 1, 4).selectExpr('sum(hash(id))').collect()\ns.stop()\n")
    words = f"start,event=wall,interval=20ms,file=hdfs://{hdfs.files}/{tmp_path.name}/%{{APP_ID}}/x-%{{EXECUTOR_ID}}.jfr"
    r = subprocess.run([home / "bin/spark-submit", "--master", "local[2]", "--proxy-user", "bob", "--conf", f"spark.driver.extraJavaOptions=-agentpath:{recording.AGENT}={words}",
                        tmp_path / "job.py"], cwd=tmp_path, capture_output=True, text=True, timeout=200,
                       env={**os.environ, "JAVA_HOME": str(parts.jdk(17)), "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1",
                            "PYSPARK_PYTHON": str(parts.pyspark() / "bin/python")})
    assert r.returncode == 0 and "sparkprof:" not in r.stderr, r.stderr[-3000:]
    assert not list(tmp_path.glob("sparkprof-*"))
    [app] = hdfs.ls(f"/{tmp_path.name}")
    assert set(hdfs.ls(f"/{tmp_path.name}/{app}")) == {"x-driver.jfr"}
    assert hdfs.status(f"/{tmp_path.name}/{app}")["owner"] == hdfs.status(f"/{tmp_path.name}/{app}/x-driver.jfr")["owner"] == "bob"
    hdfs.fetch(f"/{tmp_path.name}/{app}", tmp_path / "got")
    assert "[stage 0.0]" in roots(sparkprof, tmp_path, "stage", tmp_path / "got")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_data_node_that_is_full_for_a_while(hdfs, target, tmp_path):
    def again(*args):
        hdfs.stop("datanode")
        hdfs.start("datanode", *args)
    outage(hdfs, target, tmp_path, lambda: again("-D", f"dfs.datanode.du.reserved={1 << 60}"), again)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_driver_in_cluster_mode(hadoop, sparkprof, tmp_path):
    """The library travels as a file of the application, its words in the containers' environment; YARN ends the containers. There is no
    UI: what is known of stages comes from the tasks themselves."""
    (tmp_path / "job.py").write_text("from pyspark.sql import SparkSession\n"
                                     "s = SparkSession.builder.getOrCreate()\n"
                                     "s.sparkContext.setJobGroup('nightly', 'sums of hashes')\n"
                                     "s.range(0, 300000000, 1, 8).selectExpr('sum(hash(id))').collect()\ns.stop()\n")
    home = next(parts.pyspark().glob("lib/python*/site-packages/pyspark"))
    agent, words = f"-agentpath:./{recording.AGENT.name}", AGENT.partition("=")[2] + "hdfs:///profiles"
    python = parts.pyspark() / "bin/python"
    conf = {"spark.yarn.jars": f"local:{home}/jars/*", "spark.executor.instances": 1, "spark.executor.memory": "512m",
            "spark.ui.enabled": "false", "spark.driver.memory": "512m", "spark.executor.extraJavaOptions": agent, "spark.driver.extraJavaOptions": agent,
            "spark.yarn.appMasterEnv.SPARKPROF_OPTS": words, "spark.executorEnv.SPARKPROF_OPTS": words,
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
    r = sparkprof("report", tmp_path / "got/profile-exec-1.jfr", "-f", tmp_path / "x.json")
    rows = json.loads((tmp_path / "x.json").read_text())["events"][0]["stages"]
    assert rows and all((s["app"], s["job_group"], s["description"], "name" in s) == (app, "nightly", "sums of hashes", False) and s["sql"] >= 0
                        for s in rows), rows


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("version, jdk", [("3.5.7", 17), ("4.3.0", 17), ("4.3.0", 25)])
def test_executors_that_come_and_go(hadoop, sparkprof, tmp_path, version, jdk):
    """Dynamic allocation, and a stage that is tried again because its executor died. Speculation needs two hosts: test_standalone.py."""
    conf = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.shuffleTracking.enabled": "true",
            "spark.dynamicAllocation.minExecutors": 1, "spark.dynamicAllocation.maxExecutors": 3,
            "spark.dynamicAllocation.executorIdleTimeout": "600s",
            "spark.shuffle.readHostLocalDisk": "false",  # the files of a lost executor are on this host, and found
            "spark.executorEnv.JAVA_HOME": parts.jdk(jdk),
            "spark.yarn.appMasterEnv.JAVA_HOME": parts.jdk(jdk)}
    with hadoop.app(jvm=f"{AGENT}hdfs:///profiles", timeout=300, version=version, jdk=jdk, conf=conf, args=(1_000_000,)) as app:
        there = f"/profiles/{app.id}"
        app.tell("import time; sc = spark.sparkContext")
        app.tell("sc.parallelize(range(40), 40).foreach(lambda x: time.sleep(1))")  # tasks that wait call for executors
        wait_until(lambda: len(hadoop.ls(there)) == 3, 120)
        app.tell("pairs = sc.parallelize(range(60), 60).map(lambda x: (time.sleep(0.2), (x % 36, x))[1]).groupByKey(36)")  # by all of them
        app.tell("print('reducing', flush=True); t = threading.Thread(target=lambda: pairs.mapPartitionsWithIndex("
                 "lambda i, it: (time.sleep(2), list(it))[1]).collect()); t.start(); time.sleep(10); print('now', flush=True)")
        wait_until(lambda: app.said("now"), 120)
        pid = hadoop.executors(app.id)[0]
        os.kill(pid, 9)
        app.tell("t.join(); print('over', flush=True)")
        wait_until(lambda: app.said("over"), 120)
        wait_until(lambda: sum(n > 0 for n in hadoop.ls(there).values()) >= 4, 120)
        assert not said(hadoop, app.id)
        lost = [x[-300:] for x in app.stderr().splitlines() if "Lost " in x or "FetchFailed" in x]
    hadoop.fetch(there, tmp_path / "got")
    assert set(hadoop.ls(there)) >= {f"profile-exec-{i}.jfr" for i in (1, 2, 3, 4)}
    stages = roots(sparkprof, tmp_path, "stage", tmp_path / "got")
    assert any(x.endswith(".1]") for x in stages), (stages, lost)
