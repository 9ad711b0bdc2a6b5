"""Queries that Comet executes in native code, again and again until standard input ends. The first argument is a directory for their table."""
import os
import sys
import threading

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
table = sys.argv[1] + "/table"
spark.range(0, 1_000_000, 1, 4).selectExpr("id", "id % 1000 AS k", "cast(id AS string) AS s").write.parquet(table)
spark.read.parquet(table).createOrReplaceTempView("t")
queries = ["SELECT k, count(*), sum(id), max(length(s)) FROM t WHERE s LIKE '%7%' GROUP BY k",
           "SELECT a.k, count(*) FROM t a JOIN t b ON a.id = b.id GROUP BY a.k"]
for q in queries:
    spark.sql(q).collect()
print("ready", spark.sparkContext.applicationId, flush=True)


def work():
    while True:
        for q in queries:
            spark.sparkContext.setJobGroup("native", "a query of Comet's")
            spark.sql(q).collect()


threading.Thread(target=work, daemon=True).start()
sys.stdin.read()
os._exit(0)
