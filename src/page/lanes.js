'use strict';
/* Stages and tasks as bars below the time strip. What they are comes with the data: labels and the
 * spans of time that threads spent under them; without spans, the time between a label's samples. */
const LOW = matchMedia('(max-height: 719px)').matches; /* a small window: the graph needs the room more */
const STAGE_ROW = 14, STAGE_ROWS = LOW ? 2 : 4, TASKS_HEIGHT = LOW ? 28 : 46, TASK_ROW = 6, EXECUTORS_HEIGHT = LOW ? 48 : 84, EXECUTOR_ROW = LOW ? 6 : 12;

/* Spans of tasks: [{label, from, to}] in milliseconds. */
function taskSpans(profile) {
	if (profile.spans.length)
		return profile.spans.filter((s) => s.label);
	const spans = new Map(), ms = profile.meta.bucket / 1e6;
	for (const rows of profile.events) {
		for (let i = 0; rows && i < rows.count; i++) {
			const {task, stage} = profile.labels[rows.label[i]];
			if (!task && !stage)
				continue;
			const key = `${rows.label[i]}.${rows.thread[i]}`, from = rows.bucket[i] * ms, to = (rows.bucket[i] + rows.span[i] + 1) * ms;
			const s = spans.get(key);
			if (s) {
				s.from = Math.min(s.from, from);
				s.to = Math.max(s.to, to);
			} else {
				spans.set(key, {label: rows.label[i], from, to});
			}
		}
	}
	return [...spans.values()];
}

/* One bar per stage (of each executor): from its first task to its last. */
function stageSpans(profile, tasks) {
	const stages = new Map(), {folded, times} = profile.meta;
	for (const t of tasks) {
		const {stage, helper} = profile.labels[t.label], tasks = helper ? 0 : 1;
		if (!stage)
			continue;
		const s = stages.get(stage);
		if (s) {
			s.from = Math.min(s.from, t.from);
			s.to = Math.max(s.to, t.to);
			s.tasks += tasks;
		} else {
			stages.set(stage, {stage, from: t.from, to: t.to, tasks});
		}
	}
	if (folded)
		stages.forEach((s) => s.tasks = times[s.stage].tasks);
	return [...stages.values()];
}

/* Gives each span the first row of its group that is free when it begins; groups lie below each other.
 * Returns how many rows there are, and the groups: [{name, row, rows}]. */
function packSpans(spans, group) {
	const all = new Map();
	spans.sort((x, y) => x.from - y.from || y.to - x.to);
	for (const s of spans) {
		const name = group(s), ends = all.get(name) || [];
		let row = ends.findIndex((end) => end <= s.from + 0.5);
		if (row < 0)
			row = ends.length;
		ends[row] = s.to;
		s.row = row;
		all.set(name, ends);
	}
	const groups = [...all.keys()].sort((x, y) => x.localeCompare(y, 'en', {numeric: true})), first = new Map();
	let rows = 0;
	for (const name of groups) {
		first.set(name, rows);
		rows += all.get(name).length;
	}
	for (const s of spans)
		s.row += first.get(group(s));
	return {rows, groups: groups.map((name) => ({name, row: first.get(name), rows: all.get(name).length}))};
}

