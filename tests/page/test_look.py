"""What the page looks like: colours, paper, low and narrow windows."""
import colorsys
import itertools
import math
import re

import pytest

from flame_view import FLAME, center, quiet, shown


def test_focus_is_visible(browser, small):
    browser.open(small)
    browser.keys("Tab")
    style = browser.eval("getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).outlineWidth")
    assert style == "solid2px"


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


def test_small_window_has_everything(browser, small):
    browser.open(small, width=800, height=600)
    assert browser.eval(f"{FLAME}.height") >= 90
    assert browser.eval("document.documentElement.scrollWidth") <= 800
    quiet(browser, small)


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


def test_a_finding_about_an_executor_shows_it_beside_the_others(browser, small):
    """In the stages that both ran, and what is in no stage is on neither side."""
    browser.open(small)
    browser.eval("""(sparkprof.profile.meta.findings = [{rule: 'executor', executor: '3', says: 'Executor 3 is unlike the others', try: 'x'}],
        sparkprof.findings = new Findings(document.getElementById('findings'), sparkprof.profile, sparkprof.findings.on),
        document.querySelector('#findings .says').click())""")
    browser.ask("wait", code="document.getElementById('chips').textContent.includes('executor 3 beside the others') && sparkprof.model.comparing")
    assert browser.eval("sparkprof.sideNames") == ["other executors", "this one"]
    of = browser.eval("""sparkprof.labelMasks().sides.map((side) => [...new Set(sparkprof.profile.labels.filter((l, i) => side[i]).map((l) => `${l.executor} ${l.stage !== ''}`))])""")
    assert of == [["executor 4 true"], ["executor 3 true"]]
    browser.eval("[...document.querySelectorAll('#chips button')].find((b) => b.textContent.includes('beside')).click()")
    browser.ask("wait", code="!sparkprof.model.comparing && sparkprof.state.executor === 'executor 3'")
    quiet(browser, small)


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


def test_a_low_window_shows_more_than_one_finding(browser, small):
    """The costliest may be the machine's fault (no core); what is wrong with the job must be in sight beside it."""
    browser.open(small, width=1024, height=700)
    in_sight = browser.eval("""(() => {
        const box = document.getElementById('findings').getBoundingClientRect();
        return [...document.querySelectorAll('#findings .says')].filter((s) => s.getBoundingClientRect().bottom <= box.bottom).length;
    })()""")
    assert in_sight == 2
    tries = browser.eval("[...document.querySelectorAll('#findings .try')].map((t) => [t.title === t.textContent, t.clientHeight < 24])")
    assert all(all(t) for t in tries), tries
    assert browser.eval("document.getElementById('stages').clientHeight") >= 90
    quiet(browser, small)


def test_a_drivers_phases_leave_room_for_the_methods(browser, small):
    """Whatever there is above, the table of methods ends above the foot."""
    browser.open(small, width=1024, height=700)
    browser.eval("Object.assign(document.getElementById('side').style, {height: '418px', alignSelf: 'start'})")  # as lanes of CPU, memory and tasks leave it
    browser.eval("document.getElementById('phases').hidden = false, document.getElementById('phases').innerHTML = '<p>a phase</p>'.repeat(40)")
    browser.eval("for (const li of [...document.querySelectorAll('#findings li')]) for (let i = 0; i < 3; i++) li.after(li.cloneNode(true))")
    low, side, high = browser.eval("[['methods', 'bottom'], ['side', 'bottom'], ['methods', 'height']].map(([i, k]) => document.getElementById(i).getBoundingClientRect()[k])")
    assert low <= side + 1 and high >= 60
