"""What is left of applications and executors that YARN itself ends, and of those that record nothing."""
import pathlib
import re

import pytest

from kit import recording, spark, yarn
from kit.traces import wait_until

WORDS = "start,event=wall,interval=20ms,dfsinterval=1,file=hdfs:///profiles"


@pytest.fixture(scope="module")
def hadoop():
    """Without cgroups it is the NodeManager that looks after the memory of containers; else it leaves that to them."""
    with yarn.Cluster(site={"yarn.nodemanager.resource.memory.enforced": "false"}) as c:
        yield c


def told(sparkprof, tmp_path, by, there):
    """What stands below the stacks, and what was said, of a directory that is reported as a whole."""
    r = sparkprof("report", "--by", by, "-f", tmp_path / "x.collapsed", there, timeout=300)
    assert r.returncode == 0, r.stderr
    return {x.split(";")[0] for x in (tmp_path / "x.collapsed").read_text().splitlines()}, r.stderr


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_container_over_its_memory(hadoop, sparkprof, tmp_path):
    """A Python worker that takes more than its container has: the NodeManager ends executor 1, the task is tried again on another one, and
    what was sent of the first has the task that it died of."""
    with hadoop.app(jvm=f"-agentpath:{recording.AGENT}={WORDS}", timeout=300, args=(1_000_000, 2, 1)) as app:
        there = f"/profiles/{app.id}"
        wait_until(lambda: hadoop.ls(there).get("profile-exec-1.jfr"), 120)
        app.tell("import time; from pyspark import TaskContext; sc = spark.sparkContext")
        app.tell("hold = lambda much: time.sleep(60) or len(much)")
        app.tell("hog = lambda i, it: [hold(b'x' * (3 << 29)) if TaskContext.get().attemptNumber() == 0 else i]")
        app.tell("print(sc.parallelize([1], 1).mapPartitionsWithIndex(hog).collect() == [0] and 'survived', flush=True)")
        wait_until(lambda: app.said("survived"), 240)
        assert "killed by YARN for exceeding physical memory limits" in app.stderr(), app.stderr()[-2000:]
        wait_until(lambda: hadoop.ls(there).get("profile-exec-2.jfr"), 120)
    hadoop.fetch(there, tmp_path / "got")
    tasks, said = told(sparkprof, tmp_path, "task", tmp_path / "got/profile-exec-1.jfr")
    assert tasks and "damaged" not in said, said
    assert told(sparkprof, tmp_path, "executor", tmp_path / "got")[0] >= {"[executor 1]", "[executor 2]"}


FOREVER = """from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
while True:
    spark.range(0, 30_000_000, 1, 8).selectExpr("sum(hash(id) % 1000)").collect()
"""


@pytest.mark.long
@pytest.mark.timeout(900)
def test_an_application_that_the_resource_manager_kills(hadoop, sparkprof, tmp_path):
    """Driver and executor are in containers and have a quarter of a second: what they sent before is there, and no file is in the way of
    a report of all of it."""
    (hadoop.dir / "forever.py").write_text(FOREVER)
    agent = f"-agentpath:{recording.AGENT}={WORDS}"
    app = hadoop.submit(hadoop.dir / "forever.py", "killed", conf={"spark.driver.extraJavaOptions": agent, "spark.executor.extraJavaOptions": agent})
    there = f"/profiles/{app}"
    wait_until(lambda: sum(n > 0 for n in hadoop.ls(there).values()) >= 2, 240)
    hadoop.kill_app(app)
    wait_until(lambda: not hadoop.executors(app))
    hadoop.fetch(there, tmp_path / "got")
    (tmp_path / "got/profile-exec-9.jfr").touch()  # as one that was killed between the name and the first piece has it
    found, said = told(sparkprof, tmp_path, "executor", tmp_path / "got")
    assert "[executor 1]" in found and "damaged" not in said and ": empty (the JVM was killed before it wrote anything)" in said, (found, said)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_part_of_all_executors(target, tmp_path):
    """Twelve real ones. Who is not chosen has no file, no thread of ours and no word of it; asked again, the same ones are chosen."""
    files = tmp_path / "files"
    with spark.App(master="local-cluster[12,1,512]", args=(1_000_000, 12, 1), timeout=280,
                   jvm=f"-agentpath:{recording.AGENT}=start,event=wall,interval=50ms,fraction=0.5,file={files}/") as app:
        wait_until(lambda: len(app.executors()) == 12, 200)
        ids = {app.executor_id(p): p for p in app.executors()}
        threads = {i: {pathlib.Path(t, "comm").read_text().strip() for t in pathlib.Path(f"/proc/{p}/task").iterdir()} for i, p in ids.items()}
        chosen = {re.fullmatch(r"profile-exec-(\d+)\.jfr", f.name)[1] for f in (files / app.id).iterdir()}
        assert 0 < len(chosen) < 12 and chosen == {i for i, names in threads.items() if any(n.startswith("sparkprof") for n in names)}
        logs = list(pathlib.Path(app.dir.name).glob("spark/work/*/*/stderr"))
        assert len(logs) == 12 and not any("sparkprof:" in f.read_text() for f in logs)
        app_id = app.id
    again = tmp_path / "again"
    for i in ids:
        t = target("Idle", "org.apache.spark.executor.CoarseGrainedExecutorBackend", "--executor-id", i, "--app-id", app_id,
                   jvm=[recording.option(f"{again}/", event="wall", fraction=0.5)])
        t.close()
    assert {f.name for f in (again / app_id).iterdir()} == {f"profile-exec-{i}.jfr" for i in chosen}