/* Lanes for a strip: [{label, height, draw(y), hit(x, y)}]. */
function labelLanes(strip) {
	const {profile} = strip, tasks = taskSpans(profile), stages = stageSpans(profile, tasks), lanes = [];
	const place = (s) => {
		const scale = strip.width / (strip.buckets * strip.bucketSeconds * 1000);
		return [s.from * scale, Math.max(1, (s.to - s.from) * scale - 0.6)];
	};
	const slow = new Map([...stagesOf(profile).values()].filter(straggler).map((s) => [s.times.label, s.times])), {stages: names} = profile.meta;
	const colour = (stage) => strip.colours.strong([hash(stage) * 47 % 360, 42]);
	const add = (label, spans, height, most, draw, word, group = () => '') => {
		const {rows, groups} = packSpans(spans, group), h = Math.min(height, most / rows);
		if (!rows)
			return;
		lanes.push({label, groups, height: Math.ceil(rows * h) + 2, draw: (y) => {
			for (const s of spans) {
				const [x, w] = place(s);
				draw(s, x, y + s.row * h, w, h);
			}
			for (const g of groups)
				if (g.name && g.rows * h >= 10)
					strip.drawLabel(g.name, y + g.row * h, g.rows * h);
		}, hit: (x, y) => spans.find((s) => {
			const [left, w] = place(s);
			return x >= left && x <= left + w && Math.floor(y / h) === s.row;
		}), word});
	};
	add('Stages', stages, STAGE_ROW, STAGE_ROW * STAGE_ROWS, (s, x, y, w, h) => {
		const c = strip.context;
		c.globalAlpha = strip.chosen.stages && !strip.chosen.stages.has(s.stage) ? 0.35 : 0.9;
		c.fillStyle = colour(s.stage);
		c.fillRect(x, y, w, h - 1);
		c.fillStyle = strip.colours.text;
		const left = Math.max(0, x), room = Math.min(strip.width, x + w) - left; /* it may have begun before */
		if (h >= 11 && room > 40)
			c.fillText(strip.letters.fit([s.stage, names[s.stage]].filter(Boolean).join(': '), room - 8), left + 4, y + h / 2);
		c.globalAlpha = 1;
	}, (s) => ({kind: 'stage', word: s.stage, lines: [s.stage, names[s.stage], `${formatNumber(s.tasks)} ${s.tasks === 1 ? 'task' : 'tasks'}`].filter(Boolean)}));
	if (profile.meta.folded && !profile.labels.some((l) => l.executor))
		return lanes;
	const executorOf = (s) => profile.labels[s.label].executor, several = new Set(tasks.map(executorOf)).size > 1;
	add(profile.meta.folded ? 'Executors' : 'Tasks', tasks, several ? EXECUTOR_ROW : TASK_ROW, several ? EXECUTORS_HEIGHT : TASKS_HEIGHT, (s, x, y, w, h) => {
		const {stage, task} = profile.labels[s.label], c = strip.context;
		const off = (strip.chosen.stages && !strip.chosen.stages.has(stage)) || (strip.chosen.task && strip.chosen.task !== task && strip.chosen.versus !== task);
		c.globalAlpha = off ? 0.3 : 0.85;
		c.fillStyle = colour(stage);
		c.fillRect(x, y, w, h > 2 ? h - 0.7 : h);
		if (task && !profile.labels[s.label].ended && w > 6) { /* it goes on */
			c.fillStyle = strip.colours.ink;
			c.beginPath();
			c.moveTo(x + w - Math.min(h, 5), y);
			c.lineTo(x + w, y + h / 2);
			c.lineTo(x + w - Math.min(h, 5), y + h);
			c.fill();
		}
		if (slow.has(s.label)) {
			c.fillStyle = strip.colours.other;
			c.fillRect(x, y + Math.max(0, h - 2), w, Math.min(h, 1.5));
		}
		c.globalAlpha = 1;
	}, (s) => {
		const {executor, stage, task, begun, ended} = profile.labels[s.label], lags = slow.get(s.label), told = task && !profile.meta.folded;
		const length = told ? `${ended ? 'took' : 'runs since'} ${begun && ended ? '' : '≥\u00a0'}${formatDuration((s.to - s.from) * 1e6)}` : `took ${formatDuration((s.to - s.from) * 1e6)}`;
		return {kind: 'task', word: task, stage, lines: [task || [executor, stage].filter(Boolean).join(', '), length, task && executor, lags && `a straggler of its stage: ${slowestWords(lags)}`].filter(Boolean)};
	}, several ? executorOf : undefined);
	return lanes;
}

/* A series as lines of [milliseconds, value]: those of several recordings follow each other, so a line ends where time goes back. */
function seriesLines(series) {
	const lines = [];
	for (let i = 0; series && i < series.time.length; i++) {
		if (i === 0 || series.time[i] < series.time[i - 1])
			lines.push([]);
		lines[lines.length - 1].push([series.time[i], series.value[i]]);
	}
	return lines;
}

