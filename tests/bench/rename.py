"""What a task costs that is heard of by its thread's new name: a rename with the hook bound, beside one without it.

    ./build.sh bench rename [ROUNDS|quick]        11 rounds by default

One JVM in which a thread names itself as Spark's workers do; rounds with a recording and without one alternate. Each round is the
median of 400 batches of a hundred renames; the figure is the difference of the medians of all rounds. Nothing tells the stage of
these tasks, so each rename also wakes the agent's thread: more than with Spark, where that is once for a stage."""
import statistics
import subprocess
import tempfile

import common
from kit import parts

AIM_US = 2


def main(rounds):
    report = common.Report("rename")
    who, raw = common.Ours(), {}
    for jdk in (17, 25):
        common.progress(f"rename: JDK {jdk}")
        proc = subprocess.Popen([parts.jdk(jdk) / "bin/java", "-cp", common.compiled(), "Renames"], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

        def ask(batches):
            proc.stdin.write(f"{batches}\n")
            proc.stdin.flush()
            return int(proc.stdout.readline())

        proc.stdout.readline()
        ask(1000)
        plain, hooked = [], []
        with tempfile.TemporaryDirectory() as tmp:
            for _ in range(rounds):
                plain.append(ask(400))
                who.start(proc.pid, "wall", "1s", f"{tmp}/x.jfr")
                hooked.append(ask(400))
                who.stop(proc.pid)
        proc.stdin.close()
        proc.wait(20)
        without, with_ = statistics.median(plain) / 1000, statistics.median(hooked) / 1000
        raw[jdk] = {"plain": plain, "hooked": hooked}
        report.line(f"rename, beyond the {without:.2f} us of the JVM's own, JDK {jdk}", with_ - without, None, f"< {AIM_US} us",
                    with_ - without < AIM_US, "us")
    report.raw = raw
    report.close()


if __name__ == "__main__":
    main(common.rounds(11, 3))
