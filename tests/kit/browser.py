"""A real headless Chromium for the tests of the report page, driven through npm's puppeteer-core."""
import json
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from . import parts

PUPPETEER = "24.10.0"


def puppeteer():
    """A directory whose node_modules has puppeteer-core."""
    def make(tmp):
        parts.fetch(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", tmp, f"puppeteer-core@{PUPPETEER}"], stdout=subprocess.DEVNULL)
    return parts._once(f"puppeteer-core-{PUPPETEER}", make)


class Browser:
    def __init__(self):
        for tool in ("chromium", "node", "npm"):
            if not shutil.which(tool):
                pytest.skip(f"{tool} is not installed: ./build.sh deps installs it")
        where = puppeteer()
        self.profile = tempfile.mkdtemp(prefix="sparkprof-chromium-")
        self.process = subprocess.Popen(
            ["node", pathlib.Path(__file__).with_suffix(".js"), shutil.which("chromium"), self.profile],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**_env(), "NODE_PATH": str(where / "node_modules")})

    def ask(self, do, **args):
        self.process.stdin.write(json.dumps({"do": do, **args}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the browser has gone"
        answer = json.loads(line)
        assert "error" not in answer, f"{do}: {answer['error']}"
        return answer.get("ok")

    def open(self, path, fragment="", ready="globalThis.sparkprof", **args):
        """Opens a report and waits until it is drawn."""
        url = pathlib.Path(path).absolute().as_uri() + (f"#{fragment}" if fragment else "")
        self.ask("open", url=url, **args)
        self.ask("wait", code=ready)

    def eval(self, code):
        return self.ask("eval", code=code)

    def keys(self, *keys):
        self.ask("key", keys=keys)

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


def _env():
    import os
    return dict(os.environ)
