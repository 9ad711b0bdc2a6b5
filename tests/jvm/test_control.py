"""The agent's end of the control socket against launchers that misbehave: it hangs up, and the JVM does not notice."""
import ctypes
import os
import random
import socket
import struct

import pytest

from kit.control import Control, message, texts
from kit.traces import our_threads, wait_until

HELLO, PROBE, START, STOP, FLUSH, DETACH, STATUS, PERF = 1, 4, 7, 10, 12, 14, 16, 20


@pytest.fixture
def talk(target, sparkprof):
    """A target whose attach listener is up, and connections to its agent."""
    t = target("Idle", jdk=17)
    assert sparkprof("status", t.pid).returncode == 0
    opened = []

    def connect(**kw):
        opened.append(Control(t.pid, **kw))
        return opened[-1]
    yield t, connect
    for c in opened:
        c.close()
    wait_until(lambda: not our_threads(t))
    assert t.alive()
    assert t.stdout() == "ready\n" and t.stderr() == ""


def test_the_agent_proves_itself_and_says_hello(talk):
    t, connect = talk
    c = connect()
    assert c.proved
    hello = c.recv()
    assert hello[:4] == b"SP\x01\x01"
    assert int.from_bytes(hello[8:16], "little") == t.pid


def test_a_wrong_token_gets_no_proof_and_no_hello(talk):
    c = talk[1](token_ok=False)
    assert not c.proved and c.closed()


@pytest.mark.parametrize("junk", [b"x", b"SP", message(0), message(99), message(STOP, b"\0"), message(START),
                                  message(STATUS)[:-1], message(HELLO), b"\0" * 20000,
                                  message(START, texts(b"start", b"a\0b", b""))],
                         ids=lambda j: f"{j[:6]!r}..{len(j)}")
def test_malformed_bytes_close_the_connection(talk, junk):
    c = talk[1]()
    c.recv()
    c.send(junk)
    assert c.closed()


def test_uninvited_descriptors_close_the_connection_and_do_not_stay(talk):
    t, connect = talk
    before = sorted(t.fds().values())
    c = connect()
    c.recv()
    with open("/etc/hostname") as f:
        c.send(message(STATUS), [f.fileno()])
        assert c.closed()
        wait_until(lambda: sorted(t.fds().values()) == before)
        c = connect()
        c.recv()
        c.send(message(START, texts(b"start", b"me", b"")), [f.fileno()] * 9)
        assert c.closed()
        wait_until(lambda: sorted(t.fds().values()) == before)


def test_perf_events_that_are_none_or_not_wanted_do_not_stay(talk):
    t, connect = talk
    before = sorted(t.fds().values())
    answer = message(PERF, struct.pack("<5Q", t.pid, 1, t.pid, t.pid, 0))
    with open("/etc/hostname") as f:
        c = connect()
        c.recv()
        c.send(answer, [f.fileno()])
        assert c.closed()
    c = connect()
    c.recv()
    clock = perf_clock()
    c.send(answer, [clock] * 4)  # nobody asked, nothing records
    os.close(clock)
    c.send(message(STATUS))
    assert c.recv()[3] == 17
    c.sock.close()
    wait_until(lambda: sorted(t.fds().values()) == before)


def perf_clock():
    """An event on our own CPU time, by perf_event_open(2): number 298 on x86-64."""
    attr = struct.pack("<IIQQ", 1, 64, 0, 1000000000) + bytes(40)
    fd = ctypes.CDLL(None, use_errno=True).syscall(298, attr, 0, -1, -1, 8)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    return fd


def wrong_outputs():
    yield "reading end", os.open("/etc/hostname", os.O_RDONLY)
    yield "device", os.open("/dev/null", os.O_WRONLY)
    yield "O_PATH", os.open("/etc/hostname", os.O_PATH)
    yield "directory", os.open("/tmp", os.O_RDONLY)
    yield "socket", socket.socket(socket.AF_UNIX).detach()
    yield "memory", os.open("/proc/self/mem", os.O_RDONLY)


def test_outputs_of_the_wrong_kind_are_refused(talk):
    t, connect = talk
    before = sorted(f for f in t.fds().values() if not f.startswith("socket:"))
    c = connect()
    c.recv()
    for what, fd in wrong_outputs():
        c.send(message(START, texts(b"start", b"me", b"")), [fd])
        os.close(fd)
        reply = c.recv()
        assert reply[3] == 18 and b"not a file or pipe" in reply, what
    c.send(message(START, texts(b"start", b"me", b"")))
    assert c.recv()[3] == 18, "no output at all"
    assert sorted(f for f in t.fds().values() if not f.startswith("socket:")) == before


def test_requests_without_a_recording(talk):
    c = talk[1]()
    c.recv()
    for kind in (STOP, FLUSH, DETACH):
        c.send(message(kind))
        assert c.recv()[3] == 18, kind


def test_random_messages(talk):
    rng = random.Random(7)
    valid = [message(PROBE), message(STATUS), message(STOP), message(START, texts(b"start", b"who", b"out"))]
    for _ in range(60):
        c = talk[1]()
        c.recv()
        data = bytearray(rng.choice(valid))
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        c.send(bytes(data))
        c.sock.close()
