"""Tasks whose Python burns half of its CPU in half(), three tenths in third(), two tenths in fifth(), again and again. A word on standard
input: how many tasks of so many milliseconds are to be run then, "many 100 20"; each with a worker of its own where workers are not used again."""
import os
import random
import signal
import sys
import threading
import time

from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

spark = SparkSession.builder.config("spark.sql.shuffle.partitions", 1).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")


def burn(ms):
    end = time.process_time() + ms / 1000
    while time.process_time() < end:
        pass


def half(ms):
    burn(ms / 2)


def third(ms):
    burn(ms * 0.3)


def fifth(ms):
    burn(ms / 5)


def rounds(ms):
    space, name = {}, f"task_{TaskContext.get().taskAttemptId()}"
    exec(f"def {name}(f, ms):\n    for g in f: g(ms)\n", space)  # a frame that says whose task it is
    space[name]((half, third, fifth), ms * random.uniform(0.5, 1.5))  # not in step with who looks


@udf("long")
def row(x):
    rounds(40)
    return x


def short(ms):
    def work(rows):
        rounds(ms)
        return [os.getpid()]
    return work


def forever():
    while True:
        spark.range(0, 8, 1, 2).select(row("id")).collect()
        print("round", flush=True)


print("ready", spark.sparkContext.applicationId, flush=True)
threading.Thread(target=forever, daemon=True).start()
for line in sys.stdin:
    word, *args = line.split()
    if word == "many":
        count, ms = map(int, args)
        pids = spark.sparkContext.parallelize(range(count), count).mapPartitions(short(ms)).collect()
        print("pids", *sorted(set(pids)), flush=True)
        print("done", flush=True)
    if word == "killdaemon":
        os.kill(int(args[0]), signal.SIGKILL)
        print("killed", flush=True)
os._exit(0)
