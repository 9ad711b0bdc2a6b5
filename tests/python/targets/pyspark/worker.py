"""Works for one task after the other, in a function that is named after it; milliseconds of CPU each."""
import sys
import time

from pyspark.taskcontext import TaskContext


def burn(ms):
    end = time.process_time() + ms / 1000
    while time.process_time() < end:
        pass


TaskContext._taskContext = TaskContext()
print("ready", flush=True)
for number in range(1_000_000):
    space, name = {}, f"task_{1000 + number}"
    exec(f"def {name}(burn, ms): burn(ms)", space)
    TaskContext._taskContext.begin(number)
    space[name](burn, float(sys.argv[1]))
