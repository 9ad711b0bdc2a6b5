"""Makes the pictures of the worked stories in README and man: real runs on a real Spark, seen in a real browser.

    build/venv/bin/python tests/spark/stories.py [skew|udf|fetch …]       writes man/story-NAME.png, recordings to build/stories

Each is one job of tests/spark/jobs/bound.py, recorded by the launcher as a user calls it."""
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from kit import parts, spark  # noqa: E402
from kit.browser import Browser  # noqa: E402
from kit.parts import SPARKPROF  # noqa: E402

OUT = parts.ROOT / "build/stories"
ONE = {"master": "local-cluster[1,2,1024]"}
TWO = {"master": "local-cluster[2,1,1024]", "within": spark.slow_network(),
       "conf": {"spark.shuffle.readHostLocalDisk": "false", "spark.shuffle.compress": "false"}}
# what the application is like, and what is done in the page before the picture
HEAVIEST = "document.querySelector('.stages tbody button').click()"
FOCUS = """(() => { const m = sparkprof.model; for (let i = 0; i < m.strings.length; i++) if (m.name(i) === '%s') sparkprof.set({focus: String(i)}); })()"""
STORIES = {
    "skew": (ONE, HEAVIEST),
    "udf": (ONE, HEAVIEST + "; " + FOCUS % "main (pyspark/worker.py)"),
    "fetch": (TWO, HEAVIEST),
}


def run(app, job):
    app.text = b""
    app.tell(job)
    while not app.said(f"done {job}"):
        assert app.proc.poll() is None, app.stderr()[-2000:]
        time.sleep(0.1)


def record(name, app, job):
    """From before the job begins to behind its end, once everything is compiled and loaded; Python needs a launcher that stays."""
    run(app, job)
    file = OUT / f"{name}.jfr"
    pid = app.executors()[0]
    p = subprocess.Popen([SPARKPROF, "-q", "-e", "wall", "-i", "10ms", "-d", "10m", "-f", file, str(pid)])
    time.sleep(2)
    run(app, job)
    p.send_signal(2)
    p.wait(60)
    return file


def picture(browser, name, act):
    page = OUT / f"{name}.html"
    for args in (["-f", page], ["-f", OUT / f"{name}.txt"]):
        subprocess.run([SPARKPROF, "report", "--names=short", *args, OUT / f"{name}.jfr"], check=True)
    browser.open(page, width=1200, height=860)
    if act:
        browser.eval(act)
        time.sleep(1)
    shot = OUT / f"{name}.png"
    browser.ask("screenshot", path=str(shot))
    few = "import sys; from PIL import Image; Image.open(sys.argv[1]).convert('RGB').quantize(256, 1, dither=0).save(sys.argv[2], optimize=True)"
    subprocess.run(["/usr/bin/python3", "-c", few, shot, parts.ROOT / f"man/story-{name}.png"], check=True,
                   env={"PYTHONPATH": str(parts.packages("pillow-11.3.0", "pillow==11.3.0"))})


def main(names):
    OUT.mkdir(parents=True, exist_ok=True)
    for kind in (ONE, TWO):
        jobs = [n for n in names if STORIES[n][0] is kind and not (OUT / f"{n}.jfr").exists()]
        if jobs:
            with spark.App(job="bound.py", name="stories", timeout=200, **kind) as app:
                for name in jobs:
                    record(name, app, name)
    browser = Browser()
    try:
        for name in names:
            picture(browser, name, STORIES[name][1])
    finally:
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:] or list(STORIES))
