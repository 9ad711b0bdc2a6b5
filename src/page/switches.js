'use strict';
const OTHERS = 'others'; /* beside which an executor is shown */
/* What is chosen above the graph: the switches, the range in words, and what can be undone. */
Object.assign(App.prototype, {
	/* Threads that differ only by numbers can be chosen together. */
	threadGroups() {
		const keys = new Map();
		this.profile.threads.forEach((t, i) => {
			const name = t.name || `tid ${t.tid}`, group = name.replace(/\d+/g, '#');
			for (const key of new Set([`${name}`, group])) {
				if (!keys.has(key))
					keys.set(key, new Set());
				keys.get(key).add(i);
			}
		});
		return keys;
	},
	fillSwitches() {
		const m = this.profile.meta;
		const options = (id, list) => byId(id).replaceChildren(...list.map(([value, text]) => element('option', {value, textContent: text})));
		options('event', m.events.map((e, i) => [String(i), e.name]).filter((e, i) => m.events[i].rows));
		options('state', [['', 'all'], ...m.states.map((s) => [s, s])]);
		const weights = this.profile.threadWeights; /* by number + 1 */
		const used = weights.reduce((n, w) => n + (w > 0), 0);
		this.fillThreads();
		byId('state').parentElement.hidden = !m.states.length;
		byId('by').querySelector('[value=stage]').hidden = !this.profile.labels.some((l) => l.stage);
		byId('thread').parentElement.hidden = used < 2;
		byId('event').parentElement.hidden = byId('event').options.length < 2 || !!m.diff;
		document.querySelector('[data-view=time]').hidden = !m.bucket;
		const title = m.diff ? `${m.diff.event}: ${m.diff.names[0]} → ${m.diff.names[1]}` : m.title || (m.target === 'several' ? this.severalTargets() : m.target) || '';
		byId('title').textContent = byId('title').title = title;
		fillFoot(byId('foot'), m);
	},
	/* Pools are one entry each; the threads of the one that is chosen follow it. */
	fillThreads() {
		const weights = this.profile.threadWeights, pool = this.state.thread.replace(/\d+/g, '#'), key = `thread ${pool}`; /* weights: by number + 1 */
		if (key === this.threadKey)
			return;
		this.threadKey = key;
		const weight = (set) => [...set].reduce((sum, t) => sum + weights[t + 1], 0), list = [];
		for (const [name, set] of this.threadKeys) {
			const group = name.replace(/\d+/g, '#'), many = this.threadKeys.get(group).size > 1;
			if (weight(set) && (name === group || !many))
				list.push([weight(set), name, name === group && many ? `${this.poolName(set)} (${set.size})` : name]);
		}
		list.sort((x, y) => y[0] - x[0]);
		const members = [...this.threadKeys].filter(([name, set]) => name !== pool && name.replace(/\d+/g, '#') === pool && weight(set))
			.sort((x, y) => weight(y[1]) - weight(x[1])).map(([name]) => [0, name, `\u2003${name}`]);
		const at = list.findIndex(([, name]) => name === pool);
		if (at >= 0 && this.threadKeys.get(pool).size > 1)
			list.splice(at + 1, 0, ...members);
		const used = weights.reduce((n, w) => n + (w > 0), 0);
		byId('thread').replaceChildren(...[[0, '', `all (${formatNumber(used)})`], ...list].map(([, value, textContent]) => element('option', {value, textContent})));
	},
	/* "shuffle-client-4-#": numbers that all of them have stay. */
	poolName(set) {
		const names = [...set].map((t) => this.profile.threads[t].name || `tid ${this.profile.threads[t].tid}`), numbers = names.map((n) => n.match(/\d+/g) || []);
		let at = 0;
		return names[0].replace(/\d+/g, (n) => numbers.every((all) => all[at] === n) ? (at++, n) : (at++, '#'));
	},
	/* What recordings that were merged are of. */
	severalTargets() {
		const names = new Set(this.profile.labels.map((l) => l.executor).filter((e) => e && e !== 'driver'));
		return names.size > 1 ? `${names.size} executors` : 'several recordings';
	},
	/* Stages that are looked at: one, or those of a group. null: all. */
	chosenStages() {
		const {stage} = this.state, group = groupOf(this.profile.meta, stage);
		return group ? new Set(group.stages) : stage ? new Set([stage]) : null;
	},
	/* Words of labels that samples have: stages of the chosen executor, tasks of the chosen stage. "-"
	 * means none. */
	fillLabels() {
		const s = this.state, {labels, meta: {stages, unlabelled}} = this.profile, key = `${s.executor}|${s.stage}|${s.task}`;
		if (key === this.labelKey)
			return;
		this.labelKey = key;
		for (const [kind, ...within] of [['executor'], ['stage', 'executor'], ['task', 'executor', 'stage']]) {
			const words = new Set(labels.filter((l, i) => (i || unlabelled) && this.fits(l, s, within)).map((l) => l[kind] || '-'));
			const named = [...words].filter((w) => w !== '-').sort((x, y) => x.localeCompare(y, 'en', {numeric: true}));
			const many = kind === 'task' && !s.stage && named.length > 500;
			const hosts = kind === 'executor' ? this.hosts() : [], host = (w) => hosts.length && labels.find((l) => l.executor === w).host;
			const text = (w) => kind === 'stage' && stages[w] ? `${w}: ${stages[w].slice(0, 60)}` : host(w) ? `${w}, ${host(w)}` : w;
			const list = [['', many ? 'choose a stage' : `all (${formatNumber(named.length)})`], ...hosts.map((h) => [`@${h}`, `host ${h}`]), ...(kind === 'stage' ? this.groupOptions() : []), ...(many ? [] : named.map((w) => [w, text(w)])),
				...(words.has('-') ? [['-', 'none']] : [])];
			byId(kind).replaceChildren(...list.map(([value, text]) => element('option', {value, textContent: text})));
			byId(kind).value = s[kind];
			byId(kind).parentElement.hidden = named.length < (kind === 'executor' ? 2 : 1);
		}
	},
	groupOptions() {
		return (this.profile.meta.groups || []).map((g, i) => [`~${i}`, `×${g.stages.length} ${g.title.slice(0, 60)}`]);
	},
	/* Whether a label has the words that are wanted, of these kinds. */
	fits(label, wanted, kinds) {
		const group = groupOf(this.profile.meta, wanted.stage);
		return kinds.every((k) => !wanted[k] || (label[k] || '-') === wanted[k] || (k === 'executor' && wanted[k] === `@${label.host}`) ||
			(k === 'stage' && group && group.stages.includes(label.stage)));
	},
	/* Where executors ran, if that tells them apart. A host is chosen as all of its executors. */
	hosts() {
		const all = [...new Set(this.profile.labels.map((l) => l.host).filter(Boolean))];
		return all.length > 1 ? all.sort((x, y) => x.localeCompare(y, 'en', {numeric: true})) : [];
	},
	/* A switch was turned. What the choice does not have is no longer chosen. */
	choose(kind, word) {
		const next = {executor: this.state.executor, stage: this.state.stage, task: this.state.task, [kind]: word};
		if (kind === 'stage')
			next.task = '';
		for (const lower of ['task', 'stage'])
			if (lower !== kind && !this.profile.labels.some((l) => this.fits(l, next, ['executor', 'stage', 'task'])))
				next[lower] = '';
		this.set({...next, versus: '', zoom: ''});
	},
	/* Which labels count, by number; null: all. */
	maskOf(wanted) {
		const kinds = ['executor', 'stage', 'task'].filter((k) => wanted[k]);
		return kinds.length ? Uint8Array.from(this.profile.labels, (l) => this.fits(l, wanted, kinds)) : null;
	},
	labelMasks() {
		const {executor, stage, task, versus} = this.state;
		if (versus === OTHERS && executor)
			return this.besideOthers(executor, stage);
		if (!task || !versus)
			return {labels: this.maskOf({executor, stage, task}), sides: null};
		const sides = [versus, task].map((word) => this.maskOf({executor, stage, task: word}));
		return {labels: sides[0].map((v, i) => v | sides[1][i]), sides};
	},
	/* A stage or task was clicked: only it, or all again. */
	pickLabel({kind, word, stage}) {
		if (!word)
			return;
		const off = this.state[kind] === word && !this.state.versus, changes = {versus: '', zoom: ''};
		this.set(kind === 'stage' ? {stage: off ? '' : word, task: '', ...changes} : {task: off ? '' : word, stage: off ? this.state.stage : stage, ...changes});
	},
	/* The label of the chosen task that its stage measures it by; 0: none. */
	taskLabel() {
		const {stage, task} = this.state;
		return Math.max(0, this.profile.labels.findIndex((l) => task && l.task === task && l.stage && this.fits(l, {stage}, ['stage']) && !l.helper));
	},
	/* A task beside the median task of its stage. */
	compareTask(label) {
		const {stage, task} = this.profile.labels[label], of = this.stages.stages.get(stage), median = of && medianTask(of);
		if (!median)
			return;
		this.set({stage, task, versus: this.profile.labels[median.label].task, executor: '', thread: '', other: '', zoom: '',
			view: this.state.view === 'time' ? 'flame' : this.state.view});
	},
	/* An executor beside all others, in the stages that both ran. */
	compareExecutor(executor) {
		this.set({executor, versus: OTHERS, stage: '', task: '', thread: '', other: '', zoom: '', view: this.state.view === 'time' ? 'flame' : this.state.view});
	},
	besideOthers(executor, stage) {
		const {labels} = this.profile, stages = (its) => new Set(labels.filter((l) => l.stage && (l.executor === executor) === its).map((l) => l.stage));
		const own = stages(true), theirs = stages(false), both = (l) => own.has(l.stage) && theirs.has(l.stage) && (!stage || this.fits(l, {stage}, ['stage']));
		const sides = [false, true].map((its) => Uint8Array.from(labels, (l) => l.executor && (l.executor === executor) === its && both(l)));
		return {labels: sides[0].map((v, i) => v | sides[1][i]), sides};
	},
	toggleVersus() {
		if (this.state.versus)
			this.set({versus: '', zoom: ''});
		else if (!byId('versus').hidden)
			this.compareTask(this.taskLabel());
	},
	/* Whether the chosen task can be compared so, and is not yet. */
	showVersus() {
		const label = this.taskLabel(), of = label && this.stages.stages.get(this.profile.labels[label].stage), median = of && medianTask(of);
		byId('versus').hidden = !median || !!this.state.versus || this.profile.labels[median.label].task === this.state.task;
	},
	showSwitches() {
		const s = this.state;
		this.fillThreads();
		for (const id of ['thread', 'state'])
			byId(id).value = s[id];
		byId('by').querySelector('[value=wait]').hidden = !this.waits();
		byId('by').value = this.over();
		byId('colour').value = this.colouring();
		byId('as').value = this.amounts() ? 'amounts' : 'shares';
		byId('as').parentElement.hidden = byId('colour').lastElementChild.hidden = !this.model.comparing;
		byId('event').value = String(this.model.filter.event);
		this.fillLabels();
		if (byId('search').value !== s.search)
			byId('search').value = s.search;
		for (const button of document.querySelectorAll('[data-view]'))
			button.setAttribute('aria-pressed', String(button.dataset.view === s.view));
		byId('up').setAttribute('aria-pressed', String(!!s.up));
		byId('starts').setAttribute('aria-pressed', String(!!s.starts));
		byId('starts').hidden = !this.model.starts.deepest;
		byId('starts').disabled = s.view === 'callers' || s.view === 'sandwich' || !!s.focus;
		byId('recursion').setAttribute('aria-pressed', String(!!s.recursion));
		byId('side-button').setAttribute('aria-pressed', String(!!s.side));
		byId('lanes').setAttribute('aria-pressed', String(!!s.lanes));
		byId('lanes').hidden = !this.strip.allLanes.length;
		byId('side').hidden = !s.side;
		byId('recursion').disabled = s.view === 'time';
		byId('up').disabled = s.view === 'sandwich';
		this.showVersus();
		this.showRange();
		this.showChips();
	},
	showRange() {
		const {range, other} = this.strip, text = byId('range'), fine = this.seconds < 1;
		const words = (r) => `${formatMoment(r[0] * this.seconds, fine)} – ${formatMoment(r[1] * this.seconds, fine)}`;
		const length = (r) => formatDuration((r[1] - r[0]) * this.profile.meta.bucket);
		text.replaceChildren();
		if (this.strip.picking)
			text.append('drag the range to compare with');
		else if (other)
			text.append(element('b', {className: 'a', textContent: 'A '}), words(range), '  ', element('b', {className: 'b', textContent: 'B '}), words(other));
		else if (range)
			text.append(element('b', {textContent: words(range)}), ` (${length(range)})`);
		else
			text.append(`${formatDuration(this.strip.buckets * this.profile.meta.bucket)}, buckets of ${formatDuration(this.profile.meta.bucket)}`);
		byId('compare').disabled = !range;
		byId('compare').setAttribute('aria-pressed', String(this.strip.picking));
		byId('whole').disabled = !range;
	},
	/* What keeps the graph from showing all: each can be taken away. */
	showChips() {
		const s = this.state, chips = [];
		const add = (text, full, undo) => {
			const chip = element('button', {textContent: text, title: `${full}: click to undo`});
			chip.addEventListener('click', undo);
			chips.push(chip);
		};
		if (s.focus)
			add(`Focus: ${shortName(this.model.name(Number(s.focus)))}`, dotted(this.model.name(Number(s.focus))), () => this.set({focus: '', zoom: ''}));
		for (const id of this.hidden())
			add(`Hidden: ${shortName(this.model.name(id))}`, dotted(this.model.name(id)),
				() => this.set({hide: [...this.hidden()].filter((h) => h !== id).join('.'), zoom: ''}));
		if (s.task && s.versus)
			add([s.task, s.versus].map((t) => (/TID \d+/.exec(t) || [t])[0]).join(' beside '), `${s.task} compared with the median task of its stage, ${s.versus}`, () => this.set({versus: '', zoom: ''}));
		if (s.executor && s.versus === OTHERS)
			add(`${s.executor} beside the others`, `${s.executor} compared with all others in the same stages`, () => this.set({versus: '', zoom: ''}));
		if (s.zoom && s.view !== 'sandwich')
			add('Zoomed', 'Zoomed in', () => this.set({zoom: ''}));
		byId('chips').replaceChildren(...chips);
		byId('reset').disabled = !chips.length;
	},
});

/* The group of stages that a choice means, "~0" the first; null: none. */
function groupOf({groups}, stage) {
	return stage && stage.startsWith('~') && groups && groups[Number(stage.slice(1))] || null;
}
