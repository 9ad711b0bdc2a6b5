"""report and diff on real recordings of async-profiler and the JDK, beside the peers' own readers."""
import collections
import csv
import json
import os
import re
import subprocess

import pytest

from kit import jvm, native, parts, peers
from kit.parts import SPARKPROF


def lines(path):
    return sorted(path.read_bytes().splitlines())


def total(path):
    return sum(int(line.rsplit(b" ", 1)[1]) for line in path.read_bytes().splitlines())


@pytest.mark.parametrize("name, theirs, ours", [
    ("cpu", ["--cpu"], ["-e", "cpu"]),
    ("cpu", ["--cpu", "-t"], ["-e", "cpu", "-t"]),
    ("cpu", ["--cpu", "--simple"], ["-e", "cpu", "-s"]),
    ("cpu", ["--alloc"], ["-e", "alloc"]),
    ("cpu", ["--alloc", "--total"], ["-e", "alloc", "--total"]),
    ("cpu", ["--lock"], ["-e", "lock"]),
    ("cpu", ["--lock", "--total"], ["-e", "lock", "--total"]),
    ("wall", ["--wall"], ["-e", "wall"]),
    ("wall", ["--wall", "-t"], ["-e", "wall", "-t"]),
])
def test_collapsed_equals_async_profilers_converter(sparkprof, recordings, tmp_path, name, theirs, ours):
    subprocess.run([*peers.converter(), *theirs, "--norm", "-o", "collapsed", recordings / f"{name}.jfr",
                    tmp_path / "theirs"], check=True, stdout=subprocess.DEVNULL)
    r = sparkprof("report", recordings / f"{name}.jfr", *ours, "-a", "-f", tmp_path / "ours.collapsed")
    assert r.returncode == 0, r.stderr
    mine, their = lines(tmp_path / "ours.collapsed"), lines(tmp_path / "theirs")
    if "--lock" in theirs and "--total" in theirs:  # sums of rounded ticks differ by some ns
        mine, their = [dict(line.rsplit(b" ", 1) for line in x) for x in (mine, their)]
        assert mine.keys() == their.keys()
        assert all(abs(int(mine[k]) - int(their[k])) <= 1000 + int(their[k]) // 100_000 for k in mine)
    else:
        assert mine == their


def test_pprof_reads_ours(sparkprof, recordings, tmp_path):
    out = tmp_path / "x.pb.gz"
    sparkprof("report", recordings / "wall.jfr", "-f", out, "-f", tmp_path / "x.collapsed")
    top = subprocess.run([peers.pprof(), "-top", "-nodecount=3", "-sample_index=samples", out], capture_output=True,
                         text=True)
    assert top.returncode == 0 and "of " in top.stdout, top.stderr
    assert str(total(tmp_path / "x.collapsed")) in top.stdout
    tags = subprocess.run([peers.pprof(), "-tags", out], capture_output=True, text=True).stdout
    assert re.search(r"state: Total", tags) and re.search(r"thread: Total", tags) and "mix-0" in tags
    again = sparkprof("report", out, "-f", tmp_path / "again.collapsed")
    assert again.returncode == 0 and lines(tmp_path / "again.collapsed") == lines(tmp_path / "x.collapsed")


def fits(value, rule, schema):
    """Whether a value is as a JSON schema wants it: the words that speedscope's own schema uses."""
    if "$ref" in rule:
        rule = schema["definitions"][rule["$ref"].rsplit("/", 1)[1]]
    for word in ("anyOf", "oneOf"):
        if word in rule and not any(fits(value, r, schema) for r in rule[word]):
            return False
    types = {"object": dict, "array": list, "string": str, "number": (int, float), "boolean": bool}
    if "type" in rule and not isinstance(value, types[rule["type"]]):
        return False
    if value not in rule.get("enum", [value]) or value != rule.get("const", value):
        return False
    if isinstance(value, dict):
        known = rule.get("properties", {})
        return set(rule.get("required", [])) <= set(value) and all(
            fits(v, known[k], schema) if k in known else rule.get("additionalProperties", True)
            for k, v in value.items())
    return not isinstance(value, list) or all(fits(v, rule.get("items", {}), schema) for v in value)


def test_speedscope_reads_ours(sparkprof, recordings, tmp_path):
    out = tmp_path / "x.speedscope.json"
    sparkprof("report", recordings / "cpu.jfr", recordings / "wall.jfr", "-f", out)
    file = json.loads(out.read_text())
    schema = json.loads((peers.speedscope() / "dist/release/file-format-schema.json").read_text())
    assert fits(file, schema, schema)
    file["profiles"][0]["unit"] = "parsecs"
    assert not fits(file, schema, schema)
    assert {p["name"] for p in file["profiles"]} >= {"cpu", "wall", "alloc"}
    for p in file["profiles"]:
        assert len(p["samples"]) == len(p["weights"]) and sum(p["weights"]) == p["endValue"]
        assert max(f for s in p["samples"] for f in s) < len(file["shared"]["frames"])


def test_tables(sparkprof, recordings, tmp_path):
    sparkprof("report", recordings / "cpu.jfr", "-e", "cpu", "-f", tmp_path / "x.csv", "-f", tmp_path / "x.json",
              "-f", tmp_path / "x.collapsed")
    rows = list(csv.DictReader((tmp_path / "x.csv").open()))
    assert {r["table"] for r in rows} == {"method", "class", "package", "thread", "state"}
    event = json.loads((tmp_path / "x.json").read_text())["events"][0]
    assert event["samples"] == total(tmp_path / "x.collapsed")
    assert sum(m["samples"] for m in event["tables"]["method"]) == event["samples"]
    assert sum(t["samples"] for t in event["tables"]["thread"]) == event["samples"]


def test_the_jdk_reads_a_merged_recording(sparkprof, recordings, tmp_path):
    r = sparkprof("report", recordings, "-f", tmp_path / "merged.jfr")
    assert r.returncode == 0, r.stderr
    out = subprocess.run([parts.jdk(17) / "bin/jfr", "summary", tmp_path / "merged.jfr"], capture_output=True, text=True)
    assert out.returncode == 0 and re.search(r"Chunks: [2-9]", out.stdout), out.stdout + out.stderr
    for event in ("cpu", "wall", "alloc", "lock"):
        sparkprof("report", recordings, "-e", event, "-f", tmp_path / "a.collapsed")
        sparkprof("report", tmp_path / "merged.jfr", "-e", event, "-f", tmp_path / "b.collapsed")
        assert lines(tmp_path / "a.collapsed") == lines(tmp_path / "b.collapsed")


def test_the_jdks_own_recording_is_read(sparkprof, tmp_path):
    subprocess.run([parts.jdk(17) / "bin/java", f"-XX:StartFlightRecording=filename={tmp_path}/jdk.jfr,settings=profile",
                    "-cp", jvm.compiled(), "Mixture", "3"], check=True, stdin=subprocess.DEVNULL, capture_output=True)
    r = sparkprof("report", tmp_path / "jdk.jfr", "-e", "cpu", "-f", tmp_path / "x.collapsed")
    assert r.returncode == 0, r.stderr
    count = subprocess.run([parts.jdk(17) / "bin/jfr", "summary", tmp_path / "jdk.jfr"], capture_output=True, text=True)
    assert total(tmp_path / "x.collapsed") == int(re.search(r"jdk.ExecutionSample +(\d+)", count.stdout)[1])


def test_the_jdks_samples_by_cpu_time_are_read(sparkprof, tmp_path):
    """JDK 25 on: an event of their own, beside those of its usual sampler."""
    subprocess.run([parts.jdk(25) / "bin/java", f"-XX:StartFlightRecording:filename={tmp_path}/jdk.jfr,jdk.CPUTimeSample#enabled=true,"
                    "jdk.CPUTimeSample#throttle=5ms", "-cp", jvm.compiled(), "Split", "1.5"], check=True, stdin=subprocess.DEVNULL, capture_output=True)
    r = sparkprof("report", tmp_path / "jdk.jfr", "-e", "cpu-time", "-f", tmp_path / "x.collapsed")
    assert r.returncode == 0, r.stderr
    text = subprocess.run([parts.jdk(25) / "bin/jfr", "print", "--events", "jdk.CPUTimeSample", tmp_path / "jdk.jfr"],
                          check=True, capture_output=True, text=True).stdout
    assert total(tmp_path / "x.collapsed") == text.count("stackTrace = [") > 20


def test_times_split_a_recording(sparkprof, recordings, tmp_path):
    wall = recordings / "wall.jfr"
    sums = []
    for name, args in [("all", []), ("a", ["--to", "1s"]), ("b", ["--from", "1s"]), ("end", ["--from", "-1s"])]:
        r = sparkprof("report", wall, *args, "-f", tmp_path / f"{name}.collapsed")
        assert r.returncode == 0, r.stderr
        sums.append(total(tmp_path / f"{name}.collapsed"))
    assert sums[1] + sums[2] == sums[0] and 0 < sums[3] < sums[0]
    # rates are by the time that is looked at
    r = sparkprof("report", recordings / "cpu.jfr", "-e", "cpu", "--from", "0.5s", "--to", "1.5s", "-f", "-", "-f", tmp_path / "x.json")
    weight, unit, threads = re.search(r"samples, ([\d.]+) (m?s) \(([\d.]+) cores busy\)", r.stdout).groups()
    assert re.search(r"^Duration +1(\.0*)? s$", r.stdout, re.M) and json.loads((tmp_path / "x.json").read_text())["duration_ns"] == 10**9
    assert abs(float(weight) * {"s": 1, "ms": 1e-3}[unit] - float(threads)) <= 0.06, r.stdout
    r = sparkprof("report", wall, "--from", "1h")
    assert r.returncode == 2 and "lasts" in r.stderr


def test_wall_of_another_profiler_has_no_rate(sparkprof, recordings):
    """async-profiler looks at some threads at a time, and its recording does not say how long all of them took."""
    text = sparkprof("report", recordings / "wall.jfr", "-f", "-").stdout
    assert "cores busy" not in text and "at a time)" not in text
    assert "wall was recorded by another profiler" in " ".join(text.split())


def test_an_event_that_is_not_there_is_answered_by_those_that_are(sparkprof, recordings, tmp_path):
    r = sparkprof("report", recordings / "wall.jfr", "-e", "alloc,wall")
    assert r.returncode == 0 and "-e alloc: no samples of it, only of wall" in r.stderr and "-e wall" not in r.stderr
    r = sparkprof("report", recordings, "-e", "cycles", "-f", "-", "-f", tmp_path / "x.html")
    assert r.returncode == 1 and r.stdout == "" and not list(tmp_path.iterdir())
    assert re.search(r"-e cycles: no samples of it, only of (cpu|wall|alloc|lock)(, (cpu|wall|alloc|lock)){3}\n", r.stderr)
    for nothing in (["--thread", "no such thread"], ["--stage", "77"], ["--min-duration", "1h", "-e", "lock"]):
        r = sparkprof("report", recordings, *nothing, "-f", tmp_path / "x.html")
        assert r.returncode == 1 and "no samples" in r.stderr and not list(tmp_path.iterdir())
    r = sparkprof("report", recordings / "cpu.jfr", "-e", "cpu", "-o", "collapsed")
    assert r.stdout and "no samples" not in r.stderr


@pytest.mark.parametrize("how", [["report", "-o", "html"], ["report", "-o", "text"], ["report", "-o", "jfr"], ["diff", "-o", "html"]])
def test_a_reader_that_has_seen_enough_is_no_failure(recordings, how):
    files = [recordings / "cpu.jfr"] * (2 if how[0] == "diff" else 1)
    p = subprocess.Popen([SPARKPROF, *how, "-f", "-", *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.close()
    said = p.stderr.read().decode()
    assert p.wait(200) == 0 and "ipe" not in said and "written" not in said, said


def test_threads_states_and_by(sparkprof, recordings, tmp_path):
    wall = recordings / "wall.jfr"
    out = tmp_path / "x.collapsed"
    sparkprof("report", wall, "--thread", "mix-*", "-t", "-f", out)
    assert all(line.startswith(b"[mix-") for line in lines(out)) and lines(out)
    sparkprof("report", wall, "--state", "sleep,lock", "-f", out)
    some = total(out)
    sparkprof("report", wall, "-f", out)
    assert 0 < some < total(out)
    for by, root in [("thread", rb"\[.*tid=\d+\]"), ("area", rb"\[(JIT|your code|idle|other|GC|JVM|compression|network)\]"),
                     ("executor", rb"\[wall\]")]:
        sparkprof("report", wall, "--by", by, "-f", tmp_path / "by.collapsed")
        assert total(tmp_path / "by.collapsed") == total(out)
        assert any(re.match(root + b";", line) for line in lines(tmp_path / "by.collapsed")), by
    r = sparkprof("report", wall, "--by", "stage", "-f", tmp_path / "by.collapsed")
    assert r.returncode == 0 and "no stage or task is known" in r.stderr


@pytest.mark.parametrize("event", ["alloc", "lock"])
def test_methods_stand_beside_the_classes_on_top_of_them(sparkprof, recordings, event):
    """What is allocated or waited for, and who does it: each line of the collapsed stacks ends in both."""
    text = sparkprof("report", "-e", event, "-o", "text", recordings / "cpu.jfr").stdout
    tables = {t.split("\n")[0]: t.split("\n")[2:] for t in text.split("\n\n") if t.startswith("Hot ")}
    first = {name: rows[0].split()[-1] for name, rows in tables.items()}
    stacks = [line.rsplit(" ", 1) for line in sparkprof("report", "-e", event, "--total", "-o", "collapsed",
                                                            recordings / "cpu.jfr").stdout.splitlines()]
    for name, at in (("Hot classes", -1), ("Hot methods", -2)):
        sums = collections.Counter()
        for stack, n in stacks:
            frames = stack.split(";")
            sums[frames[at] if len(frames) >= -at else ""] += int(n)
        most = sums.most_common(1)[0][0].replace("/", ".")
        assert most.split(".")[-1] == first[name].split(".")[-1], (name, most, first)


def test_wrong_calls(sparkprof, recordings, tmp_path):
    (tmp_path / "junk").write_bytes(b"\x00\x01junk")
    for args, code, words in [
            (["report"], 2, "no file"), (["diff", "a"], 2, "two files"), (["report", tmp_path / "none.jfr"], 1, "none.jfr"),
            (["report", tmp_path / "junk"], 1, "neither"), (["report", recordings / "cpu.jfr", "--from", "soon"], 2, "soon"),
            (["report", recordings / "cpu.jfr", "--state", "tired"], 2, "tired"),
            (["report", recordings / "cpu.jfr", "--by", "moon"], 2, "moon"),
            (["report", recordings / "cpu.jfr", "-e", "cpu", "-f", tmp_path / "x.jfr"], 2, "whole")]:
        r = sparkprof(*args)
        assert r.returncode == code and words in r.stderr, (args, r.stderr)


def test_diff(sparkprof, tmp_path):
    long = "org/apache/spark/sql/execution/columnar/InMemoryTableScanExec.filteredCachedBatches"
    (tmp_path / "a.collapsed").write_text(f"m;same 8000\nm;grew 1000\nm;gone 500\nm;{long} 500\n")
    (tmp_path / "b.collapsed").write_text("m;same 8000\nm;grew 3000\n")
    r = sparkprof("diff", tmp_path / "a.collapsed", tmp_path / "b.collapsed")
    assert r.returncode == 0 and "grew" in r.stdout and "gone (vanished)" in r.stdout
    # spelled as in a report, and whole where nothing says how wide it is
    assert f"  {long.replace('/', '.')} (vanished)\n" in r.stdout, r.stdout
    assert re.search(r" 10\.00% +27\.27%  \+17\.27 pt +±\d\.\d\d pt  grew\n", r.stdout), r.stdout
    sparkprof("diff", "--absolute", tmp_path / "a.collapsed", tmp_path / "b.collapsed", "-f", tmp_path / "d.collapsed")
    assert lines(tmp_path / "d.collapsed") == [b"m;gone 500 0", b"m;grew 1000 3000", f"m;{long} 500 0".encode(), b"m;same 8000 8000"]
    r = sparkprof("diff", tmp_path / "a.collapsed", tmp_path / "a.collapsed")
    assert "\n0 of " in r.stdout


def test_diff_knows_lambdas_of_another_jvm(sparkprof, tmp_path):
    (tmp_path / "a.collapsed").write_text("a/Main.run;a/Job$$Lambda$679.apply;a/Job.f 900\na/Main.run;j/GeneratedMethodAccessor12.invoke 100\n"
                                          "a/Main.run;j/LambdaForm$MH/0x0000000800c3a840.invoke 100\n")
    (tmp_path / "b.collapsed").write_text("a/Main.run;a/Job$$Lambda$652/0x0000000800c3a840.apply;a/Job.f 900\n"
                                          "a/Main.run;j/GeneratedMethodAccessor9.invoke 100\na/Main.run;j/LambdaForm$MH/0x0000000801000400.invoke 100\n")
    r = sparkprof("diff", tmp_path / "a.collapsed", tmp_path / "b.collapsed", "-o", "collapsed")
    assert r.returncode == 0 and sorted(r.stdout.splitlines()) == [
        "a/Main.run;a/Job$$Lambda.apply;a/Job.f 900 900", "a/Main.run;j/GeneratedMethodAccessor.invoke 100 100",
        "a/Main.run;j/LambdaForm$MH.invoke 100 100"], r.stdout
    r = sparkprof("report", tmp_path / "a.collapsed", "-o", "collapsed")
    assert "a/Job$$Lambda$679.apply" in r.stdout


def test_threads_of_a_driver_do_not_drown_the_tasks(sparkprof, tmp_path):
    """Of a whole application wall is of tasks, however many threads wait in its driver and in executors without one; one sentence
    says how much that is, not one for each executor."""
    app = tmp_path / "app"
    app.mkdir()
    for i, shape in enumerate(((10, 20, 4, 50), (10, 40, 2, 50), (10, 90, 0, 50))):
        subprocess.run([native.jfr_long(), tmp_path / "x.jfr", *map(str, shape)], check=True)
        (tmp_path / "x.jfr").rename(app / f"profile-exec-{i}.jfr")
    subprocess.run([native.jfr_long(), app / "profile-driver.jfr", "10", "200", "0", "50"], check=True)

    def shown(*more):
        r = sparkprof("report", app, "-o", "json", "-f", "-", *more)
        assert r.returncode == 0, r.stderr
        return json.loads(r.stdout)["events"][0]["weight"] / 1e9, r.stderr
    weight, said = shown()
    assert weight == pytest.approx(60, rel=0.05), said
    assert said.count("wall shows threads inside of tasks only, 1.7 % of all threads' time") == 1 and said.count("wall shows") == 1, said
    assert "no task ran" not in said
    weight, said = shown("--tasks-only")
    assert weight == pytest.approx(60, rel=0.05) and "no task ran" not in said, said
    assert shown("--all-threads")[0] == pytest.approx(3500, rel=0.05)
    weight, said = shown("--executor", "driver")
    assert weight == pytest.approx(2000, rel=0.05) and "wall shows" not in said and "left out" not in said
    for i in (0, 1):
        (app / f"profile-exec-{i}.jfr").unlink()
    weight, said = shown()
    assert weight == pytest.approx(2900, rel=0.05) and said.count("no task ran") == 1, said


def test_by_state(sparkprof, recordings, tmp_path):
    out = tmp_path / "x.collapsed"
    assert sparkprof("report", recordings / "wall.jfr", "--by", "state", "-f", out).returncode == 0
    assert {line.split(b";")[0] for line in lines(out)} >= {b"running", b"sleep"}


def test_a_full_disk_is_told_of_the_output(recordings):
    before = sorted(os.listdir("/dev"))
    for args in (["-o", "jfr", "-f", "-"], ["-o", "jfr", "-f", "/dev/full"]):
        with open("/dev/full", "w") as full:
            r = subprocess.run([SPARKPROF, "report", recordings / "wall.jfr", *args], stdout=full, stderr=subprocess.PIPE, text=True)
        assert r.returncode != 0 and "No space left" in r.stderr and "wall.jfr" not in r.stderr, r.stderr
    assert sorted(os.listdir("/dev")) == before
