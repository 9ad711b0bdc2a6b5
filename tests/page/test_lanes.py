"""The page's lanes and switches: executors, stages, tasks, threads, seconds."""
import json
import re

import pytest

from flame_view import quiet, shown


def lane_point(browser, kind, index):
    """Where a bar of a lane is on the screen, and its word."""
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
