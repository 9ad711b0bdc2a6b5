"""Unit tests notice when a line of the core is wrong: see tests/mutation/run.py."""
import subprocess
import sys

import pytest
from kit import parts


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_nine_of_ten_changed_lines_are_noticed():
    run = parts.ROOT / "tests/mutation/run.py"
    done = subprocess.run([sys.executable, "-B", "-u", run], text=True, stdout=subprocess.PIPE)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-3000:]
