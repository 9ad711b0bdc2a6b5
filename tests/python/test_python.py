"""Python processes from outside: every CPython of this machine, its functions, files and lines, without a word to it."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from kit import cgroup, chance, deny, peers, python, recording

WHERE = python.TARGETS / "where.py"
PYTHONS = python.installed()


def stacks(text):
    """[(thread line, [(function, file, line)])] of what `stack` prints."""
    found = []
    for line in text.splitlines():
        if line.startswith("  thread "):
            found.append((line, []))
        elif m := re.fullmatch(r"    (.+) \((.+):(\d+)\)", line):
            found[-1][1].append((m[1], m[2], int(m[3])))
    return found


def look(sparkprof, pid):
    """What `stack` prints once both threads stand where they will stay."""
    end = time.monotonic() + 300
    while True:
        out = sparkprof("stack", pid)
        assert out.returncode == 0, out.stderr
        # Until a new thread runs, Python may have its creator's id for it: its state is not its own yet.
        stay = out.stdout.count(", sleeps") == 2 and all(frames for _, frames in stacks(out.stdout))
        if stay or time.monotonic() > end:
            return out.stdout


def check_where(out, minor, file):
    found = stacks(out)
    assert len(found) == 2 and all(", sleeps" in head for head, _ in found), out
    second, main = (frames for _, frames in found)
    assert second == [("second", file, 28)]
    q = "Outer.method.<locals>.<lambda>" if minor >= 11 else "<lambda>"
    comprehension = {11: q + ".<locals>.<listcomp>"}.get(minor, "<listcomp>")
    expected = [("deep", 9), ("deep", 11), ("deep", 11), ("steps", 17)]
    expected += [(comprehension, 23)] if minor < 12 else []  # later it is part of its function
    expected += [(q, 23), ("Outer.method" if minor >= 11 else "method", 24), ("<module>", 32)]
    assert main == [(name, file, line) for name, line in expected]


def version(command, root=None):
    out = subprocess.run([*(["chroot", root] if root else []), *command, "-V"], capture_output=True, text=True).stdout
    return out.split()[1]


@pytest.mark.parametrize("name", PYTHONS)
def test_functions_files_and_lines(sparkprof, name):
    exact = version(PYTHONS[name])
    with python.Process(PYTHONS[name], WHERE) as p:
        out = look(sparkprof, p.pid)
        minor = int(exact.split(".")[1])
        assert f"Python {exact}:" in out or (minor < 11 and f"Python 3.{minor}:" in out)
        check_where(out, minor, str(WHERE))
        assert p.stdout() == b"ready\n" and p.proc.poll() is None


def names_once(sparkprof, pid, word):
    """Functions without their classes, leaf first, of the first thread once one of them is there; and what was printed."""
    for _ in range(100):
        out = sparkprof("stack", pid).stdout
        if f"{word} (" in out:
            break
    return [frame[0].rsplit(".", 1)[-1] for frame in stacks(out)[0][1]], out


def check_calls(sparkprof, pid):
    names, out = names_once(sparkprof, pid, "end")
    assert names == ["end", "by_default", "__call__", "__add__", "<lambda>", "curried", "from_c", "of_class", "static", "by_static",
                     "method", "method", "inner_generator", "generator", "by_star", "by_keyword", "__getitem__", "attribute",
                     "bound", "__init__", "<module>"], out


@pytest.mark.parametrize("name", PYTHONS)
def test_every_way_to_call_is_followed(sparkprof, name):
    """What a caller keeps of its callee is compared: no way to call may look like a stack that never was."""
    with python.Process(PYTHONS[name], python.TARGETS / "calls.py") as p:
        check_calls(sparkprof, p.pid)


@pytest.mark.parametrize("name", PYTHONS)
def test_coroutines_stand_on_the_step_of_their_task(sparkprof, name):
    with python.Process(PYTHONS[name], python.TARGETS / "tasks.py") as p:
        names, out = names_once(sparkprof, p.pid, "burn")
    assert names[:5] == ["burn", "inner", "outer", "_run", "_run_once"] and "main" not in names, out


def test_the_newest_in_a_root_of_its_own(sparkprof):
    root = python.sid()
    with python.Process(["/usr/bin/python3.14"], WHERE, root=root) as p:
        out = look(sparkprof, p.pid)
        assert "Python " + version(["/usr/bin/python3.14"], root) in out
        check_where(out, 14, f"/tmp/{os.getpid()}-where.py")
    with python.Process(["/usr/bin/python3.14"], python.TARGETS / "calls.py", root=root) as p:
        check_calls(sparkprof, p.pid)


@pytest.mark.parametrize("minor", [pytest.param(10, marks=pytest.mark.long), 11, 14])
def test_builds_that_uv_installs(sparkprof, minor):
    command = python.standalone(f"3.{minor}")
    exact = version(command)
    with python.Process(command, WHERE) as p:
        out = look(sparkprof, p.pid)
        assert f"Python {exact}:" in out or (minor < 11 and f"Python 3.{minor}:" in out)
        check_where(out, minor, str(WHERE))
    with python.Process(command, python.TARGETS / "calls.py") as p:
        check_calls(sparkprof, p.pid)


def test_a_build_with_musl(sparkprof):
    try:
        with python.Process(python.musl(), WHERE) as p:
            assert "ld-musl" not in pathlib.Path(f"/proc/{p.pid}/maps").read_text() and "musl" in pathlib.Path(f"/proc/{p.pid}/maps").read_text()
            out = look(sparkprof, p.pid)
        assert "Python 3.11.8:" in out
        under = [line for line in out.splitlines() if "__startup__" not in line]  # what starts the script there
        check_where("\n".join(under), 11, str(WHERE))
    finally:
        python.forget_musl()


def test_found_without_any_symbol(sparkprof, tmp_path):
    """A program whose tables do not name its state, and whose file name tells no version."""
    bare = tmp_path / "python"
    bare.write_bytes(pathlib.Path("/usr/bin/python3").resolve().read_bytes().replace(b"\0_PyRuntime\0", b"\0_PyRuntimx\0"))
    bare.chmod(0o755)
    subprocess.run(["strip", "--strip-all", bare], check=True)
    exact = version(PYTHONS["debian"])
    assert b"_PyRuntime\0" not in bare.read_bytes()
    with python.Process([str(bare)], WHERE) as p:
        out = look(sparkprof, p.pid)
        assert f"Python {exact}:" in out or "Python 3.11:" in out
        check_where(out, int(exact.split(".")[1]), str(WHERE))


def collapsed(path):
    """{(frames, root first): samples}"""
    found = {}
    for line in path.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        if not stack.startswith("[lost: "):
            found[tuple(stack.split(";"))] = int(count)
    return found


def sum_of(sparkprof, recording):
    """Samples that a recording has by now; 0 while there is nothing in it."""
    found = re.search(r"^Samples +([\d,]+)", sparkprof("report", recording).stdout, re.M) if recording.exists() else None
    return int(found[1].replace(",", "")) if found else 0


def record(sparkprof, tmp_path, samples, *args):
    """Records into o.jfr and o.collapsed until there are so many samples, however busy the machine is."""
    run = subprocess.Popen([str(python.parts.SPARKPROF), "-q", "-d", "200", *map(str, args), "-f", str(tmp_path / "o.jfr"), "-f",
                            str(tmp_path / "o.collapsed")], stderr=subprocess.PIPE, text=True)
    while run.poll() is None and sum_of(sparkprof, tmp_path / "o.jfr") < samples:
        time.sleep(0.3)
    run.send_signal(signal.SIGINT)
    assert run.wait(200) == 0, run.stderr.read()
    run.stderr.close()


def test_a_known_split_of_a_process_and_its_children(sparkprof, tmp_path):
    with python.Process(PYTHONS["debian"], python.TARGETS / "work.py", "2") as p:
        children = sorted(map(int, open(f"/proc/{p.pid}/task/{p.pid}/children").read().split()))
        try:
            record(sparkprof, tmp_path, 1500, "-e", "cpu", "-i", "2ms", "-t", p.pid)
        finally:
            for child in children:
                os.kill(child, signal.SIGKILL)
    found = collapsed(tmp_path / "o.collapsed")
    threads = {int(re.fullmatch(r"\[.+ tid=(\d+)\]", stack[0])[1]) for stack in found}
    assert threads == {p.pid, *children}
    total = sum(found.values())
    for name, share in (("a", 50), ("b", 30), ("c", 20)):
        part = sum(n for stack, n in found.items() if f"{name} (work.py)" in stack)
        assert chance.within(part, total, share / 100, slack=0.02), found
    text = sparkprof("report", tmp_path / "o.jfr").stdout
    assert re.search(r"^Runtime +CPython 3\.11\.", text, re.M) and re.search(r"^Lost +0 ", text, re.M), text


@pytest.mark.long
def test_cpu_time_is_not_where_a_thread_waits(sparkprof, tmp_path):
    with python.Process(PYTHONS["debian"], python.TARGETS / "bursts.py") as p:
        record(sparkprof, tmp_path, 200, "-e", "cpu", p.pid)
    found = collapsed(tmp_path / "o.collapsed")
    waits = sum(n for stack, n in found.items() if "wait (bursts.py)" in stack)
    # A burst that ends while its stack is read stands in wait: 13 of 78 were seen on a busy machine, 84 % before it was minded.
    assert chance.at_most(waits, sum(found.values()), 0.25), found


UNREAD = "[frames not read]"


def impossible(found):
    """How many samples of flip.py or flip_hidden.py have functions of both sides, or one where it cannot be."""
    wrong = 0
    for stack, n in found.items():
        names = [frame.split(" ")[0].rsplit(".", 1)[-1] for frame in stack if frame != UNREAD]
        sides = [f for f in names[2:] if f[:-1] in ("left", "right")]  # without comprehensions
        side = sides[0][:-1] if sides else ""
        right = names[:2] == ["<module>", "main"][:len(names)] and sides == [f"{side}{i + 1}" for i in range(len(sides))]
        wrong += 0 if right else n
    return wrong


FLIPS = [("flip.py", name, how) for name in ("3.8", "3.10", "3.11", "3.12", "3.13") if name in PYTHONS
         for how in ([], ["--blocking"]) if not how or name in ("3.8", "3.11", "3.13")]
FLIPS += [("flip_hidden.py", name, []) for name in ("3.11", "3.13") if name in PYTHONS]


QUICK = [("flip.py", "3.11", []), ("flip.py", "3.13", ["--blocking"]), ("flip_hidden.py", "3.13", [])]


@pytest.mark.parametrize("script,name,how", [pytest.param(*f, marks=() if f in QUICK else pytest.mark.long) for f in FLIPS])
def test_no_stack_that_never_was(sparkprof, tmp_path, script, name, how):
    """A million calls a second: it goes round in the time that a copy takes, so that frames which calls left behind look
    alike in every copy."""
    with python.Process(PYTHONS[name], python.TARGETS / script) as p:
        record(sparkprof, tmp_path, 4000, "-e", "wall", "-i", "500us", *how, p.pid)
        assert p.proc.poll() is None and "TracerPid:\t0" in pathlib.Path(f"/proc/{p.pid}/status").read_text()
    found = collapsed(tmp_path / "o.collapsed")
    # In step with such a program two copies may still agree on what never was: 1 of some 4,000 was seen, while rules that lacked gave 17.
    assert chance.at_most(impossible(found), sum(found.values()), 1 / 4000) and len(found) > 4, [stack for stack in found if impossible({stack: 1})] or found
    notes = sparkprof("report", "-f", "-", tmp_path / "o.jfr").stdout
    assert bool(how) == bool(re.search(r"--blocking stopped Python threads [\d,]+ times, for \d+ us on average", notes)), notes
    assert "without stopping" not in notes, notes
    # who called frames that changed is no leaf, and the header counts them (samples of wall time are rounded in each row)
    unread = sum(n for stack, n in found.items() if stack[-1] == UNREAD)
    assert not any(UNREAD in stack[:-1] or "[truncated]" in stack for stack in found), found
    assert abs(int(re.search(r"^Truncated +([\d,]+)", notes, re.M)[1].replace(",", "")) - unread) <= len(found), notes


def test_a_killed_launcher_leaves_no_thread_stopped(sparkprof, tmp_path):
    """Four times, at any moment of a look: what was stopped then runs on."""
    with python.Process(PYTHONS["debian"], python.TARGETS / "flip.py") as p:
        for i in range(4):
            run = subprocess.Popen([str(python.parts.SPARKPROF), "-q", "-e", "wall", "-i", "100us", "--blocking", "-d", "60", "-f",
                                    str(tmp_path / f"{i}.jfr"), str(p.pid)])
            while sum_of(sparkprof, tmp_path / f"{i}.jfr") < 100:
                assert run.poll() is None
            run.kill()
            run.wait()
            status = pathlib.Path(f"/proc/{p.pid}/status").read_text()
            assert "TracerPid:\t0" in status and "State:\tt" not in status, status
        rounds = p.stdout().count(b"round")
        end = time.monotonic() + 100
        while p.stdout().count(b"round") < rounds + 2:  # it says so once a second of its own
            assert time.monotonic() < end and p.proc.poll() is None
            time.sleep(0.1)


def test_where_stopping_is_refused_it_is_said(sparkprof, tmp_path):
    with python.Process(PYTHONS["debian"], python.TARGETS / "work.py") as p:
        out = subprocess.run([*deny.wrap("ptrace=EPERM"), str(python.parts.SPARKPROF), "-e", "wall", "-i", "10ms", "-d", "1", "--blocking",
                              "-f", str(tmp_path / "o.jfr"), str(p.pid)], capture_output=True, text=True)
        assert out.returncode == 0 and p.proc.poll() is None, out.stderr
    assert re.search(r"\d+ Python stacks were read without stopping", sparkprof("report", "-f", "-", tmp_path / "o.jfr").stdout)


def test_a_process_that_ends_is_written_until_then(sparkprof, tmp_path):
    with python.Process(PYTHONS["debian"], python.TARGETS / "work.py") as p:
        run = subprocess.Popen([str(python.parts.SPARKPROF), "-e", "wall", "-i", "5ms", "-d", "60", "-f",
                                str(tmp_path / "o.collapsed"), str(p.pid)], stderr=subprocess.PIPE, text=True)
        recording = tmp_path / "o.collapsed.jfr"
        end = time.monotonic() + 100
        while time.monotonic() < end and sum_of(sparkprof, recording) < 50:
            time.sleep(0.2)
        p.proc.kill()
        p.proc.wait()
        assert run.wait(100) == 4
        assert f"pid {p.pid} has ended; what was recorded until then is written" in run.stderr.read()
    assert sum(collapsed(tmp_path / "o.collapsed").values()) >= 50
    assert not recording.exists()


def test_memory_beside_the_limit_of_its_group(sparkprof, tmp_path):
    with cgroup.Memory() as group:
        with python.Process([*group.wrap(), *PYTHONS["debian"]], python.TARGETS / "work.py") as p:
            group.leave(256 << 20)
            limit = int((group.dir / ("memory.limit_in_bytes", "memory.max")[group.version - 1]).read_text())
            out = sparkprof("-q", "-e", "wall", "-d", "3", "-f", tmp_path / "o.jfr", p.pid)
            assert out.returncode == 0, out.stderr
    points = recording.Recording(tmp_path / "o.jfr").others["sparkprof.MemoryGroup"]
    size = {"bytes": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
    for text in points:
        told = {name: float(n) * size[unit] for name, n, unit in re.findall(r"(used|limit) = ([\d.]+) (\w+)", text)}
        assert abs(told["limit"] - limit) < limit / 100 and 0 < told["used"] < limit, (text, limit)
    assert len(points) >= 2


def test_five_hundred_that_live_briefly(sparkprof, tmp_path):
    """They end in the middle of being read, all the time; the sampler goes on, and has seen most of them."""
    with python.Process(PYTHONS["debian"], python.TARGETS / "brief.py") as p:
        run = subprocess.Popen([str(python.parts.SPARKPROF), "-q", "-d", "200", "-e", "wall", "-i", "2ms", "-t", "-f", str(tmp_path / "o.jfr"),
                                "-f", str(tmp_path / "o.collapsed"), str(p.pid)], stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 150
        while b"all" not in p.stdout() and run.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        said = run.communicate(timeout=100)[1]
        assert run.returncode == 0 and b"all" in p.stdout() and p.proc.poll() is None, said
    found = collapsed(tmp_path / "o.collapsed")
    children = {stack[0] for stack in found if "work (brief.py)" in stack}
    assert len(children) > 100 and all(stack[1] == "<module> (brief.py)" for stack in found if len(stack) > 1), len(children)


def test_one_that_is_stopped_is_called_so(sparkprof):
    with python.Process(PYTHONS["debian"], WHERE) as p:
        assert "is stopped" not in sparkprof("stack", p.pid).stdout
        os.kill(p.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, p.pid, os.WSTOPPED)  # all of its threads: on a busy machine that takes a while
        words = "is stopped (SIGSTOP)", f"kill -CONT {p.pid}"
        try:
            out = sparkprof("stack", p.pid)
            assert out.returncode == 0 and all(w in out.stdout for w in words), out
            out = sparkprof("-e", "wall", "-d", "2", "-o", "collapsed", p.pid)
            assert out.returncode == 0 and all(w in out.stderr for w in words), out
        finally:
            os.kill(p.pid, signal.SIGCONT)


def test_no_sample_at_all_is_explained(sparkprof):
    with python.Process(PYTHONS["debian"], WHERE) as p:
        look(sparkprof, p.pid)
        out = sparkprof("-e", "cpu", "-d", "300ms", "-o", "collapsed", p.pid)
        assert (out.returncode, out.stdout) == (0, "") and "-e wall shows" in out.stderr
        assert "-e wall shows" not in sparkprof("-e", "wall", "-d", "300ms", "-o", "collapsed", p.pid).stderr


def test_what_cannot_be_done_is_said(sparkprof, tmp_path):
    with python.Process(PYTHONS["debian"], WHERE) as p:
        out = sparkprof("start", "-f", tmp_path / "o.jfr", p.pid)
        assert out.returncode == 2 and "is a Python" in out.stderr and "'collect'" in out.stderr
        out = sparkprof("-e", "alloc", "-d", "1", p.pid)
        assert out.returncode == 2 and "only cpu and wall" in out.stderr
        rows = {r["event"]: r["state"] for r in json.loads(sparkprof("list", "--json", p.pid).stdout)}
        assert {e for e, state in rows.items() if state != "no"} == {"cpu", "ctimer", "itimer", "wall"} and "alloc" in rows
        out = sparkprof("status", p.pid)
        assert out.returncode == 3 and "is a Python" in out.stderr and "not a JVM" not in out.stderr
        assert p.proc.poll() is None
    quiet = subprocess.Popen(["sleep", "60"])
    out = sparkprof("stack", quiet.pid)
    quiet.kill()
    quiet.wait()
    assert out.returncode == 3 and "is not a Python process" in out.stderr


def test_another_user_is_refused_in_one_line(sparkprof):
    with python.Process(PYTHONS["debian"], WHERE) as p:
        denied = sparkprof("-e", "wall", "-d", "1", p.pid, user=65534, group=65534, extra_groups=[], cwd="/")
        assert denied.returncode == 3 and "use sudo" in denied.stderr, denied.stderr
        assert denied.stderr.count("\n") == 1 and p.proc.poll() is None


def test_where_a_filter_denies_the_call_it_is_read_by_its_file(sparkprof, tmp_path):
    """A pod's filter may deny process_vm_readv(2); /proc/PID/mem is another way to the same permission."""
    denied = [*deny.wrap("process_vm_readv=EPERM", "ptrace=EPERM"), str(python.parts.SPARKPROF)]
    with python.Process(PYTHONS["debian"], WHERE) as p:
        look(sparkprof, p.pid)
        out = subprocess.run([*denied, "stack", str(p.pid)], capture_output=True, text=True)
        assert out.returncode == 0, out.stderr
        check_where(out.stdout, 11, str(WHERE))
    with python.Process(PYTHONS["debian"], python.TARGETS / "flip.py") as p:
        out = subprocess.run([*denied, "-e", "wall", "-i", "1ms", "-d", "3", "-f", tmp_path / "o.collapsed", str(p.pid)], capture_output=True,
                             text=True)
        assert out.returncode == 0 and p.proc.poll() is None, out.stderr
    found = collapsed(tmp_path / "o.collapsed")
    assert sum(found.values()) > 50 and chance.at_most(impossible(found), sum(found.values()), 1 / 4000), found


