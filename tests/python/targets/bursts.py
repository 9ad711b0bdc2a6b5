"""Works for less than a sampling interval, then waits for several: all of its CPU time is in `work`."""
import time


def work():
    end = time.thread_time() + 0.003
    while time.thread_time() < end:
        pass


def wait():
    time.sleep(0.017)


print("ready", flush=True)
while True:
    work()
    wait()
