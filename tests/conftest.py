import atexit
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from kit import jvm, long, parts, table  # noqa: E402
from kit.parts import SPARKPROF  # noqa: E402

ORDER = ["python", "jvm", "page", "fuzz", "cli"]  # folders whose files take long come first, so that all processes end at about the same time
ATTACHING = table.MASKS["ATTACHING"]


# Started in the background, or under nohup, this process ignores signals, and so would those that tests start.
for ignored in (s for s in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT) if signal.getsignal(s) == signal.SIG_IGN):
    signal.signal(ignored, signal.SIG_DFL)


# A JVM in another locale does not find files whose names are not ASCII.
os.environ.setdefault("LC_ALL", "C.UTF-8")


# Copies of last recordings are the tests' own.
if "XDG_CACHE_HOME" not in os.environ:
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="sparkprof-cache-")
    atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)


def pytest_addoption(parser):
    parser.addoption("--part", help="only this part of the long tests (tests/kit/long.py)")
    parser.addoption("--progress", action="store_true", help="say after each test how many are left")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: belongs to ./build.sh test-long")
    config.addinivalue_line("markers", "alone: counts what the whole machine shares, or needs a core at once; no other test runs beside it")
    if config.option.progress:
        config.pluginmanager.register(long.Progress())


def alternately(files):
    """Spark, which wants all cores, between files whose tests mostly wait."""
    clusters = [f for f in files if f.parent.name == "spark"]
    others = sorted((f for f in files if f.parent.name != "spark"), key=lambda f: ORDER.index(f.parent.name) if f.parent.name in ORDER else len(ORDER))
    return [f for pair in itertools.zip_longest(clusters, others) for f in pair if f]


def pytest_collection_modifyitems(config, items):
    place = {f: i for i, f in enumerate(alternately(dict.fromkeys(item.path for item in items)))}
    items.sort(key=lambda item: place[item.path])
    part = config.option.part
    if part:
        chosen = [item for item in items if long.part_of(f"{item.path.parent.name}/{item.path.name}") == part]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen


def pytest_runtest_logreport(report):
    """Names what fails at once: a whole run takes a while, and may be broken off."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\nfailed: {report.nodeid}", flush=True)


def patiently(args):
    """A call about a process by its number, as a number: on a busy machine a JVM may take longer to answer than the usual ten seconds."""
    action = len(args) > 0 and str(args[0]).isalpha()
    if not args or not isinstance(args[-1], int) or "--attach-timeout" in " ".join(map(str, args)) or action and args[0] not in ATTACHING:
        return args
    return (*args[:action], "--attach-timeout=60s", *args[action:])


@pytest.fixture
def sparkprof():
    """Runs the launcher: sparkprof("ps", "--json") → CompletedProcess with text output."""
    def run(*args, timeout=300, **kw):
        if "user" in kw:
            parts.needs_other_users("call sparkprof as another user")
        return subprocess.run([str(SPARKPROF), *map(str, patiently(args))], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=timeout, **kw)
    return run


@pytest.fixture
def target():
    """Starts Java targets that end with the test: target("Idle", jdk=21)."""
    started = []

    def start(*args, **kw):
        started.append(jvm.Target(*args, **kw))
        return started[-1]
    yield start
    for t in started:
        t.close()
