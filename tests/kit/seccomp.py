"""Runs a program as on an older kernel: `seccomp.py openat2,pidfd_open -- cmd…` makes these system calls
answer ENOSYS (or, with `=EPERM`, as a container's filter does) for the program and its children."""
import ctypes
import errno
import os
import struct
import sys

CALLS = {"perf_event_open": 298, "getrandom": 318, "pidfd_send_signal": 424, "pidfd_open": 434, "openat2": 437}
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000


def install(calls, error):
    code = [struct.pack("HBBI", LOAD, 0, 0, 0)]
    for i, nr in enumerate(calls):
        code.append(struct.pack("HBBI", EQUAL, len(calls) - i, 0, nr))
    code.append(struct.pack("HBBI", RETURN, 0, 0, ALLOW))
    code.append(struct.pack("HBBI", RETURN, 0, 0, ERRNO | error))
    program = b"".join(code)
    buf = ctypes.create_string_buffer(program, len(program))
    fprog = struct.pack("HxxxxxxP", len(code), ctypes.addressof(buf))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(fprog), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    names, _, name = sys.argv[1].partition("=")
    install([CALLS[n] for n in names.split(",")], getattr(errno, name or "ENOSYS"))
    os.execvp(sys.argv[3], sys.argv[3:])
