"""The report page in a real browser: it opens, follows what the user does, and names stay text."""
import colorsys
import itertools
import json
import math
import re
import time

import pytest

from kit import python

FLAME = "sparkprof.flames.flame"


def quiet(browser, page):
    """Nothing went wrong, and nothing but the page itself was asked for."""
    seen = browser.ask("seen")
    assert seen["errors"] == []
    assert [r for r in seen["requests"] if not r.startswith(("file:", "data:"))] == []


def center(browser, row, item=0):
    """Where a drawn frame is on the screen."""
    return browser.eval(f"""(() => {{
        const f = {FLAME}, r = f.layout.rows[{row}], box = f.canvas.getBoundingClientRect();
        return {{x: box.left + r.x[{item}] + Math.min(r.w[{item}] / 2, 200), y: box.top + f.rowTop({row}) + 9}};
    }})()""")


def shown(browser):
    return browser.eval(f"{FLAME}.layout.rows.length")


def test_opens_with_no_error_and_no_request(browser, small):
    browser.open(small)
    quiet(browser, small)
    assert browser.eval("document.body.className") == "ready"
    assert shown(browser) > 10
    assert browser.eval("[...document.querySelectorAll('.hot tbody tr')].length") > 20
    told = re.search(r"Samples ([\d,]+)", browser.eval("document.getElementById('foot').textContent"))[1]
    assert abs(int(told.replace(",", "")) - 20_000) < 200  # weight by interval


def test_numbers_are_grouped_as_the_browser_would(browser, small):
    browser.open(small)
    numbers = [0, 7, 999, 1000, -1234, 123456, 1234567.5, 1e15]
    assert browser.eval(f"{numbers}.map(formatNumber)") == browser.eval(f"{numbers}.map((v) => Math.round(v).toLocaleString('en-US'))")


def test_canvas_shows_more_than_one_colour(browser, small):
    browser.open(small)
    colours = browser.eval(f"""(() => {{
        const c = {FLAME}.canvas, d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, seen = new Set();
        for (let i = 0; i < d.length; i += 400)
            seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
        return seen.size;
    }})()""")
    assert colours > 5


def test_click_zooms_and_reset_undoes_it(browser, small):
    browser.open(small)
    target = browser.eval(f"{FLAME}.layout.rows[7].items[1].name")
    browser.ask("click", **center(browser, 7, 1))
    assert browser.eval(f"{FLAME}.zoomed.name") == target
    assert browser.eval(f"{FLAME}.layout.rows[7].w[0]") == browser.eval(f"{FLAME}.width")
    assert "zoom=" in browser.eval("location.hash")
    assert browser.eval("document.querySelector('#facts .name').textContent")
    browser.eval("document.getElementById('reset').click()")
    assert browser.eval(f"{FLAME}.zoomed === {FLAME}.tree.root")
    assert browser.eval("location.hash") == ""
    quiet(browser, small)


def test_opens_above_the_starts_of_threads(browser, small):
    browser.open(small)
    names = f"{FLAME}.layout.rows[1].items.map((i) => sparkprof.model.name(i.name))"
    assert browser.eval("sparkprof.model.starts.deepest") == 5
    assert "org/apache/spark/scheduler/Task.run" not in browser.eval(names)
    assert browser.eval(f"{FLAME}.layout.rows[1].items.reduce((sum, i) => sum + i.total, 0)") == pytest.approx(browser.eval("sparkprof.model.whole"))
    assert "up to 5 frames" in browser.eval("sparkprof.rootLabel()")
    # what is zoomed stays so when they are shown, and its stack has them in any case
    browser.ask("click", **center(browser, 2))
    zoomed, total = browser.eval(f"[{FLAME}.zoomed.name, {FLAME}.zoomed.total]")
    stack = browser.eval(f"sparkprof.stackOf({FLAME}, {FLAME}.zoomed)")
    assert stack[0] == "java/lang/Thread.run" and len(stack) == 7
    browser.keys("b")
    assert browser.eval("location.hash").startswith("#starts=1&zoom=")
    assert browser.eval(f"[{FLAME}.zoomed.name, {FLAME}.zoomed.total, {FLAME}.zoomed.depth]") == [zoomed, total, 7]
    assert browser.eval(f"sparkprof.model.name({FLAME}.layout.rows[1].items[0].name)") == "java/lang/Thread.run"
    browser.keys("b")
    assert browser.eval(f"{FLAME}.zoomed.depth") == 2
    browser.eval(f"sparkprof.set({{zoom: '', view: 'time', thread: {json.dumps(browser.eval('sparkprof.busiestThread()'))}}})")
    assert "java/lang/Thread.run" not in browser.eval(f"{FLAME}.layout.rows[0].items.map((i) => sparkprof.model.name(i.name))")
    quiet(browser, small)


STARTS = ("clone3", "StubRoutines (1)", "JavaThread::thread_main_inner", "java/lang/Thread.run", "java/lang/Thread.run()V", "java/lang/Thread.run_[j]",
          "j.lang.Thread.run", "java/util/concurrent/ThreadPoolExecutor$Worker.run", "org/apache/spark/executor/Executor$TaskRunner$$Lambda$653.apply",
          "org/apache/spark/executor/Executor$TaskRunner.$anonfun$run$4", "org/apache/spark/util/SparkErrorUtils.tryWithSafeFinally$", "o.a.s.scheduler.Task.run")
WORK = ("com/acme/Task.run", "java/util/concurrent/ThreadPoolExecutor.getTask", "org/apache/spark/scheduler/ShuffleMapTask.runTask", "GangWorker::run",
        "org/apache/spark/executor/Executor$TaskRunner.computeAccumulatorUpdates", "Thread::park", "main")


def test_starts_are_known_by_name_and_from_the_root_on(browser, small, sparkprof, tmp_path):
    (tmp_path / "x.collapsed").write_text("clone3;java/lang/Thread.run;com/acme/A.go;java/lang/Thread.run;com/acme/B.go 3\nclone3;GangWorker::run 2\n")
    assert sparkprof("report", tmp_path / "x.collapsed", "-f", tmp_path / "x.html").returncode == 0
    browser.open(tmp_path / "x.html")
    rows = browser.eval(f"{FLAME}.layout.rows.map((r) => r.items.map((i) => sparkprof.model.name(i.name)))")
    assert rows == [["all"], ["com/acme/A.go", "GangWorker::run"], ["java/lang/Thread.run"], ["com/acme/B.go"]]
    assert [n for n in STARTS if not browser.eval(f"isStart({json.dumps(n)})")] == []
    assert [n for n in WORK if browser.eval(f"isStart({json.dumps(n)})")] == []


def test_hover_tells_name_line_type_self_total_and_share(browser, small):
    browser.open(small, "starts=1")
    browser.ask("move", **center(browser, 4))
    tip = browser.eval("document.getElementById('tip').innerText")
    assert "org.apache.spark.executor.Executor$TaskRunner.run" in tip
    for word in ("line 80", "C1 compiled", "total", "self", "100 %"):
        assert word in tip


