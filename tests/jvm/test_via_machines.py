"""--via: a host of another machine gets the launcher of that machine where it lies beside this one. No launcher of another machine is built
yet: a copy of this one whose header says so stands in for it, and a script for the host."""
import os
import shutil
import subprocess

import pytest

from kit import parts

MACHINE, MARK = 18, b"sparkprof-launcher-version "

FAR = r'''#!/usr/bin/python3
"""Stands in for ssh: the host is an aarch64, where a copy of what is sent says what it is."""
import os, re, struct, sys
marker = re.search(r"m=(sparkprof-[0-9a-f]+);", sys.argv[-1])[1].encode()
host = sys.argv[sys.argv.index("--") + 1]
out, top = sys.stdout.buffer, (1 << 64) - 1


def say(data):
    out.write(data)
    out.flush()


def packet(kind, data=b"", number=0):
    say(struct.pack("<IHH", len(data), kind, number) + data)


def mix(a, b):
    return a * b & top ^ a * b >> 64


def digest(data):
    """src/base/hash.h"""
    a, b, whole = 0x9e3779b97f4a7c15 ^ len(data), 0xff51afd7ed558ccd, len(data) // 32 * 32
    rest = struct.unpack("<4Q", data[whole:].ljust(32, b"\0"))
    for v in struct.iter_unpack("<4Q", data[:whole]):
        a, b = mix(v[0] ^ a, v[1] ^ 0xa0761d6478bd642f), mix(v[2] ^ b, v[3] ^ 0xe7037ed1a0b428db)
    a = mix(rest[0] ^ a, rest[1] ^ 0xa0761d6478bd642f)
    if len(data) - whole > 16:
        b = mix(rest[2] ^ b, rest[3] ^ 0xe7037ed1a0b428db)
    return mix(a ^ 0x8ebc6af09c88c6e3, b ^ 0x589965cc75374cc3)


if '"Linux aarch64"' not in sys.argv[-1] or os.environ.get("NEVER"):
    say(b"welcome\n" + marker + b" machine Linux aarch64\n")
    sys.exit(3)
say(marker + b" send\n")
data = b""
while len(data) < int(re.search(r"head -c (\d+)", sys.argv[-1])[1]):
    data += sys.stdin.buffer.read1(1 << 20)
open(os.environ["THERE"] + host, "wb").write(data)
say(marker + b" far\n")
packet(5, struct.pack("<QQ256s", len(data), digest(data), host.encode()))
while head := sys.stdin.buffer.read(8):
    length, kind, number = struct.unpack("<IHH", head)
    sys.stdin.buffer.read(length)
    if kind == 4:
        packet(4, struct.pack("<Q", __import__("time").time_ns()), number)
    elif kind == 1:
        packet(7)
    elif kind == 2:
        packet(9, b"sparkprof: what both say", number)
        packet(10, struct.pack("<I", 0), number)
'''


@pytest.fixture
def beside(tmp_path):
    """A copy of sparkprof, a launcher of an aarch64 beside it, and an ssh that leads to one."""
    (tmp_path / "ssh").write_text(FAR)
    (tmp_path / "ssh").chmod(0o755)
    shutil.copy(parts.SPARKPROF, tmp_path / "sparkprof")
    program = bytearray((tmp_path / "sparkprof").read_bytes())
    program[MACHINE] = 183
    (tmp_path / "sparkprof-aarch64").write_bytes(program)
    return tmp_path


def ps(directory, hosts, action="ps", **more):
    env = {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}", "THERE": f"{directory}/there-", **more}
    return subprocess.run([directory / "sparkprof", action, "--via", "ssh", "--hosts", hosts], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)


def test_a_host_of_another_machine_gets_its_launcher_stand_in(beside):
    r = ps(beside, "n1,n2")
    assert r.returncode == 0 and r.stderr == "no JVM that this user can see runs there\n", r
    for host in ("n1", "n2"):
        assert (beside / f"there-{host}").read_bytes() == (beside / "sparkprof-aarch64").read_bytes()


def test_what_several_hosts_say_is_printed_once_stand_in(beside):
    r = ps(beside, "n1,n2", "list")
    assert r.returncode == 0 and r.stderr in ("sparkprof: n1, n2: what both say\n", "sparkprof: n2, n1: what both say\n"), r


def test_a_host_that_is_another_machine_each_time_is_refused(beside):
    r = ps(beside, "n1", NEVER="1")
    assert r.returncode == 3 and r.stderr == "sparkprof: n1: is a Linux aarch64; this sparkprof cannot run there\n", r


def other_version(file):
    program = file.read_bytes()
    file.write_bytes(program.replace(MARK, MARK[:-1] + b"_"))


def link(file):
    os.rename(file, f"{file}.real")
    os.symlink(f"{file}.real", file)


REFUSED = {"is not there": os.unlink, "is of another version": other_version, "is no program for that machine": lambda f: shutil.copy(parts.SPARKPROF, f),
           "is of another user, or others may write it": lambda f: f.chmod(0o666), "is a link: name the file itself so": link}


@pytest.mark.parametrize("why", REFUSED)
def test_a_file_beside_ours_that_is_not_sent(beside, why):
    REFUSED[why](beside / "sparkprof-aarch64")
    r = ps(beside, "n1")
    assert r.returncode == 3 and r.stderr == f"sparkprof: n1: is a Linux aarch64; this sparkprof cannot run there, and sparkprof-aarch64 beside it {why}\n", r
    assert not (beside / "there-n1").exists()
