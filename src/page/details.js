'use strict';
/* What the page says about one frame, and what can be done with it. */
Object.assign(App.prototype, {
	/* Facts about a drawn item: {name, about}. */
	describe(flame, item) {
		const m = this.model, event = m.event;
		if (flame.kind === 'time') {
			const from = item.from * this.seconds, length = (item.to - item.from) * this.profile.meta.bucket;
			return {name: dotted(m.name(item.name)),
				about: [`${this.kindOf(item.node)}`, `from ${formatMoment(from, true)} for ${formatDuration(length)}`]};
		}
		const tree = flame.tree, self = tree.self(item), about = [];
		if (item.name >= 0)
			about.push(this.kindOf(tree.heaviest(item)));
		about.push(`total ${formatWeight(item.total, event)}, ${formatShare(item.total, m.whole)} of ${this.wholeName()}`);
		if (tree.root.total !== m.whole && item !== tree.root)
			about.push(`${formatShare(item.total, tree.root.total)} of the focus`);
		about.push(`${tree.o.reverse ? 'begins here' : 'self'} ${formatWeight(self, event)}, ${formatShare(self, m.whole)}`);
		if (item === tree.root && tree.o.starts)
			about.push(`frames that threads start with are folded, up to ${m.starts.deepest}: b shows them`);
		if (m.comparing)
			about.push(this.tellChange(item));
		return {name: item.name < 0 ? 'All samples of the selection' : dotted(m.name(item.name)), about};
	},
	tellChange(item) {
		const m = this.model, [a, b] = this.sideNames, show = (v, side) => m.filter.amounts ? formatWeight(v, m.event) : formatShare(v, side.total[0]);
		const word = !item.a ? `only in ${b}` : !item.b ? `vanished: only in ${a}` : '';
		return `${a} ${show(item.a, m.a)} → ${b} ${show(item.b, m.b)}${word ? `, ${word}` : ''}`;
	},
	kindOf(node) {
		const {type, line, area: areas} = this.model.nodes, area = this.profile.meta.areas[areas[node]].name;
		const words = [TYPE_NAMES[type[node]]];
		if (line[node])
			words.push(`line ${line[node]}`);
		if (area.toLowerCase() !== words[0])
			words.push(area);
		return words.join(', ');
	},
	wholeName() {
		const s = this.state;
		if (this.model.comparing)
			return this.profile.meta.diff ? 'both' : s.versus === OTHERS ? 'all executors' : s.versus ? 'both tasks' : 'both ranges';
		return s.range || s.thread || s.state || s.executor || s.stage || s.task ? 'the selection' : `all ${this.model.event.name}`;
	},
	hover(flame, item, e) {
		if (!item || !e) {
			this.tip(null);
			return;
		}
		const d = this.describe(flame, item);
		this.tip(d.name, d.about, e);
	},
	/* A few lines beside the pointer. Text only: names are never markup. */
	tip(title, lines, e) {
		const tip = byId('tip');
		tip.hidden = !title || !e;
		if (tip.hidden)
			return;
		tip.replaceChildren(element('b', {textContent: title}), (lines || []).join('\n'));
		const box = tip.getBoundingClientRect();
		const x = Math.min(e.clientX + 14, innerWidth - box.width - 8), below = e.clientY + 18;
		tip.style.left = `${Math.max(8, x)}px`;
		tip.style.top = `${below + box.height > innerHeight - 4 ? Math.max(4, e.clientY - box.height - 12) : below}px`;
	},
	selectItem(flame, item) {
		for (const f of Object.values(this.flames)) {
			if (f !== flame && f.selected) {
				f.selected = null;
				f.schedule();
			}
		}
		this.current = flame;
		this.tellItem(item);
	},
	tellItem(item) {
		const facts = byId('facts');
		byId('actions').hidden = !item || item.name < 0;
		if (!item) {
			facts.replaceChildren(element('div', {className: 'about hint', textContent: 'Point at a frame for its name, click to zoom, press ? for keys.'}),
				this.colourLegend());
			return;
		}
		const d = this.describe(this.current, item);
		facts.replaceChildren(element('div', {className: 'name', textContent: d.name, title: d.name}),
			element('div', {className: 'about', textContent: d.about.join(' · ')}));
		const lines = item.name >= 0 && this.lineTable(this.model.name(item.name));
		if (lines)
			facts.append(lines);
	},
	/* Self time by line of a method, of the whole recording, with its code where the report was given it; null where no line is known. */
	lineTable(name) {
		const found = (this.profile.meta.lines || []).find((l) => l.event === this.model.filter.event && l.name === name.replace(/:\d+$/, ''));
		if (!found)
			return null;
		const {event} = this.model, all = found.weight, body = element('tbody');
		const host = element('details', {className: 'lines'}), table = element('table'), [first, weight] = found.lines[0];
		const others = found.count > 1 ? `, ${formatNumber(found.count - 1)} other ${found.count === 2 ? 'line' : 'lines'}` : '';
		for (const [line, self, code] of found.lines) {
			const row = element('tr');
			row.append(element('td', {className: 'number', textContent: line}), element('td', {className: 'number', textContent: formatWeight(self, event)}),
				element('td', {className: 'number', textContent: formatShare(self, all)}), element('td', {className: 'code', textContent: code || ''}));
			body.append(row);
		}
		const head = element('tr'), top = element('thead');
		for (const text of ['Line', 'Self', 'of its self time', 'Code'])
			head.append(element('th', {scope: 'col', textContent: text}));
		top.append(head);
		table.append(element('caption', {className: 'unseen', textContent: 'Self time by line, of the whole recording'}), top, body);
		host.append(element('summary', {textContent: `Lines: ${first} ${formatShare(weight, all)}${others}`, title: 'Self time by line, of the whole recording'}), table);
		return host;
	},
	/* What the colours of the graph mean. */
	colourLegend() {
		const legend = element('div', {className: 'legend'}), c = this.colours;
		const add = (text, colour) => {
			const item = element('span', {textContent: text});
			item.style.setProperty('--c', colour);
			legend.append(item);
		};
		const by = this.colouring(), [, b] = this.sideNames;
		if (by === 'change')
			[[`less in ${b}`, -1], ['the same', 0], [`more in ${b}`, 1]].forEach(([text, change]) => add(text, c.byChange(change)));
		else if (by === 'area')
			this.profile.meta.areas.forEach((a, i) => a.used && add(a.name, c.byArea(-7, i)));
		else
			TYPE_NAMES.forEach((t, i) => add(t, c.byType(-7, i, this.model.event.unit === 'bytes')));
		return legend;
	},
	/* A click on what is zoomed already goes one step out. */
	zoom(flame, item) {
		if (flame.kind === 'time') {
			this.set({zoom: `${+item.from.toFixed(4)}_${+item.to.toFixed(4)}`});
			return;
		}
		const target = item === flame.zoomed && item.parent ? item.parent : item;
		if (flame === this.flames.flame) {
			this.set({zoom: flame.tree.key(target)});
		} else {
			flame.zoomed = target;
			flame.show((width) => new TreeLayout(flame.tree, target, width));
		}
		this.say(`Zoomed to ${target.name < 0 ? 'all' : dotted(this.model.name(target.name))}`);
	},
	zoomOut(flame) {
		if (flame.kind === 'time' || !flame.zoomed)
			this.set({zoom: ''});
		else if (flame.zoomed.parent)
			this.zoom(flame, flame.zoomed.parent);
	},
	say(text) {
		byId('said').textContent = text;
	},
	/* The stack of an item, root first. */
	stackOf(flame, item) {
		const m = this.model, names = [];
		if (flame.kind === 'time') {
			for (let n = item.node; n > 0; n = m.nodes.parent[n])
				names.unshift(m.name(m.nodes.name[n]));
		} else if (!flame.tree.o.reverse && !flame.tree.o.members) {
			for (let n = flame.tree.heaviest(item); n > 0; n = m.nodes.parent[n]) /* with what is folded and hidden */
				names.unshift(m.name(m.nodes.name[n]));
		} else {
			for (let d = item; d && d.name >= 0; d = d.parent)
				names[flame.tree.o.reverse ? 'push' : 'unshift'](m.name(d.name));
		}
		return names;
	},
	async copy(flame, item, whole) {
		if (!item || item.name < 0)
			return;
		const text = whole ? this.stackOf(flame, item).map(dotted).join('\n') : dotted(this.model.name(item.name));
		try {
			await navigator.clipboard.writeText(text);
		} catch {
			/* no permission, or a file: the old way */
			const area = element('textarea', {value: text});
			document.body.append(area);
			area.select();
			document.execCommand('copy');
			area.remove();
			flame.host.focus();
		}
		this.copied = text;
		this.say(whole ? 'Stack copied' : 'Name copied');
		byId('facts').append(element('div', {className: 'about', textContent: whole ? 'Stack copied.' : 'Name copied.'}));
	},
	act(what, shift) {
		const flame = this.current || this.flames.flame, item = flame.selected || flame.hovered;
		if (!item || item.name < 0)
			return;
		if (what === 'copy')
			this.copy(flame, item, shift);
		else if (what === 'focus')
			this.set({focus: String(item.name), view: this.state.view === 'callers' ? 'callers' : 'flame', zoom: ''});
		else if (what === 'hide')
			this.set({hide: [...this.hidden(), item.name].join('.'), zoom: ''});
		else if (what === 'sandwich')
			this.set({view: 'sandwich', method: String(item.name)});
	},
	/* A row of the table was chosen. */
	pick(name) {
		if (this.state.view === 'sandwich') {
			this.set({method: String(name)});
			return;
		}
		const text = `^${this.model.name(name).replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
		if (this.state.search === text)
			this.set({view: 'sandwich', method: String(name), search: ''});
		else
			this.set({search: text});
		this.firstMatch();
	},
	show(view) {
		const item = this.current && this.current.selected;
		const changes = {view, zoom: '', ...(view === 'time' ? {versus: ''} : {})};
		if (view === 'sandwich' && item && item.name >= 0)
			changes.method = String(item.name);
		if (view === 'time' && !this.model.filter.threads && !this.state.task)
			changes.thread = this.busiestThread();
		this.set(changes);
	},
	busiestThread() {
		const weights = new Map(), rows = this.profile.events[this.model.filter.event];
		this.model.eachRow(this.strip.range, (node, value, i) => weights.set(rows.thread[i], (weights.get(rows.thread[i]) || 0) + value));
		const best = [...weights].sort((x, y) => y[1] - x[1]).map(([t]) => this.profile.threads[t]).find((t) => t && t.name);
		return best && this.threadKeys.get(best.name).size === 1 ? best.name : best ? best.name : '';
	},
	reset() {
		this.set({zoom: '', focus: '', hide: ''});
		for (const f of [this.flames.callers, this.flames.callees]) {
			if (f.tree && f.zoomed !== f.tree.root) {
				f.zoomed = f.tree.root;
				f.show((width) => new TreeLayout(f.tree, f.zoomed, width));
			}
		}
	},
	compare() {
		const strip = this.strip;
		if (strip.other) {
			strip.other = null;
			this.set({other: '', zoom: ''});
			return;
		}
		strip.picking = !strip.picking && !!strip.range;
		this.showRange();
		if (strip.picking)
			byId('strip').focus();
	},
});

/* Where it was recorded, and what must be known to believe it. */
function fillFoot(foot, m) {
	const parts = [];
	const add = (label, text, bad) => {
		if (!text)
			return;
		const span = element('span', {className: bad ? 'bad' : ''});
		span.append(element('b', {textContent: label}), ` ${text}`);
		parts.push(span);
	};
	const each = (values, format) => values.map((v, i) => `${format(v)} in ${['base', 'new'][i]}`).join(', ');
	const reasons = m.reasons.filter((r) => r[1]).map(([text, count]) => `${text} ${formatNumber(count)}`).join(', ');
	add('Samples', m.diff ? each(m.diff.samples, formatNumber) : formatNumber(m.samples));
	add('Lost', formatNumber(m.lost) + (reasons ? ` (${reasons})` : ''), m.lost > 0);
	add('Truncated', formatNumber(m.truncated));
	add('Unknown', formatNumber(m.unknown));
	add('Left out by filters', m.filtered ? formatNumber(m.filtered) : '');
	add('Interval', m.events.filter((e) => e.interval && e.quantum).map((e, i) => `${m.diff ? ['base', 'new'][i] : e.name} ${formatWeight(e.interval, {...e, counted: false})}`).join(', '));
	add('Target', m.target);
	add('JVM', m.runtime);
	add('Host', m.host);
	add('Start', !m.diff && (m.recorded || m.start) ? new Date((m.recorded || m.start) / 1e6).toISOString().replace('T', ' ').slice(0, 19) + ' UTC' : '');
	add('Length', m.diff ? m.diff.durations.every(Boolean) && each(m.diff.durations, formatDuration) : m.duration ? formatDuration(m.duration) : '');
	add('Command', m.command);
	add('CPU limit', m.limit);
	for (const [text] of m.notes)
		add('Note', text);
	add('sparkprof', m.version);
	foot.replaceChildren(...parts);
}
