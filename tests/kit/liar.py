"""A process that looks like a JVM and lies: it maps a real libjvm.so, has the attach socket of one, and answers as it
likes, first there and then on the control connection, where it is the target by pid and knows the token.
    liar.py LIBJVM BUILD-ID ATTACH CONTROL NUMBERS TEXTS      (the last two: how many fields a recording's options are)
It runs as any user, from wherever the tree is: as the text of this file, with nothing but Python's own modules."""
import hashlib
import itertools
import mmap
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HELLO, LOG, ROW, STARTED, PROGRESS, STOPPED, STATE, FAILED, PERF_WANTED = 1, 3, 5, 8, 9, 11, 17, 18, 19
START, STOP, STATUS, PERF = 7, 10, 16, 20
EVIL = b"\x1b]0;owned\x07\xc2\x9b2J \xe2\x80\xaegnp"


def message(kind, body=b""):
    return b"SP" + bytes([1, kind]) + struct.pack("<I", 8 + len(body)) + body


def texts(*values):
    return b"".join(struct.pack("<H", len(v)) + v + b"\0" for v in values)


def numbers(*values):
    return b"".join(v.to_bytes(8, "little") for v in values)


def names_of(kind):
    """What src/wire/msg.h has in an enum of a recording's fields, in its order."""
    text = (pathlib.Path(__file__).parents[2] / "src/wire/msg.h").read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.findall(r"\bSP_RECORD_(\w+)", re.search(rf"enum {kind} {{(.*?)}};", text, re.S)[1])[:-1]


def start(event=b"wall", interval_ns=10_000_000, who=b"me", outputs=b"", thread=b"", perf=b""):
    """START of a plain recording."""
    none, mega = 2**64 - 1, 1 << 20
    given = {"INTERVAL": interval_ns, "ALLOC": none, "LOCK_NS": none, "NATIVELOCK_NS": none, "NATIVEMEM": none, "DEPTH": 2048, "MEMORY": 12 * mega,
             "CHUNK_BYTES": 100 * mega, "CHUNK_NS": 3600 * 10**9, "EVENT": event, "THREAD": thread,
             "PERF": perf}
    return message(START, numbers(*(given.get(n, 0) for n in names_of("sp_record_num"))) +
                   texts(who, outputs, *(given.get(n, b"") for n in names_of("sp_record_text"))))


class Liar:
    """with Liar(attach="endless") as t: t.pid"""

    def __init__(self, attach="honest", control="honest", user=None):
        from . import parts
        libjvm = parts.jdk(17) / "lib/server/libjvm.so"
        note = subprocess.run(["readelf", "-n", parts.ROOT / "build/libsparkprof.so"], capture_output=True, text=True, check=True)
        build = note.stdout.split("Build ID: ")[1].split()[0]
        self.heard = tempfile.TemporaryFile()
        self.proc = subprocess.Popen(["/usr/bin/python3", "-c", pathlib.Path(__file__).read_text(), libjvm, build, attach, control,
                                      *(str(len(names_of(f"sp_record_{kind}"))) for kind in ("num", "text"))], stdout=subprocess.PIPE,
                                     stderr=self.heard, text=True, cwd="/", user=user, group=user, extra_groups=[] if user else None)
        self.pid = self.proc.pid
        assert self.proc.stdout.readline() == "ready\n"

    def alive(self):
        return self.proc.poll() is None

    def said(self):
        """What it says that it was given: lines."""
        return os.pread(self.heard.fileno(), 1 << 20, 0).decode(errors="replace").splitlines()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.proc.kill()
        self.proc.wait()
        self.proc.stdout.close()
        pathlib.Path(f"/tmp/.java_pid{self.pid}").unlink(missing_ok=True)
        print("\n".join(self.said()))
        self.heard.close()


def words(conn):
    data = b""
    while data.count(b"\0") < 5:
        more = conn.recv(4096)
        if not more:
            return None
        data += more
    return data.split(b"\0")


def flood(send):
    try:
        while True:
            send()
    except OSError:
        pass


def answer_attach(conn, how):
    """True where the control connection comes next."""
    if how == "silent":
        time.sleep(600)
    elif how == "slow":
        flood(lambda: (conn.send(b" "), time.sleep(0.05)))
    elif how == "endless":
        flood(lambda: conn.send(b"x" * 4096))
    elif how == "evil":
        conn.send(b"7\n" + EVIL)
    elif how == "junk":
        conn.send(bytes(range(256)))
    elif how == "closes":
        pass
    elif how == "again":
        conn.send(b"1\nonly permitted in the live phase")
    else:
        conn.send(b"0\nreturn code: 0\n")
        return True
    return False


