'use strict';
/* The page: reads the data, keeps the state, and tells the parts what to show. */
const byId = (id) => document.getElementById(id);

class App {
	constructor(profile) {
		this.profile = profile;
		this.state = readAddress();
		this.seconds = profile.meta.bucket / 1e9;
		this.threadKeys = this.threadGroups();
		this.found = null;
		document.body.classList.toggle('still', !profile.meta.bucket || !!profile.meta.diff);
		document.body.classList.replace('loading', 'ready');
		this.colours = new Colours(profile.meta.areas); /* it asks for styles: not of what is hidden by now */
		this.strip = new Strip(byId('strip'), profile, this.colours, {
			range: (r) => this.soon({range: formatRange(r, this.seconds), ...(r ? {} : {other: ''}), zoom: ''}),
			other: (r) => this.soon({other: formatRange(r, this.seconds), versus: '', zoom: ''}),
			hover: (lines, e) => this.tip(lines && lines[0], lines && lines.slice(1), e),
			pick: (lane) => this.pickLabel(lane),
			loaded: () => this.fillLegend(),
		});
		this.strip.fold(!this.state.lanes);
		this.flames = {};
		for (const id of ['flame', 'callers', 'callees'])
			this.flames[id] = this.makeFlame(byId(id));
		const tasks = {
			pick: (stage) => this.pickLabel({kind: 'stage', word: stage}),
			compare: (label) => this.compareTask(label),
			beside: (executor) => this.compareExecutor(executor),
			order: (stages) => this.set({stages}),
		};
		this.findings = new Findings(byId('findings'), profile, tasks);
		this.stages = new (profile.meta.diff && profile.meta.diff.amounts ? AmountTable : StageTable)(byId('stages'), profile, this.colours, tasks);
		this.phases = new PhaseTable(byId('phases'), profile, {
			range: (from, to) => this.set({range: `${+from.toFixed(3)}-${+to.toFixed(3)}`, other: '', zoom: ''}),
		});
		this.table = new Table(byId('methods'), {
			pick: (name) => this.pick(name),
			order: (sort) => this.set({sort}),
		});
		this.fillSwitches();
		this.listen();
	}
	/* Draws what the page opens with, before the tree and the samples are there. What is asked for meanwhile
	 * waits for them. */
	drawPicture() {
		this.working = true;
		this.model = Model.ofPicture(this.profile, this.wanted().filter);
		this.showSwitches();
		this.draw();
	}
	/* Everything is there. The first picture stays until there is one of it. */
	async complete() {
		this.working = true;
		this.apply();
		const model = new Model(this.profile), {filter, key} = this.wanted();
		await model.selectSliced(filter, key);
		Object.assign(this, {model, selectedKey: key, treeKey: ''});
		this.settled = this.working = this.selectSlowly();
		await this.settled;
	}
	get sideNames() {
		return this.profile.meta.diff ? ['base', 'new'] : this.state.versus === OTHERS ? ['other executors', 'this one'] : this.state.versus ? ['median task', 'this task'] : ['A', 'B'];
	}
	makeFlame(host) {
		const colour = (item) => this.colourOf(item);
		colour.colours = this.colours;
		colour.raw = (item) => this.model.name(item.name);
		colour.label = (item) => item.name < 0 ? this.rootLabel() : dotted(this.model.name(item.name));
		const flame = new Flame(host, {
			hover: (item, e) => this.hover(flame, item, e),
			select: (item) => this.selectItem(flame, item),
			zoom: (item) => this.zoom(flame, item),
			menu: (item, e) => this.copy(flame, item, e.shiftKey),
		}, colour);
		host.addEventListener('focus', () => this.current = flame);
		return flame;
	}
	listen() {
		for (const id of ['executor', 'stage', 'task'])
			byId(id).addEventListener('change', () => this.choose(id, byId(id).value));
		byId('versus').addEventListener('click', () => this.toggleVersus());
		for (const id of ['event', 'thread', 'state', 'as'])
			byId(id).addEventListener('change', () => this.set({[id]: byId(id).value, zoom: ''}));
		byId('by').addEventListener('change', () => this.set({by: byId('by').value}));
		byId('colour').addEventListener('change', () => this.setColour(byId('colour').value));
		for (const button of document.querySelectorAll('[data-view]'))
			button.addEventListener('click', () => this.show(button.dataset.view));
		for (const id of ['up', 'recursion'])
			byId(id).addEventListener('click', () => this.set({[id]: this.state[id] ? '' : '1', zoom: id === 'up' ? this.state.zoom : ''}));
		byId('starts').addEventListener('click', () => this.toggleStarts());
		byId('side-button').addEventListener('click', () => this.set({side: this.state.side ? '' : '1'}));
		byId('lanes').addEventListener('click', () => this.set({lanes: this.state.lanes ? '' : '1'}));
		byId('search').addEventListener('input', () => {
			this.set({search: byId('search').value});
			this.firstMatch();
		});
		byId('reset').addEventListener('click', () => this.reset());
		byId('whole').addEventListener('click', () => {
			this.strip.picking = false;
			this.strip.set(null);
		});
		byId('compare').addEventListener('click', () => this.compare());
		for (const button of document.querySelectorAll('[data-act]'))
			button.addEventListener('click', (e) => this.act(button.dataset.act, e.shiftKey));
		this.colours.media.addEventListener('change', () => this.recolour());
		addEventListener('beforeprint', () => this.print(true));
		addEventListener('afterprint', () => this.print(false));
		addEventListener('hashchange', () => {
			this.state = readAddress();
			this.apply();
		});
		listenKeys(this);
	}
	set(changes) {
		Object.assign(this.state, changes);
		this.apply();
	}
	/* The same, once before the next picture however often it is called: for what is dragged. */
	soon(changes) {
		Object.assign(this.state, changes);
		if (!this.awaited)
			this.awaited = requestAnimationFrame(() => {
				this.awaited = 0;
				this.apply();
			});
	}
	/* Paper is white, and a graph on it as wide as the page. */
	print(begins) {
		const flames = Object.values(this.flames);
		flames.forEach((f) => f.frozen = false);
		document.body.classList.toggle('printing', begins);
		this.recolour(begins ? 'light' : null);
		flames.forEach((f) => {
			f.resize(true);
			f.frozen = begins; /* paper has the picture as it is: there is nothing to scroll */
		});
	}
	recolour(theme = null) {
		this.colours.forced = theme;
		this.colours.read();
		if (!this.flames.flame.selected)
			this.tellItem(null);
		this.strip.draw();
		this.fillLegend();
		this.stages.redraw();
		Object.values(this.flames).forEach((f) => f.draw());
	}
	/* Brings everything in step with the state; what did not change is not done again. */
	apply() {
		const s = this.state, strip = this.strip;
		strip.range = parseRange(s.range, this.seconds, strip.buckets);
		strip.other = strip.range && parseRange(s.other, this.seconds, strip.buckets);
		const wanted = this.wanted(), rows = this.profile.events[wanted.filter.event];
		if (this.working) {
			this.again = true; /* it looks at the state once more when it is done */
		} else if (wanted.key === this.selectedKey || !rows || rows.count <= LARGE) {
			if (wanted.key !== this.selectedKey && !this.model.recall(wanted.key))
				this.model.select(wanted.filter, wanted.key);
			this.present(wanted);
		} else {
			strip.draw();
			this.settled = this.working = this.selectSlowly();
		}
		writeAddress(s);
	}
	/* For many samples: what is selected is summed in slices, then shown. */
	async selectSlowly() {
		do {
			this.again = false;
			const wanted = this.wanted();
			if (wanted.key !== this.selectedKey && !this.model.recall(wanted.key))
				await this.model.selectSliced(wanted.filter, wanted.key);
			for (const step of this.steps(wanted)) {
				step();
				await pause();
			}
		} while (this.again);
		this.working = null;
	}
	present(wanted) {
		this.steps(wanted).forEach((step) => step());
	}
	/* What is to be done after something was selected, in pieces: the graph first, for it must not be
	 * looked at with the sums of another selection. */
	steps(wanted) {
		return [
			() => {
				this.selectedKey = wanted.key;
				this.search();
				this.showSwitches();
				this.draw();
			},
			() => this.state.side && this.drawTable(),
			() => this.state.side && this.drawStages(),
			() => {
				this.showStrip(wanted);
				this.showLegend();
			},
		];
	}
	showLegend() {
		const legend = `${this.colouring()}|${this.model.filter.event}|${this.sideNames}`;
		if (legend !== this.legendKey && !(this.current && this.current.selected))
			this.tellItem(null);
		this.legendKey = legend;
	}
	/* What the state asks for. */
	wanted() {
		const s = this.state, {events} = this.profile.meta;
		let event = events[s.event] && events[s.event].rows ? Number(s.event) : -1;
		if (event < 0)
			event = Math.max(0, events.findIndex((e) => e.rows));
		const state = this.profile.meta.states.indexOf(s.state);
		const filter = {
			event, threads: this.threadKeys.get(s.thread) || null, state: state < 0 ? -1 : state + 1, range: this.strip.range, other: this.strip.other,
			...this.labelMasks(), amounts: this.amounts(),
		};
		const lasting = `${event}|${s.thread}|${s.state}|${s.executor}|${s.stage}|${s.task}|${s.versus}`, key = `${lasting}|${s.range}|${s.other}|${s.as}`;
		return {filter, lasting, key};
	}
	showStrip({lasting}) {
		const s = this.state;
		this.strip.chosen = {stages: this.chosenStages(), task: s.task, versus: s.versus};
		this.strip.fold(!s.lanes);
		if (`${lasting}|${s.by}` !== this.stripKey) {
			this.stripKey = `${lasting}|${s.by}`;
			this.strip.load(this.model, this.over());
		} else {
			this.strip.draw();
		}
	}
	/* Whether what is compared is compared as it is, not as shares. */
	amounts() {
		const {diff} = this.profile.meta;
		return (this.state.as || (diff && diff.absolute ? 'amounts' : 'shares')) === 'amounts';
	}
	/* What colours say: 'type', 'area', or 'change' where something is compared. */
	colouring() {
		const {colour} = this.state;
		return colour && (colour !== 'change' || this.model.comparing) ? colour : this.usualColour();
	}
	/* Of Spark's time people ask what it was spent on; allocations have a palette of their own. */
	usualColour() {
		return this.model.comparing ? 'change' : this.stages.stages.size && this.model.event.unit !== 'bytes' ? 'area' : 'type';
	}
	setColour(colour) {
		this.set({colour: colour === this.usualColour() ? '' : colour});
	}
	/* Whether it is known what the event's time was spent on. */
	waits() {
		return !!this.profile.meta.waits && !this.profile.meta.diff && this.model.event.name === 'wall';
	}
	/* What the strip shows over time: what it was spent on, else states, where the event has them. */
	over() {
		const event = this.profile.meta.events[this.model.filter.event];
		return this.state.by && (this.state.by !== 'wait' || this.waits()) ? this.state.by : this.waits() ? 'wait' : event && event.stated ? 'state' : 'area';
	}
	search() {
		const input = byId('search'), text = this.state.search;
		let pattern = null;
		input.classList.remove('wrong');
		try {
			pattern = text ? new RegExp(text, /[A-Z]/.test(text) ? '' : 'i') : null;
		} catch {
			input.classList.add('wrong');
		}
		const key = `${pattern}|${this.model.version}`;
		if (key !== this.searchKey) {
			this.found = pattern ? this.model.search(pattern) : null;
			this.searchKey = key;
		}
		byId('found').textContent = this.found ? formatShare(this.found.weight, this.model.whole) : '';
		byId('found').title = this.found ? `${formatNumber(this.found.names)} methods match` : '';
	}
	hidden() {
		return new Set(this.state.hide ? this.state.hide.split('.').map(Number).filter((n) => n >= 0 && n < this.model.strings.length) : []);
	}
	nameId(text) {
		const id = Number(text);
		return text !== '' && Number.isInteger(id) && id >= 0 && id < this.model.strings.length ? id : -1;
	}
	draw() {
		const s = this.state, sandwich = s.view === 'sandwich', flame = this.flames.flame;
		byId('sandwich').hidden = !sandwich;
		byId('flame').hidden = sandwich;
		byId('empty').hidden = true;
		for (const f of Object.values(this.flames))
			f.matched = this.found ? this.found.matched : null;
		if (sandwich)
			this.drawSandwich();
		else if (s.view === 'time')
			this.drawTime(flame);
		else
			this.drawTree(flame);
	}
	drawTable() {
		const sort = this.state.sort || (this.model.comparing ? 'change' : 'self');
		const key = `${this.model.version}|${this.searchKey}|${sort}`;
		if (key !== this.tableKey) {
			this.table.order = sort;
			this.table.show(this.model, this.found && this.found.matched);
			this.tableKey = key;
		}
	}
	drawStages() {
		const {event, thread, state, executor, range, stage} = this.state, key = [event, thread, state, executor, range].join('|');
		if (!this.stages.stages.size)
			return;
		if (this.stages.order !== this.state.stages) {
			this.stages.order = this.state.stages;
			this.stages.redraw();
		}
		if (key !== this.stagesKey)
			this.stages.load(this.model, this.maskOf({executor}), stage, key);
		else
			this.stages.mark(stage);
		this.stagesKey = key;
	}
	treeOptions(more) {
		return {reverse: false, hidden: this.hidden(), collapse: !!this.state.recursion, starts: null, members: null, ...more};
	}
	/* Nodes that are left out as starts of threads; null: none. */
	folded() {
		const {starts} = this.model;
		return !this.state.starts && !this.state.focus && starts.deepest ? starts.is : null;
	}
	rootLabel() {
		const n = this.model.starts.deepest;
		return this.state.view === 'flame' && this.folded() ? `all · thread starts are folded, up to ${n} frames (b)` : 'all';
	}
	/* A zoomed frame stays zoomed: its depth changes by the starts below it. */
	toggleStarts() {
		const s = this.state, {is} = this.model.starts, {parent} = this.model.nodes, [member, depth] = s.zoom.split('.').map(Number);
		let starts = 0;
		for (let n = member; n > 0; n = parent[n])
			starts += is[n];
		const to = s.starts ? depth - starts : depth + starts;
		this.set({starts: s.starts ? '' : '1', zoom: s.view !== 'flame' || s.focus ? s.zoom : to > 0 ? `${member}.${to}` : ''});
	}
	drawTree(flame) {
		const s = this.state, focus = this.nameId(s.focus);
		const key = `${this.model.version}|${s.view}|${s.focus}|${s.hide}|${s.recursion}|${s.starts}`;
		const fresh = key !== this.treeKey || flame.kind !== 'tree';
		if (key !== this.treeKey) {
			this.treeKey = key;
			const members = focus < 0 ? null : this.model.occurrences(focus);
			this.tree = new Tree(this.model, this.treeOptions({reverse: s.view === 'callers', starts: this.folded(), members, ...(members ? {title: focus} : {})}));
			flame.selected = null;
			this.tellItem(null);
		}
		flame.tree = this.tree;
		flame.kind = 'tree';
		const turned = flame.icicle !== !!s.up, zoom = s.zoom ? this.tree.find(s.zoom) : this.tree.root;
		if (!this.tree.root.total)
			this.empty(`Nothing was sampled in this selection.${this.leftOut()}`);
		flame.icicle = !!s.up;
		if (fresh || turned || flame.zoomed !== zoom) {
			flame.zoomed = zoom;
			flame.show((width) => new TreeLayout(this.tree, zoom, width));
		} else {
			flame.schedule();
		}
	}
	drawTime(flame) {
		const threads = this.model.filter.threads;
		const only = this.state.task && this.state.task !== '-' ? 1 : threads ? threads.size : this.profile.threads.length;
		flame.kind = 'time';
		flame.zoomed = null;
		flame.icicle = !!this.state.up;
		if (!this.profile.meta.bucket || only > 1) {
			flame.show(() => ({rows: [], depth: 0, done: true, ensure() {}, dimmed: () => false}));
			this.empty(this.profile.meta.bucket ? 'Choose one thread or task above to see its stacks in the order of time.'
				: 'There are no times in this report.');
			return;
		}
		const whole = this.strip.range || [0, this.strip.buckets], zoom = /^([\d.]+)_([\d.]+)$/.exec(this.state.zoom);
		const range = zoom ? [Number(zoom[1]), Number(zoom[2])] : whole;
		flame.show((width) => new TimeLayout(this.model, range, width, this.folded()));
	}
	drawSandwich() {
		const {callers, callees} = this.flames;
		let id = this.nameId(this.state.method);
		if (id < 0)
			id = this.hottest();
		const key = `${this.model.version}|${id}|${this.state.hide}|${this.state.recursion}`;
		for (const b of document.querySelectorAll('#sandwich .method'))
			b.textContent = id < 0 ? '' : dotted(this.model.name(id));
		if (key === this.sandwichKey) {
			callers.schedule();
			callees.schedule();
			return;
		}
		this.sandwichKey = key;
		const members = id < 0 ? [] : this.model.occurrences(id);
		for (const [flame, reverse] of [[callers, true], [callees, false]]) {
			flame.tree = new Tree(this.model, this.treeOptions({reverse, members, title: id}));
			flame.kind = 'tree';
			flame.icicle = !reverse;
			flame.zoomed = flame.tree.root;
			flame.selected = null;
			flame.show((width) => new TreeLayout(flame.tree, flame.zoomed, width));
		}
		/* few rows of callees leave their room to the callers */
		const height = (callees.tree.height(callees.tree.root) + 2) * ROW;
		callees.host.style.flex = height < byId('sandwich').clientHeight / 2 ? `0 0 ${height}px` : '';
	}
	/* The method with the most self, among those that the search found. */
	hottest() {
		const {self} = this.model.methods(), matched = this.found && this.found.names ? this.found.matched : null;
		let best = -1;
		for (let i = 0; i < self.length; i++)
			if (self[i] > 0 && (!matched || matched[i]) && (best < 0 || self[i] > self[best]))
				best = i;
		return best;
	}
	/* A driver, or an executor without a task, can be chosen all the same. */
	leftOut() {
		const left = this.profile.meta.outside && this.model.event.name === 'wall';
		return left && !this.profile.meta.driver ? " Threads outside of tasks are left out of this page, a driver's too: sparkprof report --all-threads shows them, --executor driver a driver alone." : '';
	}
	empty(text) {
		byId('empty').textContent = text;
		byId('empty').hidden = false;
	}
	fillLegend() {
		const strip = this.strip;
		byId('legend').replaceChildren(...(strip.by === 'thread' || strip.by === 'second' || !strip.kinds ? [] : strip.kinds.slice(0, 12)).map((k) => {
			const item = element('span', {textContent: strip.label(k)});
			item.style.setProperty('--c', strip.colourOf(k));
			return item;
		}));
	}
	colourOf(item) {
		const m = this.model, node = item.node || (item.best === undefined ? item.best = this.bestOf(item) : item.best);
		const by = this.colouring();
		if (by === 'change' && item.node === undefined)
			return this.colours.byChange(m.changeOf(item.a, item.b) * 1.4);
		if (item.name < 0)
			return this.colours.line;
		if (by === 'area')
			return this.colours.byArea(item.name, m.nodes.area[node]);
		return this.colours.byType(item.name, m.nodes.type[node], m.event.unit === 'bytes');
	}
	bestOf(item) {
		return this.treeOf(item).heaviest(item);
	}
	treeOf(item) {
		let root = item;
		while (root.parent)
			root = root.parent;
		const flame = Object.values(this.flames).find((f) => f.tree && f.tree.root === root);
		return flame ? flame.tree : this.tree;
	}
}
