"""The ways to Python workers that workers.py does not go: mapInArrow, cogroups, groups in Arrow, iterators of columns, aggregates, window
functions, table functions; from Spark 4.0 on data sources, and streams with state of several kinds. Each task burns CPU in a
function that is called after its way and its TID: task_mapInArrow_17. The first argument is a directory for the streams."""
import os
import sys
import tempfile
import threading
import time
from typing import Iterator

import pandas
import pyspark
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf, udtf
from pyspark.sql.window import Window

spark = SparkSession.builder.config("spark.sql.shuffle.partitions", 1).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
NEW = int(pyspark.__version__.split(".")[0]) >= 4


def burn(ms):
    end = time.process_time() + ms / 1000
    while time.process_time() < end:
        pass


def in_task(way, ms=200):
    space, name = {}, f"task_{way}_{TaskContext.get().taskAttemptId()}"
    exec(f"def {name}(burn, ms):\n    burn(ms)\n", space)
    space[name](burn, ms)


def through(way):
    def each(pieces):
        for piece in pieces:
            in_task(way)
            yield piece
    return each


def both(left, right):
    in_task("cogroup")
    return left


def table(piece):
    in_task("applyInArrow")
    return piece


@pandas_udf("long")
def columns(pieces: Iterator[pandas.Series]) -> Iterator[pandas.Series]:
    yield from through("iterator")(pieces)


@pandas_udf("double")
def mean(x: pandas.Series) -> float:
    in_task("aggregate")
    return x.mean()


@udtf(returnType="n long")
class Rows:
    def eval(self, n: int):
        in_task("udtf")
        yield n,


def streams(into):
    from pyspark.sql.streaming import StatefulProcessor

    class Counted(StatefulProcessor):
        def init(self, handle):
            self.n = handle.getValueState("n", "n long")

        def handleInputRows(self, key, rows, timers):
            in_task("transformWithState")
            self.n.update((1,))
            yield pandas.DataFrame({"id": [key[0]], "n": [1]})

        def close(self):
            pass

    rates = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
    query = rates.selectExpr("value % 1 as id").groupBy("id").transformWithStateInPandas(Counted(), "id long, n long", "update", "none")
    with tempfile.TemporaryDirectory(dir=into, ignore_cleanup_errors=True) as checkpoints:
        query.writeStream.format("noop").outputMode("update").option("checkpointLocation", checkpoints).trigger(once=True).start().awaitTermination()


def source():
    from pyspark.sql.datasource import DataSource, DataSourceReader

    class Reader(DataSourceReader):
        def read(self, partition):
            in_task("source")
            yield 1,

    class Source(DataSource):
        @classmethod
        def name(cls):
            return "ours"

        def schema(self):
            return "n long"

        def reader(self, schema):
            return Reader()

    spark.dataSource.register(Source)
    spark.read.format("ours").load().collect()


def round():
    numbers = spark.range(0, 10, 1, 1)
    keyed = numbers.selectExpr("id", "id % 1 as k")
    numbers.mapInArrow(through("mapInArrow"), "id long").collect()
    keyed.groupBy("k").cogroup(keyed.groupBy("k")).applyInPandas(both, "id long, k long").collect()
    numbers.select(columns("id")).collect()
    keyed.groupBy("k").agg(mean("id")).collect()
    keyed.withColumn("m", mean("id").over(Window.partitionBy("k"))).collect()
    spark.udtf.register("rows", Rows)
    spark.sql("select * from rows(3)").collect()
    if NEW:
        keyed.groupBy("k").applyInArrow(table, "id long, k long").collect()
        source()
        if len(sys.argv) > 2:
            streams(sys.argv[1])


def loop():
    while True:
        round()
        print("\nround", flush=True)


round()
print("ready", spark.sparkContext.applicationId, flush=True)
threading.Thread(target=loop, daemon=True).start()
sys.stdin.read()
os._exit(0)
