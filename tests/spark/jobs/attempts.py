"""One job whose tasks fail, are killed and are tried twice at once, a streaming query, a broadcast join with a subquery, rows that go
through other programs, and a client of Spark Connect where there is a server, for each line of standard input, answered "done". Executors on two hosts are needed, and spark.speculation."""
import os
import subprocess
import sys
import time

from pyspark import TaskContext
from pyspark.sql import SparkSession

spark = SparkSession.builder.config("spark.sql.shuffle.partitions", 2).getOrCreate()
sc = spark.sparkContext


def partition(i, rows):
    first = TaskContext.get().attemptNumber() == 0
    if i == 0 and first:
        raise RuntimeError("the first attempt of this task fails")
    end = time.monotonic() + (60 if i == 1 and first else 0.5)
    while time.monotonic() < end:
        time.sleep(0.05)
    return [i]


def stream():
    q = (spark.readStream.format("rate").option("rowsPerSecond", 100).load().selectExpr("sum(hash(value))")
         .writeStream.queryName("ticks").outputMode("complete").format("noop").start())
    while q.lastProgress is None or q.lastProgress["batchId"] < 3:
        time.sleep(0.1)
    q.stop()
    print("query", q.id, flush=True)


def join():
    big, small = spark.range(0, 3_000_000, 1, 2), spark.range(0, 400_000)
    big.createOrReplaceTempView("big")
    small.createOrReplaceTempView("small")
    spark.sql("SELECT /*+ BROADCAST(s) */ sum(hash(b.id)) FROM big b JOIN small s ON b.id = s.id "
              "WHERE b.id > (SELECT avg(id) / 100 FROM small)").collect()


def programs():
    """Threads of their own feed what the programs read: the JVM's pipe() and a script transform."""
    sc.setJobGroup("pipe", "through pipe()")
    spark.range(0, 1_500_000, 1, 2).selectExpr("sha2(cast(id AS string), 256)")._jdf.toJavaRDD().pipe("cat").count()
    sc.setJobGroup("script", "through a script")
    spark.sql("SELECT TRANSFORM(sha2(cast(id AS string), 256)) USING 'cat' AS x FROM range(0, 1500000, 1, 2)").selectExpr("max(x)").collect()


def connect():
    """A client of its own, in a process that knows nothing of this driver."""
    port = sc.getConf().get("spark.connect.grpc.binding.port")
    subprocess.run([sys.executable, "-c", "from pyspark.sql.connect.session import SparkSession\n"
                    f"s = SparkSession.builder.remote('sc://127.0.0.1:{port}').getOrCreate()\n"
                    "for i in range(5): s.range(0, 3000000, 1, 2).selectExpr('sum(hash(id))').collect()\n"], check=True,
                   env={k: v for k, v in os.environ.items() if k not in ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS")})


sc.parallelize(range(4), 4).count()
print("ready", sc.applicationId, flush=True)
for line in sys.stdin:
    sc.setJobGroup("attempts", "fails, is killed, is tried twice")
    assert sorted(sc.parallelize(range(4), 4).mapPartitionsWithIndex(partition).collect()) == [0, 1, 2, 3]
    sc.setJobGroup("join", "a broadcast and a subquery")
    join()
    stream()
    programs()
    connect()
    print("done", flush=True)
spark.stop()
os._exit(0)
