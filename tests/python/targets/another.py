"""Works for a while in a function, and then becomes another Python, which works in the other one."""
import os
import sys
import time

turn = int(sys.argv[1]) if len(sys.argv) > 1 else 0
print("ready", flush=True)


def even():
    end = time.monotonic() + 0.7
    while time.monotonic() < end:
        sum(range(100))


def odd():
    end = time.monotonic() + 0.7
    while time.monotonic() < end:
        sum(range(100))


(odd if turn % 2 else even)()
os.execv(sys.executable, [sys.executable, __file__, str(turn + 1)])
