"""Pages whose data was damaged or made up: a sentence and the table, or graphs of what is there; nothing runs, nothing is asked for."""
import base64
import random
import re
import zlib

import pytest

SEED = 20
DONE = "document.body.classList.contains('failed') || globalThis.sparkprof"
ELEMENTS = ["data", "rest"]
EVIL = b"<img src=x onerror=alert(1)></script><script>alert(2)</script>"


def element(page, name):
    """Where the text of an element of data is."""
    m = re.search(rf'<[a-z]+[^>]*\bid="?{name}"?[^>]*>([A-Za-z0-9+/=\s]+)<', page)
    assert m, name
    return m.span(1)


def looked_at(browser, path):
    """Whether the page says that it cannot be drawn; that is the worst that may happen."""
    browser.open(path, ready=DONE)
    seen = browser.ask("seen")
    assert [e for e in seen["errors"] if "dialog" in e] == []
    assert [r for r in seen["requests"] if not r.startswith(("file:", "data:"))] == []
    assert browser.eval("document.querySelectorAll('img, main script, header script').length") == 0
    failed = browser.eval("document.body.classList.contains('failed')")
    if failed:
        assert "cannot be drawn" in browser.eval("document.getElementById('trouble').innerText")
        assert browser.eval("document.getElementById('trouble').children.length") == 0
        assert browser.eval("document.querySelectorAll('#plain tbody tr').length") == 30
    return failed


@pytest.mark.parametrize("name", ELEMENTS)
def test_flipped_bytes_are_noticed(browser, small, tmp_path, name):
    """The data has a checksum: no flip is drawn as if it were a profile."""
    page, rng = small.read_text(), random.Random(SEED)
    start, end = element(page, name)
    for n in range(6):
        at = rng.randrange(start, end - 8)
        other = rng.choice([c for c in "ABCxyz019+/" if c != page[at]] + ["\0", "*", "é"])
        path = tmp_path / f"{n}.html"
        path.write_text(page[:at] + other + page[at + 1:])
        assert looked_at(browser, path), (n, at, other)


@pytest.mark.parametrize("name", ELEMENTS)
def test_data_that_was_made_up(browser, small, tmp_path, name):
    """The checksum is right, what it holds is not: counts, indices and lengths of any size, markup for names."""
    page, rng = small.read_text(), random.Random(SEED)
    start, end = element(page, name)
    true = zlib.decompress(base64.b64decode(page[start:end]))
    failed = 0
    for n in range(10):
        data = bytearray(true)
        for _ in range(rng.choice([1, 5, 50])):
            at = rng.randrange(5, len(data))
            if rng.random() < 0.2:
                data[at:at + len(EVIL)] = EVIL
            else:
                data[at] = rng.choice([0, 1, 0x7f, 0x80, 0xff, rng.randrange(256)])
        text = base64.b64encode(zlib.compress(bytes(data[:rng.choice([len(data), rng.randrange(5, len(data))])]))).decode()
        path = tmp_path / f"{n}.html"
        path.write_text(page[:start] + text + page[end:])
        failed += looked_at(browser, path)
    assert failed > 0, f"seed {SEED}"
