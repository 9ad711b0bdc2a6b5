"""Java frames below native code that has no unwind tables, and no frame that was not there."""
import collections

import pytest
from kit import parts, recording

METHODS = ("nested", "framed", "stale", "planted", "clobbered")
GAP = "[native frames unknown]"


def library():
    return recording.native("notables", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-exceptions", "-fomit-frame-pointer")


def has(stack, method):
    return any(f.startswith(f"NoTables.{method} ") for f in stack)


def is_ours(frame):
    return frame.startswith("libnotables.so.")


@pytest.mark.parametrize("capture", ["ring", "signal"])
@pytest.mark.parametrize("jdk,mode", [(17, "-Xmixed"), (25, "-Xmixed"), pytest.param(17, "-Xint", marks=pytest.mark.long)])
def test_java_callers_of_code_without_tables(target, sparkprof, tmp_path, capture, jdk, mode):
    parts.needs_perf()
    file = tmp_path / "x.jfr"
    t = target("NoTables", library(), 1.5, jdk=jdk, wait=False,
               jvm=[recording.option(file, interval="1ms", capture=capture), mode, *(["--enable-native-access=ALL-UNNAMED"] if jdk > 21 else [])])
    assert t.proc.wait(timeout=300) == 0, t.stderr()
    r = recording.Recording(file)
    inside = [s.stack for s in r.cpu() if any(is_ours(f) for f in s.stack) and s.thread == "main"]
    assert len(inside) > 500
    seen = collections.Counter(m for s in inside for m in METHODS if has(s, m))
    # Never a frame that was not there: deep() has returned, never() is not called, and one of its callers' frames twice.
    for s in inside:
        assert not any("never" in f for f in s), s
        assert sum(has(s, m) for m in METHODS) <= 1 or has(s, "deep"), s
        assert has(s, "shallow") == has(s, "main"), s
        if has(s, "main"):
            assert sum(f.startswith("NoTables.") for f in s) == (3 if not has(s, "deep") else 3 + 21), s
        else:
            assert GAP in s[-1], s  # it says what is missing
    # A signal brings the JVM's own note of its last Java frame. A ring's record does not: the frame pointer serves, unless the code
    # uses it for something else.
    lost = [s for s in inside if not has(s, "main")]
    if capture == "ring":
        assert all(any("Java_NoTables_clobbered" in f for f in s) for s in lost), lost[:3]
    else:
        assert not lost, lost[:3]
    for m in METHODS[:4] if capture == "ring" else METHODS:
        assert seen[m] >= 50, seen
    marked = sum(any(GAP in f for f in s) for s in inside)
    assert marked > 0 and r.counts()["unknown"] >= marked, (marked, r.counts())
    head = sparkprof("report", file).stdout.splitlines()
    told = next(line.split()[1] for line in head if line.startswith("Unknown"))
    assert int(told.replace(",", "")) >= marked, head[:8]


@pytest.mark.parametrize("jdk,mode", [(17, "-Xmixed"), (25, "-Xint")])
def test_java_callers_of_a_wait_without_tables(target, tmp_path, jdk, mode):
    file = tmp_path / "x.jfr"
    t = target("NoTables", library(), 1.5, "sleep", jdk=jdk, wait=False,
               jvm=[recording.option(file, event="wall", interval="10ms"), mode, *(["--enable-native-access=ALL-UNNAMED"] if jdk > 21 else [])])
    assert t.proc.wait(timeout=300) == 0, t.stderr()
    waits = [s for s in recording.Recording(file).wall() if any("Java_NoTables_sleep" in f for f in s.stack)]
    assert sum(s.span for s in waits) > 0.5e9, waits
    for s in waits:
        assert has(s.stack, "sleep") and has(s.stack, "sleepy") and has(s.stack, "main"), s.stack
        assert sum(f.startswith("NoTables.") for f in s.stack) == 3, s.stack
