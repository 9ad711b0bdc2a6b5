"""Jobs whose truth is known, run by the names on standard input and answered "done" and the name.

skew    a join in which one key has 40,000 orders and 2,000 prices, all others one or two: of 12 tasks one runs for minutes. Answered
        when the other 11 have finished; it runs until "cancel".
cores   8 tasks that do nothing but compute, twice. With 8 slots on 2 cores each has a quarter of a core.
small   400 tasks that have nothing to do: launch and result are most of their time.
udf     4 tasks of a pandas UDF that computes in Python: the JVM waits for it.
even    a stage of 12 equal tasks of a moment: the slowest may take twice the median, and nobody lags."""
import os
import sys
import threading
import time

from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf

spark = (SparkSession.builder.config("spark.sql.adaptive.enabled", "false").config("spark.sql.autoBroadcastJoinThreshold", -1)
         .getOrCreate())
sc = spark.sparkContext
sc.setLogLevel("ERROR")


def join():
    spark.conf.set("spark.sql.shuffle.partitions", 12)
    orders = spark.range(0, 60_000, 1, 4).selectExpr("if(id % 3 > 0, 7, id % 5000) AS customer", "sha2(cast(id AS string), 256) AS note")
    prices = spark.range(0, 7000, 1, 4).selectExpr("if(id < 2000, 7, id - 2000) AS customer", "concat('price ', id) AS price")
    try:
        orders.join(prices, "customer").selectExpr("max(length(regexp_replace(concat(price, note), '[aeiou0-4]+', '-')))").collect()
    except Exception:  # cancelled
        pass


def stages():
    infos = (sc.statusTracker().getStageInfo(s) for s in sc.statusTracker().getActiveStageIds())
    return [(s.numTasks, s.numCompletedTasks, s.numActiveTasks) for s in infos if s]


def skew():
    threading.Thread(target=join, daemon=True).start()
    while (12, 11, 1) not in stages():
        time.sleep(0.05)


def cancel():
    sc.cancelAllJobs()
    while stages():
        time.sleep(0.05)


def cores():
    for _ in range(2):
        spark.range(0, 1_600_000, 1, 8).selectExpr("max(sha2(repeat(cast(id AS string), 40), 512))").collect()


def small():
    spark.range(0, 400, 1, 400).selectExpr("sum(id)").collect()


def even():
    spark.range(0, 120_000, 1, 12).selectExpr("max(sha2(cast(id AS string), 512))").collect()


@pandas_udf("long")
def polynomial(column):
    return column.map(lambda x: sum((x * i) % 7 for i in range(60)))


def udf():
    spark.range(0, 80_000, 1, 4).select(polynomial("id").alias("p")).selectExpr("max(p)").collect()


kinds = {f.__name__: f for f in (skew, cancel, cores, small, udf, even)}
for f in (small, udf, even):
    f()
print("ready", sc.applicationId, flush=True)
for line in sys.stdin:
    kinds[line.strip()]()
    print("done", line.strip(), flush=True)
spark.stop()
os._exit(0)
