"""The report page: size, time to write it, and in Chromium the first picture, zoom, search and a selected range; and the
first picture of the same recording beside speedscope's and async-profiler's heat map, taking turns.

    ./build.sh bench page [ROUNDS]

Medians of one run beside whatever else the machine does. Our first picture is when the whole graph is drawn; the others' is
their first call that draws anything on a canvas. "On screen" is when the browser has made the next frame after that. "All" is
when everything of ours is read and drawn."""
import base64
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from kit.browser import Browser  # noqa: E402
from kit import peers, recordings  # noqa: E402
from kit.parts import ROOT, SPARKPROF  # noqa: E402

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
    figures = {"first picture": [], "all": []}
    for _ in range(rounds):
        browser.open(path, before=LONG_TASKS)
        for name, mark in (("first picture", "drawn"), ("all", "whole")):
            figures[name].append(browser.eval(f"performance.getEntriesByName('{mark}')[0].startTime"))
        figures.setdefault("longest piece", []).append(browser.eval("Math.max(0, ...longTasks)"))
        for name, code in ACTIONS.items():
            ms, longest = browser.eval("(async () => { const app = sparkprof, t = performance.now(); longTasks.length = 0; " + code +
                                       "; await app.settled; const ms = performance.now() - t; "
                                       "await new Promise((done) => setTimeout(done, 300)); return [ms, Math.max(0, ...longTasks)]; })()")
            figures.setdefault(name, []).append(ms)
            figures.setdefault(f"{name}, longest piece", []).append(longest)
    return {name: statistics.median(v) for name, v in figures.items()}


# What keeps the main thread for more than 50 ms.
LONG_TASKS = """globalThis.longTasks = [];
new PerformanceObserver((list) => list.getEntries().forEach((e) => longTasks.push(e.duration))).observe({type: 'longtask', buffered: true});"""

# The first call that draws on any canvas, or the page's own mark, and the frame after it.
FIRST_DRAW = """const shown = (name) => globalThis[name] ?? requestAnimationFrame(() => setTimeout(() => globalThis[name] ??= performance.now()));
const mark = performance.mark.bind(performance);
performance.mark = (name) => (name === 'drawn' && shown('drawnShown'), mark(name));
for (const [type, names] of [['CanvasRenderingContext2D', ['fillRect', 'fill', 'putImageData', 'drawImage']],
    ['WebGLRenderingContext', ['drawArrays', 'drawElements']], ['WebGL2RenderingContext', ['drawArrays', 'drawElements']]])
    for (const name of names) {
        const real = globalThis[type].prototype[name];
        globalThis[type].prototype[name] = function (...args) {
            if (!globalThis.firstDraw) {
                globalThis.firstDraw = performance.now();
                shown('firstShown');
            }
            return real.apply(this, args);
        };
    }"""


def beside(browser, tmp, rounds):
    """The same recording in three pages."""
    file = recordings.large()
    run = lambda *cmd: subprocess.run([str(c) for c in cmd], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run(SPARKPROF, "report", "-q", "-e", "cpu", file, "-f", tmp / "ours.html", "-f", tmp / "x.speedscope.json")
    run(*peers.converter(), "--cpu", "-o", "heatmap", file, tmp / "heatmap.html")
    text = base64.b64encode((tmp / "x.speedscope.json").read_bytes()).decode()
    (tmp / "x.js").write_text(f"speedscope.loadFileFromBase64('x.speedscope.json', {json.dumps(text)})")
    pages = {"sparkprof": (tmp / "ours.html", "", "globalThis.sparkprof && globalThis.drawnShown"),
             "heat map": (tmp / "heatmap.html", "", "globalThis.firstShown"),
             "speedscope": (peers.speedscope() / "dist/release/index.html", f"localProfilePath={tmp / 'x.js'}", "globalThis.firstShown")}
    times = {name: [] for name in pages}
    for _ in range(rounds):
        for name, (path, fragment, ready) in pages.items():
            browser.open(path, fragment, ready=ready, before=FIRST_DRAW)
            times[name].append(browser.eval("[performance.getEntriesByName('drawn')[0].startTime, drawnShown]" if name == "sparkprof"
                                            else "[firstDraw, firstShown]"))
    medians = {name: [statistics.median(t) for t in zip(*list_)] for name, list_ in times.items()}
    ours = medians["sparkprof"]
    print(f"first picture of {file.stat().st_size / 1e6:.0f} MB of async-profiler's:")
    for name, (drawn, shown) in medians.items():
        print(f"  {name:14} {drawn:8.0f} ms, on screen {shown:6.0f} ms" +
              ("" if name == "sparkprof" else f"; ours {ours[0] / drawn:.2f} and {ours[1] / shown:.2f} of it"))


def main(rounds):
    maker = ROOT / "build/bench/tests/page/page-make"
    if not maker.exists():
        subprocess.run(["meson", "setup", ROOT / "build/bench", ROOT, "--buildtype=release"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", ROOT / "build/bench", "--quiet", "tests/page/page-make"], check=True)
    browser = Browser()
    try:
        with tempfile.TemporaryDirectory() as tmp:
            beside(browser, pathlib.Path(tmp), rounds)
            for name, args in CASES.items():
                path = pathlib.Path(tmp) / "page.html"
                start = time.monotonic()
                with open(path, "wb") as out:
                    subprocess.run([maker, "html", "generate", *map(str, args)], stdout=out, check=True)
                spent = time.monotonic() - start
                print(f"{name}: {path.stat().st_size / 1e6:.2f} MB, made in {spent:.2f} s")
                for what, ms in measure(browser, path, rounds).items():
                    print(f"  {what:24} " + (f"{ms:8.0f} ms" if ms or not what.endswith("piece") else "under 50 ms"))
    finally:
        browser.close()


main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