def test_search_counts_what_matches(browser, small):
    browser.open(small, "starts=1")
    browser.keys("Control+f")
    assert browser.eval("document.activeElement.id") == "search"
    browser.ask("type", text="TaskRunner")
    assert browser.eval("document.getElementById('found').textContent") == "100 %"
    assert browser.eval(f"{FLAME}.matched[{FLAME}.layout.rows[4].items[0].name]") == 1
    browser.keys("Enter")
    assert browser.eval(f"{FLAME}.selected === {FLAME}.layout.rows[4].items[0]")
    browser.eval("sparkprof.set({search: '['})")
    assert browser.eval("document.getElementById('search').className") == "wrong"
    browser.eval("sparkprof.set({search: 'no such thing'})")
    assert browser.eval("document.getElementById('found').textContent") == "0.00 %"
    quiet(browser, small)


def test_drag_selects_a_range_and_all_follows(browser, small):
    browser.open(small)
    whole = browser.eval("sparkprof.model.whole")
    box = browser.eval("JSON.parse(JSON.stringify(document.querySelector('#strip canvas').getBoundingClientRect()))")
    y = box["y"] + 20
    browser.ask("drag", **{"from": [box["x"] + box["width"] * 0.25, y], "to": [box["x"] + box["width"] * 0.75, y]})
    browser.ask("wait", code=f"sparkprof.model.whole < {whole * 0.6}")
    part = browser.eval("sparkprof.model.whole")
    assert 0.45 < part / whole < 0.55
    assert browser.eval(f"{FLAME}.tree.root.total") == pytest.approx(part)
    assert browser.eval("location.hash").startswith("#range=")
    browser.keys("w")
    browser.ask("wait", code=f"sparkprof.model.whole === {whole}")
    quiet(browser, small)


def test_ranges_compare(browser, small):
    browser.open(small, "range=0-20&other=40-60")
    assert browser.eval("sparkprof.model.comparing")
    root = json.loads(browser.eval(f"JSON.stringify([{FLAME}.tree.root.a, {FLAME}.tree.root.b])"))
    assert root[0] == pytest.approx(root[1], rel=0.1)
    assert browser.eval("[...document.querySelectorAll('.hot thead th')].map((t) => t.textContent).join()") == "Change,± chance,Total,Method"
    # what only one of the two has is visible: its whole width is drawn
    vanished = browser.eval("""(() => {
        const m = sparkprof.model, s = m.methods();
        let n = 0;
        for (let i = 0; i < s.total.length; i++)
            n += s.a[i] > 0 && s.b[i] === 0 && s.total[i] > 0;
        return n;
    })()""")
    assert vanished > 0
    quiet(browser, small)


def test_keyboard_does_everything(browser, small):
    browser.open(small)
    browser.eval("document.getElementById('flame').focus()")
    browser.keys("ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp")
    assert browser.eval(f"{FLAME}.selected.depth") == 4
    browser.keys("Enter")
    assert browser.eval(f"{FLAME}.zoomed.depth") == 4
    browser.keys("Backspace")
    assert browser.eval(f"{FLAME}.zoomed.depth") == 3
    browser.keys("Escape")
    assert browser.eval(f"{FLAME}.zoomed.depth") == 0
    name = browser.eval(f"{FLAME}.selected.name")
    browser.keys("f")
    assert browser.eval("sparkprof.state.focus") == str(name)
    assert browser.eval(f"{FLAME}.tree.root.name") == name
    browser.keys("0")
    assert browser.eval("sparkprof.state.focus") == ""
    for key, view in (("2", "callers"), ("4", "sandwich"), ("3", "time"), ("1", "flame")):
        browser.keys(key)
        assert browser.eval("sparkprof.state.view") == view
    browser.keys("i", "r", "a", "t")
    assert browser.eval("[sparkprof.state.up, sparkprof.state.recursion, sparkprof.state.colour, sparkprof.state.side].join()") == "1,1,type,"
    browser.keys("?")
    assert browser.eval("document.getElementById('help').open")
    browser.keys("Escape")
    assert not browser.eval("document.getElementById('help').open")
    browser.eval("document.getElementById('strip').focus()")
    browser.keys("ArrowRight", "ArrowRight", "Shift+ArrowRight")
    browser.ask("wait", code="!sparkprof.awaited")
    assert browser.eval("sparkprof.strip.range.join()") == browser.eval("""(() => {
        const s = Math.max(1, Math.round(sparkprof.strip.buckets / 40));
        return [s, 4 * s].join();
    })()""")
    quiet(browser, small)


def test_focus_is_visible(browser, small):
    browser.open(small)
    browser.keys("Tab")
    style = browser.eval("getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).outlineWidth")
    assert style == "solid2px"


def test_hidden_frames_give_way_to_their_callees(browser, small):
    browser.open(small, "starts=1")
    before = browser.eval(f"{FLAME}.layout.rows[4].items.map((i) => i.name)")
    browser.ask("click", **center(browser, 3))
    browser.keys("h")
    assert browser.eval(f"{FLAME}.layout.rows[3].items.map((i) => i.name)") == before
    assert "Hidden" in browser.eval("document.getElementById('chips').textContent")
    total = browser.eval(f"{FLAME}.tree.root.total")
    assert total == browser.eval("sparkprof.model.whole")


def test_callers_begin_with_the_leaf(browser, small):
    browser.open(small, "view=callers&up=1")
    first = browser.eval(f"sparkprof.model.name({FLAME}.layout.rows[1].items[0].name)")
    hottest = browser.eval("sparkprof.model.name(sparkprof.hottest())")
    assert first == hottest
    total = browser.eval(f"{FLAME}.layout.rows[1].items[0].total")
    assert total == pytest.approx(browser.eval("sparkprof.model.methods().self[sparkprof.hottest()]"))


def test_sandwich_adds_up(browser, small):
    browser.open(small, "view=sandwich")
    sums = browser.eval("""(() => {
        const {callers, callees} = sparkprof.flames, t = callers.tree.root;
        return [t.total, callees.tree.root.total, sparkprof.model.methods().total[t.name]];
    })()""")
    assert sums[0] == pytest.approx(sums[1]) == pytest.approx(sums[2])
    other = browser.eval("document.querySelectorAll('.hot tbody tr')[5].dataset.name")
    browser.eval("document.querySelectorAll('.hot tbody button')[5].click()")
    assert browser.eval("sparkprof.flames.callees.tree.root.name") == int(other)
    quiet(browser, small)


def test_time_order_needs_one_thread_and_keeps_order(browser, small):
    browser.open(small, "view=time")
    assert "one thread" in browser.eval("document.getElementById('empty').textContent")
    name = browser.eval("sparkprof.busiestThread()")
    browser.eval(f"sparkprof.set({{thread: {json.dumps(name)}}})")
    assert browser.eval("document.getElementById('empty').hidden")
    rows = browser.eval(f"{FLAME}.layout.rows.map((r) => r.x.every((x, i) => i === 0 || x >= r.x[i - 1] + r.w[i - 1] - 1e-6))")
    assert len(rows) > 10 and all(rows)


def test_switches_filter(browser, small):
    browser.open(small)
    whole = browser.eval("sparkprof.model.whole")
    sums = []
    for state in browser.eval("sparkprof.profile.meta.states"):
        browser.eval(f"sparkprof.set({{state: {json.dumps(state)}}})")
        sums.append(browser.eval("sparkprof.model.whole"))
    assert sum(sums) == pytest.approx(whole)
    assert all(0 < s < whole for s in sums)


