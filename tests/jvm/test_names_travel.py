"""Names of native and kernel functions are in the recording; a reader elsewhere takes none of its own machine's for them."""
import re
import subprocess
import time

import pytest
from kit import jvm, parts, recording

MANGLED = re.compile(r"_ZN?\d|_R[A-Z]")
ADDRESS = re.compile(r"0xffff[0-9a-f]{12}")


def boot_id():
    return open("/proc/sys/kernel/random/boot_id").read().strip().replace("-", "")


def kernel_is_shown():
    return any(int(line.split()[0], 16) for line, _ in zip(open("/proc/kallsyms"), range(50)))


def collapsed(sparkprof, *files, marks=()):
    run = sparkprof("report", "-o", "collapsed", *marks, *files)
    assert run.returncode == 0, run.stderr
    return run.stdout


def frames_of(file):
    """As any other reader shows them."""
    with recording.still(file) as copy:
        return subprocess.run([parts.jdk(17) / "bin/jfr", "print", "--stack-depth", "200", "--events", "jdk.ExecutionSample", copy],
                              capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Of a launcher that was killed while it recorded: nobody has put the kernel's names in. A program that is in the kernel and in libjvm."""
    file = tmp_path_factory.mktemp("travel") / "x.jfr"
    with jvm.Target("Syscalls", 600) as t:
        launcher = subprocess.Popen([parts.ROOT / "build/sparkprof", "-d", "10m", "-q", "-i", "2ms", "-f", file, str(t.pid)])
        while not file.exists() or file.stat().st_size == 0 or frames_of(file).count("Syscalls") < 500:
            assert launcher.poll() is None
            time.sleep(0.2)
        launcher.kill()
        launcher.wait()
    return file


def test_a_start_that_nobody_ends_holds_the_kernels_names(sparkprof, target, tmp_path):
    """Its launcher is gone; the JVM is killed before another comes."""
    file = tmp_path / "x.jfr"
    t = target("Syscalls", 600)
    run = sparkprof("start", "-i", "2ms", "-f", file, t.pid)
    assert run.returncode == 0, run.stderr
    while frames_of(file).count("Syscalls") < 300:
        time.sleep(0.2)
    t.proc.kill()
    t.proc.wait()
    printed = frames_of(file)
    if kernel_is_shown():
        assert not ADDRESS.search(printed), ADDRESS.search(printed)
        assert "entry_SYSCALL_64" in printed or "do_syscall_64" in printed


def elsewhere(file, to, any_boot=False):
    """The same as a machine with another boot id would have made it."""
    data, mine = file.read_bytes(), boot_id().encode()
    assert any_boot or data.count(mine)
    to.write_bytes(data.replace(mine, mine[::-1].translate(bytes.maketrans(b"0123456789abcdef", b"123456789abcdef0"))))
    return to


def test_the_kernel_of_another_boot_gives_no_names(sparkprof, recorded, tmp_path):
    parts.needs_perf()
    there = elsewhere(recorded, tmp_path / "there.jfr")
    text = sparkprof("report", "-o", "text", there)
    assert text.returncode == 0, text.stderr
    assert re.search(r"\d+ kernel functions? ha(s|ve) no name: recorded on another machine", text.stdout + text.stderr)
    frames = {f for line in collapsed(sparkprof, there, marks=["--ann"]).splitlines() for f in line.rsplit(" ", 1)[0].split(";")}
    assert "[kernel]" in {f.removesuffix("_[k]") for f in frames}
    assert not {f for f in frames if f.endswith("_[k]") and not f.startswith("[kernel]")}


def test_the_kernel_of_this_boot_gives_names(sparkprof, recorded):
    if not kernel_is_shown():
        pytest.skip("/proc/kallsyms hides its addresses")
    text = sparkprof("report", "-o", "text", recorded)
    assert "have no name: recorded on another machine" not in text.stdout + text.stderr
    assert "[kernel]" not in collapsed(sparkprof, recorded)


def test_two_boots_in_one_report_do_not_lend_each_other_names(sparkprof, recorded, tmp_path):
    if not kernel_is_shown():
        pytest.skip("/proc/kallsyms hides its addresses")
    there = elsewhere(recorded, tmp_path / "there.jfr")
    for files in ((recorded, there), (there, recorded)):
        both = collapsed(sparkprof, *files)
        assert "[kernel]" in both


def test_a_recording_from_the_start_holds_readable_names(sparkprof, tmp_path):
    """The agent puts them in: the kernel's where that shows them, and C++ without templates; the same that the report has."""
    file = tmp_path / "x.jfr"
    with jvm.Target("Syscalls", 1.5, jvm=[recording.option(file, interval="2ms")], wait=False) as t:
        assert t.proc.wait(timeout=300) == 0, t.stderr()
    printed = frames_of(file)
    assert "JavaCalls::call_helper" in printed
    left = set(re.findall(r"_ZNK?\d\w+", printed))
    assert all("I" in name for name in left), left  # templates
    if kernel_is_shown():
        assert not ADDRESS.search(printed), ADDRESS.search(printed)
        assert "entry_SYSCALL_64" in printed or "do_syscall_64" in printed
        there = elsewhere(file, tmp_path / "there.jfr", any_boot=True)
        kernel = {f for line in collapsed(sparkprof, there, marks=["--ann"]).splitlines() for f in line.rsplit(" ", 1)[0].split(";") if f.endswith("_[k]")}
        assert kernel and all(f.removesuffix("_[k]") in printed for f in kernel), kernel


def test_a_recording_that_a_launcher_ended_holds_readable_names(sparkprof, target, tmp_path):
    """As any other reader shows them: no mangled name, no address of the kernel."""
    file = tmp_path / "x.jfr"
    t = target("Syscalls", 60)
    run = sparkprof("-d", "1500ms", "-i", "2ms", "-f", file, t.pid)
    assert run.returncode == 0, run.stderr
    printed = frames_of(file)
    assert "Syscalls.main" in printed
    assert not MANGLED.search(printed), MANGLED.search(printed)
    assert "::" in printed  # libjvm's are readable
    if kernel_is_shown():
        assert not ADDRESS.search(printed)
    # and the same names as our own report has
    frames = {f for line in collapsed(sparkprof, file).splitlines() for f in line.rsplit(" ", 1)[0].split(";")}
    cpp = {f for f in frames if re.fullmatch(r"[A-Za-z]\w*::\w+", f)}
    assert cpp and all(f in printed for f in cpp), cpp
