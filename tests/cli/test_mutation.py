"""The table of changed lines is of this tree; that the unit tests notice them: ./build.sh test-long mutation."""
import subprocess
import sys

from kit import parts


def test_the_table_fits_the_tree():
    done = subprocess.run([sys.executable, "-B", parts.ROOT / "tests/mutation/run.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
