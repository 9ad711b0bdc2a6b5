"""A pandas UDF that is slow without need: it goes row by row, and makes its pattern anew for each. Runs until its input ends."""
import os
import re
import sys
import threading

from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf

spark = SparkSession.builder.appName("clean visits").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")


def clean(text, words):
    pattern = re.compile("|".join(map(re.escape, words)))
    re.purge()
    return pattern.sub("", text).strip()


@pandas_udf("string")
def cleaned(column):
    return column.map(lambda text: clean(text, ["http://", "https://", "www.", "?", "utm_source"]))


def loop():
    while True:
        visits = spark.range(0, 20000, 1, 4).selectExpr("concat('https://www.example.org/', id, '?utm_source=', id % 7) as url")
        visits.select(cleaned("url").alias("url")).groupBy("url").count().agg({"count": "max"}).collect()


threading.Thread(target=loop, daemon=True).start()
print("ready", spark.sparkContext.applicationId, flush=True)
sys.stdin.read()
os._exit(0)
