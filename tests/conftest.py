import os
import pathlib
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from kit import jvm, long, parts, spark  # noqa: E402
from kit.parts import SPARKPROF  # noqa: E402

# Folders whose files take long come first, so that two processes that share the files end at about the same time.
ORDER = ["spark", "python", "jvm", "page", "fuzz", "cli"]


# Started in the background, or under nohup, this process ignores signals, and so would those that tests start.
for ignored in (s for s in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT) if signal.getsignal(s) == signal.SIG_IGN):
    signal.signal(ignored, signal.SIG_DFL)


# A JVM in another locale does not find files whose names are not ASCII.
os.environ.setdefault("LC_ALL", "C.UTF-8")


def pytest_addoption(parser):
    parser.addoption("--part", help="only this part of the long tests (tests/kit/long.py)")
    parser.addoption("--progress", action="store_true", help="say after each test how many are left")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: belongs to ./build.sh test-long")
    config.addinivalue_line("markers", "alone: counts what the whole machine shares, or needs a core at once; no other test runs beside it")
    if config.option.progress:
        config.pluginmanager.register(long.Progress())


def pytest_collection_modifyitems(config, items):
    items.sort(key=lambda item: ORDER.index(item.path.parent.name) if item.path.parent.name in ORDER else len(ORDER))
    part = config.option.part
    if part:
        chosen = [item for item in items if long.part_of(f"{item.path.parent.name}/{item.path.name}") == part]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen


@pytest.fixture
def sparkprof():
    """Runs the launcher: sparkprof("ps", "--json") → CompletedProcess with text output."""
    def run(*args, timeout=120, **kw):
        if "user" in kw:
            parts.needs_other_users("call sparkprof as another user")
        return subprocess.run([str(SPARKPROF), *map(str, args)], capture_output=True, text=True,
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


@pytest.fixture(scope="module")
def spark_app():
    """A running local-cluster application with two executors of one core, shared by a file's tests."""
    with spark.App(master="local-cluster[2,1,1024]") as app:
        yield app
