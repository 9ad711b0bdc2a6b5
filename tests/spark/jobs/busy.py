"""Keeps all executors busy with one SQL job after the other, in the JVM only, until standard input ends.
Arguments: rows per job (default 50 million) and partitions (default 8)."""
import os
import sys
import threading

from pyspark.sql import SparkSession

rows = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000_000
partitions = int(sys.argv[2]) if len(sys.argv) > 2 else 8
spark = SparkSession.builder.getOrCreate()


def job(n):
    spark.range(0, n, 1, partitions).selectExpr("sum(hash(id) % 1000) AS s").collect()


def loop():
    while True:
        job(rows)


job(1000)
print("ready", spark.sparkContext.applicationId, flush=True)
threading.Thread(target=loop, daemon=True).start()
sys.stdin.read()
os._exit(0)
