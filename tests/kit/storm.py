"""A storm of recordings over JVMs that do everything at once: see tests/jvm/test_storm.py."""
import collections
import concurrent.futures
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import threading
import time
import zipfile

from . import jvm, parts, recording

GC = ["Serial", "Parallel", "G1", "Z", "Shenandoah"]
FLAGS = [*([f"-XX:+Use{gc}GC"] for gc in GC), ["-Xint"], ["-Xcomp", "-XX:TieredStopAtLevel=1"], ["-Xcheck:jni"], ["-Xshare:off"],
         ["-XX:+UseCompactObjectHeaders"], ["-XX:-UseCompressedOops"], ["-XX:+UseZGC", "-XX:+ZGenerational"],
         ["-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational"]]
EVENTS = {"cpu": ("100us", "1ms", "10ms"), "itimer": ("100us", "1ms", "10ms"), "ctimer": ("100us", "1ms", "10ms"),
          "wall": ("100us", "1ms", "50ms"), "alloc": ("1", "1k", "512k"), "lock": ("1us", "10us"), "nativelock": ("0", "10us"), "nativemem": ("0", "1", "512k"),
          "live": ("1", "64k"), "Storm.thrower": ("1", "100"), "Storm.tooDeep": ("1", "1000"), "cache-misses": ("1000",),
          "malloc": ("1", "1000"), "Java_java_lang_Throwable_fillInStackTrace": ("1", "100"), "page-faults": ("1", "100"), "context-switches": ("1", "100")}
BESIDE = [["--wall", "1ms"], ["--alloc", "1k"], ["--lock", "0"], ["--nativelock", "0"], ["--nativemem", "1"], ["--live"], ["--trace", "Storm.tooDeep:1ms"], ["--trace", "Storm.thrower"],
          ["--trace", "Storm$Shape0.step"], ["--memory", "2m"], ["-j", "16"], ["--thread", "churn*"], ["--chunksize", "64k"],
          ["--chunktime", "1s"], ["--nofree"], ["--force"], ["--cstack", "no"], ["--cstack", "fp"], ["--kernel", "off"], ["--all-user"]]
JCMDS = (["Thread.print"], ["GC.heap_dump", "-overwrite", "heap.hprof"], ["JFR.start", "name=x"], ["JFR.stop", "name=x"],
         ["GC.class_histogram"], ["VM.version"])
JFR_SINCE = 17  # JFR of JDK 11 ends the JVM where a thread attaches just then: java_lang_Thread::thread_id(NULL), in the control too
ENDS = {"exit": 7, "halt": 8, "return": 0, "TERM": 143}
TICK = os.sysconf("SC_CLK_TCK")


def agent_jar():
    """Redefines and retransforms classes: -javaagent."""
    jar, classes = parts.ROOT / "build/targets/storm.jar", jvm.compiled()

    def make():
        with zipfile.ZipFile(jar, "w") as z:
            z.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nPremain-Class: Storm\nCan-Retransform-Classes: true\n"
                                               "Can-Redefine-Classes: true\n")
            for c in classes.glob("Storm*.class"):
                z.write(c, c.name)
    return parts.fresh(jar, [classes / "Storm.class"], make)


def works(java, *flags):
    return subprocess.run([java, *flags, "-version"], capture_output=True).returncode == 0


def machines():
    """Every JDK with every set of flags that it knows."""
    found = []
    for version in (11, 17, 21, 25):
        java = parts.jdk(version) / "bin/java"
        has_agents = "java.instrument" in subprocess.run([java, "--list-modules"], capture_output=True, text=True).stdout
        agent = [f"-javaagent:{agent_jar()}"] if has_agents else []
        for flags in FLAGS:
            if works(java, *flags):
                found.append((version, [*flags, *agent]))
            elif works(java, "-XX:+UnlockExperimentalVMOptions", *flags):
                found.append((version, ["-XX:+UnlockExperimentalVMOptions", *flags, *agent]))
    return found


