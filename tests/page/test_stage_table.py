"""The page's table of stages."""
import json

import pytest

from flame_view import FLAME, quiet, shown


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
