"""The lint tests find what they are for: in a copy of the tree one thing is made wrong, and the place is named."""
import json
import re
import shutil
import subprocess
import sys

import pytest

from kit import parts


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    to = tmp_path_factory.mktemp("tree")
    for d in ("src", "agent", "launcher", "api", "man", "completions", "tests/lint", "tests/kit"):
        shutil.copytree(parts.ROOT / d, to / d, ignore=shutil.ignore_patterns("__pycache__"))
    for f in ("README.md", "build.sh", "meson.build", "meson_options.txt", "LICENSE", "ARCHITECTURE.md", "CONTRIBUTING.md", "HOST.md", "SECURITY.md", "tests/README.md", ".clang-format", ".clang-tidy"):
        shutil.copy(parts.ROOT / f, to / f)
    return to


def lint(tree, name, *args):
    return subprocess.run([sys.executable, "-B", tree / f"tests/lint/{name}.py", *args], capture_output=True, text=True)


CASES = [
    # lint, file, pattern, instead, what is said
    ("options", "man/sparkprof.1.scd", r"\*--memory\*=_SIZE_", "*--memry*=_SIZE_", "--memry is not an option"),
    ("options", "man/sparkprof.1.scd", r"Default: 12m", "Default: 16m", "default of --memory: says 16m, the table 12m"),
    ("options", "man/sparkprof.1.scd", r"From 2m to 1g", "From 2m to 2g", "bounds of --memlimit"),
    ("options", "man/sparkprof.1.scd", r"\*-q\*, ", "", "letter of --quiet"),
    ("options", "man/sparkprof.1.scd", r"_ring\|signal_", "_ring_", "value of --capture"),
    ("options", "man/sparkprof.1.scd", r"\n\*dump\*\n", "\n*drop*\n", "action dump is missing"),
    ("options", "man/sparkprof.1.scd", r"start -e cpu --wall", "start --jfrsync --wall", "--jfrsync is refused"),
    ("options", "README.md", r"\Z", "\n    sparkprof --jfrsync profile executor\n", "README.md:", "--jfrsync is refused"),
    ("options", "README.md", r"\Z", "\n    sparkprof meminfo 1\n", "README.md:", "action meminfo is refused"),
    ("options", "README.md", r"\Z", "\n    kubectl exec --tty POD -- sparkprof --jfrsync profile 1\n", "--jfrsync is refused", "1 finding"),
    ("options", "completions/sparkprof.bash", r" --timeout --attach-timeout -f", " --attach-timeout -f", "--timeout is missing"),
    ("options", "completions/sparkprof.bash", r"ring signal", "ring", "values of --capture"),
    ("options", "completions/sparkprof.bash", r"    cpu ctimer", "    ctimer", "event cpu"),
    ("options", "completions/sparkprof.bash", r" --filter \|", "", "--filter takes a value"),
    ("options", "completions/_sparkprof", r"'start resume' '--timeout", "'start' '--timeout", "actions of --timeout"),
    ("options", "completions/_sparkprof", r".*--force.*\n", "", "--force is missing"),
    ("options", "completions/_sparkprof", r"text collapsed jfr", "text jfr", "values of --output"),
    ("options", "completions/sparkprof.fish", r" -s j ", " ", "letter of --jstackdepth"),
    ("options", "completions/sparkprof.fish", r"-l memory -x", "-l memory", "value of --memory"),
    ("options", "completions/sparkprof.fish", r'"print the version"', '"say it"', "action version"),
    ("options", "launcher/cli/options.def", r'"12m"', '"14m"', "default of --memory: says 12m, the table 14m"),
    ("options", "src/probe/perf_table.c", r'"LLC-loads"', '"LLC-leads"', "event LLC-leads", "event LLC-loads"),
    ("plain", "README.md", r"\Z", "\nRun it in order to see.\n", "README.md:", "'in order to': write 'to'"),
    ("plain", "launcher/cli/help.c", r"\Z", 'static const char x[] = "leave --sudo "\n\t"out";\n', "launcher/cli/help.c:", "'leave --sudo out': write 'omit'"),
    ("includes", "src/base/err.c", r"\Z", '#include "../../launcher/cli/options.h"\n', "src/base/err.c:", "may not be included"),
    ("includes", "agent/control/entry.c", r"\Z", '#include "../../launcher/cli/options.h"\n', "agent/control/entry.c:", "may not be included"),
    ("includes", "agent/control/entry.c", r"\Z", "#include <libelf.h>\n", "agent/control/entry.c:", "libelf.h"),
    ("includes", "launcher/cmd/main.c", r"\Z", '#include "../../agent/options/args.h"\n', "launcher/cmd/main.c:", "agent/options/args.h"),
    ("includes", "launcher/cmd/main.c", r"\Z", '#include "nowhere.h"\n', "launcher/cmd/main.c:", "nowhere.h"),
    ("includes", "agent/capture/engine.h", r"\Z", '#include "collect/collector.h"\n', "agent/capture/engine.h:", "agent/collect/collector.h may not be"),
    ("includes", "launcher/cli/help.c", r"\Z", '#include "run/outputs.h"\n', "launcher/cli/help.c:", "launcher/run/outputs.h may not be"),
    ("includes", "src/prof/model/tasks.c", r"\Z", '#include "prof/load/load.h"\n', "src/prof/model/tasks.c:", "src/prof/load/load.h may not be"),
    ("includes", "src/prof/model/profile.h", r"\Z", '#include "prof/model/tasks.h"\n', "includes itself"),
    ("includes", "src/base/err.h", r"\Z", "struct sp_profile {\n\tint x;\n};\n", "sp_profile is also in"),
    ("tree", "launcher/cmd/main.c", r"\Z", "\n" * 500, "launcher/cmd/main.c:500", "cut it in two"),
    ("tree", "src/base/err.c", r"\Z", "void f(void) { abort(); }\n", "src/base/err.c:", "abort"),
    ("tree", "agent/control/entry.c", r"\Z", "static __thread int x;\n", "agent/control/entry.c:", "__thread"),
    ("tree", "launcher/cmd/main.c", r"\Z", "void f(void) { strcpy(a, b); }\n", "launcher/cmd/main.c:", "strcpy"),
    ("paths", "ARCHITECTURE.md", r"\Z", "\n`src/base/nowhere.c`\n", "ARCHITECTURE.md:", "there is no src/base/nowhere.c"),
    ("tree", "README.md", r"\Z", "T" "ODO\n", "README.md:"),
    ("tree", "build.sh", r"\Z", "cd $nowhere\n", "build.sh:", "SC2"),
    ("format", "launcher/cmd/main.c", r"\tstruct sp_err err;", "   struct  sp_err err;", "launcher/cmd/main.c:"),
]


