"""The agent's end of the control socket against launchers that misbehave: it hangs up, and the JVM does not notice."""
import collections
import ctypes
import errno
import os
import pathlib
import random
import signal
import socket
import struct

import pytest

from kit import deny, parts
from kit.control import Control, message, start, texts
from kit.traces import our_threads, wait_until

HELLO, BUSY, LOG, PROBE, ROW, START, STARTED, PROGRESS, STOP, STOPPED = 1, 2, 3, 4, 5, 7, 8, 9, 10, 11
FLUSH, DETACH, DETACHED, STATUS, STATE, FAILED, PERF_WANTED, PERF = 12, 14, 15, 16, 17, 18, 19, 20


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
                                  start(who=b"a\0b")],
                         ids=lambda j: f"{j[:6]!r}..{len(j)}")
def test_malformed_bytes_close_the_connection(talk, junk):
    c = talk[1]()
    c.recv()
    c.send(junk)
    assert c.closed()


def added(t, before):
    """Descriptors that are there now and were not before. Those of an earlier connection may have gone meanwhile."""
    return collections.Counter(t.fds().values()) - collections.Counter(before)


def test_uninvited_descriptors_close_the_connection_and_do_not_stay(talk):
    t, connect = talk
    before = t.fds().values()
    c = connect()
    c.recv()
    with open("/etc/hostname") as f:
        c.send(message(STATUS), [f.fileno()])
        assert c.closed()
        wait_until(lambda: not added(t, before))
        c = connect()
        c.recv()
        c.send(start(), [f.fileno()] * 9)
        assert c.closed()
        wait_until(lambda: not added(t, before))


def test_perf_events_that_are_none_or_not_wanted_do_not_stay(talk):
    t, connect = talk
    before = t.fds().values()
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
    wait_until(lambda: not added(t, before))


def perf_clock():
    """An event on our own CPU time in user mode, by perf_event_open(2): number 298 on x86-64."""
    attr = struct.pack("<IIQQ16xQ16x", 1, 64, 0, 1000000000, 1 << 5)
    fd = ctypes.CDLL(None, use_errno=True).syscall(298, attr, 0, -1, -1, 8)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    return fd


def test_an_error_brings_no_events_with_it(target, sparkprof, tmp_path):
    """A JVM that may not sample itself asks its launcher, which answers with an error and with descriptors."""
    parts.needs_perf()
    t = target("Idle", wrap=deny.wrap("perf_event_open=EPERM"))
    assert sparkprof("status", t.pid).returncode == 0
    c = Control(t.pid)
    c.recv()
    with open(tmp_path / "x.jfr", "w+b") as f:
        c.send(start(event=b"cpu", perf=b"passed"), [f.fileno()])
    assert answer(c)[3] == PERF_WANTED
    clock = perf_clock()
    c.send(message(PERF, struct.pack("<5Q", 0, 0, t.pid, t.pid, errno.EPERM)), [clock] * 4)
    os.close(clock)
    assert answer(c)[3] == STARTED
    assert not [f for f in t.fds().values() if "perf_event" in f]
    c.close()
    wait_until(lambda: not our_threads(t))


def wrong_outputs():
    yield "reading end", os.open("/etc/hostname", os.O_RDONLY)
    yield "device", os.open("/dev/null", os.O_WRONLY)
    yield "O_PATH", os.open("/etc/hostname", os.O_PATH)
    yield "directory", os.open("/tmp", os.O_RDONLY)
    yield "socket", socket.socket(socket.AF_UNIX).detach()
    yield "memory", os.open("/proc/self/mem", os.O_RDONLY)


def test_outputs_of_the_wrong_kind_are_refused(talk):
    t, connect = talk
    before = t.fds().values()
    c = connect()
    c.recv()
    for what, fd in wrong_outputs():
        c.send(start(), [fd])
        os.close(fd)
        reply = c.recv()
        assert reply[3] == 18 and b"not a file or pipe" in reply, what
    c.send(start())
    assert c.recv()[3] == 18, "no output at all"
    assert not [f for f in added(t, before) if not f.startswith("socket:")]


def test_requests_without_a_recording(talk):
    c = talk[1]()
    c.recv()
    for kind in (STOP, FLUSH, DETACH):
        c.send(message(kind))
        reply = c.recv()
        assert reply[3] == FAILED and (b"nothing is being recorded" in reply or b"this launcher records nothing" in reply), kind


def begin(c, path):
    with open(path, "w+b") as f:
        c.send(start(), [f.fileno()])
    return answer(c)


