"""Jobs with one trouble each, run by the names on standard input and answered "done" and the name. Each runs under a job group of its name.

aggregate  an aggregation of more groups than the memory of its tasks holds: they spill to the disk again and again (spark.memory.fraction is small).
stream     a streaming query that counts by customer, with its state in RocksDB: most of its task time is the state store, and no code of the user.
regex      a regular expression that backtracks, on each row: most CPU is java.util.regex.
json       nested JSON texts are parsed, and little else is done.
files      3,000 files of ten rows: the tasks spend their time opening files, not reading rows.
lock       a UDF in Java of which one call at a time may run in the executor (com.acme.etl.Rates): with two slots one of two tasks waits at any time.
hung       a Python UDF asks a service that never answers, at ask(): of 4 tasks one hangs, 3 end at once. Answered when the other three have ended; it
           runs until "cancel".
kmeans     k-means of Spark's ML: the CPU is Spark's own, no code of the user."""
import os
import pathlib
import socket
import sys
import threading
import time

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

HERE = pathlib.Path(sys.argv[1])
spark = SparkSession.builder.config("spark.sql.shuffle.partitions", 2).getOrCreate()
sc, jvm = spark.sparkContext, spark._jvm
sc.setLogLevel("ERROR")
jvm.java.lang.Thread.currentThread().setContextClassLoader(spark._jsparkSession.sharedState().jarClassLoader())
spark.udf.registerJavaFunction("rates", "com.acme.etl.Rates", "long")


def rows(n):
    return spark.range(0, n, 1, 2)


def nothing(frame):
    frame.write.format("noop").mode("overwrite").save()


def aggregate():
    nothing(rows(4_000_000).selectExpr("id % 2000000 AS customer", "repeat(cast(id AS string), 20) AS note").groupBy("customer")
            .agg({"note": "max", "*": "count"}))


def stream():
    orders = (spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 30_000).option("numPartitions", 2).load()
              .selectExpr("value % 100000 AS customer"))
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
    query = (orders.groupBy("customer").count().writeStream.queryName("orders by customer").outputMode("update").format("noop")
             .option("checkpointLocation", str(HERE / f"checkpoint{time.monotonic_ns()}")).start())
    while not query.lastProgress or query.lastProgress["batchId"] < 3:
        time.sleep(0.1)
    query.stop()


def regex():
    nothing(rows(1_000_000).selectExpr("regexp_extract(concat(repeat('key=value;', 24), id), '^(?:[a-z]+=[a-z]+;?)+([0-9]+)x?$', 1) AS found"))


def json():
    text = "concat('{\"id\":', id, ',\"tags\":[', repeat('\"some tag\",', 60), '1],\"inner\":{\"a\":', id, ',\"b\":\"x\"}}')"
    nothing(rows(80_000).selectExpr(f"from_json({text}, 'id long, tags array<string>, inner struct<a: long, b: string>') AS o")
            .selectExpr("o.id + o.inner.a + size(o.tags) AS x"))


def make_files():
    """One that Spark wrote, and its copies."""
    one, where = HERE / "one", HERE / "small"
    spark.range(0, 10, 1, 1).selectExpr("id", "id % 7 AS kind", "cast(id AS string) AS name").write.parquet(str(one))
    where.mkdir()
    text = next(one.glob("part-*")).read_bytes()
    for i in range(3000):
        (where / f"part-{i:05}.parquet").write_bytes(text)


def files():
    nothing(spark.read.schema("id long, kind long, name string").parquet(str(HERE / "small")))


def lock():
    nothing(rows(60_000).selectExpr("rates(id) AS r"))


server = socket.create_server(("127.0.0.1", 0))
port = server.getsockname()[1]


def ask(x):
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(b"rate of %d\n" % x)
        return len(s.recv(100))


@udf("long")
def rate(x):
    return ask(x) if x == 5 else x


def hang():
    try:
        sc.setJobGroup("hung", "hung", interruptOnCancel=True)
        nothing(spark.range(0, 8, 1, 4).select(rate("id").alias("r")))
    except Exception:  # cancelled
        pass


def stages():
    infos = (sc.statusTracker().getStageInfo(s) for s in sc.statusTracker().getActiveStageIds())
    return [(s.numTasks, s.numCompletedTasks, s.numActiveTasks) for s in infos if s]


def hung():
    threading.Thread(target=hang, daemon=True).start()
    while (4, 3, 1) not in stages():
        time.sleep(0.05)


def cancel():
    sc.cancelAllJobs()
    while stages():
        time.sleep(0.05)


def kmeans(n=40_000, k=60):
    points = rows(n).selectExpr("transform(sequence(1, 40), i -> cast(hash(id, i) % 1000 AS double)) AS a")
    ml = jvm.org.apache.spark.ml
    vectors = ml.functions.array_to_vector(points._jdf.col("a"))
    data = points._jdf.withColumn("features", vectors).select("features", sc._gateway.new_array(jvm.java.lang.String, 0)).cache()
    ml.clustering.KMeans().setK(k).setMaxIter(6).setSeed(1).fit(data)
    data.unpersist()


kinds = {f.__name__: f for f in (aggregate, stream, regex, json, files, lock, hung, cancel, kmeans)}
make_files()
kmeans(100, 2)  # a JVM that loads ML's classes does little else
print("ready", sc.applicationId, flush=True)
for line in sys.stdin:
    name = line.strip()
    if name != "hung":
        sc.setJobGroup(name, name)
    kinds[name]()
    print("done", name, flush=True)
spark.stop()
os._exit(0)