def test_table_sorts(browser, small):
    browser.open(small)
    def column(n):
        return browser.eval(f"[...document.querySelectorAll('.hot tbody tr')].map((r) => parseFloat(r.cells[{n}].textContent))")
    assert column(0) == sorted(column(0), reverse=True)
    browser.eval("document.querySelector('.hot th.total button').click()")
    assert column(1) == sorted(column(1), reverse=True)
    assert browser.eval("document.querySelector('.hot th.total').getAttribute('aria-sort')") == "descending"


def test_address_restores_the_view(browser, small):
    browser.open(small)
    browser.ask("click", **center(browser, 6))
    browser.eval("sparkprof.set({search: 'Kryo', up: '1', colour: 'area', by: 'area', range: '10-40', sort: 'total'})")
    fragment = browser.eval("location.hash.slice(1)")
    picture = f"JSON.stringify([{FLAME}.zoomed.name, {FLAME}.zoomed.depth, sparkprof.model.whole, sparkprof.found.weight, {FLAME}.icicle, sparkprof.state])"
    before = browser.eval(picture)
    browser.open(small, fragment)
    assert browser.eval(picture) == before


def test_dark_by_preference_and_light_on_paper(browser, small):
    browser.open(small, theme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    assert browser.eval(paper) == "rgb(22, 25, 29)"
    assert browser.eval("sparkprof.colours.dark")
    browser.ask("theme", theme="light")
    assert browser.eval(paper) == "rgb(255, 255, 255)"
    browser.ask("wait", code="!sparkprof.colours.dark")
    browser.ask("theme", theme="dark")
    browser.ask("wait", code="sparkprof.colours.dark")
    browser.eval("dispatchEvent(new Event('beforeprint'))")
    assert not browser.eval("sparkprof.colours.dark")
    browser.ask("media", media="print")
    assert browser.eval(paper) == "rgb(255, 255, 255)"
    box = browser.eval("JSON.parse(JSON.stringify(document.querySelector('#flame canvas').getBoundingClientRect()))")
    assert box["height"] > 300 and box["width"] > 1300
    root = browser.eval(f"[...{FLAME}.context.getImageData(9, {FLAME}.canvas.height - 3, 1, 1).data]")
    assert root[3] == 255 and root != [255, 255, 255, 255]  # the root is at the foot
    assert browser.eval("document.querySelector('.switches').getBoundingClientRect().height") == 0
    browser.ask("media", media="screen")
    browser.ask("theme", theme="dark")
    browser.eval("dispatchEvent(new Event('afterprint'))")
    browser.ask("wait", code="sparkprof.colours.dark")
    assert not browser.eval(f"{FLAME}.frozen")


def test_copies_name_and_stack(browser, small):
    browser.open(small, "starts=1")
    browser.ask("click", **center(browser, 4))
    browser.keys("c")
    browser.ask("wait", code="sparkprof.copied")
    assert browser.eval("sparkprof.copied") == "org.apache.spark.executor.Executor$TaskRunner.run"
    browser.keys("Shift+C")
    browser.ask("wait", code="sparkprof.copied.includes('\\n')")
    assert browser.eval("sparkprof.copied.split('\\n').length") == 4
    quiet(browser, small)


def test_hostile_names_stay_text(browser, make):
    page = make("html", "hostile")
    for fragment in ("", "view=callers", "view=sandwich", "by=thread", "by=area&view=time&thread=-->"):
        browser.open(page, fragment)
        quiet(browser, page)
        assert browser.eval("document.querySelectorAll('img, b[onerror], i, main script, header script').length") == 0
    browser.open(page)
    text = browser.eval("document.querySelector('.hot').textContent")
    assert "<script>alert(1)" in text and "]]>" in text and "\u2028" in text and "\ufffd" in text
    assert browser.eval("document.title") == "</title><script>alert(4)</script> – sparkprof"
    assert "<b>ring</b> full" in browser.eval("document.getElementById('foot').textContent")
    # the tip and the facts of every frame: one bold name, two lines, and the rows of its table of source lines
    told = browser.eval(f"""{FLAME}.layout.rows[1].items.map((item) => {{
        sparkprof.current = {FLAME};
        sparkprof.hover({FLAME}, item, {{clientX: 9, clientY: 9}});
        sparkprof.tellItem(item);
        return ['#tip *', '#facts > :not(.lines)', '.lines *:not(:is(summary, caption, table, thead, tbody, tr, th, td))']
            .map((all) => document.querySelectorAll(all).length).join();
    }})""")
    assert len(told) > 10 and set(told) == {"1,2,0"}
    quiet(browser, page)


def test_allocations_have_their_own_palette(browser, make):
    """What is drawn of the same frames for time and for bytes, on the canvas itself."""
    page, seen = make("html", "hostile"), []
    for event in ("0", "1"):
        browser.open(page, f"event={event}")
        point = center(browser, 1)
        seen.append(browser.eval(f"""(() => {{
            const f = {FLAME}, box = f.canvas.getBoundingClientRect(), row = f.layout.rows[1];
            const at = f.context.getImageData((row.x[0] + row.w[0] - 4) * f.ratio, ({point["y"]} - box.top) * f.ratio, 1, 1).data;
            return {{unit: sparkprof.model.event.unit, pixel: [...at], legend: document.querySelector('#facts .legend span').style.getPropertyValue('--c')}};
        }})()"""))
    assert [s["unit"] for s in seen] == ["ns", "bytes"]
    assert seen[0]["pixel"] != seen[1]["pixel"] and seen[0]["legend"] != seen[1]["legend"]
    _, green, blue, _ = zip(*(s["pixel"] for s in seen))
    assert green[0] > blue[0] and green[1] < blue[1]  # compiled code is green, what it allocates is blue
    quiet(browser, page)


def test_without_inflating_there_is_a_sentence_and_the_table(browser, small):
    browser.open(small, before="delete globalThis.DecompressionStream", ready="document.body.classList.contains('failed')")
    assert "DecompressionStream" in browser.eval("document.getElementById('trouble').innerText")
    assert browser.eval("document.querySelectorAll('#plain tbody tr').length") == 30
    assert browser.eval("document.querySelector('#plain').getBoundingClientRect().height") > 300


def test_a_recording_of_nothing_says_so(browser, sparkprof, tmp_path):
    with python.Process(["/usr/bin/python3"], python.TARGETS / "where.py") as p:
        time.sleep(0.5)
        assert sparkprof("-e", "cpu", "-d", "100ms", "-f", tmp_path / "x.html", p.pid).returncode == 0
    browser.open(tmp_path / "x.html", ready="document.body.classList.contains('failed')")
    assert browser.eval("document.getElementById('trouble').innerText") == "Nothing was sampled."


def test_policy_lets_nothing_else_run(browser, small):
    browser.open(small)
    policy = browser.eval("document.querySelector('meta[http-equiv]').content")
    assert "default-src 'none'" in policy and "unsafe" not in policy
    browser.eval("""(() => {
        const s = document.createElement('script');
        s.textContent = 'globalThis.ran = 1';
        document.body.append(s);
    })()""")
    assert browser.eval("globalThis.ran === undefined")


def test_small_window_has_everything(browser, small):
    browser.open(small, width=800, height=600)
    assert browser.eval(f"{FLAME}.height") >= 90
    assert browser.eval("document.documentElement.scrollWidth") <= 800
    quiet(browser, small)


def test_svg_zooms_and_is_quiet(browser, make):
    for args in (("generate", 20000, 400, 8, 60, 30), ("hostile",)):
        svg = make("svg", *args)
        browser.open(svg, ready="document.querySelector('#frames > g')")
        wide = browser.eval("+document.querySelectorAll('#frames > g')[3].querySelector('rect').getAttribute('width')")
        browser.eval("document.querySelectorAll('#frames > g')[3].dispatchEvent(new MouseEvent('click'))")
        assert browser.eval("+document.querySelectorAll('#frames > g')[3].querySelector('rect').getAttribute('width')") >= wide
        quiet(browser, svg)


def test_tall_svg_hangs_and_zooms(browser, make):
    svg = make("svg", "generate", 20000, 400, 8, 60, 120)
    browser.open(svg, ready="document.querySelector('#frames > g')")
    frames = "[...document.querySelectorAll('#frames > g')]"
    tops = browser.eval(f"{frames}.map((g) => +g.querySelector('rect').getAttribute('y'))")
    assert tops[0] == min(tops) < 100 and max(tops) > 1000
    browser.eval(f"{frames}[3].dispatchEvent(new MouseEvent('click'))")
    kinds = browser.eval(f"{frames}.map((g) => (g.getAttribute('class') || '').trim())")
    assert kinds[:3] == ["dim"] * 3 and kinds[3] == kinds[4] == ""  # callers above, callees below
    assert {k for k, top in zip(kinds, tops) if top < tops[3]} <= {"dim", "off"}
    quiet(browser, svg)


def areas_by_method(browser):
    return browser.eval("""(() => {
        const {name, area, count} = sparkprof.model.nodes, found = {};
        for (let i = 1; i < count; i++)
            found[sparkprof.model.name(name[i])] = sparkprof.profile.meta.areas[area[i]].name;
        return found;
    })()""")


def test_areas_are_those_of_the_report_and_of_the_users_file(browser, sparkprof, tmp_path):
    (tmp_path / "x.collapsed").write_text(
        "java/lang/Thread.run;com/acme/etl/Job.map;java/util/HashMap.get 5\n"
        "java/lang/Thread.run;org/apache/spark/shuffle/sort/ShuffleInMemorySorter.insertRecord;java/util/HashMap.put 3\n"
        "java/lang/Thread.run;com/other/Thing.go 2\n")
    (tmp_path / "areas").write_text("[enrichment] #ff0000\ncom/acme/etl/*\n")
    r = sparkprof("report", tmp_path / "x.collapsed", "--areas", tmp_path / "areas", "-f", tmp_path / "x.html")
    assert r.returncode == 0, r.stderr
    browser.open(tmp_path / "x.html", "colour=area")
    assert areas_by_method(browser) == {
        "java/lang/Thread.run": "other", "com/acme/etl/Job.map": "enrichment", "java/util/HashMap.get": "enrichment",
        "org/apache/spark/shuffle/sort/ShuffleInMemorySorter.insertRecord": "shuffle", "java/util/HashMap.put": "shuffle",
        "com/other/Thing.go": "your code"}
    assert browser.eval("sparkprof.colours.areaHues[0][0]") == 0
    assert "enrichment" in browser.eval("document.querySelector('#facts .legend').textContent")
    quiet(browser, tmp_path)


def lab(hue, saturation, lightness):
    """Where a colour is for the eye: equal distances look equally far apart."""
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in colorsys.hls_to_rgb(hue / 360, lightness / 100, saturation / 100))
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def test_areas_of_work_have_colours_of_their_own(browser, small):
    for theme in ("light", "dark"):
        browser.open(small, theme=theme)
        shown = browser.eval("sparkprof.profile.meta.areas.map((a, i) => [a.name, sparkprof.colours.area(i)])")
        places = {name: lab(*map(float, re.findall(r"[\d.]+", colour))) for name, colour in shown}
        rest = {"idle", "other", "JVM", "Python waits for JVM"}  # greys
        work = [name for name in places if name not in rest]
        assert len(work) >= 16
        for a, b in itertools.combinations(work, 2):
            assert math.dist(places[a], places[b]) > 14, (theme, a, b)
        for a, b in itertools.product(("Python", "Python serialisation"), work):
            assert a == b or math.dist(places[a], places[b]) > 25, (theme, a, b)


