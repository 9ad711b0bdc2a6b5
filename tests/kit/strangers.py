"""Processes that are not a HotSpot of 11 to 25 on x86-64 glibc: real ones where a registry has them (JDK 8, an aarch64
JVM under qemu, a native-image program), and look-alikes for what no registry here has (a JVM on musl, OpenJ9)."""
import pathlib
import platform
import shutil
import subprocess
import tarfile

import pytest

from . import container, jvm, parts, rootfs

SOURCE = parts.ROOT / "tests/jvm/native/fakejvm.c"
MUSL = "usr/{}/x86_64-linux-musl"


class Stranger(container.Boxed):
    """A process with a pipe as its standard input that is up as soon as it has said so, or runs at all."""

    def __init__(self, command, says="ready\n"):
        self._begin("sstr")
        self.proc = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=self.out, stderr=self.err)
        self.says = says
        self.pid = self.proc.pid
        try:
            self._wait_ready()
        except BaseException:
            self.close()
            raise

    def _wait_ready(self):
        self.wait_for(lambda: self.says in self.stdout() + self.stderr())

    def alive(self):
        return self.proc.poll() is None

    def close(self):
        if self.proc.poll() is None:
            self.proc.kill()
        self._end()


def jdk8():
    """Debian sid's real JDK 8, in a bubblewrap around its own libc; its classes are compiled for 8."""
    classes = parts.ROOT / "build/targets/jdk8/Idle.class"
    source = jvm.TARGETS / "Idle.java"
    parts.fresh(classes, [source], lambda: subprocess.run([parts.jdk(17) / "bin/javac", "--release", "8", "-nowarn", "-Xlint:-options", "-d",
                                                           classes.parent, source], check=True))
    return container.Bubble("Idle", root=rootfs.jdk8(), classes=classes.parent, options=("--unshare-pid",))


def arm64():
    return rootfs.debian("rootfs-arm64-jdk17", "bookworm", ["openjdk-17-jre-headless"], "extract", arch="arm64")


def qemu():
    def make(tmp):
        parts.fetch(["apt-get", "download", "-q", "qemu-user-static"], cwd=tmp, capture_output=True)
        subprocess.run(["dpkg", "-x", next(tmp.glob("*.deb")), tmp], check=True)
    return parts._once("qemu-user", make) / "usr/bin/qemu-aarch64-static"


def aarch64():
    """Debian's real JDK 17 for arm64, run by qemu's user emulation."""
    root = arm64()
    java = next(root.glob("usr/lib/jvm/java-17-*/bin/java"))
    return Stranger([qemu(), "-L", root, java, "-Xint", "-cp", jvm.compiled(), "Idle"])


def closure_compiler():
    def make(tmp):
        parts.fetch(["npm", "pack", "--silent", "google-closure-compiler-linux"], cwd=tmp,
                       stdout=subprocess.DEVNULL)
        with tarfile.open(next(tmp.glob("*.tgz"))) as t:
            t.extractall(tmp)
        (tmp / "package/compiler").chmod(0o755)
    return parts._once("native-image", make) / "package/compiler"


def native_image():
    """A real program that GraalVM's native-image made: npm's Closure Compiler, waiting for its input."""
    return Stranger([closure_compiler(), "--js", "-"], says="waiting for input")


def _compile(out, *flags):
    out.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-O1", "-o", out, *map(str, flags)], check=True)
    return out


def fake_openj9(tmp):
    """A glibc process called java that maps OpenJ9's libraries by name."""
    home = pathlib.Path(tmp) / "jdk"
    java = _compile(home / "bin/java", SOURCE, "-ldl")
    libs = [_compile(home / f"lib/{name}", "-shared", "-fPIC", "-x", "c", "/dev/null")
            for name in ("j9vm/libjvm.so", "default/libj9vm29.so", "default/libj9jit29.so")]
    return Stranger([java, *libs, "-Xshareclasses", "Main"])


def musl():
    return rootfs.debian("rootfs-musl", "bookworm", ["musl", "musl-dev"], "extract")


def fake_musl(tmp):
    """A process called java whose loader and libc are musl's, with a libjvm.so that needs musl's libc."""
    if platform.machine() != "x86_64":
        pytest.skip("the musl look-alike is built for x86-64")
    root = musl()
    lib = root / MUSL.format("lib")
    flags = ["-nostdinc", "-isystem", root / MUSL.format("include"), "-nostdlib", "-fno-stack-protector"]
    home = pathlib.Path(tmp) / "jdk"
    libc = pathlib.Path(tmp) / "ld-musl-x86_64.so.1"
    shutil.copy(root / "lib/x86_64-linux-musl/libc.so", libc)
    java = _compile(home / "bin/java", *flags, lib / "Scrt1.o", lib / "crti.o", SOURCE, libc, lib / "crtn.o", "-pie",
                    "-fPIE", f"-Wl,-dynamic-linker,{libc}")
    so = _compile(home / "lib/server/libjvm.so", *flags, "-shared", "-fPIC", "-x", "c", "/dev/null", "-x", "none",
                  "-Wl,--no-as-needed", libc)
    return Stranger([java, so, "Main"])
