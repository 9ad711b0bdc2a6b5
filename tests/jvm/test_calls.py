"""-e Class.method and --trace: every call, on every JDK; the program computes what it computes, and its classes are what they
were afterwards."""
import collections
import os
import pathlib
import re
import subprocess
import time
import zipfile

import pytest
from kit import jvm, parts, peers
from kit.recording import Recording
from kit.traces import wait_until

QUIET = ["-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading"]
FUZZ = pathlib.Path(os.environ.get("SPARKPROF_FUZZ_CLASSES", parts.ROOT / "build/dev/tests/fuzz/fuzz-classes"))


def stacks(sparkprof, file, event, *more):
    r = sparkprof("report", "-e", event, *more, "-o", "collapsed", file)
    assert r.returncode == 0, r.stderr
    return [(s.split(";"), int(n)) for s, n in (line.rsplit(" ", 1) for line in r.stdout.splitlines())]


def calls(found, method):
    return sum(n for s, n in found if s[-1] == method)


def rounds(t, n):
    """What it computed, and the microseconds of what it timed."""
    before = len(t.stdout())
    t.send(str(n))
    while "done\n" not in t.stdout()[before:]:
        assert t.alive()
        time.sleep(0.01)
    sums = re.findall(r"sum (-?\d+)\ntook (\d+)", t.stdout()[before:])
    return int(sums[0][0]), int(sums[0][1])


@pytest.mark.parametrize("jdk", jvm.every())
def test_every_call_and_its_time(sparkprof, target, tmp_path, jdk):
    # Classes of the boot loader are verified as well, and so is what is asked of JNI.
    t = target("Calls", jdk=jdk, jvm=["-Xcheck:jni", "-XX:+UnlockDiagnosticVMOptions", "-XX:+BytecodeVerificationLocal", *QUIET])
    before = t.stderr()
    r = sparkprof("start", "-f", tmp_path / "x.jfr", "-e", "Calls.counted", "-e", "Calls.*ed", "-e", "Calls.<init>", "-e", "Calls$Later.a*",
                  "-e", "java.util.HashMap.remove", "-e", "Calls.mixed", "--trace", "Calls.timed*", "--trace", "Calls.rec*",
                  "--trace", "Calls.*", t.pid)
    assert r.returncode == 0, r.stderr
    computed, took = rounds(t, 25)
    r = sparkprof("stop", t.pid)
    assert r.returncode == 0, r.stderr
    assert computed == rounds(t, 25)[0]  # with classes that are what they were
    found = stacks(sparkprof, tmp_path / "x.jfr", "calls", "--total")
    for method, n in {"Calls.counted": 25, "Calls.locked": 25, "Calls.switched": 25, "Calls.mixed": 25, "Calls.<init>": 51,
                      "Calls$Later.area": 25}.items():
        assert calls(found, method) == n, (method, found)
    assert sum(n for s, n in found if s[-2:] == ["Calls.thrown", "java/util/HashMap.remove"]) == 25
    assert all(s[-2] == "Calls.sum" for s, _ in found if s[-1] == "Calls.counted")
    assert not [s for s, _ in found if "sparkprof" in " ".join(s)]
    times = stacks(sparkprof, tmp_path / "x.jfr", "trace", "--total")
    assert 50_000 <= calls(times, "Calls.timedLong") / 1000 <= took
    told = stacks(sparkprof, tmp_path / "x.jfr", "trace")
    assert calls(told, "Calls.timedLong") == calls(told, "Calls.timedShort") == 10
    # also who leaves by throwing
    assert calls(told, "Calls.thrown") == 25 and calls(told, "Calls.recurse") == sum(i % 5 + 1 for i in range(25) if i % 3)
    assert not [s for s, _ in told if "sparkprof" in " ".join(s)]
    assert t.stdout().startswith("ready\nsum ") and "arning" not in t.stdout() and t.stderr() == before


