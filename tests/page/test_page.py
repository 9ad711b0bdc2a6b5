"""The report page in a real browser: it opens, follows what the user does, and names stay text."""
import json
import re

import pytest

from flame_view import FLAME, center, quiet, shown
from kit import python
from kit.traces import wait_until


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


def test_without_inflating_there_is_a_sentence_and_the_table(browser, small):
    browser.open(small, before="delete globalThis.DecompressionStream", ready="document.body.classList.contains('failed')")
    assert "DecompressionStream" in browser.eval("document.getElementById('trouble').innerText")
    assert browser.eval("document.querySelectorAll('#plain tbody tr').length") == 30
    assert browser.eval("document.querySelector('#plain').getBoundingClientRect().height") > 300


def test_a_recording_of_nothing_says_so(browser, sparkprof, tmp_path):
    with python.Process(["/usr/bin/python3"], python.TARGETS / "where.py") as p:
        wait_until(lambda: sparkprof("stack", p.pid).stdout.count(", sleeps") == 2)
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


def test_search_scrolls_to_its_first_match(browser, small):
    browser.open(small, "starts=1", width=1024, height=700)
    browser.eval(f"{FLAME}.host.scrollTop = 0")
    top = browser.eval(f"{FLAME}.rowTop(1)")
    assert top > browser.eval(f"{FLAME}.height")  # the root is out of sight
    browser.keys("Control+f")
    browser.ask("type", text="Thread.run$")
    assert 0 <= browser.eval(f"{FLAME}.rowTop(1)") <= browser.eval(f"{FLAME}.height - ROW")
    quiet(browser, small)


def test_a_method_is_one_frame_however_it_ran(browser, repeated, make):
    browser.open(repeated, "colour=type")
    rows = browser.eval(f"{FLAME}.layout.rows.map((r) => r.items.map((i) => sparkprof.model.name(i.name)))")
    assert rows == [["all"], ["com/acme/Main.go"], ["com/acme/Loop.work"], ["com/acme/Loop.step"]]
    assert browser.eval(f"TYPE_NAMES[sparkprof.model.nodes.type[{FLAME}.tree.heaviest({FLAME}.layout.rows[2].items[0])]]") == "C2 compiled"
    svg = make("svg", "repeated").read_text()
    work = re.findall(r"<title>com/acme/Loop.work [^<]*</title><rect[^>]* fill=\"([^\"]+)\"", svg)
    assert work == ["#b7dbc3"]  # C2, which two of five samples say
