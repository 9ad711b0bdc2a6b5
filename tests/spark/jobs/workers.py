"""Python workers of every kind, again and again: RDDs, pickled and Arrow UDFs, pandas UDFs, mapInPandas, applyInPandas, and
streams with foreachBatch and with state. Each task burns CPU in a function that is called after its way and its TID:
task_rdd_17. The first argument is a directory for the streams."""
import os
import sys
import tempfile
import threading
import time

from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf, sum, udf

spark = SparkSession.builder.config("spark.sql.shuffle.partitions", 1).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")


def burn(ms):
    end = time.process_time() + ms / 1000
    while time.process_time() < end:
        pass


def in_task(way, ms=200):
    space, name = {}, f"task_{way}_{TaskContext.get().taskAttemptId()}"
    exec(f"def {name}(burn, ms):\n    burn(ms)\n", space)
    space[name](burn, ms)


def partition(rows):
    in_task("rdd")
    return [len(list(rows))]


@udf("long")
def row(x):
    in_task("udf", 20)
    return x


@udf("long", useArrow=True)
def arrow(x):
    in_task("arrow", 20)
    return x


@pandas_udf("long")
def column(x):
    in_task("pandas")
    return x


def frames(pieces):
    for piece in pieces:
        in_task("mapInPandas")
        yield piece


def group(piece):
    in_task("applyInPandas")
    return piece


def batch(df, number):
    df.rdd.mapPartitions(lambda rows: (in_task("foreachBatch"), [1])[1]).collect()


def counted(key, pieces, state):
    in_task("state")
    n = __import__("builtins").sum(map(len, pieces)) + (state.get[0] if state.exists else 0)
    state.update((n,))
    yield __import__("pandas").DataFrame({"id": [key[0]], "n": [n]})


def stream(into):
    """One trigger of each: what there is, then it ends."""
    rates = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
    for name, query in (
            ("batch", rates.writeStream.foreachBatch(batch)),
            ("state", rates.selectExpr("value % 1 as id").groupBy("id").applyInPandasWithState(
                counted, "id long, n long", "n long", "update", "NoTimeout").writeStream.format("noop").outputMode("update"))):
        with tempfile.TemporaryDirectory(dir=into, ignore_cleanup_errors=True) as checkpoints:
            query.option("checkpointLocation", checkpoints).trigger(once=True).start().awaitTermination()


def round():
    numbers = spark.range(0, 10, 1, 1)
    spark.sparkContext.parallelize(range(100), 2).mapPartitions(partition).collect()
    spark.range(0, 20, 1, 2).select(sum(row("id"))).collect()
    numbers.select(sum(arrow("id"))).collect()
    numbers.select(sum(column("id"))).collect()
    numbers.mapInPandas(frames, "id long").collect()
    numbers.groupBy((numbers.id % 1).alias("k")).applyInPandas(group, "id long").collect()
    stream(sys.argv[1])


def loop():
    while True:
        round()
        print("\nround", flush=True)


round()
print("ready", spark.sparkContext.applicationId, flush=True)
threading.Thread(target=loop, daemon=True).start()
sys.stdin.read()
os._exit(0)
