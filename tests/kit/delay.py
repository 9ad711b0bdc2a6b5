"""A slow link, as ssh's ProxyCommand: passes on what comes, each byte so many seconds later, both ways.
    delay.py SECONDS HOST PORT
    delay.py SECONDS -- PROGRAM WORDS…      between who calls it and the program"""
import os
import queue
import socket
import subprocess
import sys
import threading
import time


def pass_on(read, write, end, seconds):
    """What is on its way does not keep what follows: only the time does."""
    on_its_way = queue.SimpleQueue()

    def deliver():
        while True:
            due, data = on_its_way.get()
            time.sleep(max(0, due - time.monotonic()))
            if not data:
                return end()
            try:
                write(data)
            except OSError:
                return end()
    thread = threading.Thread(target=deliver, daemon=True)
    thread.start()
    data = b"x"
    while data:
        try:
            data = read(1 << 16)
        except OSError:
            data = b""
        on_its_way.put((time.monotonic() + seconds, data))
    thread.join()


def write_all(data):
    while data:
        data = data[os.write(1, data):]


def around(seconds, words):
    p = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    up = threading.Thread(target=pass_on, args=(lambda n: os.read(0, n), p.stdin.write, p.stdin.close, seconds), daemon=True)
    up.start()
    pass_on(p.stdout.read, write_all, lambda: None, seconds)
    return p.wait()


def main(seconds, host, port):
    with socket.create_connection((host, port)) as s:
        up = threading.Thread(target=pass_on, args=(lambda n: os.read(0, n), s.sendall, lambda: s.shutdown(socket.SHUT_WR), seconds), daemon=True)
        up.start()
        pass_on(s.recv, write_all, lambda: None, seconds)


if __name__ == "__main__":
    if sys.argv[2] == "--":
        sys.exit(around(float(sys.argv[1]), sys.argv[3:]))
    main(float(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
