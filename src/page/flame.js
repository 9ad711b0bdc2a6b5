'use strict';
/* A flame graph on a canvas as large as what can be seen of it. Rows are laid out when they come
 * into sight; frames narrower than a pixel are not followed. */
const ROW = 19, NARROWEST = 0.7, TEXT_FROM = 26;

/* Rows of a tree, with the zoomed node and its callers over the whole width. */
class TreeLayout {
	constructor(tree, zoom, width) {
		this.tree = tree;
		this.zoom = zoom;
		this.width = width;
		this.scale = zoom.total > 0 ? width / zoom.total : 0;
		this.least = tree.root.total * (tree.model.profile.meta.minwidth || 0) / 100;
		this.rows = [];
		this.folded = 0;
		const path = [];
		for (let d = zoom; d; d = d.parent)
			path.unshift(d);
		for (const d of path)
			this.rows.push({items: [d], x: [0], w: [width]});
		this.done = false;
		this.limit = zoom.depth + tree.height(zoom) + 1;
	}
	/* Lays out rows up to @last, or as many as can be had in @ms. */
	ensure(last, ms = Infinity) {
		const until = performance.now() + ms;
		while (!this.done && this.rows.length <= last && performance.now() < until)
			this.addRow(until);
	}
	/* Goes on with the next row: to its end, or at least by one caller until that time. */
	addRow(until = Infinity) {
		const from = this.rows[this.rows.length - 1], next = this.next || (this.next = {at: 0, row: {items: [], x: [], w: []}});
		do
			this.addCallees(next.row, from.items[next.at], from.x[next.at]);
		while (++next.at < from.items.length && performance.now() < until);
		if (next.at < from.items.length)
			return;
		this.next = null;
		if (next.row.items.length)
			this.rows.push(next.row);
		else
			this.done = true;
	}
	addCallees(row, item, x) {
		for (const c of this.tree.children(item)) {
			const w = c.total * this.scale;
			if (w < NARROWEST || c.total < this.least) {
				this.folded++;
				break; /* heaviest come first */
			}
			row.items.push(c);
			row.x.push(x);
			row.w.push(w);
			x += w;
		}
	}
	get depth() {
		return this.done ? this.rows.length : Math.max(this.limit, this.rows.length);
	}
	dimmed(row) {
		return row < this.zoom.depth;
	}
}

/* Rows of one thread's stacks as they followed each other. Items are {name, node, depth, from, to}. */
class TimeLayout {
	constructor(model, range, width, starts) {
		this.rows = [];
		this.done = true;
		this.folded = 0;
		const [from, to] = range, scale = width / (to - from);
		for (const segments of timeRows(model, starts)) {
			const row = {items: [], x: [], w: []};
			for (const s of segments) {
				if (s.to <= from || s.from >= to)
					continue;
				const x = Math.max(0, (s.from - from) * scale), w = Math.min(width, (s.to - from) * scale) - x;
				if (w < NARROWEST) {
					this.folded++;
					continue;
				}
				row.items.push(s);
				row.x.push(x);
				row.w.push(w);
			}
			this.rows.push(row);
		}
		while (this.rows.length && !this.rows[this.rows.length - 1].items.length)
			this.rows.pop();
	}
	ensure() {}
	get depth() {
		return this.rows.length;
	}
	dimmed() {
		return false;
	}
}

