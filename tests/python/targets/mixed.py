"""Python called by native code called by Python: one thread sleeps there, one goes round there."""
import _thread
import time


def inner():
    time.sleep(600)


class Key:
    def __lt__(self, other):
        inner()


def hold():
    sorted([Key(), Key()])


def key(x):
    end = time.monotonic() + 0.001
    while time.monotonic() < end:
        pass
    return -x


def outer():
    return sorted(range(1000), key=key)


_thread.start_new_thread(hold, ())
print("ready", flush=True)
while True:
    outer()
