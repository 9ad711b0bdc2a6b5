"""Outputs in a directory that is open to all: nothing that another user put there is followed, opened or written."""
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile

import pytest

from kit import native
from kit.parts import SPARKPROF

ME, FOE = 4241, 4242
FORMATS = ["html", "svg", "txt", "collapsed", "json", "csv", "md", "pb.gz", "speedscope.json", "jfr"]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to act as two users")


@pytest.fixture(scope="module")
def tool(tmp_path_factory):
    """The program and a recording where every user can read them."""
    d = pathlib.Path(tempfile.mkdtemp(prefix="sparkprof-tool-"))
    d.chmod(0o755)
    shutil.copy(SPARKPROF, d / "sparkprof")
    subprocess.run([native.jfr_long(), d / "in.jfr", "1", "4", "2", "20"], check=True)
    (d / "in.jfr").chmod(0o644)
    yield d
    shutil.rmtree(d)


@pytest.fixture
def sticky():
    """A directory like /tmp."""
    d = pathlib.Path(tempfile.mkdtemp(prefix="sparkprof-sticky-"))
    d.chmod(0o1777)
    yield d
    shutil.rmtree(d)


def run(tool, *args, user=0, umask=0o022, **kw):
    return subprocess.run([tool / "sparkprof", *map(str, args)], capture_output=True, text=True, timeout=200, user=user,
                          group=user, extra_groups=[], umask=umask, cwd="/", **kw)


def report(tool, out, **kw):
    return run(tool, "report", tool / "in.jfr", "-f", out, **kw)


def give(path, user=FOE):
    os.chown(path, user, user, follow_symlinks=False)
    return path


@pytest.fixture(params=[0, ME], ids=["root", "user"])
def who(request):
    return request.param


@pytest.fixture
def precious(who):
    """A file of the user's own that nobody else may read."""
    d = pathlib.Path(tempfile.mkdtemp(prefix="sparkprof-home-"))
    f = d / "precious"
    f.write_text("mine")
    f.chmod(0o600)
    give(f, who)
    give(d, who)
    yield f
    assert f.read_text() == "mine" and f.stat().st_mode & 0o777 == 0o600 and os.listdir(d) == ["precious"]
    shutil.rmtree(d)


def refused(r, path):
    assert r.returncode != 0 and str(path) in r.stderr and "another user (uid 4242)" in r.stderr, r


@pytest.mark.parametrize("ext", FORMATS)
def test_a_link_of_another_is_not_followed(tool, sticky, precious, who, ext):
    link = sticky / f"out.{ext}"
    link.symlink_to(precious)
    give(link)
    refused(report(tool, link, user=who), link)
    assert os.listdir(sticky) == [link.name]


@pytest.mark.parametrize("ext", ["html", "jfr"])
def test_a_link_of_another_to_a_directory_is_not_followed(tool, precious, who, ext):
    """In a directory of his own, where no setting of the kernel protects."""
    d = pathlib.Path(tempfile.mkdtemp(prefix="sparkprof-foe-"))
    d.chmod(0o777)
    give(d)
    (d / "reports").symlink_to(precious.parent)
    give(d / "reports")
    refused(report(tool, d / "reports" / f"out.{ext}", user=who), d)
    shutil.rmtree(d)


@pytest.mark.parametrize("ext", ["html", "jfr"])
def test_a_fifo_or_a_file_of_another_gets_nothing(tool, sticky, who, ext):
    fifo, file = sticky / f"fifo.{ext}", sticky / f"file.{ext}"
    os.mkfifo(fifo)
    file.write_text("his")
    for f in (fifo, file):
        give(f).chmod(0o666)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    refused(report(tool, fifo, user=who), fifo)
    assert os.read(reader, 10) == b""
    os.close(reader)
    refused(report(tool, file, user=who), file)
    assert file.read_text() == "his" and file.stat().st_uid == FOE


def test_a_comparison_goes_the_same_way(tool, sticky, precious, who):
    link = sticky / "out.html"
    link.symlink_to(precious)
    give(link)
    refused(run(tool, "diff", tool / "in.jfr", tool / "in.jfr", "-f", link, user=who), link)


