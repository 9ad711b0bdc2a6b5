"""The readers of reports on changed copies of real recordings: nothing crashes, hangs or is refused without a sentence."""
import gzip
import os
import pathlib
import re
import subprocess

import pytest

from kit import peers
from kit.parts import ROOT

FUZZ = pathlib.Path(os.environ.get("SPARKPROF_FUZZ_IN", ROOT / "build/dev/tests/fuzz/fuzz-in"))
PERF = ("java 4711 12.345678: 10101010 cpu-clock:\n\t7f00 Lcom/acme/Job;::map+0x10 (/tmp/perf-1.map)\n"
        "\t7f10 start_thread+0x1 (/usr/lib/libc.so.6)\n\n") * 4
TEXT = "java/lang/Thread.run_[0];com/acme/Job.map_[j];[unknown] 12\n[main tid=7];a;b;c 3\nx 1.5\n"


@pytest.fixture(scope="module")
def seeds(tmp_path_factory, request):
    """One small real recording of each kind."""
    from kit.parts import SPARKPROF
    tmp = tmp_path_factory.mktemp("seeds")
    peers.recording(tmp / "async.jfr", "event=cpu,interval=10ms,alloc=1m,lock=1ms,wall=50ms", "Mixture", 1)
    (tmp / "x.collapsed").write_text(TEXT)
    (tmp / "x.perf").write_text(PERF)
    subprocess.run([SPARKPROF, "report", "-q", tmp / "async.jfr", "-f", tmp / "x.pb.gz"], check=True)
    (tmp / "x.pb").write_bytes(gzip.decompress((tmp / "x.pb.gz").read_bytes()))
    return tmp


def fuzz(seconds, seed, tmp_path, *files):
    assert FUZZ.exists(), f"{FUZZ} is missing: ninja -C build/dev"
    last = tmp_path / "last"
    r = subprocess.run([FUZZ, str(seconds), str(seed), last, *files], capture_output=True, text=True, timeout=seconds + 120)
    assert r.returncode == 0, f"see {last}: {r.stderr[-3000:]}"
    return int(re.match(r"(\d+) runs", r.stdout)[1])


@pytest.mark.parametrize("kind", ["async.jfr", "x.collapsed", "x.pb", "x.perf", "x.pb.gz"])
def test_a_moment_of_changes(seeds, tmp_path, kind):
    assert fuzz(2, 7, tmp_path, seeds / kind) > 0


@pytest.mark.long
@pytest.mark.parametrize("kind", ["async.jfr", "x.collapsed", "x.pb", "x.perf", "x.pb.gz"])
def test_a_while_of_changes(seeds, tmp_path, kind):
    seed = int.from_bytes(os.urandom(4), "big")
    print("seed", seed)
    assert fuzz(120, seed, tmp_path, seeds / kind) > 100
