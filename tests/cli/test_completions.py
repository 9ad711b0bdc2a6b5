"""Completions in the real shells: typed into bash and zsh through a terminal, asked of fish."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from kit import parts, table

HERE = parts.ROOT / "completions"
START = {
    "bash": (["bash", "--noprofile", "--norc", "-i"], [
        "PS1='> '", ". /usr/share/bash-completion/bash_completion", f". {HERE}/sparkprof.bash",
        "bind 'set enable-bracketed-paste off'", "bind 'set completion-query-items 0'",
        "bind 'set page-completions off'", "bind 'set show-all-if-ambiguous on'"]),
    "zsh": (["zsh", "-f", "-i"], [
        "PS1='> '", f"fpath=({HERE} $fpath)", "autoload -Uz compinit", "compinit -u -D", "LISTMAX=0",
        "unset zle_bracketed_paste", "setopt auto_list no_list_beep no_list_ambiguous"]),
}


class Shell:
    """An interactive shell on a terminal of 240 columns, with build/sparkprof first in PATH."""

    def __init__(self, name):
        argv, setup = START[name]
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            env = {"PATH": f"{parts.ROOT}/build:/usr/bin:/bin", "TERM": "dumb", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
            os.execvpe(argv[0], argv, env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 300, 240, 0, 0))
        self.n = 0
        for line in setup:
            self.type(line + "\r")
        self.sync()

    def type(self, text):
        os.write(self.fd, text.encode())

    def read_until(self, pattern, seen="", timeout=300):
        end = time.monotonic() + timeout
        while not re.search(pattern, seen):
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"no {pattern!r} on the screen:\n{seen}")
            seen += os.read(self.fd, 65536).decode(errors="replace")
        return seen

    def sync(self):
        """Clears the line and waits until the shell has run a command of ours."""
        self.n += 1
        self.type(f"\x15echo mark$(({self.n}+1000))\r")
        return self.read_until(f"mark{self.n + 1000}\\s")

    def offers(self, line, expect):
        """Types a line and TAB; returns what is on the screen once `expect` is there."""
        self.type(line)
        typed = self.read_until(re.escape(line[-8:]))
        self.type("\t")
        screen = self.read_until(expect, typed)
        return screen + self.sync()

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


@pytest.fixture(scope="module", params=["bash", "zsh"])
def shell(request):
    s = Shell(request.param)
    yield s
    s.close()


def options_of(action):
    return [f"--{o.name}" for o in table.options().values() if action in o.actions]


def names_on(screen):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", screen))


@pytest.mark.parametrize("action", table.actions())
def test_options_of_each_action(shell, action):
    screen = shell.offers(f"sparkprof {action} --", "--version")
    assert names_on(screen) == set(options_of(action))


def test_options_without_an_action_are_those_of_collect(shell):
    assert names_on(shell.offers("sparkprof --", "--version")) == set(options_of("collect"))


def test_values(shell):
    for o in table.options().values():
        if o.kind in ("ENUM", "FORMAT"):
            for form in o.spellings():
                sep = "=" if form.startswith("--") else " "
                screen = shell.offers(f"sparkprof {sorted(o.actions)[0]} {form}{sep}", o.value.split("|")[-1])
                assert all(v in screen for v in o.value.split("|")), screen


def test_events(shell):
    screen = shell.offers("sparkprof -e ", "branch-load-misses")
    assert all(re.search(rf"(?<![\w-]){e}(?![\w-])", screen) for e in table.events())


def test_second_event_behind_a_comma(shell):
    assert "wall" in shell.offers("sparkprof -e cpu,wa", "wall")


def test_one_match_is_filled_in(shell):
    shell.offers("sparkprof --attach-t", "--attach-timeout")


def test_actions_and_words(shell):
    screen = shell.offers("sparkprof s", "status")
    assert {"start", "stop", "status"} <= set(re.findall(r"\w+", screen))


def test_files(shell, tmp_path):
    (tmp_path / "out-of-this.jfr").touch()
    shell.offers(f"sparkprof -f {tmp_path}/out", "out-of-this.jfr")


def test_live_pids(shell, target):
    jvms = [target("Idle"), target("Idle")]
    screen = shell.offers("sparkprof status ", f"{jvms[-1].pid}")
    for jvm in jvms:
        assert re.search(rf"\b{jvm.pid}\b.*\bother\b", screen), screen


def fish(line):
    """What fish offers for a line: {word: description}."""
    script = f"source {HERE}/sparkprof.fish; complete -C '{line}'"
    env = {"PATH": f"{parts.ROOT}/build:/usr/bin:/bin", "HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent",
           "LC_ALL": "C.UTF-8"}
    r = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, timeout=300, env=env)
    assert r.returncode == 0 and "error" not in r.stderr, r
    return {w: d for w, _, d in (row.partition("\t") for row in r.stdout.splitlines())}


@pytest.mark.parametrize("action", table.actions())
def test_fish_options_of_each_action(action):
    offered = fish(f"sparkprof {action} --")
    assert {w.rstrip("=") for w in offered} == set(options_of(action))
    assert all(offered.values()), offered


def test_fish_values_events_and_actions():
    assert set(fish("sparkprof --capture=")) == {"--capture=ring", "--capture=signal"}
    assert set(fish("sparkprof -o ")) == set(table.options()["output"].value.split("|"))
    assert set(fish("sparkprof -e ")) == set(table.events())
    assert {"start", "stop", "status"} <= set(fish("sparkprof s"))


def test_fish_live_pids(target):
    jvm = target("Idle")
    assert "other" in fish("sparkprof status ")[str(jvm.pid)]