def cpu_seconds(pid):
    """CPU time of a process; of one that is gone, none."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return (int(fields[11]) + int(fields[12])) / TICK


class Patience:
    """Tells a JVM that hangs from one on a slow machine. What counts is the CPU time that it got, not the clock's: a JVM that
    got none for @still seconds stands still; one that used @most seconds and is not done goes round in a circle."""

    def __init__(self, cpu, most, still=120, now=time.monotonic):
        self.cpu, self.most, self.still, self.now = cpu, most, still, now
        self.begin = self.last = cpu()
        self.since = now()

    def used(self):
        return self.cpu() - self.begin

    def over(self, allowed=0):
        """Why nobody needs to wait any longer; None while there is hope. @allowed: seconds more than @most."""
        cpu = self.cpu()
        if cpu > self.last:
            self.last, self.since = cpu, self.now()
        if cpu - self.begin > self.most + allowed:
            return f"used {cpu - self.begin:.0f} s of CPU for it"
        return f"stood still for {self.still} s" if self.now() - self.since > self.still else None


class Machine(jvm.Target):
    """In a directory of its own, where its core and its hs_err file are found."""

    def __init__(self, top, name, version, flags):
        self.place = pathlib.Path(top) / name
        self.place.mkdir(parents=True)
        self.hung = ""
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        super().__init__("Storm", recording.native("storm"), jdk=version, jvm=["-Xmx256m", *flags], cwd=self.place, wait=False,
                         wrap=["prlimit", f"--core={hard if hard >= 0 else 'unlimited'}", "--"])

    def patience(self, most):
        return Patience(lambda: cpu_seconds(self.pid), most)

    def wait_while(self, what, doing, most=300):
        """Until what() is over, the JVM gone, or clear that it hangs: then its stacks are kept."""
        patience = self.patience(most)
        while what() and self.alive():
            why = patience.over()
            if why:
                return self.hang(f"{doing}: {why}")
            time.sleep(0.1)

    def hang(self, how):
        if not self.hung:
            self.hung = how
            self.keep_stacks()

    def wait_ready(self):
        self.wait_while(lambda: "ready" not in self.stdout(), "did not get ready")

    def wait_beat(self):
        before = self.stdout().count("beat")
        self.wait_while(lambda: self.stdout().count("beat") < before + 2, "threads do not get on")

    def end(self, how):
        """Asks it to end, in one of several ways."""
        try:
            self.proc.send_signal(signal.SIGTERM) if how == "TERM" else self.send(how)
        except BrokenPipeError:
            pass  # it ended before

    def wait_end(self, how):
        """Its exit must be the one that was asked for."""
        self.wait_while(self.alive, f"did not end by {how}")
        if not self.alive() and self.proc.returncode not in (ENDS[how], -signal.SIGTERM if how == "TERM" else ENDS[how]):
            self.hung = f"exit {self.proc.returncode} where {how} makes {ENDS[how]}"
        elif not self.alive():
            self.ended = True

    ended = False

    def keep_stacks(self):
        if not shutil.which("gdb"):
            return
        with open(self.place / "stacks", "w") as f:
            subprocess.run(["gdb", "-p", str(self.pid), "-batch", "-ex", "thread apply all bt 30"], stdout=f, stderr=f)

    def complaints(self):
        """What the program itself found wrong: a class that was not redefined, say."""
        return [line for line in self.stdout().splitlines() if ": java.lang." in line and "OutOfMemoryError" not in line]

    def death(self):
        """How it ended or hung, with what remains of it; None while it lives, or where it ended as it was asked to."""
        left = [p.name for p in self.place.glob("*") if p.name.startswith(("core", "hs_err"))]
        if not self.hung and not left and (self.ended or self.alive()):
            return None
        (self.place / "stdout").write_text(self.stdout())
        (self.place / "stderr").write_text(self.stderr())
        return f"{self.hung or f'exit {self.proc.returncode}'}: {self.place} has {sorted(p.name for p in self.place.iterdir())}"


def jcmd_limit(control_used):
    """CPU time that a recorded JVM may use for a jcmd, besides a fixed part, where the control used so much for the same one:
    under -Xcomp JFR.start alone took the control 64 s, and the recorded one 300 s, on a machine with a load of 30."""
    return 20 * control_used


class Jcmd:
    """The same jcmd to the JVM that is recorded and to its control."""

    def __init__(self, what, recorded, control):
        self.what = what
        command = [parts.jdk(17) / "bin/jcmd"]
        self.all = [(t, subprocess.Popen([*command, str(t.pid), *what], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=t.place),
                     t.patience(300)) for t in (recorded, control)]

    def wait(self):
        """Returns when both are back, or when one hangs where the other does not."""
        (t, p, patience), (c, control, its) = self.all
        used = None
        while p.poll() is None or control.poll() is None:
            if control.poll() is not None and used is None:
                used = its.used()
            for one, proc, why in ((t, p, patience.over(jcmd_limit(its.used() if used is None else used))), (c, control, its.over(900))):
                if proc.poll() is None and (why or not one.alive()):
                    if one.alive():
                        one.hang(f"{self.what} did not come back: {why}")
                    proc.kill()
                    proc.wait()
            time.sleep(0.1)


class Pair:
    """A JVM that is recorded, and one of the same kind that is not. Its choices follow from the seed and its number alone."""

    def __init__(self, top, seed, number, version, flags):
        self.random = random.Random(f"{seed} {number}")
        self.name = f"machine {number}, JDK {version} {' '.join(flags)}"
        self.jcmds = [c for c in JCMDS if version >= JFR_SINCE or not c[0].startswith("JFR")]
        self.recorded = Machine(top, f"{number}-recorded", version, flags)
        self.control = Machine(top, f"{number}-control", version, flags)
        self.launcher_deaths, self.seconds = [], collections.Counter()
        self.rounds = self.answered = 0

    def ended(self, args, p, killed):
        """Waits for a launcher: it may take as long as its JVM gets on."""
        patience = self.recorded.patience(600)
        while True:
            try:
                said = p.communicate(timeout=1)[1]
                break
            except subprocess.TimeoutExpired:
                why = patience.over() if self.recorded.alive() else None
            if why:
                self.recorded.hang(f"launcher {args} did not come back: {why}")
                p.kill()
        self.answered += p.returncode == 0
        if p.returncode < 0 and not killed:
            self.launcher_deaths.append(f"{self.name}: {args}: signal {-p.returncode}: {said}")

    def begin(self, *args):
        return subprocess.Popen([str(parts.SPARKPROF), *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)

    def launch(self, *args, kill=False):
        """A launcher; @kill: it is ended at a random moment."""
        p = self.begin(*args)
        if kill:
            moment, by = self.random.uniform(0, 0.5), self.random.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM))
            time.sleep(moment)
            p.send_signal(by)
        self.ended(args, p, kill)

    def what(self):
        if self.random.random() < 0.1:
            return ["--all"]
        event = self.random.choice(list(EVENTS))
        args = ["-e", event, "-i", self.random.choice(EVENTS[event])]
        if event in ("cpu", "wall") and self.random.random() < 0.4:
            args.append("--capture=" + self.random.choice(("ring", "signal")))
        for more in self.random.sample(BESIDE, self.random.choice((0, 0, 0, 1, 3))):
            args += more if "--" + event != more[0] else []
        return args

    def start_and_stop(self):
        r, t = self.random, self.recorded
        self.launch("start", *self.what(), "-f", t.place / "x.jfr", t.pid, kill=r.random() < 0.2)
        for _ in range(r.randrange(3)):
            time.sleep(r.uniform(0, 0.2))
            self.launch(r.choice(("dump", "status", "stack", "list", "metrics")), t.pid, kill=r.random() < 0.2)
        self.launch("stop", t.pid)
        if r.random() < 0.2:
            self.launch("resume", "-f", t.place / "x.jfr", t.pid, kill=r.random() < 0.2)
            self.launch("stop", t.pid)

    def crowd(self):
        """Several launchers at once, of which one holds the recording, perhaps, and some are killed."""
        r, t = self.random, self.recorded
        acts = [["start", *self.what(), "-f", t.place / "c.jfr"], [*self.what(), "-d", "0.1", "-f", t.place / "x.jfr"], ["stop"], ["dump"],
                ["status"], ["stack"], ["list"]]
        running = [(args, self.begin(*args, t.pid), r.random() < 0.2) for args in r.choices(acts, k=5)]
        time.sleep(r.uniform(0, 0.3))
        for _, p, killed in running:
            if killed:
                p.kill()
        for args, p, killed in running:
            self.ended(args, p, killed)
        self.launch("stop", t.pid)

    def freeze(self):
        """Stops the JVM for a moment while launchers are at it."""
        before, during = self.random.uniform(0, 0.2), self.random.uniform(0.01, 0.3)

        def act():
            time.sleep(before)
            self.recorded.proc.send_signal(signal.SIGSTOP)
            time.sleep(during)
            self.recorded.proc.send_signal(signal.SIGCONT)
        thread = threading.Thread(target=act)
        thread.start()
        return thread

    def round(self):
        r, t = self.random, self.recorded
        frozen = self.freeze() if r.random() < 0.1 else None
        if r.random() < 0.15:
            self.crowd()
        elif r.random() < 0.3:
            self.start_and_stop()
        else:
            self.launch(*self.what(), "-d", f"{r.uniform(0.05, 0.3):.2f}", "-f", t.place / "x.jfr", t.pid, kill=r.random() < 0.25)
        if frozen:
            frozen.join()
        self.rounds += 1

    def end(self):
        """The recorded one ends while a recording is on its way, the control beside it."""
        r, how, t = self.random, self.random.choice(list(ENDS)), self.recorded
        args = [*(["start"] if r.random() < 0.5 else ["-d", "10"]), *self.what(), "-f", t.place / "x.jfr", t.pid]
        p = self.begin(*args)
        time.sleep(r.uniform(0, 1))
        for one in (t, self.control):
            if one.alive() and not one.hung:
                one.end(how)
        for one in (t, self.control):
            if not one.hung:
                one.wait_end(how)
        self.ended(args, p, False)

    def timed(self, what, act, *args):
        before = time.monotonic()
        act(*args)
        self.seconds[what] += time.monotonic() - before

    def start(self):
        for one in (self.recorded, self.control):
            one.wait_ready()

    def storm(self, rounds):
        jcmds, t, c = [], self.recorded, self.control
        for _ in range(rounds):
            if self.random.random() < 0.2 and t.alive() and c.alive():
                jcmds.append(Jcmd(self.random.choice(self.jcmds), t, c))
            self.timed("rounds", self.round)
            if not t.alive() or t.hung:
                break
        for jcmd in jcmds:
            self.timed("jcmd", jcmd.wait)

    def run(self, rounds):
        with self.recorded, self.control:
            self.timed("start", self.start)
            if not self.recorded.hung and self.recorded.alive():
                self.storm(rounds)
            if self.recorded.alive() and not self.recorded.hung:
                self.launch("stop", self.recorded.pid)
                self.timed("beats", self.recorded.wait_beat)
            if self.recorded.alive() and not self.recorded.hung:
                self.timed("end", self.end)
            return [self.judged(one) for one in (self.recorded, self.control)]

    def judged(self, one):
        how = one.death() or (f"{one.complaints()[:3]}" if one.complaints() else None)
        if how is None:
            shutil.rmtree(one.place)
            return []
        return [f"{self.name}, round {self.rounds}: {how}"]


class Storm:
    """Several pairs at a time: a JVM that starts leaves the machine to one that is recorded."""

    def __init__(self, seed, top, say, at_once=2):
        self.seed, self.top, self.say, self.at_once = seed, pathlib.Path(top), say, at_once
        self.deaths, self.control_deaths, self.launcher_deaths = [], [], []
        self.seconds, self.lock = collections.Counter(), threading.Lock()
        self.rounds = self.answered = self.pairs = 0

    def pair(self, number, machine, rounds):
        p = Pair(self.top, self.seed, number, *machine)
        recorded, control = p.run(rounds)
        with self.lock:
            if control:  # what nobody's recording does to it as well is not ours
                self.control_deaths += recorded
            else:
                self.deaths += recorded
            self.control_deaths += control
            self.launcher_deaths += p.launcher_deaths
            self.rounds += p.rounds
            self.answered += p.answered
            self.pairs += 1
            self.seconds.update(p.seconds)
            for line in (*recorded, *(f"control: {c}" for c in control), *p.launcher_deaths):
                self.say(line)
            spent = ", ".join(f"{what} {seconds:.0f} s" for what, seconds in p.seconds.items())
            self.say(f"{self.rounds} rounds: {p.name.partition(' -javaagent')[0]}: {spent}")

    def plan(self, rounds, each):
        """Every kind of machine once, in an order of the seed's, then again."""
        kinds, order, number = machines(), random.Random(self.seed), 0
        while rounds > 0:
            if number % len(kinds) == 0:
                order.shuffle(kinds)
            yield number, kinds[number % len(kinds)], min(each, rounds)
            rounds -= each
            number += 1

    def run(self, rounds, each=25):
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(self.at_once) as pool:
            for done in [pool.submit(self.pair, *one) for one in self.plan(rounds, each)]:
                done.result()
        spent = ", ".join(f"{what} {seconds:.0f}" for what, seconds in self.seconds.items())
        self.say(f"{self.rounds} rounds on {self.pairs} JVMs in {time.monotonic() - begin:.0f} s (of pairs: {spent}), {self.answered} "
                 f"launchers succeeded, {len(self.deaths)} JVMs died, {len(self.control_deaths)} of the control, "
                 f"{len(self.launcher_deaths)} launchers crashed")
