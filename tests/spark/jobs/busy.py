"""Keeps all executors busy with one SQL job after the other, in the JVM only, until standard input ends, whose lines are
executed as Python.
Arguments: rows per job (default 50 million), partitions (default 8), seconds between two jobs (default 0)."""
import os
import sys
import threading
import time

from pyspark.sql import SparkSession

rows = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000_000
partitions = int(sys.argv[2]) if len(sys.argv) > 2 else 8
pause = float(sys.argv[3]) if len(sys.argv) > 3 else 0
spark = SparkSession.builder.getOrCreate()


def job(n):
    spark.range(0, n, 1, partitions).selectExpr("sum(hash(id) % 1000) AS s").collect()


def loop():
    while True:
        job(rows)
        time.sleep(pause)


job(1000)
print("ready", spark.sparkContext.applicationId, flush=True)
threading.Thread(target=loop, daemon=True).start()
for line in sys.stdin:
    exec(line)
os._exit(0)
