'use strict';
/* The table of stages: tasks, run time, what kind of work it was, and whether a task lagged behind. A click
 * shows a stage alone; one on a straggler compares it with the median task of its stage. Stages of the same work
 * (src/out/stage_groups.h) are one row, which opens. Heads sort, and words filter. */

/* Stages by their word: {stage, tasks, run: ms of all, whole: [{label, ms}] of the tasks that began and
 * ended within the recording, shortest first, times}. As in src/out/stage_table.c, threads that help do not count.
 * times is what src/out/stage_table.c found: {tasks, run, launch, gc, fetch, write, finished, median, max, slowest: TID, label, running,
 * least, lags}. Where recordings were too many to tell tasks apart, it is all that there is. */
function stagesOf({labels, spans, meta}) {
	const known = meta.times || {};
	if (meta.folded)
		return new Map(Object.entries(known).map(([stage, times]) => [stage, {stage, tasks: times.tasks, run: times.run, whole: [], times}]));
	const stages = new Map(), ms = new Float64Array(labels.length);
	for (const s of spans)
		ms[s.label] += s.to - s.from;
	labels.forEach(({stage, helper, whole}, label) => {
		if (!stage)
			return;
		if (!stages.has(stage))
			stages.set(stage, {stage, tasks: 0, run: 0, whole: [], times: known[stage] || null});
		const s = stages.get(stage);
		if (helper)
			return;
		s.tasks++;
		s.run += ms[label];
		if (whole)
			s.whole.push({label, ms: ms[label]});
	});
	for (const s of stages.values()) {
		s.whole.sort((x, y) => x.ms - y.ms);
		s.run = s.times && s.times.run ? s.times.run : s.run;
	}
	return stages;
}

function medianTask({whole}) {
	return whole.length ? whole[whole.length >> 1] : null;
}

/* The label of the task that lags behind in its stage; 0: none does, or tasks are not kept apart. */
function straggler({times}) {
	return times && times.lags ? times.label : 0;
}

/* "TID 10 runs since ≥ 31 s, the median of 11 finished is 2.8 s" */
function slowestWords({finished, median, max, slowest, running, least}) {
	const length = `${least ? '≥\u00a0' : ''}${formatDuration(max * 1e6)}`;
	return `TID ${slowest} ${running ? 'runs since' : 'took'} ${length}` +
		(finished ? `, the median of ${formatNumber(finished)} finished ${finished === 1 ? 'task' : 'tasks'} is ${formatDuration(median * 1e6)}` : '');
}

function runWords({run, times}) {
	if (!run)
		return 'Known by names of threads alone';
	const clocks = [['gc', 'GC'], ['fetch', 'fetch wait'], ['write', 'shuffle write']].filter(([key]) => times && times[key])
		.map(([key, name]) => `${name} ${formatDuration(times[key] * 1e6)}`);
	return [times && times.launch ? `Launch and result took ${formatDuration(times.launch * 1e6)} more` : '',
		clocks.length ? `As Spark's own clocks count, which overlap: ${clocks.join(', ')}` : ''].filter((s) => s).join('\n');
}