@pytest.mark.parametrize("name, path, pattern, instead, said", [(*c[:4], c[4:]) for c in CASES],
                         ids=[f"{c[0]}-{c[1]}-{c[4]}" for c in CASES])
def test_a_lint_names_the_place(copy, name, path, pattern, instead, said):
    before = (copy / path).read_text()
    after = re.sub(pattern, lambda _: instead, before, count=1)
    assert after != before, "the case no longer fits the file"
    (copy / path).write_text(after)
    try:
        r = lint(copy, name)
    finally:
        (copy / path).write_text(before)
    assert r.returncode == 1, r
    assert all(word in r.stdout for word in said), r.stdout


@pytest.mark.parametrize("name", ["options", "includes", "tree", "format"])
def test_the_copy_itself_is_clean(copy, name):
    r = lint(copy, name)
    assert r.returncode == 0, r.stdout + r.stderr


def test_a_stray_file_at_the_top_is_named(copy):
    (copy / "notes.txt").touch()
    r = lint(copy, "tree")
    (copy / "notes.txt").unlink()
    assert r.returncode == 1 and "notes.txt" in r.stdout


def test_a_file_in_no_room_is_named(copy):
    (copy / "agent/stray.c").write_text("int sp_stray;\n")
    r = lint(copy, "includes")
    (copy / "agent/stray.c").unlink()
    assert r.returncode == 1 and "agent/stray.c:1: lies in no room" in r.stdout


