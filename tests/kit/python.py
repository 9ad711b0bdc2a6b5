"""CPythons of this machine, and processes of theirs that wait or work."""
import gzip
import os
import pathlib
import shutil
import subprocess
import time
import zipfile

from . import native, parts, rootfs

TARGETS = parts.ROOT / "tests/python/targets"
READER = [*sorted((native.SRC / "py").glob("*.c")), *(native.SRC / f for f in ("base/buf.c", "base/err.c"))]


def sid():
    """Debian's newest: 3.14, in a root of its own."""
    return rootfs.debian("rootfs-sid-python314", "sid", ["python3.14", "libpython3.14-dev", "libpython3.14"], "extract")


def installed():
    """version → command, of pyenv and Debian; pyenv's are shared libraries, Debian's are one stripped program."""
    found = {}
    for python in parts.pyenv("3.*/bin/python3.*[0-9]"):
        minor = int(python.name.split(".")[1])
        if minor >= 8:
            found[f"3.{minor}"] = [str(python)]
    found["debian"] = ["/usr/bin/python3"]
    return found


STANDALONE = {"3.10": "3.10.16-20241219-1", "3.11": "3.11.11-20241219-1", "3.14": "3.14.6-20260610-1"}


def standalone(version):
    """What uv installs (python-build-standalone: clang, LTO, no distribution's): a Go module carries it, each file packed."""
    def make(tmp):
        env = {**os.environ, "GOPATH": str(tmp / "go"), "GOFLAGS": "-modcacherw"}
        parts.fetch(["go", "mod", "download", f"github.com/kluctl/go-embed-python@v0.0.0-{STANDALONE[version]}"], cwd=tmp, env=env, capture_output=True)
        files = next(tmp.glob("go/pkg/mod/github.com/kluctl/go-embed-python@*")) / "python/internal/data/linux-amd64"
        for packed in files.rglob("*"):
            if packed.is_file():
                out = tmp / packed.relative_to(files)
                out.parent.mkdir(parents=True, exist_ok=True)
                data = packed.read_bytes()
                out.with_name(out.name.removesuffix(".gz")).write_bytes(gzip.decompress(data) if packed.suffix == ".gz" else data)
        (tmp / f"bin/python{version}").chmod(0o755)
        shutil.rmtree(tmp / "go")
    return [str(parts._once(f"python-standalone-{version}", make) / f"bin/python{version}")]


MUSL_START = """def init():
    pass


def run(*_):
    import sys
    sys.argv = sys.argv[1:]
    exec(compile(open(sys.argv[0]).read(), sys.argv[0], "exec"), {"__name__": "__main__", "__file__": sys.argv[0]})
"""


def musl_parts():
    """A 3.11 linked with musl, in one program: what cx_Freeze puts before frozen programs, with the library of another 3.11 and
    Debian's musl."""
    def make(tmp):
        parts.fetch(["python3", "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--platform", "musllinux_1_1_x86_64",
                        "--python-version", "311", "-d", tmp, "cx_Freeze==6.15.16"], capture_output=True)
        with zipfile.ZipFile(next(tmp.glob("*.whl"))) as wheel:
            wheel.extractall(tmp / "wheel")
        parts.fetch(["apt-get", "download", "-q", "musl"], cwd=tmp, capture_output=True)
        subprocess.run(["dpkg", "-x", next(tmp.glob("*.deb")), tmp / "musl"], check=True)
        bases = tmp / "wheel/cx_Freeze/bases"
        library = subprocess.run(["/usr/bin/python3.11", "-c", "import os; print(os.__file__)"], capture_output=True, text=True, check=True)
        shutil.copytree(pathlib.Path(library.stdout.strip()).parent, tmp / "lib", ignore=shutil.ignore_patterns("lib-dynload", "test", "*-packages"))
        for module in (bases / "lib-dynload").glob("*.so"):
            shutil.copy(module, tmp / "lib")
        (tmp / "lib/__startup__.py").write_text(MUSL_START)
        shutil.copy(bases / "console-cpython-311-x86_64-linux-musl", tmp / "python")
    return parts._once("python-musl-3.11", make)


def musl():
    """Its command. The loader is named by a path that is as long as there is room for."""
    made = musl_parts()
    old, new = b"/lib/ld-musl-x86_64.so.1\0", f"/tmp/.musl-{os.getpid()}".encode()
    program = pathlib.Path(f"/tmp/.musl-{os.getpid()}.d/python")
    program.parent.mkdir(exist_ok=True)
    program.write_bytes((made / "python").read_bytes().replace(old, new.ljust(len(old), b"\0")))
    program.chmod(0o755)
    for link, to in ((pathlib.Path(new.decode()), made / "musl/lib/x86_64-linux-musl/libc.so"), (program.parent / "lib", made / "lib")):
        link.unlink(missing_ok=True)
        link.symlink_to(to)
    return ["env", f"LD_LIBRARY_PATH={made}/wheel/cx_Freeze/bases/lib", str(program)]


def forget_musl():
    pathlib.Path(f"/tmp/.musl-{os.getpid()}").unlink(missing_ok=True)
    shutil.rmtree(f"/tmp/.musl-{os.getpid()}.d", ignore_errors=True)


class Process:
    """A Python that printed "ready"."""

    def __init__(self, python, script, *args, root=None, cwd=None):
        self.out = open(os.memfd_create("stdout"), "w+b", buffering=0)
        script = pathlib.Path(script)
        if root:  # the script goes in by a place that the root has
            parts.needs_root("call chroot")
            inside = pathlib.Path(root, "tmp", f"{os.getpid()}-{script.name}")
            inside.write_bytes(script.read_bytes())
            command = ["chroot", str(root), *python, f"/tmp/{inside.name}", *args]
        else:
            command = [*python, str(script), *args]
        self.proc = subprocess.Popen(command, stdout=self.out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=cwd)
        self.pid = self.proc.pid
        end = time.monotonic() + 300
        while b"ready" not in self.stdout():
            assert self.proc.poll() is None and time.monotonic() < end, self.stdout()
            time.sleep(0.01)

    def stdout(self):
        return os.pread(self.out.fileno(), 1 << 20, 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.proc.kill()
        self.proc.wait()


def pymem_record():
    """Writes what the reader reads of a process: how tests/data/py was made."""
    return native.program("pymem_record", READER, "-lelf")


def is_sampled(jvm):
    """Whether the agent in a JVM samples Python: it has a thread for that."""
    for thread in pathlib.Path(f"/proc/{jvm}/task").iterdir():
        try:
            if (thread / "comm").read_text() == "sparkprof-py\n":
                return True
        except OSError:
            pass  # it has ended
    return False
