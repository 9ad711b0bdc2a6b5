"""An hour of everything at once on a working executor: it does not grow, nothing is lost, and nothing stays behind."""
import os
import pathlib
import re
import subprocess
import time

import pytest

from kit import spark
from kit.parts import SPARKPROF

SECONDS = int(os.environ.get("SPARKPROF_SOAK", 3600))
# A heap that is there from the start: what grows then is not Java's.
HEAP = "-Xms512m -XX:+AlwaysPreTouch -XX:MaxMetaspaceSize=200m -XX:ReservedCodeCacheSize=64m"


def size(pid):
    """Private memory in KiB, threads, descriptors."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return (int(re.search(r"RssAnon:\s+(\d+)", status)[1]), len(os.listdir(f"/proc/{pid}/task")),
            len(os.listdir(f"/proc/{pid}/fd")))


@pytest.mark.long
@pytest.mark.timeout(SECONDS + 600)
def test_an_hour_of_everything(tmp_path):
    def run(*args):
        return subprocess.run([SPARKPROF, *map(str, args)], capture_output=True, text=True, timeout=300)

    with spark.App(master="local-cluster[2,1,1024]", args=[2_000_000, 8, 1], jvm=HEAP) as app:
        profiled, control = app.executors()
        seen = []
        r = run("start", "-e", "cpu", "-i", "5ms", "--wall", "20ms", "--alloc", "256k", "--lock", "100us", "--chunktime", "60s",
                "--timeout", "2h", "-f", tmp_path / "x.jfr", profiled)
        assert r.returncode == 0, r.stderr
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            time.sleep(SECONDS / 60)
            seen.append((size(profiled), size(control)))
            print(*seen[-1], flush=True)
        r = run("stop", profiled)
        assert r.returncode == 0 and app.executors() == [profiled, control], r.stderr
        time.sleep(2)
        after = size(profiled)
        assert not any("sparkprof" in pathlib.Path(f"/proc/{profiled}/task/{t}/comm").read_text()
                       for t in os.listdir(f"/proc/{profiled}/task"))
    text = run("report", tmp_path / "x.jfr", "-o", "txt", "-f", "-").stdout
    print(text[:1500], after)
    assert "\nLost       0 (" in text
    last = run("report", tmp_path / "x.jfr", "-e", "cpu", "--from", f"-{SECONDS // 10}s", "-o", "txt", "-f", "-").stdout
    assert "\nStages (" in last, "the job stood still"
    # From the first quarter to the end: no more than its twin that nobody records, and 4 MB.
    quarter = len(seen) // 4
    grew = [seen[-1][i][0] - seen[quarter][i][0] for i in (0, 1)]
    assert grew[0] - max(grew[1], 0) < 4096, f"{grew} KiB"
    assert seen[-1][0][1] <= seen[quarter][0][1] + 8 and seen[-1][0][2] <= seen[quarter][0][2] + 16, seen
