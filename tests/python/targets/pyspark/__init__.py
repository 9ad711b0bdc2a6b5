"""What sparkprof looks for in a PySpark worker, without Spark."""
