"""From a running JVM to a picture, and the page opened by itself."""
import subprocess
import xml.etree.ElementTree as ET

import pytest

from kit.parts import ROOT, SPARKPROF


def test_page_of_a_real_jvm(browser, target, tmp_path):
    t = target("Mixture", "60")
    html, svg = tmp_path / "x.html", tmp_path / "x.svg"
    r = subprocess.run([SPARKPROF, "-e", "wall", "-i", "10ms", "-d", "3", "-f", html, "-f", svg, str(t.pid)],
                       capture_output=True, text=True, timeout=120)
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


def test_stdout_has_the_page_and_nothing_else(target):
    t = target("Idle")
    r = subprocess.run([SPARKPROF, "-e", "wall", "-d", "1", "-o", "html", "-f", "-", str(t.pid)], capture_output=True, timeout=120)
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
