"""A command whose standard error is a terminal of any size."""
import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading


class Terminal:
    """with Terminal([…], columns=80) as t: t.resize(20); t.end() → all that was written, as bytes"""

    def __init__(self, command, columns=80):
        self.ours, theirs = pty.openpty()
        attributes = termios.tcgetattr(theirs)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(theirs, termios.TCSANOW, attributes)
        self.resize(columns)
        self.proc = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        self.seen = b""
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        try:
            while more := os.read(self.ours, 4096):
                self.seen += more
        except OSError:  # EIO: the other end is closed
            pass

    def resize(self, columns, rows=24):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def drained(self):
        """Whether all that was written so far has been read."""
        waiting = fcntl.ioctl(self.ours, termios.FIONREAD, bytes(4))
        return waiting == bytes(4)

    def end(self, timeout=100):
        self.code = self.proc.wait(timeout)
        self.reader.join(timeout)
        return self.seen

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.proc.poll() is None:
            self.proc.kill()
        self.end()
        os.close(self.ours)
