"""SQL of many kinds in the JVM only: generated code, strings, JSON, sorts, joins, shuffles, windows. Each job is one round over
all of them. Arguments: "loop", or "ask" for one job per line of standard input, answered "done SECONDS"; then rows (2 million)."""
import os
import sys
import threading
import time

from pyspark.sql import SparkSession

mode = sys.argv[1] if len(sys.argv) > 1 else "loop"
rows = int(sys.argv[2]) if len(sys.argv) > 2 else 2_000_000
spark = SparkSession.builder.config("spark.sql.shuffle.partitions", 4).config("spark.io.compression.codec", "zstd").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")

QUERIES = [
    "SELECT sum(hash(id) % 1000) FROM t",
    "SELECT k, count(*), avg(v), max(s) FROM t GROUP BY k ORDER BY 2 DESC LIMIT 10",
    "SELECT count(DISTINCT upper(concat(s, cast(k AS string)))) FROM t WHERE s LIKE '%7%'",
    "SELECT sum(a.v * b.w) FROM t a JOIN d b ON a.k = b.k WHERE b.w > 3",
    "SELECT max(r) FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY v) r FROM t WHERE id % 8 = 0)",
    "SELECT sum(length(get_json_object(concat('{\"a\":', id, ',\"b\":\"', s, '\"}'), '$.b'))) FROM t WHERE id % 16 = 0",
    "SELECT count(*) FROM (SELECT s, v FROM t WHERE id % 4 = 0 ORDER BY s, v)",
    "SELECT sum(regexp_count(s, '[1-4]')) FROM t WHERE id % 8 = 1",
]


def tables(n):
    spark.range(0, n, 1, 4).selectExpr("id", "id % 997 AS k", "rand(7) AS v", "cast(hash(id) AS string) AS s").createOrReplaceTempView("t")
    spark.range(0, 997, 1, 1).selectExpr("id AS k", "id % 11 AS w").createOrReplaceTempView("d")


def job():
    for q in QUERIES:
        spark.sql(q).collect()


def loop():
    while True:
        job()


tables(1000 if mode == "ask" else rows)
spark.sql(QUERIES[0]).collect()
print("ready", spark.sparkContext.applicationId, flush=True)
if mode == "ask":
    tables(rows)
    for line in sys.stdin:
        begun = time.monotonic()
        job()
        print("done", time.monotonic() - begun, flush=True)
else:
    threading.Thread(target=loop, daemon=True).start()
    sys.stdin.read()
os._exit(0)
