"""Native symbols and demangling against binutils, on whole real libraries."""
import pathlib
import re
import subprocess

import pytest

from kit import parts

SYMDUMP = parts.ROOT / "build/dev/tests/unit/symdump"
RUST = parts.ROOT / "tests/data/rust-names.txt"


def run(*args, **kw):
    return subprocess.run([str(a) for a in args], check=True, text=True, capture_output=True,
                          timeout=300, **kw).stdout.splitlines()


def libjvm():
    return next(pathlib.Path(parts.jdk(17)).resolve().rglob("libjvm.so"))


def libc():
    return next(line.split()[-1] for line in open("/proc/self/maps") if "libc.so.6" in line)


def nm_functions(path, *flags):
    """address → names of the functions that nm lists."""
    found = {}
    for line in run("nm", "--defined-only", *flags, path):
        fields = line.split()
        if len(fields) == 3 and fields[1] in "tTwWi":
            found.setdefault(int(fields[0], 16), set()).add(fields[2].split("@")[0])
    return found


@pytest.mark.parametrize("which, flags", [(libjvm, ()), (libc, ("-D",))])
def test_every_function_that_nm_lists_has_one_of_its_names(which, flags):
    path = which()
    ours = {}
    for line in run(SYMDUMP, "symbols", path)[1:]:
        addr, name = line.split(" ", 1)
        ours[int(addr, 16)] = name.split("@")[0]
    listed = nm_functions(path, *flags)
    assert len(listed) > 1000
    missing = [a for a in listed if a not in ours]
    # labels at the end of a section cover nothing
    assert len(missing) <= 20, [listed[a] for a in missing[:20]]
    if not flags:
        wrong = {a: (ours[a], listed[a]) for a in listed if a in ours and ours[a] not in listed[a]}
        assert not wrong, list(wrong.items())[:10]


def test_cpp_names_equal_cxxfilt():
    names = sorted({n for s in nm_functions(libjvm()).values() for n in s if n.startswith("_Z")})
    assert len(names) > 10000
    text = "\n".join(names) + "\n"
    ours = run(SYMDUMP, "demangle", "full", input=text)
    assert ours == run("c++filt", input=text)


def test_short_names_have_no_parameters():
    names = sorted({n for s in nm_functions(libjvm()).values() for n in s if n.startswith("_Z")})
    text = "\n".join(names) + "\n"
    full = run(SYMDUMP, "demangle", "full", input=text)
    short = run(SYMDUMP, "demangle", "short", input=text)
    assert len(full) == len(short) == len(names)
    for f, s in zip(full, short):
        assert s and s in f, (f, s)
        # a pair inside belongs to an enclosing function or a template argument
        assert not s.endswith(")") or s.endswith("operator()"), (f, s)


def test_rust_names_equal_cxxfilt_without_its_hashes():
    names = RUST.read_text().splitlines()
    text = "\n".join(names) + "\n"
    ours = run(SYMDUMP, "demangle", "full", input=text)
    theirs = run("c++filt", input=text)
    assert len(names) > 300
    for name, o, t in zip(names, ours, theirs):
        t = re.sub(r"\[[0-9a-f]{1,16}\]", "", t) if name.startswith("_R") else \
            re.sub(r"::h[0-9a-f]{16}$", "", t)
        t = re.sub(r": (usize|isize|[ui]\d+|char|bool)(?=[>,\]])", "", t)
        assert o == t, name
