#!/usr/bin/python3
"""Stands in for ssh, and for the copy of sparkprof on a host: eK is executor K, which sends the Kth recording of a folder, a part each second.
What a copy says of itself and of its JVM was kept from a real one (see kept). FAR_KEPT, FAR_RECORDINGS, FAR_SECONDS: where, and for how long."""
import os
import re
import select
import struct
import sys
import time

RUN, INTERRUPT, PING, HELLO, JVM, LISTED, OUT, ERR, EXIT, LIST = 2, 3, 4, 5, 6, 7, 8, 9, 10, 1


def packet(kind, data=b"", number=0):
    return struct.pack("<IHH", len(data), kind, number) + data


def packets(data):
    """Those in @data, and what is left of it."""
    found = []
    while len(data) >= 8:
        length, kind, number = struct.unpack("<IHH", data[:8])
        if len(data) < 8 + length:
            break
        found.append((kind, number, data[8:8 + length]))
        data = data[8 + length:]
    return found, data


def kept(stream, app):
    """Of what a real copy has sent: its HELLO, and the JVM of application @app."""
    found, _ = packets(stream[stream.index(b" far\n") + 5:])
    return [packet(k, d) for k, _, d in found if k == HELLO] + [packet(k, d) for k, _, d in found if k == JVM and app.encode() in d]


def say(data):
    while data:
        data = data[os.write(1, data):]


def main():
    script, host = sys.argv[-1], sys.argv[sys.argv.index("--") + 1]
    marker, size = re.search(r"m=(sparkprof-[0-9a-f]+);", script)[1].encode(), int(re.search(r"head -c (\d+)", script)[1])
    hello, jvm = (open(f"{os.environ['FAR_KEPT']}/{n}", "rb").read() for n in ("hello", "jvm"))
    names = sorted(os.listdir(os.environ["FAR_RECORDINGS"]))
    recording = open(f"{os.environ['FAR_RECORDINGS']}/{names[int(host[1:])]}", "rb").read()
    seconds = int(os.environ["FAR_SECONDS"])
    say(marker + b" send\n")
    while size:
        size -= len(os.read(0, min(size, 1 << 16)))
    say(marker + b" far\n" + hello)
    left, begun, done, run = b"", None, 0, 0
    while True:
        if select.select([0], [], [], 0.2)[0]:
            data = os.read(0, 1 << 16)
            if not data:
                return
            found, left = packets(left + data)
            for kind, number, _ in found:
                if kind == PING:
                    say(packet(PING, struct.pack("<Q", time.time_ns()), number))
                elif kind == LIST:
                    say(jvm + packet(LISTED))
                elif kind == RUN:
                    begun, run = time.monotonic(), number
        if begun is None or done > seconds:
            continue
        while done <= seconds and time.monotonic() - begun >= done:
            at = [len(recording) * n // seconds for n in (done, min(done + 1, seconds))]
            say(packet(OUT, recording[at[0]:at[1]], run) + packet(ERR, b"sparkprof-progress %d 0" % (done * 100), run))
            done += 1
            if done > seconds:
                say(packet(EXIT, struct.pack("<I", 0), run))


if __name__ == "__main__":
    main()
