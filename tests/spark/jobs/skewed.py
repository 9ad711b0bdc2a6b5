"""A join in which one key has two thirds of the orders and 2,000 prices, all others one or two: of 12 tasks one runs for minutes. It begins once the
file that spark.skewed.go names exists; when the other 11 have finished there is one with ".late" behind its name. It runs until it is killed."""
import pathlib
import threading
import time

from pyspark.sql import SparkSession

spark = (SparkSession.builder.config("spark.sql.adaptive.enabled", "false").config("spark.sql.autoBroadcastJoinThreshold", -1)
         .config("spark.sql.shuffle.partitions", 12).getOrCreate())
sc = spark.sparkContext
go = pathlib.Path(sc.getConf().get("spark.skewed.go"))


def join():
    orders = spark.range(0, 60_000, 1, 4).selectExpr("if(id % 3 > 0, 7, id % 5000) AS customer", "sha2(cast(id AS string), 256) AS note")
    prices = spark.range(0, 7000, 1, 4).selectExpr("if(id < 2000, 7, id - 2000) AS customer", "concat('price ', id) AS price")
    orders.join(prices, "customer").selectExpr("max(length(regexp_replace(concat(price, note), '[aeiou0-4]+', '-')))").collect()


def stages():
    infos = (sc.statusTracker().getStageInfo(s) for s in sc.statusTracker().getActiveStageIds())
    return [(s.numTasks, s.numCompletedTasks, s.numActiveTasks) for s in infos if s]


spark.range(0, 1000, 1, 4).selectExpr("sum(hash(id))").collect()
print("ready", sc.applicationId, flush=True)
while not go.exists():
    time.sleep(0.05)
threading.Thread(target=join, daemon=True).start()
while (12, 11, 1) not in stages():
    time.sleep(0.05)
pathlib.Path(f"{go}.late").touch()
while True:
    time.sleep(1)
