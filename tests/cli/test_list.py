"""sparkprof list: readable on a narrow terminal, each reason given once, the same rows as for scripts."""
import json
import re
import subprocess

import pytest

from kit import parts
from kit.parts import SPARKPROF

NOBODY = 12345


@pytest.fixture(params=["root", "plain user"])
def listed(request):
    """The text and the rows of one list."""
    who = {}
    if request.param == "plain user":
        parts.needs_other_users("list as another user")
        who = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    text, rows = (subprocess.run([SPARKPROF, "list", *more], capture_output=True, text=True, check=True, **who).stdout
                  for more in ([], ["--json"]))
    return text, json.loads(rows)


def test_fits_a_terminal(listed):
    text, _ = listed
    assert [line for line in text.splitlines() if len(line) > 80 or line != line.rstrip()] == []


def test_every_event_has_its_place(listed):
    text, rows = listed
    words = re.split(r"[\s,]+", text)
    for row in rows:
        assert words.count(row["event"]) >= 1, row
        assert f"{row['group']}:\n" in text


def test_a_reason_stands_once(listed):
    text, rows = listed
    flat = " ".join(text.split())
    notes = {(row["state"], row["note"]) for row in rows if row["note"]}
    for state, note in notes:
        assert flat.count(f"{state}: {note}") + flat.count(f"{state} {note}") == 1, (state, note)


def test_reasons_are_sentences_with_a_remedy(listed):
    _, rows = listed
    for note in {row["note"] for row in rows if row["state"] != "available"} - {"not built yet"}:
        assert re.search(r"(: |\().*(run|set|raise|allow|use|mount|stop|grant|Linux|root)", note), note
        assert "  " not in note and "real with" not in note