def test_async_profilers_converter_reads_it(sparkprof, tmp_path):
    """It knows seven types of frames."""
    with python.Process(PYTHONS["debian"], python.TARGETS / "work.py") as p:
        record(sparkprof, tmp_path, 20, "-e", "wall", "-i", "10ms", p.pid)
    subprocess.run([*peers.converter(), "--wall", "-o", "collapsed", tmp_path / "o.jfr", tmp_path / "x.txt"], check=True,
                   capture_output=True)
    assert "work.py.<module>_[0];work.py.main_[0];" in (tmp_path / "x.txt").read_text()


def is_native(frame, of=("python", "libpython", "libc.so")):
    """What `stack` prints of a native function: its library, and its name where it has one."""
    return re.fullmatch(r"    (\S+?)(`\S+)?", frame) is not None and frame.strip().startswith(of)


def between(frames, first, last):
    """The frames between those of two Python functions; both must be there, in this order."""
    at = [next(i for i, f in enumerate(frames) if re.match(rf"    (\w+\.)*{name} \(", f)) for name in (first, last)]
    assert at[0] < at[1], frames
    return frames[at[0] + 1:at[1]]


@pytest.mark.parametrize("name", PYTHONS)
def test_native_frames_stand_between_the_functions_that_they_call(sparkprof, name):
    minor = int(version(PYTHONS[name]).split(".")[1])
    with python.Process(PYTHONS[name], python.TARGETS / "mixed.py") as p:
        for _ in range(100):  # a thread that just begins or ends its part stands elsewhere
            out = sparkprof("stack", "--native", p.pid)
            assert out.returncode == 0, out.stderr
            asleep, runs = (t.splitlines()[1:] for t in re.split(r"^  thread ", out.stdout, flags=re.M)[1:])
            if re.search("nanosleep|select", asleep[0]) and any("key (" in f for f in runs):
                break
        assert p.proc.poll() is None
        assert "TracerPid:\t0" in pathlib.Path(f"/proc/{p.pid}/status").read_text()
    if name == "debian":  # stripped: it has the names of exported functions only
        assert "PyObject_Vectorcall" in out.stdout
    else:
        for sort in (between(asleep, "__lt__", "hold"), between(runs, "key", "outer")):
            assert [f for f in sort if f.endswith("`list_sort")], out.stdout
        assert [f for f in asleep if f.endswith("`time_sleep")] == asleep[1:2], out.stdout
    assert all(map(is_native, between(asleep, "__lt__", "hold") + between(runs, "key", "outer"))), out.stdout
    assert is_native(asleep[0]) and "libc.so" in asleep[0] and "clone" in asleep[-1], out.stdout
    assert minor < 11 or between(asleep, "inner", "__lt__") == between(runs, "outer", "<module>") == []  # one call of the evaluator
    assert minor > 10 or all(map(is_native, between(asleep, "inner", "__lt__")))
    assert "_PyEval_EvalFrameDefault" not in "".join(asleep)


