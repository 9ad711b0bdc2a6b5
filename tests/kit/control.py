"""A launcher in Python that can misbehave: loads the agent by the attach protocol and speaks on its control socket."""
import hashlib
import os
import pathlib
import shutil
import socket

from . import parts
from .liar import message, start, texts  # noqa: F401


class Control:
    """token_ok=False proves a wrong token. After that, .send(bytes, fds) and .recv()."""

    def __init__(self, pid, token_ok=True):
        self.lib = pathlib.Path(f"/tmp/.sparkprof-test-{pid}.so")
        self.path = f"/tmp/.sparkprof-test-{pid}.sock"
        if not self.lib.exists():
            shutil.copy(parts.ROOT / "build/libsparkprof.so", self.lib)
        token = os.urandom(16)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self.path)
            listener.listen()
            listener.settimeout(100)
            try:
                self._load(pid, f"1 {token.hex()} {self.path}")
                self.sock = listener.accept()[0]
            finally:
                os.unlink(self.path)
        self.sock.settimeout(100)
        nonce_a = self.sock.recv(64)
        nonce_l = os.urandom(16)
        used = token if token_ok else os.urandom(16)
        self.sock.send(nonce_l + hashlib.sha256(used + b"L" + nonce_a + nonce_l).digest())
        self.proof = self.sock.recv(64)
        self.proved = self.proof == hashlib.sha256(token + b"A" + nonce_a + nonce_l).digest()

    def _load(self, pid, options):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(100)
            s.connect(f"/tmp/.java_pid{pid}")
            s.send(b"".join(w.encode() + b"\0" for w in ("1", "load", str(self.lib), "true", options)))
            answer = b""
            while part := s.recv(4096):
                answer += part
        assert b"return code: 0" in answer, answer

    def send(self, data, fds=()):
        socket.send_fds(self.sock, [data], list(fds)) if fds else self.sock.send(data)

    def recv(self):
        return self.sock.recv(1 << 16)

    def closed(self):
        """Whether the agent has hung up (what it still said is skipped)."""
        try:
            while self.recv():
                pass
            return True
        except ConnectionError:
            return True
        except TimeoutError:
            return False

    def close(self):
        self.sock.close()
        self.lib.unlink(missing_ok=True)
