"""The report page: size, time to write it, and in Chromium the first picture, zoom, search and a selected range.
bench page [ROUNDS]. One run beside whatever else the machine does: medians."""
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from kit.browser import Browser  # noqa: E402
from kit.parts import ROOT  # noqa: E402

CASES = {
    "10 minutes, 64 threads": (768000, 20000, 64, 600, 60),
    "a million samples, depth 500": (1000000, 100000, 64, 600, 500),
}
ACTIONS = {
    "zoom": "app.zoom(app.flames.flame, app.flames.flame.layout.rows[12].items[0])",
    "search": "app.set({search: 'Kryo|Shuffle', zoom: ''})",
    "range": "app.set({search: '', range: '60-120'})",
    "callers": "app.set({view: 'callers', range: ''})",
    "sandwich": "app.set({view: 'sandwich'})",
}


def measure(browser, path, rounds):
    figures = {"first picture": []}
    for _ in range(rounds):
        browser.open(path)
        figures["first picture"].append(browser.eval("performance.getEntriesByName('drawn')[0].startTime"))
        for name, code in ACTIONS.items():
            ms = browser.eval(f"(() => {{ const app = sparkprof, t = performance.now(); {code}; return performance.now() - t; }})()")
            figures.setdefault(name, []).append(ms)
    return {name: statistics.median(v) for name, v in figures.items()}


def main(rounds):
    maker = ROOT / "build/bench/tests/page/page-make"
    if not maker.exists():
        subprocess.run(["meson", "setup", ROOT / "build/bench", ROOT, "--buildtype=release"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", ROOT / "build/bench", "--quiet", "tests/page/page-make"], check=True)
    browser = Browser()
    try:
        with tempfile.TemporaryDirectory() as tmp:
            for name, args in CASES.items():
                path = pathlib.Path(tmp) / "page.html"
                start = time.monotonic()
                with open(path, "wb") as out:
                    subprocess.run([maker, "html", "generate", *map(str, args)], stdout=out, check=True)
                spent = time.monotonic() - start
                print(f"{name}: {path.stat().st_size / 1e6:.2f} MB, made in {spent:.2f} s")
                for what, ms in measure(browser, path, rounds).items():
                    print(f"  {what:14} {ms:8.0f} ms")
    finally:
        browser.close()


main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
