"""Forks five hundred processes, ten at a time, that live for as long as it takes to compute a little."""
import os
import time

print("ready", flush=True)


def work():
    x = 0
    for i in range(400_000):
        x += i


alive = 0
for _ in range(500):
    if alive == 10:
        os.wait()
        alive -= 1
    if os.fork() == 0:
        work()
        os._exit(0)
    alive += 1
while alive:
    os.wait()
    alive -= 1
print("all", flush=True)
time.sleep(1000)
