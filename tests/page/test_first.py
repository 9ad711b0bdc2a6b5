"""What the page draws before it has read everything: the same picture as afterwards, and nothing that was not asked for."""
import pytest

# Sees the page twice: when the first picture is drawn, and (by seen()) when all is there. What was drawn before the samples
# were read is counted.
WATCH = """globalThis.early = null;
globalThis.drawnEarly = 0;
const fill = CanvasRenderingContext2D.prototype.fillRect;
CanvasRenderingContext2D.prototype.fillRect = function (...args) {
    globalThis.drawnEarly += document.readyState === 'loading' || !!document.getElementById('rest');
    return fill.apply(this, args);
};
globalThis.watched = (app) => ({
    rows: app.flames.flame.layout.rows.map((r) => r.items.map((item, i) => [app.model.name(item.name), item.total, item.total / app.model.whole, r.x[i], r.w[i]])),
    picture: app.flames.flame.canvas.toDataURL(),
    root: app.rootLabel(),
    nodes: app.model.nodes.count,
    boxes: ['header', '#time', '#strip', '#tools', '#flame', '#detail', '#side', '#foot'].map((s) => {
        const {x, y, width, height} = document.querySelector(s).getBoundingClientRect();
        return [s, x, y, width, height];
    }),
    switches: [...document.querySelectorAll('select, button[aria-pressed]')].map((s) => [s.id, s.value, s.textContent, s.parentElement.hidden, s.ariaPressed]),
    facts: document.getElementById('detail').textContent,
});
const mark = performance.mark.bind(performance);
performance.mark = (name) => {
    if (name !== 'drawn')
        return mark(name);
    const complete = App.prototype.complete;
    App.prototype.complete = function () {
        globalThis.early ||= watched(this);
        return complete.call(this);
    };
    (globalThis.meanwhile || (() => {}))();
    return mark(name);
};"""


def seen(browser, path, fragment="", more="", **args):
    browser.open(path, fragment, before=WATCH + more, **args)
    browser.eval("new Promise((done) => setTimeout(done, 100))")  # a frame more
    return browser.eval("early"), browser.eval("watched(sparkprof)")


def same(first, whole):
    for what in first:
        if what != "nodes":
            assert first[what] == whole[what], what


@pytest.mark.parametrize("args", [(20000, 400, 8, 60, 30), pytest.param((300000, 20000, 16, 60, 60), marks=pytest.mark.long), (30000, 3000, 4, 60, 300)])
def test_first_picture_is_that_of_all_samples(browser, make, args):
    first, whole = seen(browser, make("html", "generate", *args))
    same(first, whole)
    assert first["nodes"] < whole["nodes"]
    assert browser.eval("drawnEarly") > 20
    assert browser.ask("seen")["errors"] == []


@pytest.mark.parametrize("fragment", ["up=1", "side=", "colour=type&by=thread"])
def test_what_changes_no_frame_has_it_too(browser, small, fragment):
    same(*seen(browser, small, fragment))
    assert browser.eval("drawnEarly") > 20
    assert browser.eval("decodeURIComponent(location.hash)") == f"#{fragment}"


def test_frames_above_different_starts_are_one(browser, sparkprof, tmp_path):
    (tmp_path / "x.collapsed").write_text(
        "clone3;java/lang/Thread.run;com/acme/A.go;com/acme/B.go 3\njava/lang/Thread.run;com/acme/A.go;com/acme/C.go_[k] 2\n"
        "[stage 1];clone3;com/acme/A.go 4\n[stage 1];com/acme/A.go;com/acme/A.go 4\nclone3;com/acme/A.go_[1] 1\ncom/acme/D.go 1\ncom/acme/E.go 1\n")
    assert sparkprof("report", tmp_path / "x.collapsed", "-f", tmp_path / "x.html").returncode == 0
    first, whole = seen(browser, tmp_path / "x.html")
    same(first, whole)
    assert [[name, total] for name, total, *_ in first["rows"][1]] == [["[stage 1]", 8], ["com/acme/A.go", 6], ["com/acme/D.go", 1], ["com/acme/E.go", 1]]


@pytest.mark.parametrize("fragment", ["view=callers", "view=sandwich", "range=10-20", "starts=1", "search=Kryo", "thread=x"])
def test_another_view_is_not_preceded_by_the_usual_one(browser, small, fragment):
    browser.open(small, fragment, before=WATCH)
    assert browser.eval("drawnEarly") == 0
    assert browser.eval("location.hash") == f"#{fragment}"
    assert browser.eval("performance.getEntriesByName('drawn').length") == 1


def test_what_is_asked_for_too_early_is_done_later(browser, small):
    browser.open(small)
    name, x, y = browser.eval("""(() => {
        const f = sparkprof.flames.flame, r = f.layout.rows[3], box = f.canvas.getBoundingClientRect();
        return [r.items[1].name, box.left + r.x[1] + 5, box.top + f.rowTop(3) + 9];
    })()""")
    click = f"document.elementFromPoint({x}, {y}).dispatchEvent(new MouseEvent('click', {{bubbles: true, clientX: {x}, clientY: {y}}}))"
    key = "document.body.dispatchEvent(new KeyboardEvent('keydown', {bubbles: true, key: 'i'}))"
    seen(browser, small, more=f"globalThis.meanwhile = () => {{ {click}; {key}; }};")
    assert browser.eval("sparkprof.flames.flame.zoomed.name") == name
    assert browser.eval("sparkprof.state.up") == "1"
    assert browser.ask("seen")["errors"] == []
    wish = "const s = document.getElementById('state'); s.value = 'running'; s.dispatchEvent(new Event('change'));"
    first, whole = seen(browser, small, more=f"globalThis.meanwhile = () => {{ {wish} }};")
    assert first["rows"][0][0][1] > whole["rows"][0][0][1] > 0
    assert browser.eval("location.hash") == "#state=running"


def test_samples_that_cannot_be_read_leave_a_sentence_and_the_table(browser, small, tmp_path):
    page = small.read_text()
    (tmp_path / "cut.html").write_text(page[:page.index('id="rest"') + 5000])
    browser.open(tmp_path / "cut.html", ready="document.body.classList.contains('failed')")
    assert "cannot be drawn" in browser.eval("document.getElementById('trouble').innerText")
    assert browser.eval("document.querySelectorAll('#plain tbody tr').length") == 30
    assert browser.eval("document.querySelector('main').getBoundingClientRect().height") == 0
