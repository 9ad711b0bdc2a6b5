import os
import pathlib
import subprocess

import pytest

from kit.browser import Browser
from kit.parts import ROOT

MAKE = pathlib.Path(os.environ.get("SPARKPROF_PAGE_MAKE", ROOT / "build/dev/tests/page/page-make"))


@pytest.fixture(scope="session")
def make(tmp_path_factory):
    """make("html", "generate", …) → path of a report; the same arguments give the same file."""
    made = {}

    def run(*args):
        if args not in made:
            assert MAKE.exists(), f"{MAKE} is missing: ninja -C build/dev"
            path = tmp_path_factory.mktemp("page") / f"report.{args[0]}"
            with open(path, "wb") as out:
                subprocess.run([MAKE, *map(str, args)], stdout=out, check=True, timeout=300)
            made[args] = path
        return made[args]
    return run


@pytest.fixture(scope="session")
def browser():
    b = Browser()
    yield b
    b.close()


@pytest.fixture
def small(make):
    return make("html", "generate", 20000, 400, 8, 60, 30)


@pytest.fixture
def repeated(make):
    return make("html", "repeated")
