"""Works until the file of its argument is there; then a page of its own code object is one that nobody fills (userfaultfd(2))."""
import ctypes
import os
import sys

SYS_USERFAULTFD, API, REGISTER, DONTNEED, PAGE = 323, 0xC018AA3F, 0xC020AA00, 4, 4096
libc = ctypes.CDLL(None, use_errno=True)


def work():
    while not os.path.exists(sys.argv[1]):
        pass


def hang(page):
    fd = libc.syscall(SYS_USERFAULTFD, 0)
    api, area = (ctypes.c_uint64 * 3)(0xAA, 0, 0), (ctypes.c_uint64 * 4)(page, PAGE, 1, 0)
    if fd < 0 or libc.ioctl(fd, ctypes.c_ulong(API), api) or libc.ioctl(fd, ctypes.c_ulong(REGISTER), area):
        sys.exit(f"userfaultfd: {os.strerror(ctypes.get_errno())}")
    libc.madvise(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), DONTNEED)
    while True:  # it comes as far as that page
        pass


print("ready", flush=True)
work()
hang(id(hang.__code__) & -PAGE)