/* Merges equal neighbours at each depth; kept until the selection changes. @starts: as of a Tree. */
function timeRows(model, starts) {
	const version = `${model.version}|${!!starts}`;
	if (model.timeVersion === version)
		return model.timeRows;
	const {parent, name} = model.nodes, rows = model.profile.events[model.filter.event], open = [], done = [];
	const fill = new Map(), spans = [];
	model.eachRow(model.filter.range, (node, value, i) => {
		const b = rows.bucket[i];
		spans.push([b, rows.span[i] + 1, node, value]);
		if (!rows.span[i])
			fill.set(b, (fill.get(b) || 0) + value);
	});
	spans.sort((x, y) => x[0] - y[0]);
	const close = (from) => {
		for (let d = open.length - 1; d >= from; d--)
			(done[d] = done[d] || []).push(open.pop());
	};
	let at = -1, offset = 0, end = 0;
	for (const [bucket, length, node, value] of spans) {
		if (bucket !== at) {
			at = bucket;
			offset = 0;
		}
		const share = length > 1 ? length : value / fill.get(bucket);
		const from = Math.max(bucket + offset, end), to = length > 1 ? bucket + length : bucket + offset + share;
		if (length === 1)
			offset += share;
		if (to <= from)
			continue;
		if (from > end + 1e-6)
			close(0);
		end = to;
		const path = [];
		for (let n = node; n > 0 && !(starts && starts[n]); n = parent[n])
			path.push(n);
		path.reverse();
		let same = 0;
		while (same < path.length && same < open.length && open[same].node === path[same])
			same++;
		close(same);
		for (let d = 0; d < same; d++)
			open[d].to = to;
		for (let d = same; d < path.length; d++)
			open.push({name: name[path[d]], node: path[d], depth: d, from, to});
	}
	close(0);
	model.timeVersion = version;
	return model.timeRows = done.map((list) => list || []);
}

/* Widths of letters, so that names can be cut without asking the canvas each time. */
class Letters {
	constructor(context) {
		this.context = context;
		this.widths = new Map();
	}
	width(c) {
		let w = this.widths.get(c);
		if (w === undefined)
			this.widths.set(c, w = this.context.measureText(c).width);
		return w;
	}
	/* As much of @text as fits. */
	fit(text, room) {
		let w = 0;
		for (let i = 0; i < text.length; i++) {
			w += this.width(text[i]);
			if (w > room)
				return i > 3 ? text.slice(0, i - 1) + '…' : '';
		}
		return text;
	}
	/* As much of its end. */
	fitEnd(text, room) {
		let w = this.width('…');
		for (let i = text.length - 1; i >= 0; i--) {
			w += this.width(text[i]);
			if (w > room)
				return `…${text.slice(i + 1)}`;
		}
		return text;
	}
}

