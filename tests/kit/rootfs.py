"""Root file systems of other Debian releases, for containers, an old glibc and JDK 8. Made by mmdebstrap from the
archive that this machine's own apt uses, once, into $SPARKPROF_PARTS."""
import pathlib
import subprocess

from . import parts


def mirror():
    """The archive that apt is configured with here."""
    listed = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(COMPONENT) $(RELEASE)",
                             "Created-By: Packages"], check=True, capture_output=True, text=True).stdout
    for uri, component, release in (line.split() for line in listed.splitlines()):
        if component == "main" and release.isalpha():
            return uri.rstrip("/")
    raise OSError("apt has no Debian archive")


def debian(name, suite, packages, variant, arch="amd64"):
    """PARTS/name with these packages; "minbase" is a whole small system, "extract" only the unpacked files."""
    def make(tmp):
        parts.fetch(["mmdebstrap", "--quiet", f"--variant={variant}", f"--include={','.join(packages)}",
                        f"--arch={arch}", "--skip=check/qemu",
                        "--aptopt=Acquire::Check-Valid-Until \"false\"", suite, tmp, mirror()], stdout=subprocess.DEVNULL)
        finish(tmp)
    return parts._once(name, make)


def finish(root):
    """What unpacking alone leaves out, and what a container runtime wants to mount over in a read-only root."""
    for d in ("bin", "sbin", "lib", "lib64"):
        if not (root / d).exists() and (root / "usr" / d).is_dir():
            (root / d).symlink_to(f"usr/{d}")
    for d in ("proc", "sys", "dev", "run", "tmp", "classes", "work", "data", "jobs", "java"):
        (root / d).mkdir(exist_ok=True)
    for f in ("etc/hosts", "etc/resolv.conf", "etc/hostname", "run/.containerenv"):
        (root / f).parent.mkdir(exist_ok=True)
        (root / f).unlink(missing_ok=True)
        (root / f).touch()
    (root / "tmp").chmod(0o1777)
    (root / "work").chmod(0o1777)


def pod():
    """What an executor's image looks like: bookworm, a JRE without jcmd, Python, tini, a shell."""
    packages = ["openjdk-17-jre-headless", "procps", "python3", "tini"]
    return debian("rootfs-pod-python-bookworm", "bookworm", packages, "minbase")


def old_glibc():
    """glibc 2.31 with its own JDK 11."""
    return debian("rootfs-bullseye-jdk11", "bullseye", ["openjdk-11-jre-headless"], "extract")


def jdk8():
    return debian("rootfs-sid-jdk8", "sid", ["openjdk-8-jre-headless"], "extract")


def java(root):
    """The path of java inside such a root."""
    for pattern in ("usr/lib/jvm/java-[0-9]*-amd64/bin/java", "usr/lib/jvm/java-[0-9]*-amd64/jre/bin/java"):
        for p in sorted(pathlib.Path(root).glob(pattern)):
            return "/" + str(p.relative_to(root))
    raise FileNotFoundError(f"no java in {root}")
