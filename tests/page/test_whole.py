"""From a running JVM to a picture, and the page opened by itself."""
import base64
import json
import re
import subprocess
import xml.etree.ElementTree as ET

import pytest

from kit import native, peers
from kit.parts import ROOT, SPARKPROF


def test_page_of_a_real_jvm(browser, target, tmp_path):
    t = target("Mixture", "600")
    html, svg, jfr = tmp_path / "x.html", tmp_path / "x.svg", tmp_path / "x.jfr"
    r = subprocess.run([SPARKPROF, "-e", "wall", "-i", "10ms", "-d", "3", "-f", html, "-f", svg, "-f", jfr, str(t.pid)],
                       capture_output=True, text=True, timeout=300)
    assert r.returncode == 0, r.stderr
    browser.open(html)
    assert browser.ask("seen")["errors"] == []
    names = browser.eval("sparkprof.profile.strings.cache.length && [...Array(sparkprof.profile.strings.length).keys()].map((i) => sparkprof.model.name(i)).join('\\n')")
    assert "Mixture.round" in names
    foot = browser.eval("document.getElementById('foot').textContent")
    for word in ("Samples", "Lost", "Truncated", "Unknown", f"pid {t.pid}", "-e wall", "Host"):
        assert word in foot
    assert browser.eval("sparkprof.profile.meta.bucket") <= browser.eval("sparkprof.profile.meta.duration") / 2000
    assert browser.eval("sparkprof.model.nodes.line.some((l) => l > 0)")
    assert browser.eval("sparkprof.strip.lanes.map((l) => l.label).includes('Memory')")
    ET.parse(svg)
    run = lambda *args: subprocess.run([SPARKPROF, *map(str, args)], check=True, capture_output=True, timeout=300)
    run("-e", "wall", "-i", "10ms", "-d", "1", "-f", tmp_path / "new.jfr", t.pid)
    run("diff", jfr, tmp_path / "new.jfr", "-f", tmp_path / "d.html", "-f", tmp_path / "d.json")
    compared(browser, tmp_path)
    run("report", jfr, "-f", tmp_path / "x.speedscope.json")
    imported(browser, tmp_path, f"pid {t.pid}")


def imported(browser, tmp, title):
    """speedscope's own importer takes the file, and says so where one is nothing."""
    for name, data in (("x", (tmp / "x.speedscope.json").read_bytes()), ("nothing", b"{}")):
        (tmp / f"{name}.js").write_text(f"speedscope.loadFileFromBase64('{name}.speedscope.json', {json.dumps(base64.b64encode(data).decode())})")
        browser.open(peers.speedscope() / "dist/release/index.html", f"localProfilePath={tmp}/{name}.js",
                     ready="/Time Order|went wrong/.test(document.body.innerText)")
        assert ("Time Order" in browser.eval("document.body.innerText")) == (name == "x")
        assert (title in browser.eval("document.title")) == (name == "x")


def compared(browser, tmp):
    """The page of a comparison has the numbers of the other formats, to the sample, and each side's length."""
    told = json.loads((tmp / "d.json").read_text())
    browser.open(tmp / "d.html")
    shown = browser.eval("""(() => {
        const m = sparkprof.model, s = m.methods(), methods = {};
        for (let i = 0; i < m.strings.length; i++)
            if (m.usedNames()[i])
                methods[m.name(i)] = {samples: [s.a[i], s.b[i]], ...m.changeBeyond(i)};
        return {samples: [m.a.total[0], m.b.total[0]], methods};
    })()""")
    assert shown["samples"] == told["samples"] and min(told["samples"]) > 100
    assert {m["name"] for m in told["methods"]} == set(shown["methods"])
    for m in told["methods"]:
        assert shown["methods"][m["name"]]["samples"] == m["samples"], m["name"]
        assert shown["methods"][m["name"]]["change"] == pytest.approx(m["change"], abs=1e-7)
        assert shown["methods"][m["name"]]["noise"] == pytest.approx(m["noise"], rel=1e-5)
    foot = browser.eval("document.getElementById('foot').textContent")
    base, new = (float(x) for x in re.search(r"Length ([\d.]+) s in base, ([\d.]+) s in new", foot).groups())
    assert 2.5 < base < 30 and 0.5 < new < base