@pytest.mark.parametrize("jdk", [11, 25])
def test_one_of_several_with_a_name(sparkprof, target, tmp_path, jdk):
    """By the types of its parameters, with the type that it returns or without."""
    t = target("Calls", jdk=jdk, jvm=QUIET)
    r = sparkprof("start", "-f", tmp_path / "x.jfr", "-e", "Calls$Over.over(Ljava/lang/String;)J,Calls$Over.over([[JLCalls$Over;)", "-e", "Calls$Over.over()V",
                  "--trace", "Calls$Over.over(I[Ljava/lang/String;)J", "--trace", "*.over([[JLCalls$Over;):1h", t.pid)
    assert r.returncode == 0, r.stderr
    rounds(t, 21)
    r = sparkprof("stop", t.pid)
    assert r.returncode == 1 and "Calls$Over.over()V: no class with such a method" in " ".join(r.stderr.split()), r.stderr
    found = dict.fromkeys(["(Ljava/lang/String;)J", "([[JLCalls$Over;)J"], 0)
    for s, n in stacks(sparkprof, tmp_path / "x.jfr", "calls", "--sig"):
        found[s[-1].replace("Calls$Over.over", "").replace("|", ";")] += n
    assert found == {"(Ljava/lang/String;)J": 42, "([[JLCalls$Over;)J": 21}
    told = stacks(sparkprof, tmp_path / "x.jfr", "trace", "--sig")
    assert {s[-1] for s, _ in told} == {"Calls$Over.over(I[Ljava/lang/String|)J"} and sum(n for _, n in told) == 21, told


def test_types_that_are_none(sparkprof, tmp_path):
    for event in ["Calls.over(", "Calls.over(X)", "Calls.over(Ljava/lang/String)V", "Calls.over(I)W", "Calls.over(java.lang.String)"]:
        r = sparkprof("-e", event, "-d", "1", "1")
        assert r.returncode == 2 and "is not a Java method; write" in r.stderr, r.stderr


def test_what_is_left_out_is_named(sparkprof, target, tmp_path):
    t = target("Calls")
    r = sparkprof("start", "-f", tmp_path / "x.jfr", "-e", "Calls.without", "-e", "Calls$Shape.area", "-e", "Calls$Hidden.area",
                  "-e", "Calls.counted", "-i", "7", t.pid)
    assert r.returncode == 0, r.stderr
    assert "Calls.without has no Java code" in r.stderr
    t.send("hidden")
    t.wait_for("hidden 9")
    rounds(t, 70)
    assert sparkprof("stop", t.pid).returncode == 0
    assert [n for _, n in stacks(sparkprof, tmp_path / "x.jfr", "calls", "--total")] == [70]  # ten of them were told
    notes = " ".join(sparkprof("report", tmp_path / "x.jfr").stdout.split())
    assert "Calls$Hidden has a class loader that hides sparkprof.Calls" in notes and "Calls$Shape.area has no Java code" in notes


def test_a_method_that_no_class_has(sparkprof, target, tmp_path):
    """Said at the end, when none has come; the rest of the recording stands."""
    t = target("Calls")
    r = sparkprof("-e", "Nobody.knows", "-d", "100ms", "-f", tmp_path / "y.jfr", t.pid)
    assert r.returncode == 1 and "no class that is loaded so far" in r.stderr
    assert "Nobody.knows: no class with such a method was loaded" in " ".join(r.stderr.split())
    # A class that comes later, one that has no such method, and a name that another one covers as well.
    sparkprof("start", "-f", tmp_path / "x.jfr", "-e", "Calls$Later.area", "-e", "Calls$L*.area", "--trace", "Calls.nothing", t.pid)
    rounds(t, 3)
    r = sparkprof("stop", "-f", tmp_path / "x.collapsed", t.pid)
    assert r.returncode == 1 and " Calls.nothing: no class" in " ".join(r.stderr.split()) and "Later" not in r.stderr
    assert "Calls$Later.area" in (tmp_path / "x.collapsed").read_text()


def test_a_class_that_fails_verification_stays_and_is_named(sparkprof, target, tmp_path):
    """Another agent hands us a class that does not verify; ours makes it no better, and the JVM refuses the whole of it."""
    with zipfile.ZipFile(tmp_path / "spoiler.jar", "w") as z:
        z.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nPremain-Class: Spoiler\nCan-Retransform-Classes: true\n")
        z.write(jvm.compiled() / "Spoiler.class", "Spoiler.class")
    t = target("Calls", jvm=[f"-javaagent:{tmp_path}/spoiler.jar"])
    computed, _ = rounds(t, 20)
    r = sparkprof("start", "-f", tmp_path / "x.jfr", "-e", "Calls.counted", "-e", "Calls$Later.area", t.pid)
    assert r.returncode == 0, r.stderr
    assert "Calls$Later is rejected by the JVM (JVMTI_ERROR_FAILS_VERIFICATION)" in " ".join(r.stderr.split())
    assert rounds(t, 20)[0] == computed
    assert sparkprof("stop", t.pid).returncode == 0
    found = stacks(sparkprof, tmp_path / "x.jfr", "calls", "--total")
    assert calls(found, "Calls.counted") == 20 and calls(found, "Calls$Later.area") == 0
    assert rounds(t, 20)[0] == computed and t.stderr() == ""


