"""Queries whose generated classes have the same numbers, run by the names on standard input and answered "done" and the name.

join     a sort-merge join, and an aggregation fused into the code that reads from it, written: adaptive execution plans it stage by stage.
largest  an aggregation of texts, sorted, that is collected: of its last stage the driver has the plan only when the query has ended."""
import os
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.config("spark.sql.autoBroadcastJoinThreshold", -1).config("spark.sql.shuffle.partitions", 2).getOrCreate()
sc = spark.sparkContext
sc.setLogLevel("ERROR")


def join():
    sales = spark.range(0, 200_000, 1, 2).selectExpr("cast(crc32(repeat(cast(id AS string), 200)) % 1000 AS long) AS k", "id AS v")
    prices = spark.range(0, 3000, 1, 2).selectExpr("id % 1000 AS k", "id AS w")
    notes = sales.join(prices, "k").selectExpr("w", "crc32(repeat(cast(v AS string), 100)) AS c")
    notes.groupBy("w").sum("c").write.format("noop").mode("overwrite").save()


def largest():
    spark.range(0, 400_000, 1, 2).selectExpr("id % 3 AS k", "sha2(repeat(cast(id AS string), 20), 512) AS note").groupBy("k").agg({"note": "max"}).collect()


kinds = {f.__name__: f for f in (join, largest)}
for f in kinds.values():
    f()
print("ready", sc.applicationId, flush=True)
for line in sys.stdin:
    kinds[line.strip()]()
    print("done", line.strip(), flush=True)
spark.stop()
os._exit(0)
