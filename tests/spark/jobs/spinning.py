"""One stage that never ends: each of its two tasks stays in one Python function, which calls nothing. The job is ready when both are there, and
some seconds old, so that whoever looks comes late."""
import sys
import threading
import time

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")


def spin(rows):
    n = 0
    while True:
        n += 1
    yield n


def run():
    spark.sparkContext.parallelize(range(2), 2).mapPartitions(spin).count()


threading.Thread(target=run, daemon=True).start()
tracker = spark.sparkContext.statusTracker()
while sum(s.numActiveTasks for s in map(tracker.getStageInfo, tracker.getActiveStageIds()) if s) < 2:
    time.sleep(0.2)
time.sleep(2)
print("ready", spark.sparkContext.applicationId, flush=True)
sys.stdin.read()
