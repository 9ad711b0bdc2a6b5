"""Secrets in a target's command line: in no output of ours, unless they are asked for."""
import json
import subprocess

import pytest

from kit import parts, recording
from kit.traces import wait_until

SECRET, OTHER = "hunter2-Zq9", "tiger3-Xw8"  # the JDK records command lines of other processes, too
JVM = [f"-Dspark.password={SECRET} with blanks-{SECRET}", f"-Dspark.hadoop.fs.s3a.access.key=K{SECRET}",
       f'-Djaas=LoginModule required password="{SECRET} x";', "-Dspark.kerberos.keytab=/etc/x.keytab"]
ARGS = ["--password", SECRET, f"--api-token={SECRET}", f"jdbc:x://joe:{SECRET}@db:1/x", "--executor-id", "7", f'{{"token": "{SECRET}"}}',
        f"jdbc:oracle:thin:joe/{SECRET}@db:1:x"]
REDACTED = "*********(redacted)"


@pytest.fixture(scope="module")
def busy():
    from kit import jvm
    t = jvm.Target("Idle", *ARGS, jvm=JVM)
    yield t
    t.close()


def jvm_information(path):
    r = subprocess.run([parts.jdk(17) / "bin/jfr", "print", "--json", "--events", "jdk.JVMInformation", path],
                       capture_output=True, text=True, check=True)
    return json.loads(r.stdout)["recording"]["events"][0]["values"]


def test_no_output_holds_them(busy, sparkprof, tmp_path):
    names = ["x.jfr", "x.html", "x.svg", "x.txt", "x.collapsed", "x.json", "x.csv", "x.pb", "x.speedscope.json", "x.md"]
    r = sparkprof("-e", "wall", "-d", "300ms", "-i", "1ms", "--driver-ui", f"http://joe:{SECRET}@127.0.0.1:1",
                  *(a for n in names for a in ("-f", tmp_path / n)), busy.pid)
    assert r.returncode == 0, r.stderr
    assert SECRET not in r.stderr
    for n in names:
        assert SECRET.encode() not in (tmp_path / n).read_bytes(), n
    info = jvm_information(tmp_path / "x.jfr")
    assert f"-Dspark.password={REDACTED} " in info["jvmArguments"]
    assert f"-Djaas=LoginModule required password={REDACTED}" in info["jvmArguments"]
    assert "-Dspark.kerberos.keytab=/etc/x.keytab" in info["jvmArguments"]
    assert (f"--password {REDACTED} --api-token={REDACTED} jdbc:x://joe:{REDACTED}@db:1/x --executor-id 7 "
            f"{{\"token\": {REDACTED} jdbc:oracle:thin:joe/{REDACTED}@db:1:x") in info["javaArguments"]
    assert (tmp_path / "x.jfr").stat().st_mode & 0o777 == 0o600
    for call in (["ps"], ["ps", "--json"], ["status", busy.pid], ["list", busy.pid], ["stack", busy.pid]):
        r = sparkprof(*call)
        assert r.returncode == 0 and SECRET not in r.stdout + r.stderr, call


def test_they_stay_where_they_are_asked_for_and_go_when_it_is_passed_on(busy, sparkprof, tmp_path):
    r = sparkprof("-e", "wall", "-d", "200ms", "-i", "1ms", "--no-redact", "-f", tmp_path / "x.jfr", busy.pid)
    assert r.returncode == 0, r.stderr
    info = jvm_information(tmp_path / "x.jfr")
    assert JVM[0] in info["jvmArguments"] and f"--password {SECRET}" in info["javaArguments"]
    assert sparkprof("report", tmp_path / "x.jfr", "--no-redact", "-f", tmp_path / "same.jfr").returncode == 0
    assert jvm_information(tmp_path / "same.jfr")["javaArguments"] == info["javaArguments"]
    assert sparkprof("report", tmp_path / "x.jfr", "-f", tmp_path / "safe.jfr").returncode == 0
    assert f"--password {REDACTED}" in jvm_information(tmp_path / "safe.jfr")["javaArguments"]
    assert f"--password {SECRET}".encode() not in (tmp_path / "safe.jfr").read_bytes()


def test_where_a_recording_goes(sparkprof, target, tmp_path):
    """Keys of a bucket stand in addresses like these."""
    t = target("Idle", cwd=tmp_path, jvm=[f"-agentpath:{recording.AGENT}=start,event=wall,file=s3a://AK:{SECRET}@bucket/x.jfr"])
    wait_until(lambda: "recording wall" in sparkprof("status", t.pid).stdout)
    for form in ([], ["--json"]):
        r = sparkprof("status", *form, t.pid)
        assert r.returncode == 0 and SECRET not in r.stdout + r.stderr, r
    assert f"s3a://AK:{REDACTED}@bucket/x.jfr" in r.stdout
    assert SECRET not in t.stdout() + t.stderr()


def test_a_recording_of_the_jdk_is_redacted(sparkprof, tmp_path, target):
    """It holds all system properties and the environment, too."""
    t = target("Idle", "--token", OTHER, jvm=[f"-Dmy.secret={OTHER}", f"-XX:StartFlightRecording=filename={tmp_path}/jdk.jfr"],
               env={"DB_PASSWORD": OTHER, "PATH": "/usr/bin:/bin", "HARMLESS": "kept"})
    subprocess.run([parts.jdk(17) / "bin/jcmd", str(t.pid), "JFR.dump", f"filename={tmp_path}/jdk.jfr"], check=True, capture_output=True)
    before = (tmp_path / "jdk.jfr").read_bytes()
    assert before.count(OTHER.encode()) >= 3
    r = sparkprof("report", tmp_path / "jdk.jfr", "-f", tmp_path / "safe.jfr")
    assert r.returncode == 0, r.stderr
    assert OTHER.encode() not in (tmp_path / "safe.jfr").read_bytes()

    def events(name):
        r = subprocess.run([parts.jdk(17) / "bin/jfr", "summary", tmp_path / name], capture_output=True, text=True, check=True)
        return {w[0]: w[1] for w in (line.split() for line in r.stdout.splitlines()) if len(w) == 3 and w[0].startswith("jdk.")
                and w[0] not in ("jdk.Metadata", "jdk.CheckPoint")}
    assert events("safe.jfr") == events("jdk.jfr")
    r = subprocess.run([parts.jdk(17) / "bin/jfr", "print", "--events", "InitialEnvironmentVariable,InitialSystemProperty",
                        tmp_path / "safe.jfr"], capture_output=True, text=True, check=True)
    assert 'value = "kept"' in r.stdout and f'value = "{REDACTED}"' in r.stdout
