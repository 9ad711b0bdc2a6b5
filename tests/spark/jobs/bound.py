"""Jobs that are each bound by one thing, run by the names that stand on standard input (and for how many seconds, else for those
of the first argument; once at least), answered "done" and that line: fetch (waits for
shuffle blocks of the other executor, where the network is slow), gc (a heap that is nearly full; Hold must be on the class path), write (shuffle files), skew (a join in which one key has
most rows), udf (a slow function in Python). Executors without spark.shuffle.readHostLocalDisk are needed for the first."""
import os
import sys
import time

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

spark = (SparkSession.builder.config("spark.sql.adaptive.enabled", "false").config("spark.sql.autoBroadcastJoinThreshold", -1)
         .config("spark.io.compression.codec", "zstd").getOrCreate())
sc = spark.sparkContext
seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0


def partitions(n):
    spark.conf.set("spark.sql.shuffle.partitions", n)


def fetch():
    """Wide rows, of which hardly anything is looked at."""
    partitions(6)
    spark.range(0, 20_000, 1, 6).selectExpr("id", "repeat(sha2(cast(id AS string), 512), 40) AS s").repartition(6, "id").selectExpr(
        "max(length(s))").collect()


def gc():
    """Hold of tests/spark/java keeps what is allocated."""
    spark.udf.registerJavaFunction("hold", "Hold", "long")
    spark.range(0, 500_000, 1, 2).selectExpr("max(hold(id))").collect()


def write():
    """Wide rows that do not get smaller, to files that are synced."""
    partitions(8)
    spark.range(0, 12_000, 1, 4).selectExpr("id", "repeat(sha2(cast(id AS string), 512), 40) AS s").repartition(8, "id").selectExpr(
        "max(length(s))").collect()


def skew():
    """Two thirds of all orders are of one customer."""
    partitions(12)
    orders = spark.range(0, 600_000, 1, 4).selectExpr("if(id % 3 > 0, 7, id % 5000) AS customer", "sha2(cast(id AS string), 256) AS note")
    customers = spark.range(0, 5000, 1, 2).selectExpr("id AS customer", "concat('customer ', id) AS name")
    orders.join(customers, "customer").selectExpr("max(length(regexp_replace(concat(name, note), '[aeiou0-4]+', '-')))").collect()


@udf("string")
def clean(text):
    words = []
    for i in range(len(text)):
        words.append(text[i:i + 4].strip("0123").title())
    return " ".join(words)


def slow_udf():
    partitions(2)
    spark.range(0, 120_000, 1, 4).selectExpr("sha2(cast(id AS string), 256) AS s").select(clean("s").alias("s")).selectExpr("max(s)").collect()


kinds = {"fetch": fetch, "gc": gc, "write": write, "skew": skew, "udf": slow_udf}


def run(name, seconds=seconds):
    sc.setJobGroup(name, {"skew": "orders by customer", "udf": "clean the texts", "fetch": "documents by id"}.get(name, name))
    end = time.monotonic() + seconds
    while True:
        kinds[name]()
        if time.monotonic() >= end:
            return


spark.range(0, 1000, 1, 4).selectExpr("sum(hash(id))").collect()
print("ready", sc.applicationId, flush=True)
for line in sys.stdin:
    run(*(f(x) for f, x in zip((str, float), line.split())))
    print("done", line.strip(), flush=True)
spark.stop()
os._exit(0)