def prove(to, token):
    nonce_a = os.urandom(16)
    to.send(nonce_a)
    nonce_l = to.recv(64)[:16]
    to.send(hashlib.sha256(token + b"A" + nonce_a + nonce_l).digest())


def connect(path, token, build):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(path)
    prove(s, token)
    s.send(message(HELLO, numbers(os.getpid(), os.getuid(), 0) + texts(build.encode(), b"17 " + EVIL, b"")))
    return s


def receive(s):
    data, fds, _, _ = socket.recv_fds(s, 1 << 16, 250)
    return (data[3] if data else 0), fds


def counts(*texts_):
    return numbers(7, 0, 0, 0, 0) + texts(*texts_)


def handed_over(how):
    """A descriptor for STOPPED, and the outputs that it names."""
    if how == "pipe":  # to be read and written: reading it would never end
        r, _ = os.pipe()
        return os.open(f"/proc/self/fd/{r}", os.O_RDWR)
    if how == "huge":
        fd = os.memfd_create("huge")
        os.ftruncate(fd, 1 << 50)
        return fd
    if how == "directory":
        return os.open("/tmp", os.O_RDONLY)
    fd = os.memfd_create("junk")
    os.write(fd, b"FLR\0" + bytes(range(256)) * 100)
    return fd


def talk_on(s):
    """Sentences that never end, each of them new."""
    n = itertools.count()
    flood(lambda: s.send(message(LOG, texts(b"line %d " % next(n) + EVIL))))


def state(number, text):
    """STATE: four numbers, five of progress and a recording's; three texts and a recording's."""
    return message(STATE, numbers(1, 1, number, number, *[number] * (5 + int(sys.argv[5]))) + texts(*[text] * (3 + int(sys.argv[6]))))


def control(s, how):
    while True:
        kind, fds = receive(s)
        if kind == 0:
            return
        print("asked", kind, [os.readlink(f"/proc/self/fd/{f}") for f in fds], file=sys.stderr, flush=True)
        if how == "logs" and kind == START:
            s.send(message(STARTED))
            threading.Thread(target=talk_on, args=(s,), daemon=True).start()
        elif how in ("stages", "no answer") and kind == START:
            s.send(message(STARTED))
            s.send(message(PROGRESS, counts(EVIL)))
        elif how in ("progress", "no answer"):
            flood(lambda: s.send(message(PROGRESS, counts(b""))))
        elif how == "rows":
            flood(lambda: s.send(message(ROW, numbers(0, 0) + texts(b"cpu", EVIL))))
        elif how == "perf" and kind == START:  # events of a process that is not the target
            s.send(message(PERF_WANTED, numbers(1, 5, 1024, 1000000)))
            while (got := receive(s))[0] not in (PERF, 0):
                pass
            print("perf", len(got[1]), file=sys.stderr, flush=True)
            s.send(message(STARTED))
        elif how == "junk":
            s.send(os.urandom(64))
        elif how == "other kind":
            s.send(message(STARTED))
        elif how == "descriptors":
            with open("/dev/null") as f:
                socket.send_fds(s, [state(1, b"")], [f.fileno()] * 100)
        elif kind == START:
            os.write(fds[0], os.urandom(5000))
            s.send(message(STARTED))
        elif kind == STOP:
            what, _, outputs = how.partition(":")
            fd = [handed_over(what)] if outputs else []
            socket.send_fds(s, [message(STOPPED, counts(outputs.encode(), EVIL))], fd)
        elif kind == STATUS:
            s.send(state(2**64 - 1, EVIL * 40))
        else:
            s.send(message(FAILED, numbers(2**63) + texts(EVIL * 200)))


def serve_one(conn, build, attach, how):
    asked = words(conn)
    go_on = asked and answer_attach(conn, attach)
    conn.close()
    if not go_on or attach == "never":
        return
    _, token, path = asked[4].decode().split(" ")
    if attach == "knocks":  # on and on, without the proof
        flood(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(path))
        return
    s = connect(path, bytes.fromhex(token) if attach != "wrong proof" else bytes(16), build)
    control(s, how)
    s.close()


def serve(listener, build, attach, how):
    while True:
        conn, _ = listener.accept()
        try:
            serve_one(conn, build, attach, how)
        except OSError as e:  # the launcher has hung up
            print(e, file=sys.stderr, flush=True)


def main(libjvm, build, attach, how):
    fd = os.open(libjvm, os.O_RDONLY)
    kept = mmap.mmap(fd, 4096, prot=mmap.PROT_READ)
    signal.signal(signal.SIGQUIT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: None)
    path = f"/tmp/.java_pid{os.getpid()}"
    pathlib.Path(path).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    os.chmod(path, 0o600)
    listener.listen(50)
    print("ready", flush=True)
    serve(listener, build, attach, how)
    del kept


if __name__ == "__main__":
    main(*sys.argv[1:5])
