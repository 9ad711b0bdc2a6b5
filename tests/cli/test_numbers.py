"""Sums of reports: of the whole, too large, and of more stacks than a report can hold."""
import subprocess
import sys

import pytest
from kit import native
from kit.parts import SPARKPROF


# A child has the peak of who started it for its own: a small process between.
SMALL = ("import resource, subprocess, sys; r = subprocess.call(sys.argv[1:]); "
         "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(r)")


def total(path):
    return sum(int(line.rsplit(b" ", 1)[1]) for line in path.read_bytes().splitlines())


def test_from_0_is_the_whole(sparkprof, tmp_path):
    """The first events have times before the one in the file's head, as those of a timer that came late."""
    file = tmp_path / "x.jfr"
    subprocess.run([native.jfr_long(), file, "3", "4", "2", "10"], check=True)
    sums = []
    for i, more in enumerate(([], ["--from", "0"], ["--from", "0s"], ["--to", "-0s"], ["--from", "1990-01-01"])):
        r = sparkprof("report", file, "--all-threads", "--total", *more, "-f", tmp_path / f"{i}.collapsed")
        assert r.returncode == 0, r.stderr
        sums.append(total(tmp_path / f"{i}.collapsed"))
    assert sums[0] == 3 * 4 * 10**9 and set(sums) == {sums[0]}, sums


@pytest.mark.parametrize("counts,saturated", [([2**62, 2**62 - 1], False), ([2**62, 2**62], True), ([2**63 - 1, 1, 1], True)])
def test_counts_that_saturate_are_said_once(sparkprof, tmp_path, counts, saturated):
    file = tmp_path / "x.collapsed"
    file.write_text("".join(f"main;f{i} {n}\n" for i, n in enumerate(counts)))
    r = sparkprof("report", file, "-f", "-", "-o", "text")
    assert r.returncode == 0, r.stderr
    assert (r.stdout + r.stderr).count("counts saturated") == saturated
    r = sparkprof("report", file, "-f", tmp_path / "x.html")
    assert r.stderr.count("counts saturated") == saturated


def many_stacks(path, n):
    """So many different stacks of 15 frames; one in a thousand is hot."""
    with open(path, "w") as f:
        for i in range(n):
            a, b, c, d = i % 60, i // 60 % 60, i // 3600 % 60, i // 216000
            f.write(f"main;run;job/A.a{d};job/B.b{c};job/C.c{b};job/D.d{a};x/E.e{a};x/F.f{b};x/G.g{c};x/H.h{d};"
                    f"y/I.i;y/J.j;y/K.k;y/L.l;y/M.m {501 if i % 1000 == 0 else 1}\n")
    return n + 500 * ((n + 999) // 1000)


def check_many(tmp_path, n, formats, most_mb):
    samples = many_stacks(tmp_path / "x.collapsed", n)
    for name in formats:
        done = subprocess.run([sys.executable, "-c", SMALL, SPARKPROF, "report", tmp_path / "x.collapsed", "-f", tmp_path / f"out.{name}"],
                              capture_output=True, text=True)
        said, used_kb = done.stderr, int(done.stdout.split()[-1])
        assert done.returncode == 0, said
        assert said.count(f"too many different stacks ({n}):") == 1, said
        assert used_kb < most_mb << 10, f"{name}: {used_kb >> 10} MB"
        assert f"{samples:,} samples, 0 lost" in said
    out = tmp_path / "out.collapsed"
    assert total(out) == samples
    lines = out.read_text().splitlines()
    assert len(lines) <= 1 << 18
    assert sum(line.endswith(" 501") and "[rare stacks]" not in line for line in lines) == (n + 999) // 1000  # the hot are whole
    assert any("[rare stacks]" in line for line in lines)


def test_more_stacks_than_a_report_holds_are_cut(tmp_path):
    check_many(tmp_path, 300_000, ["collapsed"], 400)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_two_million_stacks(tmp_path):
    check_many(tmp_path, 2_000_000, ["collapsed", "txt", "html", "pprof"], 1000)
