"""Runs a command on an older or stricter kernel: deny.py RULE… -- COMMAND…
  RULE   3.10              every system call that came after Linux 3.10 is unknown (ENOSYS)
         name=ENOSYS       that call fails so; also name=EPERM
         name=KILL         that call ends the process, as systemd's SystemCallFilter= does
By seccomp, for the command and all it starts. x86-64 only."""
import ctypes
import errno
import os
import struct
import sys

LAST_OF_3_10 = 313  # finit_module; sched_setattr came in 3.14
NUMBERS = {"process_vm_readv": 310, "perf_event_open": 298, "setns": 308, "sched_setattr": 314, "renameat2": 316,
           "getrandom": 318, "memfd_create": 319, "execveat": 322, "copy_file_range": 326, "statx": 332, "rseq": 334,
           "pidfd_send_signal": 424, "pidfd_open": 434, "clone3": 435, "close_range": 436, "openat2": 437,
           "pidfd_getfd": 438, "faccessat2": 439, "prctl": 157, "unshare": 272, "ptrace": 101, "kcmp": 312, "timer_create": 222}
LOAD_NR, LOAD_ARCH, RET, ALLOW = 0x20, 0x20, 0x06, 0x7FFF0000
JEQ, JGT, ARCH_X86_64, ERRNO, KILL = 0x15, 0x25, 0xC000003E, 0x00050000, 0x80000000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2


def program(rules):
    """The filter: a list of (code, if-true skip, if-false skip, value)."""
    ops = [(LOAD_ARCH, 0, 0, 4), (JEQ, 1, 0, ARCH_X86_64), (RET, 0, 0, ALLOW), (LOAD_NR, 0, 0, 0)]
    for rule in rules:
        if rule == "3.10":
            ops += [(JGT, 0, 1, LAST_OF_3_10), (RET, 0, 0, ERRNO | errno.ENOSYS)]
        else:
            name, code = rule.split("=")
            ops += [(JEQ, 0, 1, NUMBERS[name]), (RET, 0, 0, KILL if code == "KILL" else ERRNO | getattr(errno, code))]
    return ops + [(RET, 0, 0, ALLOW)]


def install(rules):
    """Puts the filter on the calling process, for good."""
    ops = b"".join(struct.pack("=HBBI", *op) for op in program(rules))
    code = ctypes.create_string_buffer(ops)
    prog = ctypes.create_string_buffer(struct.pack("=HxxxxxxQ", len(ops) // 8, ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0:
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(PR_SET_SECCOMP, FILTER, prog, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def wrap(*rules):
    """The words to put before a command."""
    return ["/usr/bin/python3", __file__, *rules, "--"]


if __name__ == "__main__":
    cut = sys.argv.index("--")
    install(sys.argv[1:cut])
    os.execvp(sys.argv[cut + 1], sys.argv[cut + 1:])
