"""Recordings made by async-profiler, and the readers of other projects that check what sparkprof writes."""
import os
import pathlib
import subprocess
import tarfile

from . import jvm, parts

JMC = ["org.openjdk.jmc:flightrecorder:9.1.2", "org.openjdk.jmc:common:9.1.2", "org.lz4:lz4-java:1.8.0"]


def recording(path, options, main="Mixture", *args, jdk=17):
    """A real recording of a Java target: options as async-profiler's agent takes them, "event=cpu,interval=1ms"."""
    cmd = [parts.jdk(jdk) / "bin/java", f"-agentpath:{parts.async_profiler()}=start,{options},file={path},jfr",
           "-cp", jvm.compiled(), main, *map(str, args)]
    subprocess.run(cmd, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return pathlib.Path(path)


def converter():
    return [str(parts.jdk(17) / "bin/java"), "-jar", str(parts.maven("tools.profiler:jfr-converter:4.5"))]


def pprof():
    """Google's pprof, built by go."""
    def make(tmp):
        env = dict(os.environ, GOPATH=str(tmp / "go"), GOBIN=str(tmp), GOFLAGS="-modcacherw")
        parts.fetch(["go", "install", "github.com/google/pprof@latest"], env=env, cwd=tmp)
        subprocess.run(["rm", "-rf", tmp / "go"], check=True)
    return parts._once("pprof", make) / "pprof"


def speedscope():
    """The npm package speedscope, unpacked."""
    def make(tmp):
        parts.fetch(["npm", "pack", "--silent", "speedscope@1.25.0"], cwd=tmp,
                       stdout=subprocess.DEVNULL)
        archive = next(tmp.glob("*.tgz"))
        with tarfile.open(archive) as t:
            t.extractall(tmp)
        archive.unlink()
    return parts._once("speedscope-1.25.0", make) / "package"
