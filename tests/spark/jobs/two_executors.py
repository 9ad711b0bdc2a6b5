"""Jobs on two executors, by the names on standard input; each is answered "done" and the name.

skew   12 tasks of a moment, but one: it computes in Python until a file lies in the directory of the first argument. Answered when the
       other 11 have finished, most of them on the other executor.
over   puts the file there, and waits for the job's end.
rows   an RDD of rows goes through Python: the JVM's threads send, and read what comes back; no other machine is asked for anything."""
import os
import pathlib
import sys
import threading
import time

from pyspark.sql import SparkSession

OVER = pathlib.Path(sys.argv[1], "over")
path = str(OVER)
spark = SparkSession.builder.getOrCreate()
sc = spark.sparkContext
sc.setLogLevel("ERROR")


def work(i, rows):
    end = time.monotonic() + (3600 if i == 7 else 0.2)
    while time.monotonic() < end and not os.path.exists(path):
        sum(range(1000))
    return rows


job = threading.Thread(target=lambda: sc.parallelize(range(12), 12).mapPartitionsWithIndex(work).count(), daemon=True)


def stages():
    infos = (sc.statusTracker().getStageInfo(s) for s in sc.statusTracker().getActiveStageIds())
    return [(s.numTasks, s.numCompletedTasks, s.numActiveTasks) for s in infos if s]


def skew():
    job.start()
    while (12, 11, 1) not in stages():
        time.sleep(0.05)


def over():
    OVER.touch()
    job.join()


def rows(n=60_000):
    spark.range(0, n, 1, 4).selectExpr("id", "cast(id AS string) AS s").rdd.map(lambda r: (r.id, r.s)).toDF(["a", "b"]).write.format("noop").mode("overwrite").save()


kinds = {f.__name__: f for f in (skew, over, rows)}
rows(100)
print("ready", sc.applicationId, flush=True)
for line in sys.stdin:
    kinds[line.strip()]()
    print("done", line.strip(), flush=True)
spark.stop()
os._exit(0)