def test_comparison_of_two_recordings(browser, sparkprof, tmp_path):
    base, new = tmp_path / "base.collapsed", tmp_path / "new.collapsed"
    base.write_text("m;same 8000\nm;grew 1000\nm;wobbled 50\nm;gone 500\n")
    new.write_text("m;same 16000\nm;grew 6000\nm;wobbled 110\nm;fresh;<b>x 400\n")
    out = [tmp_path / "d.html", tmp_path / "d.svg", tmp_path / "d.json"]
    r = sparkprof("diff", base, new, *[w for o in out for w in ("-f", o)])
    assert r.returncode == 0, r.stderr
    browser.open(out[0])
    assert "base.collapsed" in browser.eval("document.getElementById('title').textContent")
    drawn = browser.eval(f"{FLAME}.layout.rows[2].items.map((i) => [sparkprof.model.name(i.name), i.a, i.b])")
    assert {d[0]: d[1:] for d in drawn} == {"same": [8000, 16000], "grew": [1000, 6000], "wobbled": [50, 110], "gone": [500, 0], "fresh": [0, 400]}
    # the table judges as the other formats do
    for method in json.loads(out[2].read_text())["methods"]:
        told = browser.eval(f"""(() => {{
            const m = sparkprof.model, id = [...Array(m.strings.length).keys()].find((i) => m.name(i) === {json.dumps(method["name"])});
            return m.changeBeyond(id);
        }})()""")
        assert told["change"] == pytest.approx(method["change"], abs=1e-6)
        assert told["noise"] == pytest.approx(method["noise"], rel=1e-3)
    cells = browser.eval("[...document.querySelectorAll('.hot tbody tr')].map((r) => [r.querySelector('th').textContent, r.cells[0].className])")
    assert dict(cells) == {"m": "number within", "same": "number shrank", "grew": "number grew", "gone": "number shrank",
                           "fresh": "number grew", "<b>x": "number grew", "wobbled": "number within"}
    colours = browser.eval(f"Object.fromEntries({FLAME}.layout.rows[2].items.map((i) => [sparkprof.model.name(i.name), sparkprof.colourOf(i)]))")
    assert colours["gone"] != colours["grew"] != colours["same"]
    whole = browser.eval("sparkprof.model.whole")
    browser.eval("sparkprof.set({as: 'amounts'})")
    assert browser.eval("sparkprof.model.changeBeyond(sparkprof.model.nodes.name[1]).change") == 22510 - 9550
    assert browser.eval("sparkprof.model.whole") == whole
    quiet(browser, out[0])
    browser.open(out[1], ready="document.querySelector('#frames > g')")
    titles = browser.eval("[...document.querySelectorAll('#frames title')].map((t) => t.textContent).join('\\n')")
    assert "gone (base 5.24 % → new 0.00 %, vanished)" in titles and "<b>x" in titles
    quiet(browser, out[1])


