"""A daemon that forks a worker and dies. The worker says the port at which it may be spoken to, works, and ends with who speaks to it."""
import os
import socket
import time


def orphan_works(peer):
    while True:
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass
        try:
            if not peer.recv(1):
                os._exit(0)
        except BlockingIOError:
            pass


os.setpgid(0, 0)
door = socket.socket()
door.bind(("127.0.0.1", 0))
door.listen(1)
if os.fork():
    os._exit(0)
door.settimeout(120)
print(door.getsockname()[1], flush=True)
peer, _ = door.accept()
peer.setblocking(False)
orphan_works(peer)
