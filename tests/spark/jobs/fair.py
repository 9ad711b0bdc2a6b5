"""Several kinds of stages at once under FAIR scheduling, one round for each line of standard input, answered "done"; at the end each codec packs the event log. Arguments: rows
(300,000), rounds of each kind (3), and "python" for a kind that works in Python as well."""
import os
import sys
import threading

from pyspark.sql import SparkSession

rows = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
spark = (SparkSession.builder.config("spark.scheduler.mode", "FAIR").config("spark.sql.shuffle.partitions", 4)
         .config("spark.sql.adaptive.enabled", "false").getOrCreate())
sc = spark.sparkContext


def hashes(n):
    spark.range(0, n * 8, 1, 8).selectExpr("sum(hash(id, id + 1, id + 2) % 1000)").collect()


def words(n):
    spark.range(0, n, 1, 6).selectExpr("id % 101 AS k", "sha2(cast(id AS string), 256) AS s").groupBy("k").agg({"s": "max"}).collect()


def sorts(n):
    spark.range(0, n, 1, 5).selectExpr("hash(id) AS h", "id").repartition(4, "h").sortWithinPartitions("h", "id").selectExpr(
        "max(id)").collect()


def python(n):
    sc.range(0, n // 4, 1, 4).map(lambda x: x * x % 7).sum()


kinds = [hashes, words, sorts] + ([python] if "python" in sys.argv else [])


def run(kind, n, times):
    sc.setLocalProperty("spark.scheduler.pool", kind.__name__)
    sc.setJobGroup(kind.__name__, f"the {kind.__name__} of the test")
    for _ in range(times):
        kind(n)


def together(n, times):
    threads = [threading.Thread(target=run, args=(k, n, times)) for k in kinds]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


together(1000, 1)
if sc.getConf().get("spark.ui.enabled") != "false":  # 3.0 fails where there is none
    print("ui", sc.uiWebUrl)
print("ready", sc.applicationId, flush=True)
for line in sys.stdin:
    together(rows, rounds)
    print("done", flush=True)
conf, jvm = sc._jsc.sc().conf(), sc._jvm
spark.stop()
events = conf.get("spark.eventLog.dir", "")[len("file:"):]
for log in [os.path.join(events, f) for f in os.listdir(events)] if events else []:
    for name in ("zstd", "lz4", "snappy") if os.path.isfile(log) else ():  # as Spark itself packs its logs
        codec = getattr(getattr(jvm, "org.apache.spark.io.CompressionCodec$"), "MODULE$").createCodec(conf, name)
        out = codec.compressedOutputStream(jvm.java.io.FileOutputStream(os.path.join(events, "..", f"packed.{name}")))
        jvm.java.nio.file.Files.copy(jvm.java.io.File(log).toPath(), out)
        out.close()
os._exit(0)
