"""One stage that never ends, bound by a pickled UDF, of as many tasks as the second argument says. Each worker counts its rows in a
file of the first argument's directory, rows-PID: eight bytes."""
import mmap
import os
import re
import sys
import threading

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

spark = SparkSession.builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
where, tasks = sys.argv[1], int(sys.argv[2])
WORDS = re.compile(r"(\d)(\d*)")
seen = {}


def clean(text):
    return "-".join(part[::-1] for part in WORDS.sub(r"\2 \1", text).split())


def parse(x):
    return sum(len(clean(f"{x + i} {x * i}")) for i in range(4))


@udf("long")
def work(x):
    if not seen:
        fd = os.open(f"{where}/rows-{os.getpid()}", os.O_RDWR | os.O_CREAT)
        os.ftruncate(fd, 8)
        seen["rows"] = memoryview(mmap.mmap(fd, 8)).cast("Q")
    seen["rows"][0] += 1
    return parse(x)


def run():
    spark.range(0, 1 << 40, 1, tasks).select(work("id")).write.format("noop").mode("overwrite").save()


threading.Thread(target=run, daemon=True).start()
while len(os.listdir(where)) < tasks:
    threading.Event().wait(0.1)
print("ready", spark.sparkContext.applicationId, flush=True)
sys.stdin.read()
os._exit(0)