def test_two_files_of_one_name_are_named(copy):
    (copy / "agent/host/err.c").write_text("int sp_stray;\n")
    r = lint(copy, "includes")
    (copy / "agent/host/err.c").unlink()
    assert r.returncode == 1 and "agent/host/err.c has the same name" in r.stdout


def test_a_header_that_needs_another_one_is_named(copy):
    (copy / "launcher/cli/needy.h").write_text("struct needy {\n\tsize_t n;\n};\n")
    r = lint(copy, "includes", "cc", "--", "-I", copy / "src")
    (copy / "launcher/cli/needy.h").unlink()
    assert r.returncode == 1 and "launcher/cli/needy.h:1" in r.stdout


def compile_c(tmp_path, text, *flags):
    (tmp_path / "x.c").write_text(text)
    subprocess.run(["cc", "-o", tmp_path / "x", tmp_path / "x.c", *flags], check=True, stderr=subprocess.DEVNULL)
    return tmp_path / "x"


def test_symbols_finds_a_new_glibc_symbol(copy, tmp_path):
    lib = compile_c(tmp_path, "#include <pthread.h>\nint f(void) { return pthread_create(0, 0, 0, 0); }", "-shared", "-fPIC")
    r = lint(copy, "symbols", lib)
    assert r.returncode == 1 and "pthread_create needs GLIBC_2.34" in r.stdout


def test_symbols_finds_a_foreign_library(copy, tmp_path):
    lib = compile_c(tmp_path, "int zlibVersion(void); int f(void) { return zlibVersion(); }", "-shared", "-fPIC", "-lz")
    r = lint(copy, "symbols", lib)
    assert r.returncode == 1 and "libz.so" in r.stdout


def test_symbols_finds_nss_and_a_dynamic_launcher(copy, tmp_path):
    text = "#include <pwd.h>\nint main(void) { return !getpwuid(0); }"
    agent = parts.ROOT / "build/libsparkprof.so"
    r = lint(copy, "symbols", agent, compile_c(tmp_path, text, "-static"))
    assert r.returncode == 1 and "getpwuid" in r.stdout
    r = lint(copy, "symbols", agent, compile_c(tmp_path, text))
    assert r.returncode == 1 and "is not static" in r.stdout


def sigsafe(copy, tmp_path, text):
    """Runs that lint on a handler of this text."""
    source = copy / "agent/sig/probe.c"
    source.parent.mkdir(exist_ok=True)
    source.write_text(text)
    (tmp_path / "agent").mkdir()
    subprocess.run(["cc", "-c", "-fPIC", "-ftls-model=initial-exec", "-o", tmp_path / "agent/probe.o", source], check=True)
    (tmp_path / "compile_commands.json").write_text(
        json.dumps([{"directory": str(tmp_path), "file": str(source), "output": "agent/probe.o"}]))
    r = lint(copy, "sigsafe", tmp_path)
    source.unlink()
    return r


def test_sigsafe_finds_a_call_that_is_not_listed(copy, tmp_path):
    r = sigsafe(copy, tmp_path, "#include <stdlib.h>\nvoid *f(void) { return malloc(1); }\n")
    assert r.returncode == 1 and "agent/sig/probe.c:1: calls malloc" in r.stdout


def test_sigsafe_finds_thread_local_storage(copy, tmp_path):
    r = sigsafe(copy, tmp_path, "static __thread int x;\nint f(void) { return ++x; }\n")
    assert r.returncode == 1 and "agent/sig/probe.c:1: has thread-local storage" in r.stdout


def test_sigsafe_lets_a_listed_call_pass(copy, tmp_path):
    r = sigsafe(copy, tmp_path, "#include <errno.h>\nint g(void) { return errno; }\nint f(void) { return g(); }\n")
    assert r.returncode == 0 and "1 object" in r.stdout, r.stdout


def test_the_release_is_clean(copy):
    r = lint(copy, "symbols", parts.ROOT / "build/libsparkprof.so", parts.ROOT / "build/release/launcher/sparkprof")
    assert r.returncode == 0, r.stdout
