"""Test-only agents (tests/jvm/native) that ask the JVM itself about the samples our unwinder gets."""
import re
import subprocess

from . import jvm, parts

SRC = parts.ROOT / "src"
NATIVE = parts.ROOT / "tests/jvm/native"


def built(name, *sources):
    """A test agent, rebuilt when the unwinder or it is newer."""
    out = parts.ROOT / f"build/targets/lib{name}.so"
    files = [*sorted((SRC / "unwind").glob("*.c")), *(SRC / "base" / f for f in ("arena.c", "buf.c", "err.c")),
             *(NATIVE / s for s in sources)]
    include = parts.jdk(17) / "include"
    command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-fPIC", "-shared", f"-I{SRC}", f"-I{NATIVE}",
               "-isystem", include, "-isystem", include / "linux", *files, "-o", out, "-lpthread", "-lz"]
    inputs = [*files, *(SRC / "unwind").glob("*.h"), *NATIVE.glob("*.h")]
    return parts.fresh(out, inputs, lambda: subprocess.run(command, check=True))


def numbers(text, line):
    """{"samples": 123, "whole": 99.98, …} from the report line that starts with that word."""
    found = [l for l in text.splitlines() if l.startswith(line + " ")]
    assert found, f"no {line!r} line in\n{text[-3000:]}"
    return {k: float(v) for k, v in re.findall(r"([a-z][a-z/ ]*?) ([0-9.]+)%?", found[-1])}


def oracle(tmp_path, seconds, home, *options, main="Mixture", args=()):
    report = tmp_path / "oracle.txt"
    agent = built("oracle", "oracle.c", "oracle_judge.c", "recorder.c")
    subprocess.run([home / "bin/java", *options, f"-agentpath:{agent}=interval_us=400,out={report},show=3",
                    "-cp", jvm.compiled(), main, str(seconds), "3", *args],
                   check=True, timeout=seconds + 300, stdout=subprocess.DEVNULL)
    text = report.read_text(errors="replace")
    return numbers(text, "samples"), numbers(text, "agct"), text
