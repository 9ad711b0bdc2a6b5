"""Changes between two chains of calls as fast as it can: a stack with functions of both never existed."""
import time


def left3(n):
    return n + 1


def left2(n):
    return left3(n) + 1


def left1(n):
    return left2(n) + 1


def right4(n):
    return [x for x in (n, 2)][0]


def right3(n, big=(1, 2, 3, 4, 5, 6, 7, 8)):
    one, two, three, four, five, six, seven, eight = big
    return right4(n) + one


def right2(n):
    return next(x for x in (right3(n),))


def right1(n):
    return right2(n) + 1


def main():
    """Prints how often it went round in each second."""
    count, end = 0, time.monotonic() + 1
    while True:
        for _ in range(1000):
            left1(1)
            right1(1)
        count += 1000
        if time.monotonic() > end:
            print("\nround", count, flush=True)
            count, end = 0, time.monotonic() + 1


print("ready", flush=True)
main()
