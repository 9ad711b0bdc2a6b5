"""report and diff on real recordings of async-profiler and the JDK, beside the peers' own readers."""
import collections
import contextlib
import csv
import gzip
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys

import pytest

from kit import jvm, native, parts, peers
from kit.parts import SPARKPROF


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """cpu with allocations and locks, and wall, of the same program."""
    tmp = tmp_path_factory.mktemp("recordings")
    peers.recording(tmp / "cpu.jfr", "event=cpu,interval=1ms,alloc=64k,lock=1us", "Mixture", 3)
    peers.recording(tmp / "wall.jfr", "event=wall,interval=2ms", "Mixture", 3)
    return tmp


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
    assert r.returncode == 0 and "-e alloc: no samples of it; there are wall" in r.stderr and "-e wall" not in r.stderr
    r = sparkprof("report", recordings, "-e", "cycles", "-f", "-", "-f", tmp_path / "x.html")
    assert r.returncode == 1 and r.stdout == "" and not list(tmp_path.iterdir())
    assert re.search(r"-e cycles: no samples of it; there are (cpu|wall|alloc|lock)(, (cpu|wall|alloc|lock)){3}\n", r.stderr)
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
    assert p.wait(60) == 0 and "ipe" not in said and "written" not in said, said


def test_files_as_sparks_profiler_plugin_leaves_them(sparkprof, tmp_path):
    """Made by async-profiler with the options, names and way of joining of Spark 4's plugin; not by the plugin itself."""
    app = tmp_path / "app-20261116112820-0000"
    app.mkdir()
    files = [app / f"profile-the-exec-job-exec-{n}.jfr" for n in (3, 4)]
    one = peers.recording(tmp_path / "one.jfr", "event=wall,interval=10ms,alloc=2m,lock=10ms,chunktime=300s", "Mixture", 2)
    for file, times in zip(files, (2, 1)):  # a chunk for each time that the plugin has stopped, dumped and gone on
        file.write_bytes(one.read_bytes() * times)
    sums = {}
    for event in ("wall", "alloc"):
        r = sparkprof("report", app, "-e", event, "--by", "executor", "-f", tmp_path / "x.collapsed")
        assert r.returncode == 0, r.stderr
        for line in (tmp_path / "x.collapsed").read_text().splitlines():
            root, n = line.split(";")[0], int(line.rsplit(" ", 1)[1])
            sums[event, root] = sums.get((event, root), 0) + n
    assert {root for _, root in sums} == {"[executor 3]", "[executor 4]"}
    assert all(sums[e, "[executor 3]"] == 2 * sums[e, "[executor 4]"] > 0 for e in ("wall", "alloc")), sums
    r = sparkprof("report", app, "-e", "wall", "--executor", "4", "-o", "collapsed")
    assert sum(int(line.rsplit(" ", 1)[1]) for line in r.stdout.splitlines()) == sums["wall", "[executor 4]"], r.stderr


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


def test_gzipped_directories_and_stdin(sparkprof, recordings, tmp_path):
    d = tmp_path / "in"
    d.mkdir()
    shutil.copy(recordings / "cpu.jfr", d / "a.jfr")
    (d / "b.jfr.gz").write_bytes(gzip.compress((recordings / "cpu.jfr").read_bytes(), 1))
    (d / "notes.txt").write_text("not a recording 1\n")
    sparkprof("report", recordings / "cpu.jfr", "-e", "cpu", "-f", tmp_path / "one.collapsed")
    r = sparkprof("report", d, "-e", "cpu", "-f", tmp_path / "two.collapsed")
    assert r.returncode == 0, r.stderr
    assert total(tmp_path / "two.collapsed") == 2 * total(tmp_path / "one.collapsed")
    with open(d / "b.jfr.gz") as f:
        r = subprocess.run([parts.SPARKPROF, "report", "-", "-e", "cpu", "-o", "collapsed", "-f", "-"], stdin=f,
                           capture_output=True)
    assert sorted(r.stdout.splitlines()) == lines(tmp_path / "one.collapsed")


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9, 0.999])
def test_a_cut_file_gives_a_sentence_and_the_rest(sparkprof, recordings, tmp_path, cut):
    data = (recordings / "cpu.jfr").read_bytes()
    joined = data + data[:int(len(data) * cut)]
    (tmp_path / "cut.jfr").write_bytes(joined)
    sparkprof("report", recordings / "cpu.jfr", "-e", "cpu", "-f", tmp_path / "one.collapsed")
    r = sparkprof("report", tmp_path / "cut.jfr", "-e", "cpu", "-f", tmp_path / "x.collapsed")
    assert r.returncode == 0 and "cut.jfr" in r.stderr, r.stderr
    assert total(tmp_path / "x.collapsed") >= total(tmp_path / "one.collapsed")


