"""Areas of a real application: its own code, its libraries, and what Spark brings. See jobs/own_jar.py for what is true."""
import collections
import json
import subprocess
import time

import pytest

from kit import parts, recording, spark
from kit.parts import SPARKPROF

pytestmark = pytest.mark.long  # a Spark of its own for three questions; unit tests ask the same of made stacks

SOURCES = parts.ROOT / "tests/spark/java/jars"


def run(*args):
    r = subprocess.run([str(SPARKPROF), *map(str, args)], capture_output=True, text=True, timeout=300)
    assert r.returncode == 0, r.stderr
    return r


def jars(tmp, version="4.3.0"):
    """The application's jar, and a library under the name that --packages gives it."""
    spark_jars = next(parts.pyspark(version).glob("lib/python*/site-packages/pyspark/jars"))
    made, bin = [], parts.jdk(17) / "bin"
    for part, name in (("library", "org.mathlib_spin-1.2.3.jar"), ("app", "etl.jar")):
        out = tmp / part
        path = ":".join([f"{spark_jars}/*", *map(str, made)])
        subprocess.run([bin / "javac", "-nowarn", "-cp", path, "-d", out, *(SOURCES / part).rglob("*.java")], check=True)
        subprocess.run([bin / "jar", "cf", tmp / name, "-C", out, "."], check=True)
        made.append(tmp / name)
    return made


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    tmp = tmp_path_factory.mktemp("areas")
    file = tmp / "x.jfr"
    # What is inlined into a caller may bear its name: these stay methods of their own, so that the truth is in the samples.
    jvm = "-XX:CompileCommand=quiet " + " ".join(f"-XX:CompileCommand=dontinline,{m}" for m in (
        "com.acme.etl.Work::own", "org.mathlib.Spin::spin", "com.google.gson.JsonParser::parseString"))
    with spark.App(job="own_jar.py", jvm=jvm, conf={"spark.jars": ",".join(map(str, jars(tmp)))}, timeout=300) as app:
        [pid] = app.executors()
        run("start", "--attach-timeout=60s", "-e", "cpu", "-i", "2ms", "-f", file, pid)
        for n, name in enumerate(("udf", "als")):
            app.tell(name)
            while app.text.count(b"done") <= n and app.proc.poll() is None:
                app.said("")
                time.sleep(0.05)
        run("stop", "--attach-timeout=60s", pid)
    return file


def areas(file, tmp, group):
    run("report", file, "--tasks-only", "-f", tmp / "x.json")
    [event] = json.loads((tmp / "x.json").read_text())["events"]
    sums = collections.Counter()
    for s in event["stages"]:
        if s.get("job_group") == group:
            sums.update(s["areas"])
    whole = sum(sums.values())
    return {name: v / whole for name, v in sums.items()}


def test_code_of_the_application_its_libraries_and_sparks(recorded, tmp_path):
    found = areas(recorded, tmp_path, "udf")
    for name in ("your code", "your libraries", "Spark's libraries"):
        assert found[name] > 0.1, found


def test_sparks_machine_learning_is_not_your_code(recorded, tmp_path):
    found = areas(recorded, tmp_path, "als")
    assert found["ML/BLAS"] > 0.1 and found.get("your code", 0) < 0.01 and found.get("your libraries", 0) < 0.01, found


def test_the_code_source_of_a_class_is_recorded_once(recorded):
    r = recording.Recording(recorded)
    places = collections.defaultdict(set)
    count = 0
    for text in r.others["sparkprof.ClassSource"]:
        location, classes = (text.split(f"{key} = \"")[1].split("\"")[0] for key in ("location", "classes"))
        names = classes.replace("\\n", "\n").split("\n")
        places[location.rpartition("/")[2]].update(names)
        count += len(names)
    assert "com/acme/etl/Work" in places["etl.jar"] and "org/mathlib/Spin" in places["org.mathlib_spin-1.2.3.jar"], dict(places)
    assert any(p.startswith("spark-core_") for p in places) and any(p.startswith("gson-") for p in places), list(places)
    assert count == sum(len(x) for x in places.values())