def test_links_and_fifos_of_ones_own_go_on_working(tool, sticky, who):
    home = pathlib.Path(tempfile.mkdtemp(prefix="sparkprof-home-"))
    give(home, who)
    for name, to in (("out.txt", home / "real.txt"), ("dir", home), ("rel.jfr", pathlib.Path("dir/real.jfr"))):
        (sticky / name).symlink_to(to)
        give(sticky / name, who)
    for out, real in (("out.txt", "real.txt"), ("dir/in.txt", "in.txt"), ("rel.jfr", "real.jfr")):
        r = report(tool, sticky / out, user=who)
        assert r.returncode == 0, r.stderr
        assert (home / real).stat().st_size > 100 and (home / real).stat().st_uid == who
    assert all((sticky / n).is_symlink() for n in ("out.txt", "dir", "rel.jfr"))
    fifo = sticky / "fifo.txt"
    os.mkfifo(fifo)
    give(fifo, who)
    cat = subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE, user=who)
    assert report(tool, fifo, user=who).returncode == 0
    assert cat.communicate(timeout=200)[0] == (home / "real.txt").read_bytes()
    shutil.rmtree(home)


@pytest.mark.parametrize("out", ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("to", ["pipe", "file"])
def test_standard_output_by_any_name(tool, sticky, who, out, to):
    want = run(tool, "report", tool / "in.jfr", user=who).stdout
    if to == "pipe":
        r = run(tool, "report", tool / "in.jfr", "-o", "text", "-f", out, user=who)
        assert (r.returncode, r.stdout) == (0, want), r.stderr
        return
    with open(sticky / "x", "w") as f:
        f.write("before\n")
        f.flush()
        r = subprocess.run([tool / "sparkprof", "report", tool / "in.jfr", "-o", "text", "-f", out], stdout=f,
                           stderr=subprocess.PIPE, text=True, user=who, group=who, extra_groups=[])
    assert r.returncode == 0, r.stderr
    assert (sticky / "x").read_text() == "before\n" + want


def test_process_substitution_and_null(tool, sticky):
    cmd = f'"{tool}/sparkprof" report "{tool}/in.jfr" -o text -f >(cat >"{sticky}/x") && wait $! && cat "{sticky}/x"'
    r = subprocess.run(["bash", "-c", cmd], capture_output=True, text=True, timeout=200)
    assert (r.returncode, r.stdout) == (0, run(tool, "report", tool / "in.jfr").stdout), r.stderr
    r = run(tool, "report", tool / "in.jfr", "-o", "html", "-f", "/dev/null")
    assert r.returncode == 0 and stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_modes_of_new_files(tool, sticky, who, umask):
    """Reports as the umask says; a recording holds command lines and is for its owner alone."""
    for ext in FORMATS:
        out = sticky / f"out.{ext}"
        assert report(tool, out, user=who, umask=umask).returncode == 0
        want = 0o600 if ext == "jfr" else 0o666 & ~umask
        assert out.stat().st_mode & 0o7777 == want, ext
        assert out.stat().st_uid == who


def test_mode_of_a_file_of_ones_own_is_kept(tool, sticky, who):
    for ext, mode in (("html", 0o600), ("jfr", 0o640), ("txt", 0o604)):
        out = sticky / f"out.{ext}"
        out.write_text("old")
        out.chmod(mode)
        give(out, who)
        inode = out.stat().st_ino
        assert report(tool, out, user=who).returncode == 0
        assert out.stat().st_mode & 0o7777 == mode and out.stat().st_ino != inode
    # what another user made elsewhere, where it may be replaced, gives nothing to what replaces it
    shared = sticky / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    (shared / "out.html").write_text("his")
    give(shared / "out.html").chmod(0o666)
    assert report(tool, shared / "out.html", user=who).returncode == 0
    assert (shared / "out.html").stat().st_mode & 0o7777 == 0o644 and (shared / "out.html").stat().st_uid == who