/* Memory of all Python workers, and, where the target's group has a limit, how near that is: it is the lane's top. */
function drawPython(strip, y) {
	const {series} = strip.profile, most = (kind) => series[kind] ? series[kind].value.reduce((m, v) => Math.max(m, v), 0) : 0;
	const top = Math.max(1, most(MEM_LIMIT), most(PY_RSS), most(MEM_USED));
	strip.ground(y);
	strip.drawLine(strip.points(most(PY_PSS) ? PY_PSS : PY_RSS, y, top), y, strip.colours.strong([216, 58]), true);
	strip.drawLine(strip.points(PY_RSS, y, top), y, strip.colours.faint, false);
	strip.drawLine(strip.points(MEM_USED, y, top), y, strip.colours.ink, false);
	strip.drawLine(strip.points(MEM_LIMIT, y, top), y, strip.colours.strong([350, 58]), false);
}

/* Adds @value over @length buckets to sums that are still differences. The first and the last bucket
 * may be covered in part only; those between are covered whole, so many times as samples were merged. */
function spread(sums, bucket, length, value, size) {
	const times = length > 2 ? Math.max(1, Math.round(value / ((length - 1) * size))) : 0;
	const inner = length > 2 ? Math.min(times * size, value / (length - 2)) : 0, edge = (value - inner * (length - 2)) / 2;
	if (length === 1) {
		sums[bucket] += value;
		sums[bucket + 1] -= value;
		return;
	}
	sums[bucket] += edge;
	sums[bucket + 1] += inner - edge;
	sums[bucket + length - 1] += edge - inner;
	sums[bucket + length] -= edge;
}

/* Sums of the thread whose rows are being read, by lane. What a thread did between two looks is counted from the
 * first of them on, so its spans overlap; but it has no more than a bucket's time in a bucket: what is
 * beyond that came later. */
class OneThread {
	constructor(length, size) {
		this.size = size;
		this.length = length;
		this.thread = -1;
		this.spare = [];
		this.parts = new Map(); /* lane → its sums, still differences */
		this.clear();
	}
	clear() {
		this.first = Infinity;
		this.end = 0;
	}
	/* Where a span of @thread is to be added; rows come by thread. */
	sums(thread, lane, bucket, length) {
		if (thread !== this.thread)
			this.flush();
		this.thread = thread;
		this.first = Math.min(this.first, bucket);
		this.end = Math.max(this.end, bucket + length);
		let part = this.parts.get(lane);
		if (!part)
			this.parts.set(lane, part = this.spare.pop() || new Float64Array(this.length));
		return part;
	}
	/* Adds the thread to the lanes. What the last buckets have no room for goes to free ones before them. */
	flush() {
		const parts = [...this.parts.values()], {first, end} = this;
		for (const part of parts)
			for (let b = first + 1; b < end; b++)
				part[b] += part[b - 1];
		for (let b = first; b + 1 < end; b++)
			this.pass(parts, b, b + 1);
		for (let b = end - 1; b > first; b--)
			this.pass(parts, b, b - 1);
		this.pass(parts, first, end); /* more than there was time for */
		for (const [lane, part] of this.parts) {
			for (let b = first; b < end; b++) {
				const v = Math.max(0, part[b]);
				lane.sums[b] += v;
				lane.sums[b + 1] -= v;
			}
			part.fill(0, first, end + 1);
			this.spare.push(part);
		}
		this.parts.clear();
		this.clear();
	}
	/* What bucket @from has no room for goes to @to, of all lanes alike. */
	pass(parts, from, to) {
		let sum = 0;
		for (let i = 0; i < parts.length; i++)
			sum += parts[i][from];
		if (sum <= this.size)
			return;
		for (const part of parts) {
			const more = part[from] * (1 - this.size / sum);
			part[from] -= more;
			part[to] += more;
		}
	}
}