def test_everything_that_a_jvm_has(sparkprof, target, tmp_path):
    """Hundreds of classes, those of the JVM's own start among them; the JVM goes on."""
    t = target("Calls", jvm=["-Xcheck:jni", "-XX:+UnlockDiagnosticVMOptions", "-XX:+BytecodeVerificationLocal"])
    computed, _ = rounds(t, 20)
    r = sparkprof("start", "-e", "*.*", "--trace", "*.*:1ms", "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 0 and "VERIF" not in r.stderr, r.stderr
    assert rounds(t, 20)[0] == computed
    assert sparkprof("stop", t.pid).returncode == 0
    assert rounds(t, 20)[0] == computed and t.stderr() == ""
    told = stacks(sparkprof, tmp_path / "x.jfr", "trace")
    lost = sum(n for stack, n in told if stack[0].startswith("[lost: "))  # so many calls at once fill the ring
    assert 10 - lost <= calls(told, "Calls.timedLong") <= 10


def test_only_calls_that_take_long(sparkprof, target, tmp_path):
    t = target("Calls")
    assert sparkprof("start", "-f", tmp_path / "x.jfr", "--trace", "Calls.timedLong:3ms", "--trace", "Calls.timedShort:10s", t.pid).returncode == 0
    rounds(t, 5)
    assert sparkprof("stop", t.pid).returncode == 0
    told = stacks(sparkprof, tmp_path / "x.jfr", "trace")
    assert calls(told, "Calls.timedLong") == 10 and calls(told, "Calls.timedShort") == 0
    text = subprocess.run([parts.jdk(17) / "bin/jfr", "print", "--events", "jdk.MethodTrace", tmp_path / "x.jfr"], check=True,
                          capture_output=True, text=True).stdout
    assert text.count("method = Calls.timedLong()") == 10, text[:2000]


def hsdb(t, *commands):
    """The JDK's serviceability agent."""
    r = subprocess.run([parts.jdk(17) / "bin/jhsdb", "clhsdb", "--pid", str(t.pid)], input="\n".join([*commands, "quit\n"]),
                       capture_output=True, text=True)
    return r.stdout


def disassembled(t, tmp_path, address):
    """The class Calls as the JVM has it now. Constants stay in its pool, the JVM adds to that only."""
    (tmp_path / "Calls.class").unlink(missing_ok=True)
    hsdb(t, f"dumpclass {address} {tmp_path}")
    return subprocess.run([parts.jdk(17) / "bin/javap", "-c", "-p", tmp_path / "Calls.class"], capture_output=True, text=True).stdout


def test_rounds_leave_every_class_as_it_was(sparkprof, target, tmp_path):
    t = target("Calls")
    computed, _ = rounds(t, 20)
    for _ in range(20):
        r = sparkprof("-e", "Calls.*", "--trace", "Calls.*", "-d", "20ms", "-f", tmp_path / "x.jfr", t.pid)
        assert r.returncode == 0, r.stderr
    code = disassembled(t, tmp_path, re.search(r"^Calls @(0x\w+)", hsdb(t, "classes"), re.M)[1])
    assert "sparkprof" not in code and "ireturn" in code
    assert rounds(t, 20)[0] == computed
    wait_until(lambda: not [n for n in t.threads().values() if n.startswith("sparkprof")])


def test_too_many_classes(sparkprof, target, tmp_path):
    t = target("ManyClasses", 2500)
    r = sparkprof("-e", "*.*", "-d", "100ms", "-f", tmp_path / "y.jfr", t.pid)
    assert r.returncode != 0 and "use a narrower pattern" in r.stderr


def storm(sparkprof, t, file, *what):
    r = sparkprof(*what, "-d", 2, "-f", file, t.pid)
    assert r.returncode == 0, r.stderr
    return r.stderr


def test_a_storm_of_calls_is_thinned(sparkprof, target, tmp_path):
    t = target("Alloc", 600)
    said = storm(sparkprof, t, tmp_path / "x.jfr", "-e", "Alloc$Small.<init>", "--trace", "Alloc.ten")
    assert "calls: more than 5000 events a second" in said
    found = stacks(sparkprof, tmp_path / "x.jfr", "calls", "--total")
    times = stacks(sparkprof, tmp_path / "x.jfr", "trace")
    # 3,200 objects in a call of ten(). Each call is taken with a chance of 1 in w and then stands for w: the variance of the sum is that
    # of w^2 - w over what was taken. Six standard deviations, what the largest w may have missed, and a call at either end.
    weights = [int(re.search(r"\bcount = (\d+)", e)[1]) for e in Recording(tmp_path / "x.jfr").others["sparkprof.CallCount"] if "timed = 0" in e]
    expected, told = 3200 * calls(times, "Alloc.ten"), calls(found, "Alloc$Small.<init>")
    assert len(weights) > 100 and told == sum(weights)
    bound = 6 * sum(w * w - w for w in weights) ** 0.5 + 6 * max(weights) + 2 * 3200
    assert abs(told - expected) <= bound, (told, expected, bound, collections.Counter(weights))


def test_other_readers_show_each_recorded_call(sparkprof, target, tmp_path):
    """What one call is recorded for is of our own, and behind no field that async-profiler's converter reads by position."""
    t = target("Alloc", 600)
    file, out = tmp_path / "x.jfr", tmp_path / "x.txt"
    said = storm(sparkprof, t, file, "--trace", "Alloc$Small.<init>", "-e", "Alloc.ten", "-i", "3")
    assert "trace: more than 5000 events a second" in said  # most are recorded for more than one
    times, counts = stacks(sparkprof, file, "trace"), stacks(sparkprof, file, "calls")
    subprocess.run([*peers.converter(), "--trace", "-o", "collapsed", file, out], check=True, capture_output=True)
    theirs = [(re.sub(r"_\[.\]", "", s).split(";"), int(n)) for s, n in (line.rsplit(" ", 1) for line in out.read_text().splitlines())]
    assert calls(counts, "Alloc.ten") == 3 * calls(theirs, "Alloc.ten") > 0 == calls(times, "Alloc.ten")
    assert calls(times, "Alloc$Small.<init>") > calls(theirs, "Alloc$Small.<init>") > 0 == calls(counts, "Alloc$Small.<init>")
    text = subprocess.run([parts.jdk(17) / "bin/jfr", "summary", file], check=True, capture_output=True, text=True).stdout
    assert int(re.search(r"jdk.MethodTrace +(\d+)", text)[1]) == sum(n for _, n in theirs)


def verify(jar, keep, tmp_path):
    """Rewrites classes of a jar, all methods, and lets the JVM verify them."""
    with zipfile.ZipFile(jar) as z:
        names = [n for n in z.namelist() if n.endswith(".class") and "META-INF" not in n and keep(n) and "module-info" not in n]
        z.extractall(tmp_path / "classes", names)
    files = [tmp_path / "classes" / n for n in names]
    for i in range(0, len(files), 1000):
        r = subprocess.run([FUZZ, "rewrite", tmp_path, *files[i:i + 1000]], capture_output=True, text=True)
        assert r.returncode == 0, r.stderr
    java = [parts.jdk(17) / "bin/java", "-Xverify:all", "-cp", f"{os.path.dirname(jar)}/*:{jvm.compiled()}", "Link"]  # our own SparkEnv behind the real
    r = subprocess.run([*java, tmp_path / "classes"], capture_output=True, text=True)
    assert "refused" not in r.stdout, r.stdout
    return int(re.search(r"linked (\d+)", r.stdout)[1]), len(files)


def jars(name):
    found = sorted(parts.pyspark().glob(f"lib/python*/site-packages/pyspark/jars/{name}"))
    assert found, name
    return found


def test_the_jvm_verifies_what_was_rewritten(tmp_path):
    linked, files = verify(jars("scala-library*.jar")[0], lambda n: n.startswith("scala/collection/im"), tmp_path)
    assert linked > 0.9 * files > 200


@pytest.mark.long
@pytest.mark.parametrize("name", ["scala-library*", "spark-core*", "spark-catalyst*", "jackson-databind*", "netty-common*",
                                  "guava-*", "janino*", "hive-exec*", "log4j-core*", "kryo-shaded*"])
def test_the_jvm_verifies_whole_libraries(tmp_path, name):
    linked, files = verify(jars(name + ".jar")[0], lambda n: True, tmp_path)
    assert linked > 0.5 * files


def test_damaged_class_files(tmp_path):
    r = subprocess.run([FUZZ, "2", "7", *jvm.compiled().glob("*.class")], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr[-3000:]
    assert int(r.stdout.split()[0]) > 100
