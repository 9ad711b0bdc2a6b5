"""Eight jobs of six tasks each, on three executors of one core: tasks of executor 1 wait for three seconds in Python, as for a host's own slow
disk or service, those of the others for a tenth of one. They begin at the first line of standard input; "done" is said behind them."""
import os
import sys
import time

from pyspark.sql import SparkSession

sc = SparkSession.builder.getOrCreate().sparkContext
sc.setLogLevel("ERROR")


def work(rows):
    time.sleep(3 if os.getcwd().split("/")[-1] == "1" else 0.1)  # Spark starts each executor in a directory of that name
    return rows


sc.parallelize(range(6), 6).map(lambda x: x).count()
print("ready", sc.applicationId, flush=True)
sys.stdin.readline()
for _ in range(8):
    sc.parallelize(range(6), 6).mapPartitions(work).count()
print("done", flush=True)
sys.stdin.readline()
os._exit(0)
