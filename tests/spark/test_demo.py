"""./build.sh demo does what it says, with Spark and without a registry."""
import os
import pathlib
import subprocess
import sys

import pytest

from kit import outputs, parts

DEMO = parts.ROOT / "tests/spark/demo.py"


def demo(tmp_path, **env):
    return subprocess.run([sys.executable, DEMO], capture_output=True, text=True, timeout=280,
                          env={**os.environ, "SPARKPROF_DEMO_DIR": str(tmp_path / "demo"), "SPARKPROF_DEMO_SECONDS": "3", **env})


def page_of(r):
    """What a user wants in the end: a page, by its path in the last line."""
    page = pathlib.Path(r.stdout.splitlines()[-1])
    [wall] = [e for e in outputs.page_meta(page)["events"] if e["name"] == "wall"]
    assert wall["samples"] > 0
    return page


@pytest.mark.long
def test_on_a_real_spark(tmp_path):
    parts.pyspark()
    r = demo(tmp_path)
    assert r.returncode == 0, r.stdout + r.stderr
    assert "starting Spark" in r.stdout and "executor" in r.stdout and "Done." in r.stdout
    text = page_of(r).with_suffix(".txt").read_text()
    assert "executor 0 of app-" in text and "Stages (" in text, text


def test_without_a_registry_it_says_so_and_shows_java(tmp_path):
    r = demo(tmp_path, SPARKPROF_PARTS=str(tmp_path / "parts"), PIP_NO_INDEX="1", PIP_FIND_LINKS="", PIP_CONFIG_FILE=os.devnull)
    assert r.returncode == 0, r.stdout + r.stderr
    assert "no Spark here" in r.stdout and "DemoWork" in r.stdout and "Done." in r.stdout
    assert "DemoWork." in page_of(r).with_suffix(".txt").read_text()
