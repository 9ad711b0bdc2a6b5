"""What an attach may leave behind in a target: files, threads, mappings."""
import os
import re
import subprocess
import time

from . import parts


def build_id():
    notes = subprocess.run(["readelf", "-n", parts.ROOT / "build/libsparkprof.so"], capture_output=True, text=True)
    return re.search(r"Build ID: (\w+)", notes.stdout)[1][:12]


def _named(pid, pattern):
    found = set()
    for place in ["/tmp", "/dev/shm", "/var/tmp", f"/proc/{pid}/cwd"]:
        try:
            found.update(f for f in os.listdir(place) if re.fullmatch(pattern, f))
        except FileNotFoundError:
            pass
    return found


def present(pid):
    """Names at this moment that have the target's number: of an attach, its lock and its socket."""
    return _named(pid, rf"\.sparkprof-{pid}[.-].*|\.attach_pid{pid}")


def droppings(pid):
    """What is left behind: those, and libraries of this build. One that another test loads at this moment goes soon."""
    images, end = _named(pid, rf"\.sparkprof-{build_id()}-.*"), time.monotonic() + 60
    while images and time.monotonic() < end:
        time.sleep(0.05)
        images &= _named(pid, rf"\.sparkprof-{build_id()}-.*")
    return sorted(present(pid) | images)


def our_threads(target):
    return [name for name in target.threads().values() if name == "sparkprof"]


def mapped(target):
    return [line for line in target.maps() if ".sparkprof-" in line]


def open_to_all(path):
    """Lets other users into a directory and write there; pytest makes it for nobody but us."""
    path.chmod(0o1777)
    for p in path.parents:
        if p.stat().st_mode & 0o005 != 0o005:
            p.chmod(p.stat().st_mode | 0o005)


def wait_until(what, seconds=300):
    """What @what gives once it is something."""
    end = time.monotonic() + seconds
    while not (got := what()):
        assert time.monotonic() < end, "not in time"
        time.sleep(0.02)
    return got
