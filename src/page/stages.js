'use strict';
/* The table of stages: tasks, run time, what kind of work it was, and whether a task lagged behind. A click
 * shows a stage alone; one on a straggler compares it with the median task of its stage. */

/* Stages by their word: {stage, tasks, run: ms of all, whole: [{label, ms}] of the tasks that began and
 * ended within the recording, shortest first}. As in src/out/stages.c, threads that help do not count.
 * Where recordings were too many to tell tasks apart, folded has what is known of them all. */
function stagesOf({labels, spans, meta}) {
	if (meta.folded)
		return new Map(Object.entries(meta.folded).map(([stage, folded]) => [stage, {stage, tasks: folded.tasks, run: folded.run, whole: [], folded}]));
	const stages = new Map(), ms = new Float64Array(labels.length);
	for (const s of spans)
		ms[s.label] += s.to - s.from;
	labels.forEach(({stage, helper, whole}, label) => {
		if (!stage)
			return;
		if (!stages.has(stage))
			stages.set(stage, {stage, tasks: 0, run: 0, whole: []});
		const s = stages.get(stage);
		if (helper)
			return;
		s.tasks++;
		s.run += ms[label];
		if (whole)
			s.whole.push({label, ms: ms[label]});
	});
	stages.forEach((s) => s.whole.sort((x, y) => x.ms - y.ms));
	return stages;
}

function medianTask({whole}) {
	return whole.length ? whole[whole.length >> 1] : null;
}

/* The slowest task, where it took more than twice the median of at least three; null: none lags. */
function straggler({whole}) {
	const last = whole[whole.length - 1];
	return whole.length >= 3 && last.ms > 2 * medianTask({whole}).ms ? last : null;
}

class StageTable {
	/* @on: {pick(stage), compare(label of a task)} */
	constructor(host, profile, colours, on) {
		this.host = host;
		this.profile = profile;
		this.colours = colours;
		this.on = on;
		this.stages = stagesOf(profile);
		this.stageOf = profile.labels.map((l) => this.stages.get(l.stage) || null);
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
		const list = [...this.stages.values()].map((s) => ({...s, areas: this.sums.get(s), weight: this.sums.get(s).reduce((sum, v) => sum + v, 0)}));
		const table = element('table', {className: 'stages'}), head = element('tr'), top = element('thead');
		for (const [id, text, title] of [['stage', 'Stage', 'A click shows it alone'], ['tasks', 'Tasks', 'Attempts that ran within the recording'],
			['run', 'Run time', 'What they took of it together'], ['slowest', 'Slowest', 'Against the median task: a click on a straggler compares both'],
			['areas', this.work.title, 'Of what is selected']])
			head.append(element('th', {scope: 'col', className: id, textContent: text, title}));
		top.append(head);
		list.sort((x, y) => y.weight - x.weight || y.run - x.run || x.stage.localeCompare(y.stage, 'en', {numeric: true}));
		const most = Math.max(1, ...list.map((s) => s.weight));
		table.append(element('caption', {textContent: 'Stages', className: 'unseen'}), top, ...list.map((s) => this.body(s, most)));
		this.host.replaceChildren(table);
		this.mark(this.chosen);
	}
	body(s, most) {
		const body = element('tbody'), row = element('tr'), name = this.profile.meta.stages[s.stage];
		const button = element('button', {textContent: s.stage.replace('stage ', ''), title: [s.stage, name].filter(Boolean).join(': ')});
		const cell = (className, text, title = '') => element('td', {className, textContent: text, title});
		body.dataset.stage = s.stage;
		body.addEventListener('click', () => this.on.pick(s.stage));
		row.append(element('th', {scope: 'row'}), cell('number', formatNumber(s.tasks)), cell('number', s.run ? formatDuration(s.run * 1e6) : '–', s.run ? '' : 'Known by names of threads alone'),
			this.slowestCell(s), this.areaCell(s, most));
		row.firstChild.append(button);
		body.append(row);
		if (name) {
			const line = element('tr', {className: 'name'});
			line.append(element('td', {colSpan: 5, textContent: name, title: name}));
			body.append(line);
		}
		return body;
	}
	slowestCell(s) {
		const cell = element('td', {className: 'number'}), slow = straggler(s), last = s.whole[s.whole.length - 1], median = medianTask(s);
		if (s.folded && s.folded.median) {
			const {max, median, whole, slowest} = s.folded;
			cell.append(`${(max / median).toFixed(1)} ×`);
			cell.title = `TID ${slowest} took ${formatDuration(max * 1e6)}, the median of ${formatNumber(whole)} tasks ${formatDuration(median * 1e6)}`;
			cell.classList.toggle('within', !(whole >= 3 && max > 2 * median));
		}
		if (!last || !median.ms)
			return cell;
		const times = `${(last.ms / median.ms).toFixed(1)} ×`, {task} = this.profile.labels[last.label];
		const words = `${task} took ${formatDuration(last.ms * 1e6)}, the median of ${formatNumber(s.whole.length)} tasks ${formatDuration(median.ms * 1e6)}`;
		if (!slow) {
			cell.append(times);
			cell.title = words;
			cell.classList.add('within');
			return cell;
		}
		const button = element('button', {className: 'lags', textContent: times, title: `A straggler: ${words}. Click to compare their flame graphs.`});
		button.addEventListener('click', (e) => {
			e.stopPropagation();
			this.on.compare(slow.label);
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
