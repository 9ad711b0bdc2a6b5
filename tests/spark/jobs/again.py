"""The same query in two versions of a program: for each line of standard input ("base" or "new") one run of it, answered "done".

What is true: both runs have the same three stages of work, read and hash ("left"), read and hash ("right"), join and aggregate. "new" hashes the
left side ten times as often, so most of what it takes longer is in the stage "left" and in the generated code there. It also plans two
small queries before, and an aggregation of a constant below the join: the stages have other numbers, and so have the generated classes
(CodegenStageN), but they do the same. Its last stage, a sort of a million numbers, is in no other run."""
import os
import sys

from pyspark.sql import SparkSession

spark = (SparkSession.builder.config("spark.sql.shuffle.partitions", 2).config("spark.sql.autoBroadcastJoinThreshold", -1)
         .config("spark.sql.adaptive.coalescePartitions.enabled", "false").getOrCreate())
sc = spark.sparkContext
ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 3_000_000


def hashes(column, rounds):
    text = f"cast({column} AS string)"
    for _ in range(rounds):
        text = f"sha2({text}, 256)"
    return text


def query(rounds, extra):
    left = spark.range(0, ROWS // 4, 1, 2).selectExpr("id % 1000 AS k", f"{hashes('id', rounds)} AS s").groupBy("k").agg({"s": "max"})
    right = spark.range(0, ROWS // 4, 1, 2).selectExpr("id % 1000 AS k2", f"{hashes('id + 1', 1)} AS t").groupBy("k2").agg({"t": "min"})
    if extra:
        few = spark.range(0, 1000, 1, 1).selectExpr("id AS k2", "1 AS one").groupBy("k2").agg({"one": "sum"})
        right = right.join(few, "k2")
    return left.join(right, left.k == right.k2).selectExpr("count(*)", "max(`max(s)`)")


def base():
    query(1, False).collect()


def new():
    spark.range(0, 10, 1, 1).selectExpr("sum(id)").collect()
    spark.range(0, 10, 1, 1).selectExpr("max(id)").collect()
    query(10, True).collect()
    sc.setJobDescription("a sort that no other run has")
    spark.range(0, 1_000_000, 1, 2).selectExpr("hash(id) AS h").sort("h").selectExpr("max(h)").collect()
    sc.setJobDescription(None)


base()
base()
print("ready", sc.applicationId, flush=True)
for line in sys.stdin:
    {"base": base, "new": new}[line.strip()]()
    print("done", flush=True)
spark.stop()
os._exit(0)
