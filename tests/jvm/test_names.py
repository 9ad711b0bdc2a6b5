"""Names of stages from a driver's UI, by a program that has one as Spark has it; tests/spark/test_stages.py asks a real driver."""
import contextlib
import gzip
import http.server
import json
import re
import socket
import threading
import time

import pytest

from kit import jvm, recording
from kit.traces import wait_until


class Bad(http.server.BaseHTTPRequestHandler):
    """Answers as its server's @fault says."""

    def do_GET(self):
        fault, body = self.server.fault, b'[{"status":"ACTIVE","name":"wrong"}]'
        self.server.asked.append(self.path)
        self.send_response(int(fault) if fault.isdigit() else 302 if fault == "redirect" else 200)
        if fault == "redirect":
            self.send_header("Location", self.path)
        if fault == "gzip":
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        if fault == "trickle":  # never a pause that is too long, never an end
            with contextlib.suppress(OSError):
                while not self.server.over.wait(0.2):
                    self.wfile.write(b" ")
        with contextlib.suppress(OSError):
            self.wfile.write({"gzip": gzip.compress(body), "garbage": bytes(range(256)) * 64, "long": b"[" + b"{}," * (10 << 20)}.get(fault, b""))

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def bad_ui(fault):
    """A driver's UI that is of no use; gives its address, and what returns once it was asked."""
    if fault == "silent":
        with socket.create_server(("127.0.0.1", 0)) as s:
            s.settimeout(300)
            kept = []
            yield f"http://127.0.0.1:{s.getsockname()[1]}", lambda: kept.append(s.accept()[0])
            for connection in kept:
                connection.close()
        return
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bad)
    server.fault, server.asked, server.over, server.daemon_threads = fault, [], threading.Event(), True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", lambda: wait_until(lambda: server.asked)
    server.over.set()
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("fault", ["silent", "401", "garbage", "long", "trickle", *(pytest.param(f, marks=pytest.mark.long) for f in ("404", "500", "gzip", "redirect"))])
def test_a_ui_of_no_use_does_no_harm(target, sparkprof, tmp_path, fault):
    """Nothing is named, the end does not wait for it, and it is said."""
    with bad_ui(fault) as (url, is_asked):
        row = stage(target, sparkprof, tmp_path, f"--driver-ui={url}", before_the_end=is_asked)
        assert "name" not in row and "job" not in row and "sql_text" not in row
    text = sparkprof("report", tmp_path / "x.jfr", "-o", "text", "-f", "-").stdout
    assert " ".join(text.split()).count(f"--driver-ui: {url} has no stages of this application") == 1


def names(sparkprof, file):
    """Of the stages that a recording has by now."""
    r = sparkprof("report", file, "-o", "json")
    return r.returncode == 0 and [s.get("name") for s in json.loads(r.stdout)["events"][0].get("stages", [])]


def stage(target, sparkprof, tmp_path, *args, before_the_end=None):
    """What the recording knows of the program's one stage. The agent asks behind the stage, and at the end waits for a second only:
    before_the_end returns when it has come as far as that."""
    t = target("org.apache.spark.SparkEnv", "now", classes=f"{jvm.compiled()}:/nowhere/spark-core_2.13-4.3.0.jar")
    port = re.search(r"port (\d+)\.", t.stdout())[1]
    r = sparkprof("start", "-e", "wall", *(a.replace("PORT", port) for a in args), "-f", tmp_path / "x.jfr", t.pid)
    assert r.returncode == 0, r.stderr
    t.send("")
    t.wait_for("done")
    if before_the_end:
        before_the_end()
    assert sparkprof("stop", t.pid).returncode == 0
    assert sparkprof("report", tmp_path / "x.jfr", "-f", tmp_path / "x.json").returncode == 0
    [row] = json.loads((tmp_path / "x.json").read_text())["events"][0]["stages"]
    assert t.stderr() == "" and row["sql"] == 12
    return row


@pytest.mark.parametrize("args", [["--driver-ui=http://127.0.0.1:PORT"], ["--driver-ui", "http://localhost:PORT/"]], ids=" ".join)
def test_names_of_a_ui_that_is_told(target, sparkprof, tmp_path, args):
    named = lambda: names(sparkprof, tmp_path / "x.jfr") == ["collect at Main.java:7"]
    row = stage(target, sparkprof, tmp_path, *args, before_the_end=lambda: wait_until(named))
    assert (row.get("name"), row.get("job"), row.get("sql_text")) == ("collect at Main.java:7", 3, "SELECT 1")


@pytest.mark.parametrize("args", [["--driver-ui=none"], ["--driver-ui=http://127.0.0.1:9"], ["--driver-ui=https://127.0.0.1:PORT"], []], ids=" ".join)
def test_without_an_answer_there_are_numbers(target, sparkprof, tmp_path, args):
    row = stage(target, sparkprof, tmp_path, *args)
    assert "name" not in row and "job" not in row and "sql_text" not in row


def test_the_port_of_a_configuration_that_comes_later(target, sparkprof, tmp_path):
    """An executor that is recorded from its start: its command line names the driver, but Spark's configuration is not there yet."""
    t = target("org.apache.spark.SparkEnv", "later", "--executor-id", "0", "--app-id", "app-late", "--driver-url", "spark://Scheduler@127.0.0.1:9",
               classes=f"{jvm.compiled()}:/nowhere/spark-core_2.13-4.3.0.jar", jvm=[recording.option(tmp_path / "x.jfr", event="wall")])

    def named():
        """Tries end some seconds behind a task: on a busy machine it may take another one."""
        t.send("")
        time.sleep(1)
        return names(sparkprof, tmp_path / "x.jfr") == ["collect at Main.java:7"]
    wait_until(named)
    assert t.stderr() == ""