def lane_point(browser, kind, index):
    """Where a bar of a lane is on the screen, and the word that it stands for."""
    return browser.eval(f"""(() => {{
        const s = sparkprof.strip, box = s.canvas.getBoundingClientRect(), ms = s.buckets * s.bucketSeconds * 1000;
        let y = 76;
        for (const lane of s.lanes) {{
            if (lane.label === '{kind}') {{
                for (let dy = 1; dy < lane.height; dy++) {{
                    for (let x = 0, seen = -1, last; x < s.width; x += 3) {{
                        const hit = s.laneAt(x, y + dy);
                        if (hit && hit.word !== last && ++seen === {index})
                            return {{x: box.left + s.gutter + x + 3, y: box.top + y + dy, word: hit.word}};
                        last = hit ? hit.word : last;
                    }}
                }}
            }}
            y += lane.height + 2;
        }}
        return null;
    }})()""")


def test_executors_are_lanes(browser, small):
    """Tasks of each executor have rows of their own, below its name; more executors than pixels stay within the lane."""
    browser.open(small)
    lane = browser.eval("(() => { const l = sparkprof.strip.lanes.find((l) => l.label === 'Tasks'); return [l.groups, l.height]; })()")
    assert [g["name"] for g in lane[0]] == ["executor 3", "executor 4"] and lane[0][1]["row"] == lane[0][0]["rows"] > 0
    mixed = browser.eval("""(() => {
        const s = sparkprof.strip, of = (t) => s.profile.labels[t.label].executor, tasks = taskSpans(s.profile), rows = new Map();
        packSpans(tasks, of);
        tasks.forEach((t) => rows.set(t.row, (rows.get(t.row) || new Set()).add(of(t))));
        return [...rows.values()].filter((e) => e.size !== 1).length;
    })()""")
    assert mixed == 0
    heights = browser.eval("""(() => {
        const s = sparkprof.strip, {labels, spans} = s.profile;
        for (let i = 0; i < 300; i++)
            spans.push({label: labels.push({...labels.find((l) => l.task), executor: `executor ${i + 10}`}) - 1, from: 0, to: 100});
        return labelLanes(s).map((l) => [l.label, l.height, l.groups.length]);
    })()""")
    assert heights[-1][0] == "Tasks" and heights[-1][1] <= 86 and heights[-1][2] == 302, heights


def test_series_of_several_recordings_are_several_lines(browser, small):
    """Where times go back another recording begins: its points are not joined with those of the one before."""
    browser.open(small)
    assert browser.eval("seriesLines({time: [0, 1000, 2000, 500, 1500], value: [1, 2, 3, 40, 50]})") == \
        [[[0, 1], [1000, 2], [2000, 3]], [[500, 40], [1500, 50]]]
    assert browser.eval("seriesLines(undefined)") == []
    told = browser.eval("""(() => {
        const s = sparkprof.strip;
        s.profile.series[HEAP] = {time: [0, 5000, 20000, 4000, 9000], value: [1 << 20, 2 << 20, 3 << 20, 40 << 20, 50 << 20]};
        return [6000, 18000].map((ms) => s.tell(Math.round(ms / 1000 / s.bucketSeconds)).find((l) => l.startsWith('heap')));
    })()""")
    assert told == ["heap 2.00 MB to 40.0 MB", "heap 2.00 MB"], told


def test_stages_and_tasks_are_lanes_and_switches(browser, small):
    browser.open(small)
    whole = browser.eval("sparkprof.model.whole")
    assert browser.eval("sparkprof.strip.lanes.map((l) => l.label)")[-2:] == ["Stages", "Tasks"]
    assert browser.eval("[...document.getElementById('stage').options].map((o) => o.value)") == ["", "stage 3.0", "stage 4.0", "stage 5.0", "-"]
    sums = {}
    for value in ("stage 3.0", "stage 4.0", "stage 5.0", "-"):
        browser.eval(f"sparkprof.set({{stage: '{value}'}})")
        sums[value] = browser.eval("sparkprof.model.whole")
    assert sum(sums.values()) == pytest.approx(whole) and min(sums.values()) > whole / 10
    # a click on a bar chooses it, a second one all again
    browser.eval("sparkprof.set({stage: ''})")
    bar = lane_point(browser, "Stages", 1)
    browser.ask("click", x=bar["x"], y=bar["y"])
    assert browser.eval("sparkprof.state.stage") == bar["word"] and bar["word"] in sums
    task = lane_point(browser, "Tasks", 2)
    browser.ask("click", x=task["x"], y=task["y"])
    assert browser.eval("sparkprof.state.task") == task["word"] != ""
    assert browser.eval("document.getElementById('task').value") == task["word"]
    one = browser.eval("sparkprof.model.whole")
    assert 0 < one < sums[bar["word"]] / 8
    # one task is one thread: it can be seen in the order of time
    browser.eval("sparkprof.show('time')")
    assert browser.eval("document.getElementById('empty').hidden") and shown(browser) > 5
    browser.eval("sparkprof.set({task: '', stage: '', view: 'flame', executor: 'executor 3'})")
    assert 0.3 < browser.eval("sparkprof.model.whole") / whole < 0.6
    browser.eval("sparkprof.set({executor: '', by: 'stage'})")
    assert "stage 5.0" in browser.eval("document.getElementById('legend').textContent")
    quiet(browser, small)


def test_executors_can_be_chosen_by_host(browser, small):
    """A page whose recordings tell of one host, or none, does not offer it."""
    browser.open(small)
    texts = lambda: browser.eval("[...document.getElementById('executor').options].map((o) => o.text)")
    whole = browser.eval("sparkprof.model.whole")
    assert not [t for t in texts() if "host" in t]
    browser.eval("sparkprof.profile.labels.forEach((l) => l.host = {'executor 3': 'node-1', 'executor 4': 'node-2'}[l.executor] || '')")
    browser.eval("sparkprof.labelKey = null, sparkprof.fillLabels()")
    assert texts()[1:5] == ["host node-1", "host node-2", "executor 3, node-1", "executor 4, node-2"]
    browser.eval("sparkprof.choose('executor', 'executor 3')")
    one = browser.eval("sparkprof.model.whole")
    browser.eval("sparkprof.choose('executor', '@node-1')")
    assert 0 < one == browser.eval("sparkprof.model.whole") < whole
    assert browser.eval("document.getElementById('executor').selectedOptions[0].text") == "host node-1"
    quiet(browser, small)


def test_an_empty_choice_says_what_was_left_out(browser, small):
    """A driver beside executors, whose wall is shown inside of tasks only."""
    browser.open(small)
    said = lambda: browser.eval("document.getElementById('empty').textContent")
    browser.eval("sparkprof.set({event: String(sparkprof.profile.meta.events.findIndex((e) => e.name === 'wall')), executor: 'driver'})")
    assert said() == "Nothing was sampled in this selection."
    browser.eval("sparkprof.profile.meta.outside = 7, sparkprof.treeKey = null, sparkprof.set({executor: ''}), sparkprof.set({executor: 'driver'})")
    assert said().startswith("Nothing was sampled in this selection.") and "--all-threads" in said()
    quiet(browser, small)


