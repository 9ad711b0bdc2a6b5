"""Jobs with one trouble each, run by the names on standard input and answered "done" and the name. Each runs under a job group of its name.

aggregate  an aggregation of more groups than the memory of its tasks holds: they spill to the disk again and again (spark.memory.fraction is small).
stream     a streaming query that counts by customer, with its state in RocksDB: most of its task time is the state store, and no code of the user.
regex      a regular expression that backtracks, on each row: most CPU is java.util.regex.
json       nested JSON texts are parsed, and little else is done.
files      3,000 files of ten rows: the tasks spend their time opening files, not reading rows.
lock       a UDF in Java of which one call at a time may run in the executor (com.acme.etl.Rates): with two slots one of two tasks waits at any time.
hung       a Python UDF asks a service that never answers, at ask(): of 4 tasks one hangs, 3 end at once. Answered when the other three have ended; it
           runs until "cancel".
kmeans     k-means of Spark's ML: the CPU is Spark's own, no code of the user.
als        alternating least squares: the same.
skew       a join in which one key has two thirds of the orders and 300 prices, of 12 tasks one has more work than all others together.
score      a UDF in Java that computes (com.acme.etl.Score.call), for nearly all of the time.
remote     a UDF in Java that asks a service for each row (com.acme.etl.Ask, in answer()), which answers after 20 ms: the tasks wait, and compute nothing.
python     a pandas UDF whose loop in polynomial() is most of the time, and a job of RDDs that computes in words(), a tenth of that.
gap        four short jobs, and between two of them the driver's own Python computes for 2 s, in think(): the executor has no task for most of the time.
flaky      4 tasks of an RDD that compute for a second, of which one fails at the end of its first two attempts.
even       8 equal tasks that compute in generated code, of a query that ran before: there is nothing to say of it."""
import os
import pathlib
import socket
import socketserver
import sys
import threading
import time

from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf, udf

HERE = pathlib.Path(sys.argv[1])
spark = SparkSession.builder.config("spark.sql.shuffle.partitions", 2).getOrCreate()
sc, jvm = spark.sparkContext, spark._jvm
sc.setLogLevel("ERROR")
jvm.java.lang.Thread.currentThread().setContextClassLoader(spark._jsparkSession.sharedState().jarClassLoader())
spark.udf.registerJavaFunction("rates", "com.acme.etl.Rates", "long")
spark.udf.registerJavaFunction("score", "com.acme.etl.Score", "long")
spark.udf.registerJavaFunction("ask", "com.acme.etl.Ask", "long")


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


def lock(n=60_000):
    nothing(rows(n).selectExpr("rates(id) AS r"))


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


def load_ml():
    """A JVM that loads its classes does little else."""
    kmeans(100, 2)


def load_functions():
    """The same of what generated code needs to compile."""
    lock(100)
    score(100)


def als():
    from pyspark.ml.recommendation import ALS
    ratings = rows(150_000).selectExpr("cast(abs(hash(id, 1)) % 2000 AS int) AS user", "cast(abs(hash(id, 2)) % 800 AS int) AS item",
                                       "cast(id % 5 AS float) AS rating")
    ALS(rank=60, maxIter=4, seed=1).fit(ratings)


def skew():
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    spark.conf.set("spark.sql.shuffle.partitions", 12)
    orders = spark.range(0, 20_000, 1, 4).selectExpr("if(id % 3 > 0, 7, id % 5000) AS customer", "sha2(cast(id AS string), 256) AS note")
    prices = spark.range(0, 5300, 1, 4).selectExpr("if(id < 300, 7, id - 300) AS customer", "concat('price ', id) AS price")
    nothing(orders.hint("merge").join(prices, "customer").selectExpr("length(regexp_replace(concat(price, note), '[aeiou0-4]+', '-')) AS n")
            .filter("n > 1000"))
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    spark.conf.set("spark.sql.shuffle.partitions", 2)


def score(n=60_000):
    nothing(rows(n).selectExpr("score(id) AS s"))


class Slow(socketserver.StreamRequestHandler):
    def handle(self):
        time.sleep(0.02)
        self.wfile.write(self.rfile.read(1))


service = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Slow)
service.daemon_threads = True
threading.Thread(target=service.serve_forever, daemon=True).start()


def remote():
    nothing(rows(200).selectExpr(f"ask({service.server_address[1]}, id) AS r"))


@pandas_udf("long")
def polynomial(column):
    return column.map(lambda x: sum((x * i) % 7 for i in range(60)))


def words(n):
    return [(i % 17, i * n % 23) for i in range(60)]


def python():
    nothing(rows(1_200_000).select(polynomial("id").alias("p")))
    sc.parallelize(range(20_000), 2).flatMap(words).reduceByKey(max, 2).collect()


def think(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))


def gap():
    for i in range(4):
        think(2 if i else 0)
        even()


def fails_twice(rows):
    context = TaskContext.get()
    think(1)
    if context.partitionId() == 1 and context.attemptNumber() < 2:
        raise ValueError("not yet")
    return rows


def flaky():
    sc.parallelize(range(4), 4).mapPartitions(fails_twice).count()


def even():
    rows(400_000).selectExpr("max(sha2(repeat(cast(id AS string), 20), 512))").collect()


kinds = {f.__name__: f for f in (make_files, load_ml, load_functions, aggregate, stream, regex, json, files, lock, hung, cancel, kmeans, als, skew, score, remote,
                                 python, gap, flaky, even)}
even()
print("ready", sc.applicationId, flush=True)
for line in sys.stdin:
    name = line.strip()
    if name != "hung":
        sc.setJobGroup(name, name)
    kinds[name]()
    print("done", name, flush=True)
spark.stop()
os._exit(0)
