'use strict';
/* The strip of time above everything: samples by state, area or stage, or as a heat map of threads or
 * of the parts of each second, with CPU, heap, GC, stages and tasks below. Dragging selects a range; a second one can be compared with it. */
const MAIN_LANE = LOW ? 44 : 74, SMALL_LANE = LOW ? 12 : 26, AXIS = LOW ? 16 : 18, HEAT_ROWS = LOW ? 22 : 37;
const GUTTER = 96; /* at the left, for the names of executors */
const CPU_JVM = 0, CPU_MACHINE = 1, HEAP = 2, RSS = 3, GC = 4, PY_RSS = 5, PY_PSS = 6, MEM_USED = 7, MEM_LIMIT = 8, PY_CPU = 9;

class Strip {
	/* @on: {range(range), other(range), hover(text or null, event), pick({kind, word, stage}), loaded()} */
	constructor(host, profile, colours, on) {
		this.host = host;
		this.profile = profile;
		this.colours = colours;
		this.on = on;
		this.canvas = document.createElement('canvas');
		host.append(this.canvas);
		this.context = this.canvas.getContext('2d');
		const m = profile.meta;
		this.bucketSeconds = m.bucket / 1e9;
		this.buckets = Math.max(m.buckets, m.bucket ? Math.ceil(m.duration / m.bucket) : 0, 1);
		this.range = null;
		this.other = null;
		this.picking = false; /* the next drag is the range to compare with */
		this.chosen = {}; /* stage and task that are looked at */
		this.letters = new Letters(this.context);
		this.lanes = [];
		if (profile.series[CPU_JVM] || profile.series[CPU_MACHINE])
			this.lanes.push({label: 'CPU', draw: (y) => this.drawCpu(y)});
		if (profile.series[HEAP] || profile.series[RSS])
			this.lanes.push({label: 'Memory', draw: (y) => this.drawMemory(y)});
		if (profile.series[PY_RSS])
			this.lanes.push({label: 'Python memory', draw: (y) => drawPython(this, y)});
		if (profile.series[GC])
			this.lanes.push({label: 'GC time', draw: (y) => this.drawPauses(y)});
		this.lanes.forEach((l) => l.height = SMALL_LANE);
		this.lanes.push(...labelLanes(this));
		this.allLanes = this.lanes;
		/* where executors have names beside their bars, everything above begins where these begin */
		this.gutter = this.lanes.some((l) => l.groups && l.groups.some((g) => g.name)) ? GUTTER : 0;
		this.fold(false);
		this.listen();
		new ResizeObserver(() => this.draw()).observe(host);
	}
	/* Whether only samples and the axis are shown. */
	fold(folded) {
		this.lanes = folded ? [] : this.allLanes;
		this.height = MAIN_LANE + this.lanes.reduce((sum, l) => sum + l.height + 2, 0) + AXIS;
		this.host.style.height = `${this.height}px`;
	}
	listen() {
		const bucketOf = (e) => {
			const box = this.canvas.getBoundingClientRect();
			return this.bucketAt((e.clientX - box.left - this.gutter) / (box.width - this.gutter), e.clientY - box.top);
		};
		const laneOf = (e) => {
			const box = this.canvas.getBoundingClientRect();
			return this.laneAt(e.clientX - box.left - this.gutter, e.clientY - box.top);
		};
		this.host.addEventListener('pointerdown', (e) => {
			if (e.button !== 0)
				return;
			this.drag = bucketOf(e);
			this.dragged = false;
			this.host.setPointerCapture(e.pointerId);
		});
		this.host.addEventListener('pointermove', (e) => {
			const at = bucketOf(e);
			this.cursor = at;
			const lane = this.drag === undefined ? laneOf(e) : null;
			this.on.hover(lane ? lane.lines : this.tell(Math.min(this.buckets - 1, Math.floor(at))), e);
			if (this.drag === undefined) {
				this.draw();
				return;
			}
			const range = [Math.floor(Math.min(this.drag, at)), Math.ceil(Math.max(this.drag, at))];
			if (Math.abs(this.drag - at) / this.buckets * this.width > 3 || (this.by === 'second' && Math.abs(this.drag - at) > 1) || this.dragged) {
				this.dragged = true;
				this.set(range);
			}
		});
		this.host.addEventListener('pointerup', (e) => {
			const lane = this.dragged ? null : laneOf(e);
			if (lane)
				this.on.pick(lane);
			else if (this.drag !== undefined && !this.dragged)
				this.set(null);
			if (this.dragged)
				this.picking = false;
			this.drag = undefined;
			this.draw();
		});
		this.host.addEventListener('pointerleave', () => {
			this.cursor = undefined;
			this.on.hover(null);
			this.draw();
		});
	}
	/* The moment, in buckets, at a place: where each second is a column, rows are parts of it. */
	bucketAt(x, y) {
		const clip = (b) => Math.max(0, Math.min(this.buckets, b));
		if (this.by !== 'second' || y < 0 || y > MAIN_LANE)
			return clip(x * this.buckets);
		const per = this.perColumn(), column = Math.floor(x * this.buckets / per);
		return clip((column + Math.min(0.999, y / MAIN_LANE)) * per);
	}
	/* Buckets in a column of the second heat map: a second, or 40 buckets where these are long. */
	perColumn() {
		return Math.max(Math.round(1 / this.bucketSeconds), Math.min(40, this.buckets));
	}
	/* The stage or task at a place; null: none. */
	laneAt(x, y) {
		let top = MAIN_LANE + 2;
		for (const lane of this.lanes) {
			if (lane.hit && y >= top && y < top + lane.height) {
				const span = lane.hit(x, y - top);
				return span ? lane.word(span) : null;
			}
			top += lane.height + 2;
		}
		return null;
	}
	set(range) {
		if (range && range[1] <= range[0])
			range[1] = range[0] + 1;
		if (this.picking && this.range) {
			this.other = range;
			this.on.other(range);
		} else {
			this.range = range;
			if (!range)
				this.other = null;
			this.on.range(range);
		}
		this.draw();
	}
	/* Keys: the range moves by its own length, or grows with Shift. */
	step(direction, grow) {
		const size = Math.max(1, Math.round(this.buckets / 40));
		const now = this.picking ? this.other : this.range;
		let [from, to] = now || [0, 2 * size];
		if (now && grow)
			to = Math.max(from + 1, Math.min(this.buckets, to + direction * size));
		else if (now) {
			const by = Math.max(-from, Math.min(this.buckets - to, direction * size));
			from += by;
			to += by;
		}
		this.set([from, to]);
	}
	/* Sums over time of what the model has selected, whatever the range. @by: 'wait', 'state', 'area', 'stage',
	 * 'thread' or 'second'. Many samples are summed in slices, and then on.loaded() is called. */
	async load(model, by) {
		const rows = this.profile.events[model.filter.event], n = this.buckets + 1, lanes = new Map(), count = rows ? rows.count : 0;
		const stages = ['', ...new Set(this.profile.labels.map((l) => l.stage).filter(Boolean))];
		const keyOf = this.keysBy(model, by, rows, stages), load = this.loads = (this.loads || 0) + 1, {bucket} = this.profile.meta;
		const wall = model.event.name === 'wall' && bucket > 0, one = new OneThread(n + 2, bucket);
		const add = (first, end) => load === this.loads && model.eachRow(null, (node, value, i) => {
			const key = keyOf(node, i);
			let lane = lanes.get(key);
			if (!lane)
				lanes.set(key, lane = {key, sums: new Float64Array(n + 2), weight: 0});
			spread(wall && rows.thread[i] >= 0 ? one.sums(rows.thread[i], lane, rows.bucket[i], rows.span[i] + 1) : lane.sums, rows.bucket[i], rows.span[i] + 1, value, bucket);
			lane.weight += value;
		}, first, end);
		if (count > LARGE)
			await inSlices(count, add);
		else
			add(0, count);
		if (load !== this.loads)
			return; /* something else was asked for meanwhile */
		one.flush();
		this.by = by;
		this.stages = stages;
		this.event = model.event;
		this.settle([...lanes.values()].sort((x, y) => y.weight - x.weight), n);
		this.on.loaded();
		this.draw();
	}
	keysBy(model, by, rows, stages) {
		const stageOf = this.profile.labels.map((l) => stages.indexOf(l.stage)), {area} = model.nodes, {waits} = this.profile;
		return {wait: (node, i) => waits.of(node, rows.state[i]), area: (node) => area[node], thread: (node, i) => rows.thread[i], stage: (node, i) => stageOf[rows.label[i]], second: () => 0}[by] ||
			((node, i) => rows.state[i]);
	}
	settle(kinds, n) {
		for (const lane of kinds) {
			for (let i = 1; i <= n; i++)
				lane.sums[i] += lane.sums[i - 1];
			this.smooth(lane.sums);
		}
		this.kinds = kinds;
		if (this.by === 'state') /* what runs lies at the bottom */
			kinds.sort((x, y) => (this.label(y) === 'running') - (this.label(x) === 'running') || y.weight - x.weight);
	}
	/* Samples are an interval apart: what is finer than that is chance. */
	smooth(sums) {
		const width = this.event.unit === 'ns' ? Math.round(this.event.interval / this.profile.meta.bucket) : 0, n = this.buckets;
		if (width < 2)
			return;
		const before = sums.slice(0, n), reach = Math.min(width, n);
		let sum = 0, from = 0, to = 0;
		for (let i = 0; i < n; i++) {
			const a = Math.max(0, i - (reach >> 1)), b = Math.min(n, i + reach - (reach >> 1));
			for (; to < b; to++)
				sum += before[to];
			for (; from < a; from++)
				sum -= before[from];
			sums[i] = sum / (b - a);
		}
	}
	label(lane) {
		if (this.by === 'stage')
			return this.stages[lane.key] || 'no stage';
		if (this.by === 'wait')
			return this.profile.meta.waits[lane.key];
		if (this.by === 'area')
			return this.profile.meta.areas[lane.key].name;
		if (this.by === 'thread')
			return lane.key < 0 ? 'no thread' : this.profile.threads[lane.key].name || `tid ${this.profile.threads[lane.key].tid}`;
		return lane.key ? this.profile.meta.states[lane.key - 1] : 'samples';
	}
	colourOf(lane) {
		if (this.by === 'stage')
			return lane.key ? this.colours.strong([hash(this.stages[lane.key]) * 47 % 360, 42]) : this.colours.strong([212, 8]);
		if (this.by === 'wait')
			return this.colours.wait(this.label(lane));
		return this.by === 'area' ? this.colours.area(lane.key) : this.colours.state(lane.key ? this.label(lane) : '');
	}
	draw() {
		const host = this.host, c = this.context, ratio = devicePixelRatio || 1;
		const whole = host.clientWidth;
		this.width = whole - this.gutter; /* of time: x counts from the gutter on */
		if (this.width <= 0)
			return;
		if (this.canvas.width !== Math.round(whole * ratio) || this.canvas.height !== Math.round(this.height * ratio)) {
			this.canvas.width = Math.round(whole * ratio);
			this.canvas.height = Math.round(this.height * ratio);
		}
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.clearRect(0, 0, whole, this.height);
		c.translate(this.gutter, 0);
		c.font = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
		c.textBaseline = 'middle';
		if (this.by === 'thread')
			this.drawHeat();
		else if (this.by === 'second')
			this.drawSeconds();
		else if (this.kinds) /* not before there are samples */
			this.drawStacked();
		let y = MAIN_LANE + 2;
		for (const lane of this.lanes) {
			lane.draw(y);
			if (!lane.hit)
				this.drawLabel(lane.label, y, LOW ? lane.height : 20);
			y += lane.height + 2;
		}
		this.drawAxis();
		this.drawRanges();
	}
	/* Sums of a lane from pixel to pixel. */
	columns(lane) {
		const out = new Float64Array(Math.ceil(this.width)), step = this.buckets / this.width;
		for (let x = 0; x < out.length; x++) {
			const from = Math.floor(x * step), to = Math.max(from + 1, Math.min(this.buckets, Math.floor((x + 1) * step)));
			for (let b = from; b < to; b++)
				out[x] += lane.sums[b];
			out[x] /= to - from;
		}
		return out;
	}
	drawStacked() {
		const c = this.context, all = this.kinds.map((k) => this.columns(k)), base = new Float64Array(Math.ceil(this.width));
		let top = 0;
		for (let x = 0; x < base.length; x++)
			top = Math.max(top, all.reduce((sum, lane) => sum + lane[x], 0));
		this.kinds.forEach((k, i) => {
			c.fillStyle = this.colourOf(k);
			c.beginPath();
			c.moveTo(0, MAIN_LANE);
			for (let x = 0; x < base.length; x++)
				c.lineTo(x, MAIN_LANE - base[x] / top * (MAIN_LANE - 8));
			for (let x = base.length - 1; x >= 0; x--) {
				base[x] += all[i][x];
				c.lineTo(x, MAIN_LANE - base[x] / top * (MAIN_LANE - 8));
			}
			c.fill();
		});
		const per = this.event.unit === 'ns' ? `${trim(top / this.profile.meta.bucket)} threads`
			: `${formatWeight(top / this.bucketSeconds, this.event)}/s`;
		this.drawLabel(per, 0);
	}
	heat(v) {
		const l = this.colours.dark ? 16 + 48 * v : 94 - 46 * v;
		return `hsl(${Math.round(44 - 34 * v)} ${Math.round(50 + 34 * v)}% ${Math.round(l)}%)`;
	}
	/* A column for each second, its parts from top to bottom: what repeats within seconds is a pattern. */
	drawSeconds() {
		const c = this.context, per = this.perColumn(), sums = this.kinds.length ? this.kinds[0].sums : [];
		const columns = Math.ceil(this.buckets / per), w = this.width * per / this.buckets;
		const rows = Math.min(per, Math.floor(MAIN_LANE / 2)), h = MAIN_LANE / rows, cells = new Float64Array(columns * rows), counts = new Uint16Array(columns * rows);
		for (let b = 0; b < this.buckets; b++) {
			const cell = Math.floor(b / per) * rows + Math.floor(b % per * rows / per);
			cells[cell] += sums[b] || 0;
			counts[cell]++;
		}
		cells.forEach((v, i) => cells[i] = v / (counts[i] || 1));
		const top = cells.reduce((m, v) => Math.max(m, v), 0) || 1;
		cells.forEach((v, i) => {
			if (v <= 0)
				return;
			c.fillStyle = this.heat(v / top);
			c.fillRect(Math.floor(i / rows) * w, i % rows * h, Math.max(1, w - (w > 6 ? 0.5 : 0)), h);
		});
		this.drawLabel(`${formatDuration(per * this.profile.meta.bucket)} a column`, 0);
	}
	drawHeat() {
		const c = this.context, shown = this.kinds.slice(0, HEAT_ROWS), h = MAIN_LANE / Math.max(shown.length, 6);
		let top = 0;
		const all = shown.map((k) => this.columns(k));
		for (const lane of all)
			for (const v of lane)
				top = Math.max(top, v);
		all.forEach((lane, i) => {
			for (let x = 0; x < lane.length; x++) {
				const v = lane[x] / top;
				if (v <= 0)
					continue;
				c.fillStyle = this.heat(v);
				c.fillRect(x, i * h, 1, Math.max(1, h - 0.5));
			}
		});
		if (this.kinds.length > shown.length)
			this.drawLabel(`${shown.length} of ${this.kinds.length} threads`, 0);
	}
	/* Over the beginning of a lane, or beside it where there is room. @height: of the lane. */
	drawLabel(text, y, height = 20) {
		const c = this.context;
		if (this.gutter) {
			c.fillStyle = this.colours.faint;
			c.fillText(this.letters.fit(text, this.gutter - 8), 4 - this.gutter, y + height / 2);
			return;
		}
		y += (height - 20) / 2;
		c.globalAlpha = 0.82;
		c.fillStyle = this.colours.paper;
		c.fillRect(0, y + 3, c.measureText(text).width + 10, 14);
		c.globalAlpha = 1;
		c.fillStyle = this.colours.faint;
		c.fillText(text, 5, y + 10);
	}
	/* Lines of a series, one for each recording, with points [x, y], 0 at the bottom of the lane. */
	points(kind, y, top) {
		const scale = this.width / (this.buckets * this.bucketSeconds * 1000);
		return seriesLines(this.profile.series[kind]).map((line) => line.map(([t, v]) => [t * scale, y + SMALL_LANE - v / top * (SMALL_LANE - 3)]));
	}
	drawLine(lines, y, colour, filled) {
		lines.forEach((points) => this.drawPoints(points, y, colour, filled));
	}
	drawPoints(points, y, colour, filled) {
		const c = this.context;
		c.beginPath();
		points.forEach(([x, v], i) => i ? c.lineTo(x, v) : c.moveTo(x, v));
		if (filled) {
			c.lineTo(points[points.length - 1][0], y + SMALL_LANE);
			c.lineTo(points[0][0], y + SMALL_LANE);
			c.fillStyle = colour;
			c.globalAlpha = 0.55;
			c.fill();
			c.globalAlpha = 1;
		} else {
			c.strokeStyle = colour;
			c.lineWidth = 1.2;
			c.stroke();
		}
	}
	ground(y) {
		this.context.fillStyle = this.colours.line;
		this.context.globalAlpha = 0.35;
		this.context.fillRect(0, y, this.width, SMALL_LANE);
		this.context.globalAlpha = 1;
	}
	drawCpu(y) {
		this.ground(y);
		this.drawLine(this.points(CPU_JVM, y, 100000), y, this.colours.strong([142, 38]), true);
		this.drawLine(this.points(CPU_MACHINE, y, 100000), y, this.colours.faint, false);
	}
	drawMemory(y) {
		let top = 1;
		for (const kind of [HEAP, RSS])
			if (this.profile.series[kind])
				for (const v of this.profile.series[kind].value)
					top = Math.max(top, v);
		this.ground(y);
		this.drawLine(this.points(HEAP, y, top), y, this.colours.strong([216, 46]), true);
		this.drawLine(this.points(RSS, y, top), y, this.colours.faint, false);
	}
	drawPauses(y) {
		const s = this.profile.series[GC], scale = this.width / (this.buckets * this.bucketSeconds * 1000);
		const longest = s.value.reduce((m, v) => Math.max(m, v), 1);
		this.ground(y);
		this.context.fillStyle = this.colours.strong([350, 58]);
		s.time.forEach((t, i) => {
			const h = 3 + s.value[i] / longest * (SMALL_LANE - 5);
			this.context.fillRect(t * scale, y + SMALL_LANE - h, Math.max(1.5, s.value[i] / 1e6 * scale), h);
		});
	}
	drawAxis() {
		const c = this.context, seconds = this.buckets * this.bucketSeconds, y = this.height - AXIS;
		const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400]
			.find((s) => s / seconds * this.width >= 72) || 604800;
		c.fillStyle = this.colours.faint;
		for (let t = 0; t <= seconds; t += step) {
			const x = t / seconds * this.width, text = formatMoment(t, step < 1);
			c.fillRect(Math.round(x), y, 1, 4);
			if (x + c.measureText(text).width + 4 < this.width)
				c.fillText(text, x + 4, y + 11);
		}
	}
	/* The parts of columns that lie outside of the ranges, under a veil. */
	veilSeconds(kept) {
		const per = this.perColumn(), w = this.width * per / this.buckets, c = this.context;
		for (let column = 0; column * per < this.buckets; column++) {
			let at = column * per;
			const end = at + per, veil = (from, to) => to > from &&
				c.fillRect(column * w, (from - column * per) / per * MAIN_LANE, w, (to - from) / per * MAIN_LANE);
			for (const [from, to] of kept) {
				veil(at, Math.min(end, from));
				at = Math.max(at, Math.min(end, to));
			}
			veil(at, end);
		}
	}
	drawRanges() {
		const c = this.context, px = this.width / this.buckets, h = this.height - AXIS, seconds = this.by === 'second', y = seconds ? MAIN_LANE : 0;
		if (this.range || this.other) {
			c.globalAlpha = 0.62;
			c.fillStyle = this.colours.paper;
			const kept = [this.range, this.other].filter(Boolean).sort((x, y) => x[0] - y[0]);
			let at = 0;
			if (seconds)
				this.veilSeconds(kept);
			for (const [from, to] of kept) {
				if (from > at)
					c.fillRect(at * px, y, (from - at) * px, h - y);
				at = Math.max(at, to);
			}
			c.fillRect(at * px, y, this.width - at * px, h - y);
			c.globalAlpha = 1;
		}
		for (const [range, colour, name] of [[this.range, this.colours.accent, 'A'], [this.other, this.colours.other, 'B']]) {
			if (!range)
				continue;
			const x = range[0] * px, w = (range[1] - range[0]) * px;
			c.fillStyle = colour;
			c.fillRect(x, y, 2, h - y);
			c.fillRect(x + w - 2, y, 2, h - y);
			c.fillRect(x, h - 2, w, 3);
			if (this.other && w > 18) {
				c.fillRect(x, 0, 15, 15);
				c.fillStyle = this.colours.paper;
				c.fillText(name, x + 4, 8);
			}
		}
		if (this.cursor !== undefined) {
			c.fillStyle = this.colours.ink;
			c.globalAlpha = 0.5;
			c.fillRect(this.cursor * px, 0, 1, h);
			c.globalAlpha = 1;
		}
	}
	/* What the strip shows at a bucket, as lines. */
	tell(bucket) {
		if (!this.kinds)
			return null;
		const lines = [formatMoment(bucket * this.bucketSeconds, this.bucketSeconds < 1)];
		const sum = this.kinds.reduce((s, k) => s + k.sums[bucket], 0);
		const here = this.kinds.filter((k) => k.sums[bucket] > sum / 1000).sort((x, y) => y.sums[bucket] - x.sums[bucket]);
		if (this.by === 'second')
			lines.push(formatWeight(sum, this.event));
		for (const k of this.by === 'second' ? [] : here.slice(0, 6))
			lines.push(`${this.label(k)} ${formatShare(k.sums[bucket], sum)}`);
		for (const [kind, label, format] of [[CPU_JVM, 'CPU of the JVM', percent], [CPU_MACHINE, 'CPU of the machine', percent],
			[HEAP, 'heap', formatBytes], [RSS, 'resident', formatBytes], [PY_CPU, 'Python workers: cores busy', (v) => (v / 100000).toFixed(2)], [PY_RSS, 'Python workers: resident', formatBytes],
			[PY_PSS, 'Python workers: proportional', formatBytes], [MEM_USED, 'memory group', formatBytes], [MEM_LIMIT, 'its limit', formatBytes]]) {
			const all = this.valuesAt(kind, bucket * this.bucketSeconds * 1000), [least, most] = all.length ? [Math.min(...all), Math.max(...all)] : [];
			if (all.length)
				lines.push(`${label} ${format(least)}${format(least) === format(most) ? '' : ` to ${format(most)}`}`);
		}
		return lines;
	}
	/* What each recording that has begun and not ended says at that time; of a single one, what is nearest. */
	valuesAt(kind, ms) {
		const all = seriesLines(this.profile.series[kind]), slack = 1000 + this.bucketSeconds * 1000;
		const here = all.length > 1 ? all.filter((l) => l[0][0] <= ms + slack && l[l.length - 1][0] >= ms - slack) : all;
		return here.map((line) => line[Math.max(0, line.findLastIndex(([t]) => t <= ms))][1]);
	}
}

function percent(thousandths) {
	return `${(thousandths / 1000).toFixed(0)} %`;
}
