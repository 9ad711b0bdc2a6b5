"""A job whose time goes by in the driver. Each line of its standard input names pieces of work, in their order; for each piece it prints
"did NAME SECONDS BEGIN", by its own clocks (BEGIN: ns since 1970), and at the end of a line "done".

  python     this process computes, in compute(); the JVM waits for its next call
  analysis   a wide projection is analysed again and again, as a chain of withColumn does it
  optimise   a plan of many unions and filters goes through the optimiser and the planner, and no job runs
  listing    a directory of many small files is listed, in the driver
  job        one task sleeps; the driver waits for it
  collect    many rows come back: the driver takes, decodes and sends them to Python
  broadcast  a relation is collected and built for a broadcast join

"phases" with optimise: what Spark's own tracker of the query measured, in seconds. The first argument is the directory of files."""
import pathlib
import sys
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

FILES = 5000
spark = (SparkSession.builder.config("spark.sql.sources.parallelPartitionDiscovery.threshold", 1_000_000)
         .config("spark.sql.adaptive.enabled", "false").config("spark.sql.shuffle.partitions", 2).getOrCreate())
spark.sparkContext.setLogLevel("ERROR")


def compute(seconds):
    end, n = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        n += sum(range(1000))
    return n


def python():
    compute(2.5)


def analysis():
    frame = spark.range(10)
    for i in range(50):
        frame = frame.withColumns({f"c{i}_{k}": f.col("id") + k for k in range(8)})
    return frame


def optimise():
    parts = [spark.range(100).filter(f"id % {i + 2} = 1").selectExpr(f"id + {i} as id", f"id * {i} as x") for i in range(40)]
    frame = parts[0]
    for part in parts[1:]:
        frame = frame.union(part)
    for i in range(6):
        frame = frame.filter(f.col("x") > -i).withColumn("x", f.col("x") + 1)
    plan = frame._jdf.queryExecution()
    plan.executedPlan()
    times = plan.tracker().phases()
    for name in ("analysis", "optimization", "planning"):
        print("phases", name, times.apply(name).durationMs() / 1000, flush=True)


def listing():
    spark.read.schema("value string").text(sys.argv[1])


def job():
    spark.sparkContext.parallelize([1], 1).foreach(lambda x: time.sleep(3))


def collect():
    spark.range(0, 120_000, 1, 2).selectExpr("id", "id * 2 as x", "cast(id as string) as s").collect()


def broadcast():
    big = spark.range(0, 200_000, 1, 2).selectExpr("id", "cast(id as string) as s")
    spark.range(10).join(f.broadcast(big), "id").count()


def work():
    for line in sys.stdin:
        for name in line.split():
            begun, at = time.monotonic(), time.time_ns()
            globals()[name]()
            print("did", name, round(time.monotonic() - begun, 3), at, flush=True)
        print("done", flush=True)


here = pathlib.Path(sys.argv[1])
here.mkdir(exist_ok=True)
for i in range(FILES):
    (here / f"part-{i:05}.txt").write_text("x\n")
spark.sparkContext.parallelize(range(2), 2).count()
print("ready", spark.sparkContext.applicationId, flush=True)
work()
