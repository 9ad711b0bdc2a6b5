"""Names of stages from a driver's UI, by a program that has one as Spark has it; tests/spark/test_stages.py asks a real driver."""
import json
import re

import pytest

from kit import jvm


def stage(target, sparkprof, tmp_path, *args):
    """What the recording knows of the program's one stage."""
    t = target("org.apache.spark.SparkEnv", "now", classes=f"{jvm.compiled()}:/nowhere/spark-core_2.13-4.3.0.jar")
    port = re.search(r"port (\d+)\.", t.stdout())[1]
    r = sparkprof("start", "-e", "wall", *(a.replace("PORT", port) for a in args), "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 0, r.stderr
    t.send("")
    t.wait_for("done")
    assert sparkprof("stop", t.pid).returncode == 0
    assert sparkprof("report", tmp_path / "x.jfr", "-f", tmp_path / "x.json").returncode == 0
    [row] = json.loads((tmp_path / "x.json").read_text())["events"][0]["stages"]
    assert t.stderr() == "" and row["sql"] == 12
    return row


@pytest.mark.parametrize("args", [["--driver-ui=http://127.0.0.1:PORT"], ["--driver-ui", "http://localhost:PORT/"]], ids=" ".join)
def test_names_of_a_ui_that_is_told(target, sparkprof, tmp_path, args):
    row = stage(target, sparkprof, tmp_path, *args)
    assert (row.get("name"), row.get("job"), row.get("sql_text")) == ("collect at Main.java:7", 3, "SELECT 1")


@pytest.mark.parametrize("args", [["--driver-ui=none"], ["--driver-ui=http://127.0.0.1:9"], ["--driver-ui=https://127.0.0.1:PORT"], []], ids=" ".join)
def test_without_an_answer_there_are_numbers(target, sparkprof, tmp_path, args):
    row = stage(target, sparkprof, tmp_path, *args)
    assert "name" not in row and "job" not in row and "sql_text" not in row