def test_switches_work_together(browser, small):
    """Executor, stage, task, thread and state narrow down one selection; what is in no task belongs to its executor too."""
    browser.open(small)
    whole = browser.eval("sparkprof.model.whole")
    executors = browser.eval("[...document.getElementById('executor').options].map((o) => o.value).filter(Boolean)")
    assert executors == ["executor 3", "executor 4"]
    def of(**words):
        browser.eval(f"sparkprof.set({json.dumps(words)})")
        return browser.eval("sparkprof.model.whole")
    assert sum(of(executor=e) for e in executors) == pytest.approx(whole)
    outside = sum(of(executor=e, stage="-") for e in executors)
    assert outside == pytest.approx(of(executor="", stage="-")) and outside > whole / 10
    one = of(executor="executor 3", stage="stage 4.0")
    states = browser.eval("sparkprof.profile.meta.states")
    assert sum(of(state=s) for s in states) == pytest.approx(one)
    # tasks are those of the chosen executor and stage; a choice that the next one does not have goes
    of(state="")
    tasks = browser.eval("[...document.getElementById('task').options].map((o) => o.value).filter(Boolean)")
    assert tasks and all("stage 4.0" in t for t in tasks)
    browser.eval(f"sparkprof.choose('task', {json.dumps(tasks[0])})")
    assert 0 < browser.eval("sparkprof.model.whole") < one
    browser.eval("sparkprof.choose('executor', 'executor 4')")
    assert browser.eval("[sparkprof.state.executor, sparkprof.state.stage, sparkprof.state.task]") == ["executor 4", "stage 4.0", ""]
    quiet(browser, small)


def stage_rows(browser):
    return browser.eval("[...document.querySelectorAll('.stages tbody')].map((b) => [b.dataset.stage, ...[...b.rows[0].cells].slice(1, 4).map((c) => c.textContent)])")


def test_table_of_stages_filters_and_compares_a_straggler(browser, small):
    browser.open(small)
    rows = {r[0]: r[1:] for r in stage_rows(browser)}
    assert set(rows) == {"stage 3.0", "stage 4.0", "stage 5.0"} and rows["stage 4.0"][0] == "32"
    assert rows["stage 4.0"][2] == "3.0 ×" and rows["stage 3.0"][2] == "1.0 ×"
    assert browser.eval("document.querySelector('.stages .name').textContent").startswith("SQL 12: count of <b>orders</b> by customer")
    # areas of a stage sum up to it, and stay when another is chosen
    areas = browser.eval("[...sparkprof.stages.sums].map(([s, a]) => [s.stage, a.reduce((x, y) => x + y, 0)])")
    for stage, weight in areas:
        browser.eval(f"document.querySelector('[data-stage=\"{stage}\"] button').click()")
        assert browser.eval("sparkprof.state.stage") == stage
        assert browser.eval("sparkprof.model.whole") == pytest.approx(weight)
        assert browser.eval("document.querySelector('.stages .current').dataset.stage") == stage
    assert len(stage_rows(browser)) == 3
    # only the stage with a straggler offers to compare it
    assert browser.eval("[...document.querySelectorAll('.stages .lags')].map((b) => b.closest('tbody').dataset.stage)") == ["stage 4.0"]
    browser.eval("document.querySelector('.stages .lags').click()")
    state = browser.eval("sparkprof.state")
    assert "in stage 4.0" in state["task"] and "in stage 4.0" in state["versus"] and state["task"] != state["versus"]
    assert browser.eval("sparkprof.model.comparing") and browser.eval(f"{FLAME}.tree.root.b / {FLAME}.tree.root.a") == pytest.approx(3, rel=0.1)
    assert "this task" in browser.eval("document.querySelector('#facts .legend').textContent")
    both = browser.eval("[sparkprof.model.a.total[0], sparkprof.model.b.total[0]]")
    fragment = browser.eval("location.hash.slice(1)")
    browser.open(small, fragment)
    assert browser.eval("[sparkprof.model.a.total[0], sparkprof.model.b.total[0]]") == both
    browser.keys("m")
    assert not browser.eval("sparkprof.model.comparing") and browser.eval("sparkprof.model.whole") == pytest.approx(both[1])
    browser.keys("m")
    assert browser.eval("sparkprof.model.comparing")
    quiet(browser, small)


def test_a_straggler_is_seen_with_its_stage_and_what_differs(browser, small):
    browser.open(small, before="addEventListener('DOMContentLoaded', () => document.getElementById('stages').style.maxHeight = '90px')")
    browser.eval("document.querySelector('.stages .lags').click()")
    changes = browser.eval("""[...document.querySelectorAll('.hot tbody tr')].map((r) => {
        const {change, noise} = sparkprof.model.changeBeyond(Number(r.dataset.name));
        return [Math.abs(change), noise];
    })""")
    beyond = [c for c, noise in changes if c > noise]
    within = [c for c, noise in changes if c <= noise]
    assert len(within) > 5 and changes[:len(beyond)] == [x for x in changes if x[0] > x[1]]
    assert within == sorted(within, reverse=True)
    for stage in ("stage 5.0", "stage 3.0", "stage 4.0"):  # each in turn, wherever the table was
        browser.eval(f"sparkprof.set({{stage: '{stage}', task: '', versus: ''}})")
        browser.ask("wait", code=f"document.querySelector('.stages .current')?.dataset.stage === '{stage}'")
        host, head, row = browser.eval("""['#stages', '.stages thead', '.stages .current tr'].map((s) => {
            const {top, bottom} = document.querySelector(s).getBoundingClientRect();
            return [top, bottom];
        })""")
        assert row[0] >= head[1] - 1 and row[1] <= host[1] + 1
    browser.eval("document.querySelector('.stages .lags').click()")
    for search in ("", "Task.*run"):
        browser.eval(f"sparkprof.set({{search: '{search}'}})")
        tops = browser.eval("['.tabs', '#reset', '#side-button'].map((s) => document.querySelector(`#tools ${s}`).getBoundingClientRect().top)")
        assert max(tops) - min(tops) < 5
    quiet(browser, small)


def test_table_of_stages_says_what_wall_was_spent_on(browser, small, make):
    """The same sums as in the other formats, which are told by C: in the table, and over time."""
    told = json.loads(make("json", "generate", 20000, 400, 8, 60, 30).read_text())["events"][0]
    browser.open(small)
    shown = dict(browser.eval("""[...sparkprof.stages.sums].map(([s, sums]) => [s.stage,
        Object.fromEntries([...sums].map((v, i) => [sparkprof.stages.work.names[i], v]).filter(([, v]) => v))])"""))
    quantum = browser.eval("sparkprof.profile.meta.events[0].quantum")
    assert len(told["stages"]) == len(shown) == 3
    for row in told["stages"]:
        mine = shown[f"stage {row['stage']}.{row['attempt']}"]
        assert set(mine) == set(row["time"]) and len(mine) > 3
        assert all(abs(mine[k] - v) <= 200 * quantum + 0.01 * v for k, v in row["time"].items()), (mine, row["time"])
    assert browser.eval("document.querySelector('.stages thead .areas').textContent") == "Time spent on"
    heavy = max(shown, key=lambda s: sum(shown[s].values()))
    first = max(shown[heavy], key=shown[heavy].get)
    assert browser.eval(f"document.querySelector('[data-stage=\"{heavy}\"] .areas').textContent").startswith(f"{first} ")
    assert browser.eval("sparkprof.strip.by") == browser.eval("document.getElementById('by').value") == "wait"
    lanes = dict(browser.eval("sparkprof.strip.kinds.map((k) => [sparkprof.strip.label(k), k.weight])"))
    assert all(lanes[k] >= sum(s.get(k, 0) for s in shown.values()) > 0 for s in shown.values() for k in s)
    quiet(browser, small)


