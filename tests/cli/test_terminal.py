"""Names that would write to a terminal, or turn text around, through every format."""
import json
import re

import pytest

UNSAFE = "\x9b\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u2028\u2029"
NAME = f"evil{UNSAFE}name"
BAD = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def recording(tmp_path):
    """Stacks as another tool would have written them."""
    path = tmp_path / "in.collapsed"
    path.write_bytes(f"[{NAME} tid=1];{NAME};{NAME} 5\n".encode())
    return path


@pytest.mark.parametrize("ext", ["txt", "collapsed", "csv", "json", "speedscope.json", "svg", "html", "md"])
@pytest.mark.parametrize("action", ["report", "diff"])
def test_no_name_reaches_the_terminal(sparkprof, recording, tmp_path, ext, action):
    if action == "diff" and ext in ("speedscope.json", "md"):
        pytest.skip("has no comparison")
    out = tmp_path / f"out.{ext}"
    r = sparkprof(action, recording, *([recording] if action == "diff" else []), "-f", out)
    assert r.returncode == 0, r.stderr
    assert not BAD.search(r.stderr)
    text = out.read_bytes().decode()  # always UTF-8
    if ext == "html":
        text = re.sub(r"<script.*?</script>", "", text, flags=re.S)  # the program of the page, and its data in base64
    assert not BAD.search(text.replace("\t", "").replace("\r\n", "\n")), BAD.search(text)


def test_json_loses_nothing(sparkprof, recording, tmp_path):
    for name in ("out.json", "out.speedscope.json"):
        assert sparkprof("report", recording, "-f", tmp_path / name).returncode == 0
        assert any(NAME in s for s in strings(json.loads((tmp_path / name).read_text())))


def strings(x):
    if isinstance(x, str):
        yield x
    elif isinstance(x, (list, dict)):
        for v in x.values() if isinstance(x, dict) else x:
            yield from strings(v)


@pytest.mark.parametrize("call", [["report", NAME], ["report", "x.jfr", "--stage", NAME], [f"--{NAME}"], ["status", NAME]])
def test_messages_are_safe(sparkprof, call):
    r = sparkprof(*call)
    assert r.returncode != 0 and r.stderr and not BAD.search(r.stderr)
