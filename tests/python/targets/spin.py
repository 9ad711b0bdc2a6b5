"""Wants a core all the time; as many threads as the argument says do not."""
import sys
import threading
import time


def idle():
    time.sleep(1000)


def spin():
    while True:
        sum(range(1000))


for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 0):
    threading.Thread(target=idle, daemon=True).start()
print("ready", flush=True)
spin()
