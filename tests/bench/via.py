"""--via: twenty hosts behind links of 300 ms, what goes over the wire, and two hundred streams at once.

    ./build.sh bench via [ROUNDS]

stubs     twenty stand-ins for hosts (tests/kit/standin_far.py) behind links of 300 ms in both directions (tests/kit/delay.py): time of a call that
          records two seconds, of one and of all; they take turns.
hosts     the same with twenty sshd in namespaces of this machine, an idle JVM with the command line of an executor on each: they share its cores.
wire      what ssh carries back of one executor in a minute, wall every 50 ms: a stand-in whose task computes, with 20 threads or so.
streams   two hundred stand-ins for hosts (tests/kit/standin_far.py), each sending a recording of 30 s of 64 threads (tests/kit/jfr_long.c, no two alike) a
          second at a time: CPU time and memory of the one launcher here, and the page that it writes."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import common  # noqa: E402
from kit import hosts as ssh_hosts, jvm, parts, recordings, standin_far  # noqa: E402
from kit.hosts import here  # noqa: E402
from kit.parts import SPARKPROF  # noqa: E402

COUNT, STREAMS, SECONDS = 20, 200, 30
APP = "app-20261119990000-0009"
DELAY = pathlib.Path(ssh_hosts.__file__).with_name("delay.py")


def executor(number):
    t = jvm.Target("org.apache.spark.executor.CoarseGrainedExecutorBackend", "--driver-url", "spark://x@10.77.0.1:1", "--executor-id", number, "--hostname", "here",
                   "--cores", 1, "--app-id", APP)
    return t


def timed_call(hosts, names, out):
    began = time.monotonic()
    r = hosts.sparkprof("collect", "--strict", "--attach-timeout", "5m", "--ssh-option", f"ProxyCommand=/usr/bin/python3 {DELAY} 0.3 %h %p", "-e", "wall", "-d", "2", "-f", out, "executors", hosts=names,
                        timeout=600)
    if r.returncode:
        raise RuntimeError(r.stderr)
    return time.monotonic() - began


def measure_hosts(report, rounds):
    with tempfile.TemporaryDirectory() as tmp:
        hosts = ssh_hosts.Hosts(tmp, COUNT)
        found = []
        try:
            found = [h.executor(i, APP, busy=False) for i, h in enumerate(hosts.list)]
            one, all_ = [], []
            for n in range(rounds):
                common.progress(f"hosts, round {n + 1} of {rounds}")
                one.append(timed_call(hosts, hosts.list[0].address, f"{tmp}/x.jfr"))
                all_.append(timed_call(hosts, hosts.names, f"{tmp}/x.jfr"))
        finally:
            for t in found:
                t.close()
            hosts.end()
    times = sorted(all_)[len(all_) // 2] / sorted(one)[len(one) // 2]
    report.line(f"{COUNT} hosts at 300 ms: time of one host's", times, None, "<= 2", times <= 2, "times")
    report.raw["hosts"] = {"one": one, "all": all_}


TEE = """#!/bin/sh
for last; do :; done
sh -c "$last" | tee "$0.out"
"""


def measure_wire(report):
    with tempfile.TemporaryDirectory() as tmp:
        t = executor(1)
        try:
            t.send("")
            r = subprocess.run([SPARKPROF, "collect", "--via", "ssh", "--hosts", "here", "-e", "wall", "-i", "50ms", "-d", "60", "-f", f"{tmp}/x.jfr", APP],
                               env=here(pathlib.Path(tmp), TEE), capture_output=True, text=True)
            if r.returncode:
                raise RuntimeError(r.stderr)
        finally:
            t.close()
        size = os.path.getsize(f"{tmp}/ssh.out")
    report.line("wire: one executor, a minute, wall at 50 ms", size / 1e3, None, "", None, "kB")


def keep_words(directory):
    """What a real copy says of itself and of an executor."""
    t = executor(1)
    try:
        subprocess.run([SPARKPROF, "ps", "--via", "ssh", "--hosts", "here"], env=here(directory, TEE), check=True, capture_output=True)
    finally:
        t.close()
    hello, jvm_ = standin_far.kept((directory / "ssh.out").read_bytes(), APP)
    (directory / "hello").write_bytes(hello)
    (directory / "jvm").write_bytes(jvm_)


def cpu_of(pid):
    f = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(f[11]) + int(f[12])) / common.TICK


def stand_ins(tmp, seconds, before=""):
    """What a call needs for its hosts to be stand-ins."""
    (tmp / "far").write_bytes(pathlib.Path(standin_far.__file__).read_bytes())
    keep_words(tmp)
    (tmp / "ssh").write_text(f'#!/bin/sh\nexec {before} /usr/bin/python3 {tmp}/far "$@"\n')
    return {**os.environ, "PATH": f"{tmp}:{os.environ['PATH']}", "FAR_KEPT": str(tmp), "FAR_SECONDS": str(seconds),
            "FAR_RECORDINGS": str(recordings.executors(STREAMS, SECONDS))}


def names_of(count):
    return ",".join(f"e{i}" for i in range(count))


def measure_stubs(report, rounds):
    with tempfile.TemporaryDirectory() as tmp:
        tmp = pathlib.Path(tmp)
        env = stand_ins(tmp, 2, f"/usr/bin/python3 {DELAY} 0.3 --")
        took = {1: [], COUNT: []}
        for n in range(rounds):
            for count in took:
                common.progress(f"stubs, round {n + 1} of {rounds}, {count}")
                began = time.monotonic()
                subprocess.run([SPARKPROF, "collect", "--strict", "--via", "ssh", "--hosts", names_of(count), "-e", "wall", "-d", "2", "-f", tmp / "x.jfr", "executors"], env=env,
                               check=True, capture_output=True)
                took[count].append(time.monotonic() - began)
    times = common.median(took[COUNT]) / common.median(took[1])
    report.line(f"{COUNT} stubs at 300 ms: time of one's", times, None, "<= 2", times <= 2, "times")
    report.raw["stubs"] = took


def measure_streams(report):
    with tempfile.TemporaryDirectory() as tmp:
        tmp = pathlib.Path(tmp)
        env = stand_ins(tmp, SECONDS)
        common.progress("200 streams")
        p = subprocess.Popen([SPARKPROF, "collect", "--via", "ssh", "--hosts", names_of(STREAMS), "-e", "wall", "-d", str(SECONDS), "-f", tmp / "x.html", "executors"],
                             env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        arrived = lambda: [f.stat().st_size for f in tmp.glob("sparkprof-parts-*/*.jfr")]
        while p.poll() is None and len([n for n in arrived() if n]) < STREAMS:
            time.sleep(0.1)
        began, cpu = time.monotonic(), cpu_of(p.pid)
        time.sleep(SECONDS * 2 / 3)
        share, so_far = (cpu_of(p.pid) - cpu) / (time.monotonic() - began), sum(arrived())
        _, status, usage = os.wait4(p.pid, 0)
        if status:
            raise RuntimeError(p.stderr.read())
        page = (tmp / "x.html").stat().st_size
    report.line(f"{STREAMS} streams: CPU of the launcher while they come", share, None, "<= 1 core", share <= 1, "cores")
    report.line(f"{STREAMS} streams: memory of the launcher, its report included", usage.ru_maxrss / 1024, None, "< 500 MB", usage.ru_maxrss < 500 * 1024, "MB")
    report.line(f"{STREAMS} executors, {SECONDS} s: page", page / 1e6, None, "< 15 MB", page < 15e6, "MB")
    report.raw["streams"] = {"arrived": so_far, "cpu of the call": usage.ru_utime + usage.ru_stime}


def main(rounds):
    report = common.Report("via")
    common.OUT.mkdir(parents=True, exist_ok=True)
    measure_streams(report)
    measure_wire(report)
    measure_stubs(report, rounds)
    if os.geteuid() == 0:
        measure_hosts(report, rounds)
    report.close()


if __name__ == "__main__":
    main(common.rounds(3, 1))
