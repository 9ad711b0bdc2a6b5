"""Small C programs that tests run, compiled once from the tree's own sources."""
import subprocess

from . import parts

SRC = parts.ROOT / "src"
JFR_WRITE = [SRC / f for f in ("jfr/file.c", "jfr/meta.c", "jfr/pools.c", "jfr/jfr_sink.c", "jfr/types.c", "jfr/writer.c",
                               "dict/dict.c", "base/arena.c", "base/buf.c", "base/err.c", "base/redact.c", "base/redact_forms.c")]
JFR_READ = [*SRC.glob("jfr/*.c"), *(SRC / f for f in ("dict/dict.c", "base/arena.c", "base/buf.c", "base/err.c", "base/redact.c", "base/redact_forms.c"))]


def program(name, sources, *flags):
    """Path of build/tools/<name>, compiled from tests/kit/<name>.c and @sources when one is newer."""
    out = parts.ROOT / "build/tools" / name
    main = parts.ROOT / f"tests/kit/{name}.c"
    inputs = [main, *sources, *SRC.rglob("*.h"), *main.parent.glob("*.h")]
    command = ["cc", "-std=gnu11", "-O2", "-g", "-D_GNU_SOURCE", f"-I{SRC}", "-o", out, main, *sources, *flags]
    return parts.fresh(out, inputs, lambda: subprocess.run(command, check=True))


def jfr_script():
    """Writes scripted recordings; can be killed inside any write."""
    return program("jfr_script", JFR_WRITE, "-Wl,--wrap=pwrite,--wrap=ftruncate")


def jfr_long():
    """Writes a recording as of an executor that was looked at for minutes."""
    return program("jfr_long", JFR_WRITE)


def jfr_dump():
    """Prints what our reader finds; rewrites recordings."""
    return program("jfr_dump", JFR_READ, "-pthread")