def test_a_stage_that_began_before_has_its_name_inside(browser, small):
    browser.open(small)
    places = browser.eval("""(() => {
        const s = sparkprof.strip, c = s.context, places = [];
        for (const span of s.profile.spans)
            span.from = -1e6;
        c.fillText = (text, x) => text.startsWith('stage') && places.push(x);
        labelLanes(s).find((l) => l.label === 'Stages').draw(0);
        delete c.fillText;
        return places;
    })()""")
    assert places and all(x == 4 for x in places)


def test_short_names_cut_packages_only(browser, small):
    browser.open(small)
    names = ["a/b/C.m", "a/b/C.m(a/D)", "I2C/C2I adapters", "ns::f(a/b)", "[lib/x.so]"]
    assert browser.eval(f"{json.dumps(names)}.map(shortName)") == ["C.m", "C.m(a/D)", *names[2:]]
    assert browser.eval(f"{json.dumps(names)}.map(dotted)") == ["a.b.C.m", "a.b.C.m(a.D)", *names[2:]]
    assert browser.eval(f"{json.dumps(names)}.map(methodName)") == ["m", "m", "I2C/C2I adapters", "f", "[lib/x.so]"]
    assert browser.eval("['A<B::C>::work<D>(E<F>)', 'a/B.<init>', 'clone3'].map(methodName)") == ["work", "<init>", "clone3"]
    spark = "org/apache/spark/sql/catalyst/expressions/GeneratedClass$GeneratedIteratorForCodegenStage7.processNext"
    assert browser.eval(f"[shortName, methodName].map((f) => f({json.dumps(spark)}))") == ["GeneratedIteratorForCodegenStage7.processNext", "processNext"]
    # a frame shows as much as there is room for
    widths = browser.eval(f"""(() => {{
        const flame = {FLAME}, item = {{name: [...Array(sparkprof.model.strings.length).keys()].find((i) => sparkprof.model.name(i).endsWith('Enrich.apply'))}};
        return [400, 90, 72, 34].map((room) => flame.words(item, room));
    }})()""")
    assert widths[:2] == ["com.acme.etl.Enrich.apply", "Enrich.apply"]
    assert widths[2].startswith("…") and widths[2].endswith("ch.apply") and widths[3] == "apply"


def test_heat_map_of_seconds_selects_less_than_a_second(browser, small):
    browser.open(small, "by=second")
    box = browser.eval("JSON.parse(JSON.stringify(document.querySelector('#strip canvas').getBoundingClientRect()))")
    column = browser.eval("sparkprof.strip.perColumn() * sparkprof.strip.width / sparkprof.strip.buckets")
    x = box["x"] + browser.eval("sparkprof.strip.gutter") + 20.5 * column
    browser.ask("drag", **{"from": [x, box["y"] + 74 * 0.2], "to": [x, box["y"] + 74 * 0.7]})
    browser.ask("wait", code="sparkprof.strip.range && !sparkprof.awaited")
    low, high = browser.eval("sparkprof.strip.range.map((b) => b * sparkprof.seconds)")
    second = browser.eval("sparkprof.strip.perColumn() * sparkprof.seconds")
    assert second * 20 < low < high < second * 21 and 0.3 < (high - low) / second < 0.7
    quiet(browser, small)


@pytest.mark.parametrize("threads", [1, 2])
def test_strip_has_no_more_threads_than_there_are(browser, make, threads):
    browser.open(make("html", "overlap", threads))
    for by in ("state", "area", "thread"):
        browser.eval(f"sparkprof.strip.load(sparkprof.model, '{by}')")
        peak, shown, told = browser.eval("""(() => {
            const s = sparkprof.strip, sums = s.kinds[0].sums.map((_, i) => s.kinds.reduce((sum, k) => sum + k.sums[i], 0));
            return [Math.max(...sums) / sparkprof.profile.meta.bucket, sums.slice(0, s.buckets).reduce((x, y) => x + y, 0),
                s.kinds.reduce((sum, k) => sum + k.weight, 0)];
        })()""")
        assert 0.9 * threads < peak <= 1.001 * threads
        assert shown == pytest.approx(told, rel=0.03)  # nothing is cut off: it lies beside
    quiet(browser, None)


def test_many_samples_are_summed_in_slices_and_the_last_wish_counts(browser, make):
    browser.open(make("html", "generate", 768000, 20000, 64, 600, 60))
    whole = browser.eval("sparkprof.model.whole")
    # what is shown stays until the sums are made, and wishes that come meanwhile are not lost
    seen = browser.eval("""(async () => {
        sparkprof.set({range: '60-120'});
        const busy = !!sparkprof.working, before = sparkprof.model.whole;
        sparkprof.set({range: '60-180'});
        sparkprof.set({search: 'Kryo'});
        await sparkprof.settled;
        return {busy, before, whole: sparkprof.model.whole, found: sparkprof.found.weight, range: sparkprof.strip.range};
    })()""")
    assert seen["busy"] and seen["before"] == whole
    assert 0.15 < seen["whole"] / whole < 0.25 and 0 < seen["found"] < seen["whole"]
    assert browser.eval("sparkprof.working") is None
    assert browser.eval(f"{FLAME}.tree.root.total") == pytest.approx(seen["whole"])
    quiet(browser, None)


def test_rows_are_laid_out_in_pieces(browser, small):
    browser.open(small, "view=callers")
    same, pieces = browser.eval(f"""(() => {{
        const {{tree, width}} = {FLAME}, whole = new TreeLayout(tree, tree.root, width), cut = new TreeLayout(tree, tree.root, width);
        let pieces = 0;
        whole.ensure(Infinity);
        for (; !cut.done; pieces++)
            cut.addRow(0);
        return [JSON.stringify(whole.rows.map((r) => r.x)) === JSON.stringify(cut.rows.map((r) => r.x)), pieces];
    }})()""")
    assert same and pieces > browser.eval(f"{FLAME}.layout.depth")


def test_findings_come_first_and_lead_to_what_they_are_about(browser, small):
    """What stands out is above the stages; a click shows the stage, or the straggler beside the median task."""
    browser.open(small)
    says = browser.eval("[...document.querySelectorAll('#findings .says')].map((s) => s.textContent)")
    assert len(says) == 2 and says[0].startswith("Garbage collection stops tasks for ") and "TID 1040 took 15 s" in says[1]
    assert browser.eval("document.getElementById('findings').getBoundingClientRect().bottom <= document.getElementById('stages').getBoundingClientRect().top + 1")
    browser.eval("document.querySelectorAll('#findings .says')[0].click()")
    browser.ask("wait", code="document.querySelector('.stages .current')?.dataset.stage === 'stage 4.0'")
    browser.eval("document.querySelectorAll('#findings .says')[1].click()")
    browser.ask("wait", code="document.getElementById('chips').textContent.includes('TID 1040 beside TID')")
    assert "<b>orders</b>" in says[0]  # names stay text
    quiet(browser, small)


@pytest.fixture
def repeated(make):
    return make("html", "repeated")


