"""What ./build.sh test and test-long say of a run."""
import subprocess
import sys

import pytest

from kit import long, parts

CASE = '<testcase classname="a" name="{}" time="{}">{}</testcase>'
KIT = parts.ROOT / "tests/kit"


def summary(tmp_path, *cases):
    (tmp_path / "x.xml").write_text(f"<testsuites><testsuite>{''.join(CASE.format(*c) for c in cases)}</testsuite></testsuites>")
    r = subprocess.run([sys.executable, KIT / "summary.py", tmp_path / "x.xml"], capture_output=True, text=True)
    return r.returncode, r.stdout.splitlines()


def test_one_failure_fails_the_run_and_skipped_ones_have_names(tmp_path):
    code, lines = summary(tmp_path, ("good", 1, ""), ("bad", 2, '<failure message="no"/>'), ("away", 0, '<skipped message="needs root"/>'))
    assert code == 1 and lines[-1] == "1 passed, 1 failed, 1 skipped"
    assert "FAILED a::bad: no" in lines and "SKIPPED a::away: needs root" in lines


def test_the_slowest_twenty_are_named(tmp_path):
    code, lines = summary(tmp_path, *((f"t{i}", i, "") for i in range(30)))
    assert code == 0 and [line.split()[-1] for line in lines[1:21]] == [f"a::t{i}" for i in range(29, 9, -1)]
    assert lines[-1] == "30 passed, 0 failed, 0 skipped"


def test_a_run_without_tests_is_no_success(tmp_path):
    assert summary(tmp_path)[0] == 1


@pytest.mark.parametrize("file,part", [("spark/test_yarn.py", "yarn"), ("spark/test_kerberos.py", "kerberos"), ("spark/test_soak.py", "spark"),
                                       ("spark/test_python_ways.py", "python"), ("jvm/test_storm.py", "storm"), ("page/test_whole.py", "jvm")])
def test_parts_of_the_long_tests(file, part):
    assert long.part_of(file) == part


def test_a_part_that_is_not_there_is_answered_by_those_that_are():
    r = subprocess.run([parts.ROOT / "build.sh", "test-long", "yearn"], capture_output=True, text=True)
    assert r.returncode == 2 and all(f"\n  {part} " in r.stderr for part in long.PARTS), r.stderr
