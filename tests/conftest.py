import pathlib
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from kit import jvm, spark  # noqa: E402
from kit.parts import SPARKPROF  # noqa: E402


# Started in the background, or under nohup, this process ignores signals, and so would those that tests start.
for ignored in (s for s in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT) if signal.getsignal(s) == signal.SIG_IGN):
    signal.signal(ignored, signal.SIG_DFL)


def pytest_configure(config):
    config.addinivalue_line("markers", "long: belongs to ./build.sh test-long")


@pytest.fixture
def sparkprof():
    """Runs the launcher: sparkprof("ps", "--json") → CompletedProcess with text output."""
    def run(*args, timeout=60, **kw):
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
