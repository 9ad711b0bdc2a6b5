"""How many samples each format says that it has."""
import base64
import csv
import json
import re
import zlib


def _varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def page_meta(path):
    """What the page says of itself: section 1 of its data (src/out/pagedata.h)."""
    data = zlib.decompress(base64.b64decode(re.search(r'id="data">([^<]*)<', path.read_text())[1]))
    _, at = _varint(data, 4)
    section, at = _varint(data, at)
    size, at = _varint(data, at)
    assert data[:4] == b"SPPG" and section == 1
    return json.loads(data[at:at + size])


def collapsed(path):
    return sum(int(line.rsplit(" ", 1)[1]) for line in path.read_text().splitlines() if not line.startswith("[lost: "))


def tables(path, event):
    """Sums of the column of samples in those tables of a CSV that have every sample in one line."""
    sums = {}
    for row in csv.DictReader(path.open()):
        if row["event"] == event and row["table"] in ("method", "thread", "state"):
            sums[row["table"]] = sums.get(row["table"], 0) + int(row["samples"])
    return sums


def samples(directory, event):
    """{what: samples} of directory/x.*, of a recording with one event."""
    text, page = (directory / "x.txt").read_text(), page_meta(directory / "x.html")
    table, scope = json.loads((directory / "x.json").read_text()), json.loads((directory / "x.speedscope.json").read_text())
    [mine], [shown], [profile] = ([e for e in table["events"] if e["event"] == event], [e for e in page["events"] if e["name"] == event],
                                  scope["profiles"])
    return {"text, all": number(re.search(r"^Samples +([\d,]+)$", text, re.M)[1]),
            "text, event": number(re.search(rf"^{event}[^:]*: ([\d,]+) samples?,", text, re.M)[1]),
            "page": page["samples"], "page, event": shown["samples"], "json": table["samples"], "json, event": mine["samples"],
            "collapsed": collapsed(directory / "x.collapsed"), "speedscope": profile["endValue"],
            **{f"csv, {k}": n for k, n in tables(directory / "x.csv", event).items()},
            **{f"json, {k}": sum(r["samples"] for r in mine["tables"][k]) for k in ("method", "thread", "state")}}


def number(text):
    return int(text.replace(",", ""))
