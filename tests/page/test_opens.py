"""A report that was asked for another picture than the usual opens with that, and its address still changes it."""
import pytest

STACKS = "a;b;c 60\na;b;d 39\na;e 1\n"


@pytest.fixture
def page(sparkprof, tmp_path):
    def make(*args):
        (tmp_path / "in.collapsed").write_text(STACKS)
        r = sparkprof("report", *args, "-f", tmp_path / "x.html", tmp_path / "in.collapsed")
        assert r.returncode == 0, r.stderr
        return tmp_path / "x.html"
    return make


def rows(browser):
    return browser.eval("sparkprof.flames.flame.layout.rows.map((r) => r.items.map((i) => i.name < 0 ? 'all' : sparkprof.model.name(i.name)))")


def test_what_was_asked_for_is_what_opens(browser, page):
    browser.open(page())
    assert rows(browser)[1:] == [["a"], ["b", "e"], ["c", "d"]] and not browser.eval("sparkprof.flames.flame.icicle")
    browser.open(page("--reverse"))
    assert rows(browser)[1] == ["c", "d", "e"] and browser.eval("sparkprof.flames.flame.icicle")
    browser.open(page("--reverse", "--inverted"), "view=flame")
    assert rows(browser)[1] == ["a"] and not browser.eval("sparkprof.flames.flame.icicle")
    browser.open(page("--inverted"))
    assert rows(browser)[1] == ["a"] and browser.eval("sparkprof.flames.flame.icicle")
    assert browser.ask("seen")["errors"] == []


def test_narrow_frames_are_left_out(browser, page):
    browser.open(page("--minwidth", "5"))
    assert rows(browser)[1:] == [["a"], ["b"], ["c", "d"]]