class Flame {
	/* @host: an element that scrolls. @on: {hover(item, event), select(item), zoom(item), menu(item, event)}
	 * @colour: function of an item that gives its fill. */
	constructor(host, on, colour) {
		this.host = host;
		this.on = on;
		this.colour = colour;
		this.canvas = document.createElement('canvas');
		this.spacer = document.createElement('div');
		host.append(this.canvas, this.spacer);
		this.context = this.canvas.getContext('2d');
		this.icicle = false;
		this.matched = null;
		this.selected = null;
		this.hovered = null;
		host.addEventListener('scroll', () => this.schedule());
		host.addEventListener('mousemove', (e) => this.move(e));
		host.addEventListener('mouseleave', () => this.hoverOn(null));
		host.addEventListener('click', (e) => this.click(e));
		host.addEventListener('contextmenu', (e) => {
			const item = this.hit(e);
			if (item) {
				e.preventDefault();
				this.on.menu(item, e);
			}
		});
		new ResizeObserver(() => (host.clientWidth !== this.width || host.clientHeight !== this.height) && this.resize()).observe(host);
	}
	/* @layout: function of a width that gives a TreeLayout or TimeLayout. */
	show(makeLayout, keepScroll) {
		this.makeLayout = makeLayout;
		this.layout = null;
		this.hovered = null;
		this.resize(!keepScroll);
	}
	resize(toRoot) {
		const host = this.host, {below} = this;
		this.width = host.clientWidth;
		this.height = host.clientHeight;
		if (!this.makeLayout || !this.width || !this.height || this.frozen)
			return;
		const ratio = devicePixelRatio || 1;
		this.ratio = ratio;
		if (this.canvas.width !== Math.round(this.width * ratio) || this.canvas.height !== Math.round(this.height * ratio)) {
			this.canvas.width = Math.round(this.width * ratio);
			this.canvas.height = Math.round(this.height * ratio);
			this.canvas.style.height = `${this.height}px`;
		}
		this.layout = this.makeLayout(this.width);
		this.layout.ensure(Math.ceil(this.height / ROW) + 1, 12);
		const first = this.contentHeight === undefined;
		this.setContent();
		if (toRoot === true || first)
			host.scrollTop = this.icicle ? 0 : this.contentHeight;
		else if (!this.icicle && below !== undefined)
			host.scrollTop = this.contentHeight - this.height - below;
		this.draw();
		this.finish(this.layout);
	}
	/* The height may only be guessed at until all rows are known; then it shrinks, and in a flame
	 * graph the root must stay where it is. */
	setContent() {
		const before = this.contentHeight || 0, top = this.host.scrollTop;
		this.contentHeight = Math.max(this.layout.depth * ROW + 4, this.height);
		this.spacer.style.height = `${this.contentHeight - this.height}px`;
		if (!this.icicle && before && before !== this.contentHeight)
			this.host.scrollTop = top + this.contentHeight - before;
	}
	/* Lays out what is out of sight in slices. */
	async finish(layout) {
		while (!layout.done) {
			await pause();
			if (layout !== this.layout)
				return;
			const until = performance.now() + 10;
			const before = layout.rows.length;
			while (!layout.done && performance.now() < until)
				layout.addRow(until);
			const a = this.rowAt(0), b = this.rowAt(this.height);
			if (before <= Math.max(a, b))
				this.draw();
		}
		if (layout === this.layout) {
			this.setContent();
			this.schedule();
		}
	}
	schedule() {
		if (!this.frame)
			this.frame = requestAnimationFrame(() => {
				this.frame = 0;
				this.draw();
			});
	}
	rowTop(row) {
		return (this.icicle ? row * ROW : this.contentHeight - (row + 1) * ROW) - this.host.scrollTop;
	}
	rowAt(y) {
		y += this.host.scrollTop;
		return Math.floor((this.icicle ? y : this.contentHeight - y) / ROW);
	}
	draw() {
		const c = this.context, layout = this.layout, colours = this.colour.colours;
		if (!layout || this.frozen)
			return;
		if (this.host.clientHeight === this.height) /* how far from the root, for when the height changes */
			this.below = this.contentHeight - this.height - this.host.scrollTop;
		c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		c.clearRect(0, 0, this.width, this.height);
		c.font = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
		c.textBaseline = 'middle';
		if (!this.letters)
			this.letters = new Letters(c);
		const a = this.rowAt(0), b = this.rowAt(this.height);
		const from = Math.max(0, Math.min(a, b)), to = Math.max(a, b);
		for (let r = from; r <= to && r < layout.rows.length; r++)
			this.drawRow(layout, r, colours);
		this.drawMarks(from, to, colours);
	}
	drawRow(layout, r, colours) {
		const c = this.context, row = layout.rows[r], y = this.rowTop(r), dim = layout.dimmed(r);
		for (let i = 0; i < row.items.length; i++) {
			const item = row.items[i], x = row.x[i], w = row.w[i];
			const hit = this.matched && item.name >= 0 && this.matched[item.name];
			c.globalAlpha = dim || (this.matched && !hit) ? 0.5 : 1;
			c.fillStyle = hit ? colours.match : this.colour(item);
			c.fillRect(x, y, w > 2 ? w - 0.6 : w, ROW - 1);
			if (w < TEXT_FROM)
				continue;
			c.globalAlpha = dim ? 0.75 : 1;
			c.fillStyle = hit ? colours.matchText : colours.text;
			c.fillText(this.words(item, w - 9), x + 4, y + ROW / 2);
		}
		c.globalAlpha = 1;
	}
	/* What fits of a name: all of it, without the package, the method with the end of its class, or the
	 * beginning of the method. */
	words(item, room) {
		const full = this.colour.label(item), whole = this.letters.fit(full, room);
		if (whole === full || item.name < 0)
			return whole;
		const raw = this.colour.raw(item), short = shortName(raw), method = methodName(raw);
		if (this.letters.fit(short, room) === short)
			return short;
		const end = short.endsWith(method) ? this.letters.fitEnd(short, room) : '';
		return end.length > method.length + 4 ? end : this.letters.fit(method, room);
	}
	/* The outline of what is selected, and all occurrences of what the pointer is on. */
	drawMarks(from, to, colours) {
		const c = this.context, name = this.hovered ? this.hovered.name : -2;
		for (let r = from; r <= to && r < this.layout.rows.length; r++) {
			const row = this.layout.rows[r], y = this.rowTop(r);
			for (let i = 0; i < row.items.length; i++) {
				const item = row.items[i];
				if (item === this.selected || item === this.hovered) {
					c.lineWidth = item === this.selected ? 2 : 1;
					c.strokeStyle = colours.ink;
					c.strokeRect(row.x[i] + 1, y + 1, Math.max(1, row.w[i] - 2.6), ROW - 3);
				} else if (item.name === name && row.w[i] > 3) {
					c.lineWidth = 1;
					c.strokeStyle = colours.accent;
					c.strokeRect(row.x[i] + 0.5, y + 0.5, row.w[i] - 1.6, ROW - 2);
				}
			}
		}
	}
	hit(e) {
		const box = this.canvas.getBoundingClientRect();
		return this.itemAt(e.clientX - box.left, this.rowAt(e.clientY - box.top));
	}
	itemAt(x, r) {
		const row = this.layout && this.layout.rows[r];
		if (!row)
			return null;
		let low = 0, high = row.items.length - 1;
		while (low <= high) {
			const mid = (low + high) >> 1;
			if (row.x[mid] > x)
				high = mid - 1;
			else
				low = mid + 1;
		}
		return high >= 0 && x < row.x[high] + Math.max(row.w[high], 1) ? row.items[high] : null;
	}
	place(item) {
		const row = item && this.layout && this.layout.rows[item.depth], i = row ? row.items.indexOf(item) : -1;
		return i < 0 ? null : {row: item.depth, i, x: row.x[i], w: row.w[i], y: this.rowTop(item.depth)};
	}
	move(e) {
		const item = this.hit(e);
		this.hoverOn(item, e);
	}
	hoverOn(item, e) {
		if (item !== this.hovered) {
			this.hovered = item;
			this.host.style.cursor = item ? 'pointer' : '';
			this.schedule();
		}
		this.on.hover(item, e);
	}
	click(e) {
		const item = this.hit(e);
		if (!item)
			return;
		this.select(item);
		this.on.zoom(item);
	}
	select(item) {
		this.selected = item;
		this.on.select(item);
		this.schedule();
	}
	/* Moves the selection: 'in' to the heaviest callee, 'out' to the caller, 'left', 'right'. */
	step(direction) {
		const p = this.place(this.selected);
		if (!p) {
			const row = this.layout.rows.find((r, i) => !this.layout.dimmed(i));
			if (row)
				this.select(row.items[0]);
			return;
		}
		const sideways = direction === 'left' ? -1 : direction === 'right' ? 1 : 0;
		const r = p.row + (direction === 'in' ? 1 : direction === 'out' ? -1 : 0);
		this.layout.ensure(r);
		const row = this.layout.rows[r];
		let next = row && (sideways ? row.items[p.i + sideways] : null);
		if (row && !sideways) {
			const k = row.x.findIndex((x, i) => x + row.w[i] > p.x + 0.01);
			next = k < 0 || (direction === 'in' && row.x[k] >= p.x + p.w) ? null : row.items[k];
		}
		if (next) {
			this.select(next);
			this.reveal(next);
		}
	}
	reveal(item) {
		const p = this.place(item);
		if (!p)
			return;
		if (p.y < 0)
			this.host.scrollTop += p.y - ROW;
		else if (p.y + ROW > this.height)
			this.host.scrollTop += p.y + 2 * ROW - this.height;
	}
}
