"""Burns CPU: half of it in a(), three tenths in b(), two in c(); with a number, so many more processes that do the same."""
import os
import sys
import time


def burn(ms):
    end = time.process_time() + ms / 1000
    while time.process_time() < end:
        pass


def a():
    burn(25)


def b():
    burn(15)


def c():
    burn(10)


def main():
    while True:
        a()
        b()
        c()


for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 0):
    if os.fork() == 0:
        main()
print("ready", flush=True)
main()