def test_stdout_has_the_page_and_nothing_else(target):
    t = target("Idle")
    r = subprocess.run([SPARKPROF, "-e", "wall", "-d", "1", "-o", "html", "-f", "-", str(t.pid)], capture_output=True, timeout=300)
    assert r.returncode == 0, r.stderr
    assert r.stdout.startswith(b"<!DOCTYPE html>") and r.stdout.rstrip().endswith(b"</html>")


def test_sources_open_by_themselves(browser):
    browser.open(ROOT / "src/page/index.html")
    assert browser.ask("seen")["errors"] == []
    assert browser.eval("sparkprof.flames.flame.layout.rows.length") > 10


def test_svg_is_well_formed_with_any_name(make):
    for args in (("hostile",), ("generate", 50000, 5000, 8, 60, 120)):
        path = make("svg", *args)
        ET.parse(path)
        assert path.stat().st_size <= 2 << 20


def test_svg_of_a_comparison_stays_small(sparkprof, tmp_path):
    for side in range(2):  # 24,000 frames of half a pixel and more: drawn as they are, over 3 MB
        (tmp_path / f"{side}.collapsed").write_text("".join(
            "main;" + ";".join(f"com/acme/Class{i}.method{k}" for k in range(12)) + f" {1 + (i + side) % 5}\n" for i in range(2000)))
    r = sparkprof("diff", tmp_path / "0.collapsed", tmp_path / "1.collapsed", "-f", tmp_path / "d.svg")
    assert r.returncode == 0, r.stderr
    svg = (tmp_path / "d.svg").read_bytes()
    assert len(ET.fromstring(svg).findall(".//{*}title")) > 1000
    assert len(svg) <= 2 << 20
    assert b"are folded" in svg


@pytest.mark.long
def test_ten_minutes_of_64_threads_stay_small(make):
    path = make("html", "generate", 768000, 20000, 64, 600, 60)
    assert path.stat().st_size < 3_000_000


@pytest.mark.long
def test_a_million_samples_stay_under_15_mb(make):
    path = make("html", "generate", 1000000, 100000, 64, 600, 500)
    assert path.stat().st_size < 15_000_000


def test_same_profile_same_page(make, tmp_path):
    assert make("html", "generate", 20000, 400, 8, 60, 30).read_bytes() == \
        make("html", "generate", "20000", "400", "8", "60", "30").read_bytes()


@pytest.mark.long
def test_many_executors_fit_one_page(browser, sparkprof, tmp_path):
    """More than 32 recordings are summed by stage when they get too many rows; what is left says the same."""
    app, halves = tmp_path / "app", [tmp_path / "a", tmp_path / "b"]
    app.mkdir()
    subprocess.run([native.jfr_long(), app, "150", "10", "8", "3000", "33"], check=True)
    for half in halves:
        half.mkdir()
    for i, f in enumerate(sorted(app.iterdir())):
        (halves[i % 2] / f.name).symlink_to(f)

    def stages(folder):
        r = sparkprof("report", folder, "-o", "json", "-f", "-")
        assert r.returncode == 0, r.stderr
        return {s["stage"]: s for s in json.loads(r.stdout)["events"][0]["stages"]}, r.stderr

    r = sparkprof("report", app, "-f", tmp_path / "x.html", "-o", "json", "-f", tmp_path / "x.json")
    assert r.returncode == 0 and "too much data for one report" in r.stderr and "33 more" not in r.stderr, r.stderr
    assert r.stderr.count("wall shows threads inside of tasks only") == 1, r.stderr
    whole = {s["stage"]: s for s in json.loads((tmp_path / "x.json").read_text())["events"][0]["stages"]}
    parts = [stages(half) for half in halves]
    assert not any("too much data for one report" in said for _, said in parts)
    assert len(whole) == 3
    for n, s in whole.items():
        for key in ("tasks", "run_ns", "weight"):
            assert s[key] == sum(p[n][key] for p, _ in parts), (n, key)
    browser.open(tmp_path / "x.html")
    assert browser.ask("seen")["errors"] == []
    shown = dict(browser.eval("[...document.querySelectorAll('.stages tbody')].map((b) => [b.dataset.stage, b.rows[0].cells[1].textContent.replace(/\\D/g, '')])"))
    assert shown == {f"stage {n}.0": str(s["tasks"]) for n, s in whole.items()}
    assert "too much data for one report" in browser.eval("document.getElementById('foot').textContent")
