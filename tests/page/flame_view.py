"""Where the page's flame graph is on the screen, for tests that look at it."""
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
