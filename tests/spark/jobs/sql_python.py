"""SQL and PySpark at once, one short job after the other, until standard input ends. Argument: rows of a job (2 million)."""
import os
import sys
import threading

from pyspark.sql import SparkSession

rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
spark = (SparkSession.builder.config("spark.scheduler.mode", "FAIR").config("spark.sql.shuffle.partitions", 4).getOrCreate())
sc = spark.sparkContext
sc.setLogLevel("ERROR")


def sql(n):
    spark.range(0, n, 1, 4).selectExpr("id % 997 AS k", "hash(id) AS h", "cast(id AS string) AS s").groupBy("k").agg(
        {"h": "sum", "s": "max"}).collect()
    spark.range(0, n // 4, 1, 4).selectExpr("hash(id) AS h", "id").repartition(4, "h").sortWithinPartitions("h").selectExpr("max(id)").collect()


def python(n):
    sc.range(0, n // 16, 1, 4).map(lambda x: (x % 101, x * x % 7)).reduceByKey(lambda a, b: a + b).collect()


def loop(kind):
    while True:
        kind(rows)


for kind in (sql, python):
    kind(1000)
print("ready", sc.applicationId, flush=True)
for kind in (sql, python):
    threading.Thread(target=loop, args=(kind,), daemon=True).start()
sys.stdin.read()
os._exit(0)