def answer(c):
    """The next message that is neither a sentence nor progress."""
    while (reply := c.recv())[3] in (LOG, PROGRESS):
        pass
    return reply


def test_a_launcher_that_ends_before_it_knows_leaves_no_recording(talk, sparkprof, tmp_path):
    """It has asked that the recording goes on without it, and is killed before it reads the answer: its caller has seen a
    command that failed, so nothing may go on."""
    t, connect = talk
    for n in range(5):
        c = connect()
        c.recv()
        assert begin(c, tmp_path / f"{n}.jfr")[3] == STARTED
        c.send(message(DETACH))
        c.sock.close()
        wait_until(lambda: not our_threads(t))
    assert "nothing is being recorded" in sparkprof("stop", t.pid).stderr


def test_a_recording_goes_on_once_that_is_confirmed(talk, sparkprof, tmp_path):
    t, connect = talk
    c = connect()
    c.recv()
    assert begin(c, tmp_path / "x.jfr")[3] == STARTED
    c.send(message(DETACH))
    assert answer(c)[3] == DETACHED
    c.send(message(DETACH))
    c.sock.close()
    wait_until(lambda: "recording wall" in sparkprof("status", t.pid).stdout)
    r = sparkprof("stop", "-f", tmp_path / "y.jfr", t.pid)
    assert r.returncode == 0, r.stderr


def test_who_is_gone_does_not_bar_the_next(talk, tmp_path):
    """The recording of a launcher that was killed may still be under way when the next one asks."""
    t, connect = talk
    for n in range(20):
        first, second = connect(), connect()
        first.recv(), second.recv()
        assert begin(first, tmp_path / "first.jfr")[3] == STARTED
        first.sock.close()
        reply = begin(second, tmp_path / "second.jfr")
        assert reply[3] == STARTED, (n, reply)
        second.sock.close()
        wait_until(lambda: not our_threads(t))


def test_who_is_there_bars_the_next(talk, tmp_path):
    t, connect = talk
    first, second = connect(), connect()
    first.recv(), second.recv()
    assert begin(first, tmp_path / "first.jfr")[3] == STARTED
    assert begin(second, tmp_path / "second.jfr")[3] == BUSY
    second.send(message(STOP))
    assert answer(second)[3] == BUSY
    first.send(message(STOP))
    assert answer(first)[3] == STOPPED


def test_who_has_detached_is_not_taken_for_killed(talk, tmp_path):
    """It confirms, and is gone. Who comes just then finds its recording, also where the first one's thread has not read that yet."""
    t, connect = talk
    for n in range(16):
        first, second = connect(), connect()
        first.recv(), second.recv()
        assert begin(first, tmp_path / "first.jfr")[3] == STARTED
        first.send(message(DETACH))
        assert answer(first)[3] == DETACHED
        os.kill(t.pid, signal.SIGSTOP)
        wait_until(lambda: "T (stopped)" in pathlib.Path(f"/proc/{t.pid}/status").read_text())
        second.send(message((STOP, STATUS)[n % 2]))
        first.send(message(DETACH))
        first.sock.close()
        os.kill(t.pid, signal.SIGCONT)
        reply = answer(second)
        if n % 2:
            assert reply[3] == STATE and struct.unpack_from("<2Q", reply, 8) == (1, 1), (n, reply)  # recording, and by itself
            second.send(message(STOP))
            reply = answer(second)
        assert reply[3] == STOPPED, (n, reply)
        second.sock.close()
        wait_until(lambda: not our_threads(t))


def test_random_messages(talk):
    rng = random.Random(7)
    valid = [message(PROBE), message(STATUS), message(STOP), start(who=b"who", outputs=b"out")]
    for _ in range(60):
        c = talk[1]()
        c.recv()
        data = bytearray(rng.choice(valid))
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        c.send(bytes(data))
        # Refused and hung up, or taken for what it is: never left without an answer.
        try:
            reply = c.recv()
        except ConnectionError:
            reply = b""
        if reply:
            assert reply[:3] == b"SP\x01" and reply[3] in (BUSY, LOG, ROW, STARTED, STOPPED, PROGRESS, STATE, FAILED), (data, reply)
            assert struct.unpack_from("<I", reply, 4)[0] == len(reply), (data, reply)
        c.sock.close()
    c = talk[1]()
    assert c.proved and c.recv()[3] == HELLO
    c.send(message(STATUS))
    reply = c.recv()
    assert reply[3] == STATE and struct.unpack_from("<Q", reply, 8)[0] == 0, "nothing is recorded"