def test_native_frames_in_a_recording(sparkprof, tmp_path):
    with python.Process(PYTHONS["debian"], python.TARGETS / "mixed.py") as p:
        out = sparkprof("-e", "wall", "-i", "10ms", "-d", "2", "--native", "-f", tmp_path / "o.jfr", "-f", tmp_path / "o.collapsed",
                        p.pid)
        assert out.returncode == 0 and p.proc.poll() is None, out.stderr
    found = collapsed(tmp_path / "o.collapsed")
    whole = {s: n for s, n in found.items() if s[0] in ("_start", "clone3", "__clone", "clone", "[python3.11]")}
    assert sum(whole.values()) >= 0.98 * sum(found.values()), found
    keys = {s: n for s, n in found.items() if "key (mixed.py)" in s}
    sleeps = {s: n for s, n in found.items() if "inner (mixed.py)" in s}
    assert sum(keys.values()) > 50 and sum(sleeps.values()) > 50
    for s in keys:  # sorted() stands between the two, and the module below
        assert s.index("<module> (mixed.py)") < s.index("outer (mixed.py)") < s.index("PyObject_CallOneArg") < s.index("key (mixed.py)"), s
    assert all("nanosleep" in s[-1] for s in sleeps)
    assert re.search(r"--native stopped Python threads \d+ times, for \d+ us on", sparkprof("report", "-f", "-", tmp_path / "o.jfr").stdout)


def test_threads_that_may_not_be_stopped_show_their_python(sparkprof):
    with python.Process(PYTHONS["debian"], python.TARGETS / "mixed.py") as p:
        out = subprocess.run([*deny.wrap("ptrace=EPERM"), str(python.parts.SPARKPROF), "stack", "--native", str(p.pid)],
                             capture_output=True, text=True)
        assert out.returncode == 0 and "native frames cannot be read: Operation not permitted" in out.stdout, out.stdout + out.stderr
        assert "outer (" in out.stdout and p.proc.poll() is None
