"""Java frames of our unwinder against AsyncGetCallTrace's on the very same sample.

    ./build.sh bench agct [SECONDS|quick]        40 seconds a cell by default

A test agent (tests/jvm/native/oracle.c) takes a signal every 400 us, copies registers and stack as the profiler does,
asks AsyncGetCallTrace in the same handler, and unwinds the copy later with the profiler's own unwinder. Targets: a
Spark 4.3 executor from its start on (tests/spark/jobs/mixed.py), and a program that makes every kind of frame that a
JVM has (tests/jvm/targets/Mixture.java); JDK 17 and 25.
equal      samples with the same methods and bytecode indexes, of those that AsyncGetCallTrace answers.
explained  with those that differ by its own known errors only: below a call of a stub it tells the place behind the
           call; it leaves out an interpreted method that is just being entered, or its caller; it stops on the way
           down while ours goes on to the thread's entry.
answered   samples with Java frames that it answers; ours is the share of whole stacks."""
import os
import pathlib
import signal
import tempfile
import time

import common
from kit import oracle, parts, spark


def executor(tmp, seconds, jdk):
    """The oracle in a Spark executor that is asked to end after so many seconds of work."""
    out = tmp / "oracle.txt"
    agent = oracle.built("oracle", "oracle.c", "oracle_judge.c", "recorder.c")
    with spark.App(timeout=600, jdk=jdk, job="mixed.py", jvm=f"-agentpath:{agent}=interval_us=400,out={out},show=3", conf={"spark.executor.memory": "1g"}) as app:
        [pid] = app.executors()
        time.sleep(seconds)
        os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + 60
        while "agct answered" not in out.read_text(errors="replace") and time.monotonic() < until:
            time.sleep(0.2)
    text = out.read_text(errors="replace")
    return oracle.numbers(text, "samples"), oracle.numbers(text, "agct"), text


def main(seconds):
    report = common.Report("agct")
    for jdk in (17, 25):
        for what in ("executor", "mixture"):
            common.progress(f"agct: JDK {jdk}, {what}")
            with tempfile.TemporaryDirectory() as tmp:
                samples, agct, text = (executor(pathlib.Path(tmp), seconds, jdk) if what == "executor" else
                                       oracle.oracle(pathlib.Path(tmp), seconds, parts.jdk(jdk)))
            report.raw[f"JDK {jdk}, {what}"] = {"samples": samples, "agct": agct, "text": text[-4000:]}
            name = f"JDK {jdk}, {what}"
            report.line(f"{name}: Java frames equal, {agct['agct answered']:,.0f} answered", agct["equal"], None, "", None, "%")
            report.line(f"{name}: equal or explained", agct["explained"], None, ">= 99.8 %", agct["explained"] >= 99.8, "%")
            report.line(f"{name}: whole, answered", samples["whole"], 100 - agct["silent"], "", None, "%")
    report.close()


if __name__ == "__main__":
    main(common.rounds(40, 5))
