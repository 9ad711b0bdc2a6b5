"""A real executor whose operators run in native code: Comet, in Rust."""
import collections
import json

import pytest

from kit import parts, spark

pytestmark = pytest.mark.long


def test_native_operators_have_their_task_their_area_and_their_names(sparkprof, tmp_path):
    jar = parts.maven("org.apache.datafusion:comet-spark-spark3.5_2.12:0.12.0")
    conf = {"spark.plugins": "org.apache.spark.CometPlugin", "spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "1g",
            "spark.shuffle.manager": "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager", "spark.sql.shuffle.partitions": "4",
            "spark.comet.exec.shuffle.enabled": "true", **{f"spark.{who}.extraClassPath": jar for who in ("driver", "executor")}}
    with spark.App(job="comet.py", args=(tmp_path,), version="3.5.7", conf=conf, timeout=240) as app:
        [pid] = app.executors()
        for event in ("cpu", "wall"):
            r = sparkprof("-e", event, "-i", "5ms", "-d", "8", "-f", tmp_path / f"{event}.jfr", pid, timeout=100)
            assert r.returncode == 0, r.stderr
    for event in ("cpu", "wall"):
        out, folded = tmp_path / f"{event}.json", tmp_path / f"{event}.collapsed"
        r = sparkprof("report", tmp_path / f"{event}.jfr", "--tasks-only", "--by", "stage", "-f", out, "-f", folded)
        assert r.returncode == 0, r.stderr
        [found] = json.loads(out.read_text())["events"]
        rows = found["stages"]
        assert {s["job_group"] for s in rows} == {"native"} and all(s["sql"] >= 0 for s in rows)
        areas = collections.Counter()
        for s in rows:
            areas.update(s["areas"])
        whole = sum(areas.values())
        assert areas["native SQL"] > 0.1 * whole and areas["your code"] < 0.03 * whole, areas
        assert sum(s["time"].get("other", 0) for s in rows) < 0.05 * whole
        native = [line for line in folded.read_text().splitlines() if "datafusion" in line or "comet::" in line]
        assert len(native) > 10 and all(line.startswith("[stage ") for line in native)
        assert all(";org/apache/comet/" in line for line in native), "called by a method of Comet's"
        assert not any("_ZN" in line or "17h" in line for line in native), "names as Rust spells them"