def test_what_has_no_end_is_not_waited_for(sparkprof):
    for device in ("/dev/zero", "/dev/full"):
        r = sparkprof("report", device)
        assert r.returncode != 0 and f"{device}: is a device" in r.stderr, r.stderr
    pipe = subprocess.Popen([SPARKPROF, "report", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    pipe.stdin.write(b"a;b 1\n")
    pipe.stdin.flush()
    pipe.terminate()
    assert pipe.wait(100) == -signal.SIGTERM
    pipe.stdin.close()
    pipe.stderr.close()


@pytest.mark.parametrize("header", [False, True])
def test_memory_does_not_grow_with_a_sparse_file(recordings, tmp_path, header):
    """Nothing but a hole behind a recording, and behind a header that has it for its chunk."""
    data = bytearray((recordings / "wall.jfr").read_bytes())
    if header:
        data = data[:68]
        data[8:16] = (3 << 30).to_bytes(8, "big")
    (tmp_path / "x.jfr").write_bytes(data)
    os.truncate(tmp_path / "x.jfr", 3 << 30)
    small = ("import resource, subprocess, sys; r = subprocess.call(sys.argv[1:]); "
             "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(r)")  # it has the starter's peak for its own
    r = subprocess.run([sys.executable, "-c", small, SPARKPROF, "report", tmp_path / "x.jfr"], capture_output=True, text=True)
    assert r.returncode == (1 if header else 0) and "offset" in r.stdout + r.stderr, r.stdout + r.stderr
    assert header or "Hot methods" in r.stdout
    assert int(r.stdout.split()[-1]) < 64 << 10, r.stdout[-100:]  # KiB


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


@pytest.mark.long  # what lies in the middle of a recording of another profiler differs from run to run: not always an event
def test_damage_is_told_with_its_place_and_what_was_readable(sparkprof, recordings, tmp_path):
    data = bytearray((recordings / "cpu.jfr").read_bytes() * 3)
    place = len(data) // 2  # in the second of three chunks
    data[place:place + 64] = b"\xff" * 64
    (tmp_path / "bad.jfr").write_bytes(data)
    r = sparkprof("report", tmp_path / "bad.jfr", "-e", "cpu", "-f", tmp_path / "x.collapsed")
    said = re.search(r"bad.jfr: .* at offset (\d+) cannot be read; the rest is shown: (\d+) events of (\d+) chunks", r.stderr)
    assert r.returncode == 0 and said, r.stderr
    assert len(data) // 3 <= int(said[1]) < place + 64 and int(said[3]) == 3  # the event that was hit, or the first inside
    sparkprof("report", recordings / "cpu.jfr", "-e", "cpu", "-f", tmp_path / "one.collapsed")
    one = total(tmp_path / "one.collapsed")
    assert 2 * one <= total(tmp_path / "x.collapsed") <= 3 * one and int(said[2]) >= 2 * one


def test_a_directory_counts_a_run_once(sparkprof, recordings, tmp_path):
    """What collect wrote of one run, side by side; files that are named are all read."""
    d = tmp_path / "in"
    d.mkdir()
    shutil.copy(recordings / "wall.jfr", d / "w.jfr")
    derived = [d / "w.collapsed", d / "w.pb.gz"]
    assert sparkprof("report", d, "-f", derived[0], "-f", derived[1]).returncode == 0
    once = total(derived[0])
    r = sparkprof("report", d, "-f", tmp_path / "x.collapsed", "-f", tmp_path / "x.txt")
    assert r.returncode == 0 and total(tmp_path / "x.collapsed") == once and "2 files of other formats left out" in r.stderr, r.stderr
    assert f"{once:,}" in (tmp_path / "x.txt").read_text()
    r = sparkprof("report", d, derived[1], "-f", tmp_path / "x.collapsed")
    assert r.returncode == 0 and total(tmp_path / "x.collapsed") == 2 * once
    (d / "w.jfr").unlink()
    r = sparkprof("report", d, "-f", tmp_path / "x.txt")
    assert r.returncode == 0 and "left out" not in r.stderr
    assert re.search(rf"Samples +{2 * once:,}\b", (tmp_path / "x.txt").read_text())


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


def test_names_of_outputs_and_odd_directories(sparkprof, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.collapsed").write_text("main;f 1\n")
    r = sparkprof("report", tmp_path / "in", "-f", tmp_path / "%t-%{WHO}.collapsed", env={"WHO": "me/../you"})
    made = [p.name for p in tmp_path.glob("*.collapsed")]
    assert r.returncode == 0 and len(made) == 1 and re.fullmatch(r"\d{8}-\d{6}-me_.._you\.collapsed", made[0]), (r.stderr, made)
    assert r.stderr.startswith("sparkprof: 1 sample, ") or "1 sample, " in r.stderr
    r = sparkprof("report", tmp_path / "in", "-f", tmp_path / "%p.txt")
    assert r.returncode == 2 and "%p needs a target" in r.stderr
    # what is no recording is left alone; what is none in spite of its name is said
    (tmp_path / "in/sub.jfr").mkdir()
    (tmp_path / "in/empty.jfr").write_bytes(b"")
    (tmp_path / "in/noise.jfr").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "in/.hidden.jfr").write_bytes(b"x")
    (tmp_path / "in/notes.md").write_text("f 3\n")
    os.mkfifo(tmp_path / "in/pipe.jfr")
    r = sparkprof("report", tmp_path / "in", "-o", "collapsed")
    assert r.returncode == 0 and r.stdout == "main;f 1\n"
    assert "empty.jfr" in r.stderr and "noise.jfr" in r.stderr and "hidden" not in r.stderr
    (tmp_path / "none").mkdir()
    (tmp_path / "none/only.jfr").mkdir()
    r = sparkprof("report", tmp_path / "none")
    assert r.returncode == 1 and "no recording in it" in r.stderr


def test_directories_of_applications(sparkprof, tmp_path):
    """What file=DIR/ leaves: one application is read, several are named, the latest first."""
    for i in (1, 2, 3, 4, 5, 10):
        app = tmp_path / f"all/application_1_{i:04}"
        app.mkdir(parents=True)
        (app / "profile-exec-1.collapsed").write_text(f"main;f{i} 1\n")
    (tmp_path / "all/application_1_0011").mkdir()
    (tmp_path / "all/application_1_0011/x.jfr").mkdir()
    (tmp_path / "all/application_1_0011/notes.txt").write_text("x\n")
    r = sparkprof("report", tmp_path / "all", "-o", "collapsed")
    assert r.returncode == 1 and r.stdout == "", r.stderr
    names = [f"application_1_{i}" for i in ("0010", "0005", "0004", "0003")]
    assert f"{tmp_path}/all: the recordings are in directories of it: {', '.join(names)} and 2 more; give those" in r.stderr, r.stderr
    r = sparkprof("report", tmp_path / "all/application_1_0002", tmp_path / "all/application_1_0010", "-o", "collapsed")
    assert r.returncode == 0 and r.stdout == "main;f10 1\nmain;f2 1\n", r.stderr
    (tmp_path / "one/.old").mkdir(parents=True)
    (tmp_path / "one/.old/x.collapsed").write_text("main;old 1\n")
    (tmp_path / "one/app").symlink_to(tmp_path / "all/application_1_0002")
    r = sparkprof("report", tmp_path / "one", "-o", "collapsed")
    assert r.returncode == 0 and r.stdout == "main;f2 1\n", r.stderr


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


def test_inputs_that_are_none_are_refused(sparkprof, recordings, tmp_path):
    """Sources and logs have lines that end in a number; a bomb unpacks to anything."""
    source = tmp_path / "job.py"
    source.write_text("import sys\n\nrows = 100\nfor i in range(rows):\n    print(i)\nx = 5\n")
    r = sparkprof("report", source)
    assert r.returncode != 0 and r.stdout == "" and str(source) in r.stderr, r.stderr
    bomb = tmp_path / "bomb.collapsed.gz"
    with gzip.open(bomb, "wb", compresslevel=9) as f:
        for _ in range(1100):
            f.write(b"a;b 1\n" * (1 << 20 >> 3))
            f.write(b"\n" * (1 << 18))
    r = sparkprof("report", bomb)
    assert r.returncode != 0 and "times its size" in r.stderr, r.stderr


def test_a_file_given_twice_counts_once(sparkprof, recordings, tmp_path):
    (tmp_path / "link.jfr").symlink_to(recordings / "wall.jfr")
    once = sparkprof("report", recordings / "wall.jfr", "-o", "collapsed", "-f", "-")
    twice = sparkprof("report", recordings / "wall.jfr", recordings / "wall.jfr", tmp_path / "link.jfr", tmp_path, "-o", "collapsed", "-f", "-")
    assert twice.returncode == 0 and twice.stdout == once.stdout and twice.stderr.count("given twice") == 2, twice.stderr


def test_many_files_are_each_asked_for_a_few_times(tmp_path):
    """Where each piece is a file, an application leaves tens of thousands: what is asked of the system grows as they do."""
    there, log, n = tmp_path / "pieces", tmp_path / "calls", 300
    there.mkdir()
    for i in range(n):
        (there / f"{i}.collapsed").write_text("a;b 1\n")
    for given in ([there], list(there.iterdir())):
        subprocess.run(["strace", "-f", "-o", log, "-e", "trace=%file", SPARKPROF, "report", "-q", *given, "-f", tmp_path / "x.txt"], check=True)
        assert n <= log.read_text().count(f'"{there}/') < 10 * n


def test_a_full_disk_is_told_of_the_output(recordings):
    before = sorted(os.listdir("/dev"))
    for args in (["-o", "jfr", "-f", "-"], ["-o", "jfr", "-f", "/dev/full"]):
        with open("/dev/full", "w") as full:
            r = subprocess.run([SPARKPROF, "report", recordings / "wall.jfr", *args], stdout=full, stderr=subprocess.PIPE, text=True)
        assert r.returncode != 0 and "No space left" in r.stderr and "wall.jfr" not in r.stderr, r.stderr
    assert sorted(os.listdir("/dev")) == before


def test_long_reading_tells_a_terminal_how_far_it_is(tmp_path):
    """Also where each file is one chunk."""
    one = tmp_path / "one.jfr"
    subprocess.run([native.jfr_long(), one, "300", "64", "8", "2000"], check=True)
    (tmp_path / "app").mkdir()
    for i in range(100):
        shutil.copy(one, tmp_path / f"app/{i}.jfr")
    ours, theirs = pty.openpty()
    with subprocess.Popen([SPARKPROF, "report", "-f", tmp_path / "x.collapsed", tmp_path / "app"], stderr=theirs) as p:
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while more := os.read(ours, 4096):
                said += more
    os.close(ours)
    assert p.returncode == 0
    done = [float(n) for n in re.findall(rb"\rreading ([0-9.]+) MB of [0-9.]+ MB", said)]
    whole = {float(n) for n in re.findall(rb" MB of ([0-9.]+) MB", said)}
    assert done and done == sorted(done) and len(whole) == 1 and done[-1] <= whole.pop(), said


def test_empty_files_of_killed_jvms_are_no_obstacle(sparkprof, recordings, tmp_path):
    """A driver that was killed between its file's name and its first piece; what all others left is reported, also as one recording."""
    for name in ("profile-driver.jfr", "profile-exec-1.jfr"):
        (tmp_path / "app" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "app" / name).touch()
    r = sparkprof("report", tmp_path / "app")
    assert r.returncode == 1 and r.stdout == "" and "app: profile-driver.jfr and 1 more: empty: killed before anything was in them" in r.stderr, r.stderr
    shutil.copy(recordings / "cpu.jfr", tmp_path / "app/profile-exec-2.jfr")
    alone = sparkprof("report", recordings / "cpu.jfr", "-o", "collapsed")
    for words in (["-o", "collapsed"], ["-f", tmp_path / "merged.jfr"]):
        r = sparkprof("report", tmp_path / "app", *words)
        assert r.returncode == 0 and r.stderr.count(": empty: ") == 1, r.stderr
        assert r.stdout in (alone.stdout, ""), words
    assert sparkprof("report", tmp_path / "merged.jfr", "-o", "collapsed").stdout == alone.stdout
