"""How the cost grows as stacks deepen and as threads become many.

    ./build.sh bench scale [ROUNDS|quick]        3 rounds a point by default

depth      cost per sample on its thread (measured as in cost.py: cpu, 200 us) and CPU time per sample of all other
           threads, the collectors', at about 30, 300 and 2,000 Java frames (both keep 2,048 by default).
threads    CPU time of a process with 10, 1,000 and 10,000 waiting threads under the wall clock at 10 ms, less that
           with nobody (as in idle.py).
No worse than linear: from the middle point to the last, the cost may not grow by a larger factor than depth or
threads do. build/bench/scale.svg has the plot."""
import math

import common
import cost
import idle

DEPTHS = (30, 300, 2000)
THREADS = (10, 1000, 10000)


def deep(contestants, rounds):
    got = {}
    for depth in DEPTHS:
        worker = cost.Worker(depth)
        try:
            rows = cost.costs(worker, contestants, rounds, 1.5, say=f"scale: {depth} frames")
        finally:
            worker.close()
        got[depth] = {w.key: {"us": common.median(r[w.key]["us"] for r in rows), "others_us": common.median(r[w.key]["others_us"] for r in rows),
                              "rate": common.median(r[w.key]["rate"] for r in rows)} for w in contestants}
    return got


def many(contestants, rounds):
    got = {}
    for n in THREADS:
        rows = idle.rounds_of([common.Nobody(), *contestants], n, rounds, 5, say="scale")
        floor = common.median(rows["none"])
        got[n] = {w.key: max(0.0, common.median(rows[w.key]) - floor) for w in contestants}
    return got


def linear(points):
    """Whether the last step grows the cost by no more than the axis."""
    xs = sorted(points)
    return points[xs[-1]] <= points[xs[-2]] * xs[-1] / xs[-2]


PLOT_W, PLOT_H = 360, 240
COLOURS = {"ring": "#1f6fb4", "signal": "#2a9d5c", "ours": "#1f6fb4", "async-profiler": "#c4572d"}


def axis(values, span):
    """A function from a value to a place on a logarithmic axis of that length, and the decades on it."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return (lambda v: span * (math.log10(v) - low) / max(1, high - low)), [10 ** e for e in range(low, high + 1)]


def plot(x0, title, unit, series):
    """One panel: series is {name: {x: y}}; both axes logarithmic."""
    x, xs = axis([v for s in series.values() for v in s], PLOT_W)
    y, ys = axis([max(v, 0.01) for s in series.values() for v in s.values()], PLOT_H)
    out = [f'<g transform="translate({x0},40)"><text x="0" y="-20" font-weight="bold">{title}</text><text x="0" y="-4">{unit}</text>',
           f'<rect width="{PLOT_W}" height="{PLOT_H}" fill="none" stroke="#888"/>']
    out += [f'<text x="{x(v):.0f}" y="{PLOT_H + 16}" text-anchor="middle">{v:g}</text>' for v in xs]
    out += [f'<text x="-6" y="{PLOT_H - y(v) + 4:.0f}" text-anchor="end">{v:g}</text><line x2="{PLOT_W}" y1="{PLOT_H - y(v):.0f}" '
            f'y2="{PLOT_H - y(v):.0f}" stroke="#ddd"/>' for v in ys]
    for i, (name, s) in enumerate(series.items()):
        at = [(x(k), PLOT_H - y(max(v, 0.01))) for k, v in sorted(s.items())]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in at)
        colour = COLOURS[name]
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in at]
        out.append(f'<text x="8" y="{16 + 15 * i}" fill="{colour}">{name}</text>')
    return "".join(out) + "</g>"


def svg(depths, threads):
    def over(got, pick):
        return {key: {x: pick(got[x][key]) for x in got} for key in next(iter(got.values()))}
    panels = [("a sample's cost on its thread, by frames", "us", over(depths, lambda v: v["us"])),
              ("other threads' CPU per sample, by frames", "us", over(depths, lambda v: v["others_us"])),
              ("wall 10 ms, by idle threads", "% of a core", over(threads, lambda v: v))]
    step = PLOT_W + 80
    body = "".join(plot(60 + step * i, *p) for i, p in enumerate(panels))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{60 + step * len(panels)}" height="{PLOT_H + 80}" '
            f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>{body}</svg>\n')


def main(rounds):
    report = common.Report("scale")
    with common.peer() as peer:
        depths = deep([common.Ours("ring"), common.Ours("signal"), peer], rounds)
        threads = many([common.Ours(), peer], rounds)
    for key in ("ring", "signal"):
        for depth in DEPTHS:
            last = depth == DEPTHS[-1]
            report.line(f"{depth:,} frames, {key}: cost on its thread", depths[depth][key]["us"], depths[depth][peer.key]["us"],
                        "linear or better" if last else "", linear({d: depths[d][key]["us"] for d in DEPTHS}) if last else None, "us")
        for depth in DEPTHS:
            report.line(f"{depth:,} frames, {key}: other threads", depths[depth][key]["others_us"], depths[depth][peer.key]["others_us"], "", None, "us")
    for n in THREADS:
        last = n == THREADS[-1]
        report.line(f"{n:,} idle threads, wall 10 ms", threads[n]["ours"], threads[n][peer.key], "linear or better" if last else "",
                    linear({t: threads[t]["ours"] for t in THREADS}) if last else None, "% core")
    report.raw = {"depths": depths, "threads": threads}
    (common.OUT / "scale.svg").write_text(svg(depths, threads))
    report.close()


if __name__ == "__main__":
    main(common.rounds(3, 1))
