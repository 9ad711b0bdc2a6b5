"""What an attach may leave behind in a target: files, threads, mappings."""
import os
import re
import subprocess
import time

from . import parts


def build_id():
    notes = subprocess.run(["readelf", "-n", parts.ROOT / "build/libsparkprof.so"], capture_output=True, text=True)
    return re.search(r"Build ID: (\w+)", notes.stdout)[1][:12]


def droppings(pid, nspid=None, root=""):
    """Names of ours, or of an attach, in the places that a target can see. Other runs' files are not counted."""
    ours = re.compile(rf"\.sparkprof-({nspid or pid}[.-]|{build_id()}-).*|\.attach_pid{nspid or pid}")
    found = set()
    for place in [f"{root}/tmp", f"{root}/dev/shm", f"{root}/var/tmp", f"/proc/{pid}/cwd"]:
        try:
            found.update(f for f in os.listdir(place) if ours.fullmatch(f))
        except FileNotFoundError:
            pass
    return sorted(found)


def our_threads(target):
    return [name for name in target.threads().values() if name == "sparkprof"]


def mapped(target):
    return [line for line in target.maps() if ".sparkprof-" in line]


def wait_until(what, seconds=10):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.02)