@pytest.mark.parametrize("width, height, rows", [(1024, 700, 15), (1600, 900, 18)])
def test_the_graph_has_rows_in_a_low_window(browser, small, width, height, rows):
    """And its root is in sight, nothing is wider than the window, and no legend ends within a word."""
    browser.open(small, width=width, height=height)
    flame, root = browser.eval(f"[{FLAME}.height / ROW, {FLAME}.rowTop(0) + ROW - {FLAME}.height]")
    assert flame >= rows and abs(root) < 5
    assert browser.eval("document.documentElement.scrollWidth") <= width and browser.eval("document.documentElement.scrollHeight") <= height
    cut = browser.eval("""['#legend', '#facts .legend'].flatMap((s) => {
        const box = document.querySelector(s), {left, right} = box.getBoundingClientRect();
        return [...box.children].filter((i) => i.getBoundingClientRect().right > right + 1 || i.getBoundingClientRect().left < left - 1 || i.scrollWidth > i.clientWidth + 1);
    }).length""")
    assert cut == 0 and browser.eval("document.querySelectorAll('#legend span').length") > 5
    before = browser.eval(f"{FLAME}.height")
    browser.keys("l")
    browser.ask("wait", code=f"{FLAME}.height > {before}")
    assert browser.eval("sparkprof.strip.lanes.length") == 0 and "lanes=" in browser.eval("location.hash")
    assert abs(browser.eval(f"{FLAME}.rowTop(0) + ROW - {FLAME}.height")) < 5
    quiet(browser, small)


def test_search_scrolls_to_its_first_match(browser, small):
    browser.open(small, "starts=1", width=1024, height=700)
    browser.eval(f"{FLAME}.host.scrollTop = 0")
    top = browser.eval(f"{FLAME}.rowTop(1)")
    assert top > browser.eval(f"{FLAME}.height")  # the root is out of sight
    browser.keys("Control+f")
    browser.ask("type", text="Thread.run$")
    assert 0 <= browser.eval(f"{FLAME}.rowTop(1)") <= browser.eval(f"{FLAME}.height - ROW")
    quiet(browser, small)


def test_executors_have_names_beside_their_bars(browser, small):
    """Bars, samples and axis share one scale, which begins right of the names."""
    browser.open(small)
    gutter, width, whole = browser.eval("[sparkprof.strip.gutter, sparkprof.strip.width, sparkprof.strip.host.clientWidth]")
    assert gutter > 60 and width + gutter == whole
    drawn = browser.eval("""(() => {
        const s = sparkprof.strip, c = s.context, texts = [], fill = c.fillText;
        c.fillText = (text, x, y) => texts.push([text, x + c.measureText(text).width]);
        s.draw();
        c.fillText = fill;
        return texts.filter(([t]) => /^executor /.test(t));
    })()""")
    assert [t for t, end in drawn] == ["executor 3", "executor 4"] and all(end <= 0 for t, end in drawn)
    box = browser.eval("JSON.parse(JSON.stringify(document.querySelector('#strip canvas').getBoundingClientRect()))")
    browser.ask("drag", **{"from": [box["x"] + gutter + width / 4, box["y"] + 20], "to": [box["x"] + gutter + width / 2, box["y"] + 20]})
    browser.ask("wait", code="sparkprof.strip.range && !sparkprof.awaited")
    low, high = browser.eval("sparkprof.strip.range.map((b) => b / sparkprof.strip.buckets)")
    assert low == pytest.approx(0.25, abs=0.01) and high == pytest.approx(0.5, abs=0.01)


def test_repeated_stages_are_one_row_that_opens_sorts_and_filters(browser, repeated):
    browser.open(repeated)
    names = "[...document.querySelectorAll('.stages tbody')].map((b) => b.querySelector('th').textContent + ' ' + (b.querySelector('.name')?.textContent || ''))"
    assert browser.eval(names) == ['▸×42 streaming query "orders", batches 0 to 13', "▸×10 collectAsMap at KMeans.scala:302", "52.0 count at Report.scala:7"]
    browser.eval("document.querySelectorAll('.stages .open')[1].click()")
    assert len(browser.eval(names)) == 13
    browser.eval("document.querySelectorAll('.stages .open')[1].click()")
    # a group can be looked at as a whole
    browser.eval("document.querySelector('[data-stage=\"~0\"]').click()")
    assert browser.eval("sparkprof.model.whole") == pytest.approx(42e9) and browser.eval("document.querySelector('.stages .current').dataset.stage") == "~0"
    assert browser.eval("document.getElementById('stage').selectedOptions[0].text").startswith("×42 streaming query")
    browser.eval("document.querySelector('.stages thead .stage button').click()")
    assert [n.split()[0] for n in browser.eval(names)] == ["▸×10", "▸×42", "52.0"]
    assert browser.eval("document.querySelector('.stages thead [aria-sort]').className") == "stage"
    browser.eval("document.querySelector('.stages thead .run button').click()")
    assert [n.split()[0] for n in browser.eval(names)] == ["▸×42", "▸×10", "52.0"]
    for text, found in (("kmeans", ["▸×10"]), ("52.0 count", ["52.0"]), ("orders 17.0", ["17.0"]), ("nothing", [])):
        browser.eval(f"(() => {{ const i = sparkprof.stages.filter; i.value = '{text}'; i.dispatchEvent(new Event('input')); }})()")
        assert [n.split()[0] for n in browser.eval(names)] == found, text
    quiet(browser, repeated)


def test_a_long_table_of_stages_has_the_room_there_is(browser, repeated):
    browser.open(repeated)
    few = browser.eval("document.getElementById('stages').clientHeight")
    browser.eval("document.querySelector('.stages .open').click()")
    many, methods = browser.eval("['stages', 'methods'].map((i) => document.getElementById(i).clientHeight)")
    assert many > few and methods >= 90
    assert browser.eval("getComputedStyle(document.getElementById('stages')).resize") == "vertical"


def test_a_method_is_one_frame_however_it_ran(browser, repeated, make):
    browser.open(repeated, "colour=type")
    rows = browser.eval(f"{FLAME}.layout.rows.map((r) => r.items.map((i) => sparkprof.model.name(i.name)))")
    assert rows == [["all"], ["com/acme/Main.go"], ["com/acme/Loop.work"], ["com/acme/Loop.step"]]
    assert browser.eval(f"TYPE_NAMES[sparkprof.model.nodes.type[{FLAME}.tree.heaviest({FLAME}.layout.rows[2].items[0])]]") == "C2 compiled"
    svg = make("svg", "repeated").read_text()
    work = re.findall(r"<title>com/acme/Loop.work [^<]*</title><rect[^>]* fill=\"([^\"]+)\"", svg)
    assert work == ["#b7dbc3"]  # C2, which two of five samples say


def test_threads_of_a_pool_are_one_entry(browser, repeated, make):
    browser.open(repeated)
    options = "[...document.getElementById('thread').options].map((o) => o.text)"
    assert browser.eval(options) == ["all (8)", "shuffle-client-4-# (8)"]
    browser.eval("(() => { const t = document.getElementById('thread'); t.value = t.options[1].value; t.dispatchEvent(new Event('change')); })()")
    assert browser.eval("sparkprof.model.whole") == pytest.approx(53e9)
    assert len(browser.eval(options)) == 10 and browser.eval(options)[2].strip() == "shuffle-client-4-1"
    browser.eval("sparkprof.set({thread: 'shuffle-client-4-2'})")
    assert browser.eval("document.getElementById('thread').selectedOptions[0].text").strip() == "shuffle-client-4-2"
    assert browser.eval("sparkprof.model.whole") == pytest.approx(7e9)
    text = make("text", "repeated").read_text()
    assert re.search(r"100.0 %\s+shuffle-client-4-# \(8 threads\)", text) and "shuffle-client-4-1" not in text
