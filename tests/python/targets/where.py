"""Stands still where the tests expect it: a class, a generator, a comprehension, a lambda, two threads."""
import _thread
import time


def deep(n):
    if n == 0:
        print("ready", flush=True)
        time.sleep(600)
    else:
        deep(n - 1)


def steps():
    for i in range(3):
        yield i
        deep(
            2)


class Outer:
    def method(self):
        call = lambda: [x for x in steps()]  # noqa: E731
        call()


def second():
    time.sleep(600)


_thread.start_new_thread(second, ())
Outer().method()
