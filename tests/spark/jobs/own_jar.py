"""An application with a jar of its own and a library as --packages fetches it, and ALS of Spark's ML: for each line of standard input ("udf" or
"als") one run of it, answered "done". It runs under a job group of that name.

What is true: the UDF spends its time in com.acme.etl (the application's jar), org.mathlib (a library beside it) and com.google.gson (which lies among
Spark's jars), a large part in each. ALS has no code of the application at all."""
import os
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.config("spark.sql.shuffle.partitions", 2).getOrCreate()
sc, jvm = spark.sparkContext, spark._jvm
jvm.java.lang.Thread.currentThread().setContextClassLoader(spark._jsparkSession.sharedState().jarClassLoader())
spark.udf.registerJavaFunction("work", "com.acme.etl.Work", "long")


def udf():
    spark.range(0, 20_000, 1, 2).selectExpr("max(work(id))").collect()


def als():
    ratings = spark.range(0, 60_000, 1, 2).selectExpr("cast(id % 600 AS int) AS user", "cast(hash(id) % 400 AS int) AS item", "cast(id % 5 AS float) AS rating")
    jvm.org.apache.spark.ml.recommendation.ALS().setRank(24).setMaxIter(3).setNumBlocks(2).fit(ratings._jdf)


spark.range(0, 10, 1, 2).selectExpr("max(work(id))").collect()
print("ready", sc.applicationId, flush=True)
for line in sys.stdin:
    name = line.strip()
    sc.setJobGroup(name, name)
    {"udf": udf, "als": als}[name]()
    print("done", flush=True)
spark.stop()
os._exit(0)
