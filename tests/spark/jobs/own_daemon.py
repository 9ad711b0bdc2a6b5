"""A daemon of one's own (spark.python.daemon.module), as notebooks and platforms have them."""
from pyspark.daemon import manager

manager()