class StageTable {
	/* @on: {pick(stage), compare(label of a task), order(column)} */
	constructor(host, profile, colours, on) {
		this.host = host;
		this.profile = profile;
		this.colours = colours;
		this.on = on;
		this.stages = stagesOf(profile);
		this.stageOf = profile.labels.map((l) => this.stages.get(l.stage) || null);
		this.groups = (profile.meta.groups || []).map((g, i) => ({...g, stage: `~${i}`}));
		this.open = new Set(); /* groups whose stages are shown */
		this.filter = element('input', {type: 'search', placeholder: 'Filter by name or number', spellcheck: false, autocomplete: 'off'});
		this.filter.setAttribute('aria-label', 'Filter stages by name or number');
		this.filter.addEventListener('input', () => this.redraw());
		this.table = element('table', {className: 'stages'});
		this.top = element('thead');
		const columns = element('colgroup');
		columns.append(...['stage', 'tasks', 'run', 'slowest', 'areas'].map((className) => element('col', {className})));
		this.table.append(element('caption', {textContent: 'Stages', className: 'unseen'}), columns, this.top);
		host.append(this.table);
		host.hidden = !this.stages.size;
	}
	/* Sums what is selected by stage and area, whatever stage or task is looked at; many samples in slices.
	 * @labels: Uint8Array with a 1 for each label that counts, or null. */
	async load(model, labels, chosen, key) {
		const load = this.loads = (this.loads || 0) + 1;
		if (!this.kept || this.kept.key !== key) {
			const sums = await this.sum(model, labels, () => load === this.loads);
			if (load !== this.loads)
				return;
			this.sums = sums;
			if (!model.filter.range)
				this.kept = {key, sums};
		} else {
			this.sums = this.kept.sums;
		}
		this.work = kindsOfWork(this.profile, this.colours, model.filter.event);
		this.chosen = chosen;
		this.draw();
	}
	/* Weights by kind of work for each stage. Only rows that may lie in the range are looked at. */
	async sum(model, labels, wanted) {
		const {event, range} = model.filter, rows = this.profile.events[event], sums = new Map(), work = kindsOfWork(this.profile, this.colours, event);
		this.stages.forEach((s) => sums.set(s, new Float64Array(work.names.length)));
		let until = performance.now() + SLICE_MS;
		for (const [from, to] of model.parts(event, range, model.threadMask(model.filter))) {
			model.eachRow(range, (node, value, i) => {
				const stage = this.stageOf[rows.label[i]];
				if (stage)
					sums.get(stage)[work.of(node, i)] += value;
			}, from, to, labels);
			if (performance.now() > until && wanted()) {
				await pause();
				until = performance.now() + SLICE_MS;
			}
			if (!wanted())
				break;
		}
		return sums;
	}
	redraw() {
		if (this.sums)
			this.draw();
	}
	mark(chosen) {
		this.chosen = chosen;
		for (const body of this.host.querySelectorAll('tbody'))
			if (body.classList.toggle('current', body.dataset.stage === chosen))
				this.reveal(body);
	}
	/* Scrolls no more than it takes, and nothing but the table; its head covers the upper edge. */
	reveal(body) {
		const view = this.host.getBoundingClientRect(), head = this.host.querySelector('thead').getBoundingClientRect().height, box = body.getBoundingClientRect();
		if (box.top < view.top + head)
			this.host.scrollTop -= view.top + head - box.top;
		else if (box.bottom > view.bottom)
			this.host.scrollTop += Math.min(box.bottom - view.bottom, box.top - view.top - head);
	}
	draw() {
		const sums = (s) => ({...s, name: this.profile.meta.stages[s.stage] || '', areas: this.sums.get(s), weight: this.sums.get(s).reduce((sum, v) => sum + v, 0)});
		const rows = new Map([...this.stages.values()].map((s) => [s.stage, sums(s)])), grouped = new Set();
		const groups = this.groups.map((g) => this.groupRow(g, g.stages.map((w) => rows.get(w)).filter(Boolean))).filter((g) => g.members.length > 1);
		groups.forEach((g) => g.members.forEach((m) => grouped.add(m)));
		const list = this.sorted(this.matching([...groups, ...[...rows.values()].filter((s) => !grouped.has(s))]));
		const most = Math.max(1, ...list.map((s) => s.weight));
		this.drawHead();
		this.table.querySelectorAll('tbody').forEach((b) => b.remove());
		for (const s of list)
			this.table.append(this.body(s, most), ...(this.open.has(s.stage) ? this.sorted(s.members).map((m) => this.body(m, most, s)) : []));
		this.mark(this.chosen);
	}
	/* Sums of a group's stages, as a row of the table. */
	groupRow(g, members) {
		const sum = (of) => members.reduce((v, m) => v + of(m), 0), kinds = members.length ? members[0].areas.length : 0;
		return {stage: g.stage, name: g.title, members, tasks: sum((m) => m.tasks), run: sum((m) => m.run), weight: sum((m) => m.weight),
			areas: Float64Array.from({length: kinds}, (v, i) => sum((m) => m.areas[i])),
			slow: members.filter(straggler).sort((x, y) => y.run - x.run)[0] || null};
	}
	/* Rows with the words of the filter in their names or numbers; a group with them in one of its stages has that. */
	matching(list) {
		const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
		const has = (s) => words.every((w) => `${s.stage} ${s.name}`.toLowerCase().includes(w));
		return list.flatMap((s) => has(s) ? [s] : (s.members || []).filter(has));
	}
	sorted(list) {
		const slowest = (s) => parseFloat(this.slowestCell(s.slow || s).textContent.replace(/^\D*/, '')) || 0;
		const number = (x, y) => x.stage.localeCompare(y.stage, 'en', {numeric: true}), first = (s) => s.members ? s.members[0] : s;
		const by = {stage: (x, y) => number(first(x), first(y)), tasks: (x, y) => y.tasks - x.tasks, run: (x, y) => y.run - x.run, slowest: (x, y) => slowest(y) - slowest(x)}[this.order] || (() => 0);
		return [...list].sort((x, y) => by(x, y) || y.weight - x.weight || y.run - x.run || number(x, y));
	}
	drawHead() {
		const head = element('tr'), filter = element('tr', {className: 'filter'}), typing = document.activeElement === this.filter;
		for (const [id, text, title] of [['stage', 'Stage', 'By number; a click on a row shows it alone'], ['tasks', 'Tasks', 'Attempts that ran within the recording'],
			['run', 'Run time', 'What they took of it together, as Spark counts it: where the wall clock was sampled, without launch and result'], ['slowest', 'Slowest', 'Against the median task: a click on a straggler compares both'],
			['areas', this.work.title, 'Of what is selected']]) {
			const cell = element('th', {scope: 'col', className: id}), button = element('button', {textContent: text, title: `Sort. ${title}`});
			if ((this.order || 'areas') === id)
				cell.setAttribute('aria-sort', id === 'stage' ? 'ascending' : 'descending');
			button.addEventListener('click', () => {
				this.on.order(id === 'areas' ? '' : id);
				this.top.querySelector(`.${id} button`).focus();
			});
			cell.append(button);
			head.append(cell);
		}
		if (this.stages.size > 5) {
			filter.append(element('td', {colSpan: 5}));
			filter.firstChild.append(this.filter);
		}
		this.top.replaceChildren(...(this.stages.size > 5 ? [filter] : []), head);
		if (typing)
			this.filter.focus();
	}
	/* Shows or hides the stages of a group. */
	toggle(group) {
		if (!this.open.delete(group))
			this.open.add(group);
		this.redraw();
		this.table.querySelector(`[data-stage="${group}"] .open`).focus();
	}
	opener(s) {
		const open = this.open.has(s.stage), button = element('button', {className: 'open', textContent: open ? '▾' : '▸', title: open ? 'Hide its stages' : 'Show its stages'});
		button.setAttribute('aria-expanded', String(open));
		button.setAttribute('aria-label', button.title);
		button.addEventListener('click', (e) => {
			e.stopPropagation();
			this.toggle(s.stage);
		});
		return button;
	}
	/* @group: the one that it is shown below; what has its name does not say it again. */
	body(s, most, group) {
		const body = element('tbody', {className: group ? 'member' : ''}), row = element('tr'), {name} = s;
		const button = element('button', {textContent: s.members ? `×${s.members.length}` : s.stage.replace('stage ', ''), title: s.members ? `${s.members.length} stages: ${name}` : [s.stage, name].filter(Boolean).join(': ')});
		const cell = (className, text, title = '') => element('td', {className, textContent: text, title});
		body.dataset.stage = s.stage;
		body.addEventListener('click', () => this.on.pick(s.stage));
		row.append(element('th', {scope: 'row'}), cell('number', formatNumber(s.tasks)), cell('number', s.run ? formatDuration(s.run * 1e6) : '–', s.members ? '' : runWords(s)),
			s.members ? s.slow ? this.slowestCell(s.slow) : cell('number', '') : this.slowestCell(s), this.areaCell(s, most));
		row.firstChild.append(...(s.members ? [this.opener(s)] : []), button);
		body.append(row);
		if (name && !(group && group.name === name)) {
			const line = element('tr', {className: 'name'});
			line.append(element('td', {colSpan: 5, textContent: name, title: name}));
			body.append(line);
		}
		return body;
	}
	slowestCell(s) {
		if (s.members)
			return element('td');
		const cell = element('td', {className: 'number'}), slow = straggler(s), {times} = s;
		if (!times || times.slowest < 0 || !times.median)
			return cell;
		const ratio = `${times.least ? '≥\u00a0' : ''}${(times.max / times.median).toFixed(1)} ×`, words = slowestWords(times);
		if (!slow || !medianTask(s)) {
			cell.append(times.lags ? element('strong', {className: 'lags', textContent: ratio}) : ratio);
			cell.title = times.lags ? `A straggler: ${words}` : words;
			cell.classList.toggle('within', !times.lags);
			return cell;
		}
		const button = element('button', {className: 'lags', textContent: ratio, title: `A straggler: ${words}. Click to compare their flame graphs.`});
		button.addEventListener('click', (e) => {
			e.stopPropagation();
			this.on.compare(slow);
		});
		cell.append(button);
		return cell;
	}
	/* The heaviest areas in words, and all of them as a bar. */
	areaCell(s, most) {
		const cell = element('td', {className: 'areas'}), bar = element('div', {className: 'stack'});
		const {names, colour} = this.work, used = [...s.areas.keys()].filter((i) => s.areas[i] > 0).sort((x, y) => s.areas[y] - s.areas[x]);
		const words = used.map((i) => `${names[i]} ${(100 * s.areas[i] / s.weight).toFixed(0)}\u00a0%`);
		for (const i of used) {
			const part = element('span');
			part.style.width = `${100 * s.areas[i] / most}%`;
			part.style.background = colour(i);
			bar.append(part);
		}
		cell.title = words.join(', ');
		cell.append(element('div', {textContent: words.slice(0, 3).join(', ')}), bar);
		return cell;
	}
}
