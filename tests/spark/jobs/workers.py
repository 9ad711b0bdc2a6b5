"""Python workers of each kind that needs no other library: RDDs and SQL's UDFs, again and again. Each task burns CPU in a
function that is called after its TID: task_17."""
import os
import sys
import threading
import time

from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.functions import sum, udf

spark = SparkSession.builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")


def burn(ms):
    end = time.process_time() + ms / 1000
    while time.process_time() < end:
        pass


def in_task(ms):
    space, name = {}, f"task_{TaskContext.get().taskAttemptId()}"
    exec(f"def {name}(burn, ms):\n    burn(ms)\n", space)
    space[name](burn, ms)


def partition(rows):
    in_task(200)
    return [len(list(rows))]


@udf("long")
def row(x):
    in_task(20)
    return x


def round():
    spark.sparkContext.parallelize(range(100), 2).mapPartitions(partition).collect()
    spark.range(0, 20, 1, 2).select(sum(row("id"))).collect()


def loop():
    while True:
        round()
        print("\nround", flush=True)


round()
print("ready", spark.sparkContext.applicationId, flush=True)
threading.Thread(target=loop, daemon=True).start()
sys.stdin.read()
os._exit(0)
