'use strict';
const LARGE = 200000; /* samples from which on work is done in slices */

/* What is selected of the profile (event, threads, state, range of time) as sums over the tree's
 * nodes. Two selections can be compared, A and B: two ranges of time, two tasks, or the two
 * recordings of a comparison, which are its events 0 and 1. */
class Model {
	constructor(profile, nodes = profile.nodes, starts = findStarts(nodes, profile.strings)) {
		this.profile = profile;
		this.nodes = nodes;
		this.strings = profile.strings;
		this.version = this.versions = 0;
		this.kept = null;
		this.starts = starts;
		this.slots = new Int32Array(profile.strings.length); /* zeroes that trees borrow to group by name */
	}
	/* What the first picture is drawn from: its frames only, with nothing to select from. */
	static ofPicture(profile, f) {
		const {nodes, total, deepest} = profile.picture, m = new Model(profile, nodes, {is: new Uint8Array(nodes.count), deepest});
		m.settle(f, {event: f.event, self: total, total}, null);
		return m;
	}
	/* @f: {event, threads: Set of thread numbers or null, state: number + 1 or -1 for all,
	 *      labels: Uint8Array with a 1 for each label that counts or null,
	 *      sides: two of them to compare with each other, or null,
	 *      range: [from, to) in buckets or null, other: the range to compare with or null,
	 *      amounts: compared as they are, not as shares of each} */
	select(f, key) {
		const {a, b} = this.sides(f), sums = [a, b].map((side) => {
			if (!side)
				return null;
			side.parts.forEach(([from, to]) => this.sumRows(f, side, from, to));
			return this.addUp(side);
		});
		this.settle(f, ...sums, key);
	}
	/* The same for many samples, in slices; until it is done, all is as it was. */
	async selectSliced(f, key) {
		const {a, b} = this.sides(f), sums = [];
		for (const side of b ? [a, b] : [a]) {
			let until = performance.now() + SLICE_MS;
			for (const [from, to] of side.parts) {
				this.sumRows(f, side, from, to);
				if (performance.now() > until) {
					await pause();
					until = performance.now() + SLICE_MS;
				}
			}
			await pause();
			sums.push(this.addUp(side));
		}
		this.settle(f, sums[0], sums[1] || null, key);
	}
	/* Goes back to the last selection of the whole time, if that is what is asked for. */
	recall(key) {
		if (!this.kept || this.kept.key !== key)
			return false;
		Object.assign(this, this.kept.fields);
		return true;
	}
	/* Rows that may lie in a range, as [from, to) of at most 32,768: those of a thread are in the order
	 * of time, so most of the others need not be looked at. */
	parts(event, range, mask) {
		const rows = this.profile.events[event], parts = [];
		for (const g of rows ? rows.groups : []) {
			if (mask && !mask[g.thread + 1])
				continue;
			const from = range ? firstAt(rows.bucket, g, range[0] - g.longest + 1) : g.from, to = range ? firstAt(rows.bucket, g, range[1]) : g.to;
			for (let i = from; i < to; i += 1 << 15)
				parts.push([i, Math.min(to, i + (1 << 15))]);
		}
		return parts;
	}
	/* What is summed for each side of a comparison; b is null without one. */
	sides(f) {
		const {diff} = this.profile.meta;
		const wanted = this.threadMask(f), make = (range, event, labels) => ({range, event, labels, parts: this.parts(event, range, wanted),
			self: new Float64Array(this.nodes.count)});
		if (diff)
			return {a: make(f.range, 0, f.labels), b: make(null, 1, f.labels)};
		if (f.sides)
			return {a: make(f.range, f.event, f.sides[0]), b: make(f.range, f.event, f.sides[1])};
		return {a: make(f.range, f.event, f.labels), b: f.other ? make(f.other, f.event, f.labels) : null};
	}
	settle(f, a, b, key) {
		const n = this.nodes.count, {meta} = this.profile;
		this.filter = f;
		this.event = meta.diff ? {...meta.events[1], name: meta.diff.event} : meta.events[f.event];
		this.a = a;
		this.b = b;
		this.comparing = !!b;
		if (!b) {
			this.self = this.a.self;
			this.total = this.a.total;
		} else {
			/* as shares both weigh the same, however long they are; what vanished is visible in any case */
			const sa = this.a.total[0] || 1, sb = this.b.total[0] || 1, whole = (sa + sb) / 2;
			this.scales = f.amounts ? [0.5, 0.5] : [whole / sa / 2, whole / sb / 2];
			this.self = new Float64Array(n);
			this.total = new Float64Array(n);
			for (let i = 0; i < n; i++) {
				this.self[i] = this.weigh(this.a.self[i], this.b.self[i]);
				this.total[i] = this.weigh(this.a.total[i], this.b.total[i]);
			}
		}
		this.whole = this.total[0];
		this.version = ++this.versions;
		if (!f.range && !b) {
			const {filter, event, comparing, self, total, whole, version} = this;
			this.kept = {key, fields: {filter, event, a, b, comparing, self, total, whole, version}};
		}
	}
	/* How wide something is that weighs a in A and b in B. */
	weigh(a, b) {
		return this.comparing ? a * this.scales[0] + b * this.scales[1] : a;
	}
	/* From -1, only in A, to 1, only in B. */
	changeOf(a, b) {
		const x = a * this.scales[0], y = b * this.scales[1];
		return x + y > 0 ? (y - x) / (x + y) : 0;
	}
	addUp({event, self}) {
		const parent = this.nodes.parent, total = self.slice();
		for (let i = total.length - 1; i > 0; i--)
			total[parent[i]] += total[i];
		return {event, self, total};
	}
	/* Adds rows @first to @end - 1 of a side to its nodes. The one loop over all samples that a drag
	 * runs again and again: no calls in it. */
	sumRows({state}, {range, event, labels, self}, first, end) {
		const {bucket, span, node, value, state: states, label} = this.profile.events[event], [low, high] = range || [0, 0];
		for (let i = first; i < end; i++) {
			if ((state >= 0 && states[i] !== state) || (labels && !labels[label[i]]))
				continue;
			if (!range) {
				self[node[i]] += value[i];
				continue;
			}
			const from = bucket[i], length = span[i] + 1, to = from + length;
			if (to <= low || from >= high)
				continue;
			self[node[i]] += from >= low && to <= high ? value[i] : value[i] * (Math.min(to, high) - Math.max(from, low)) / length;
		}
	}
	/* Threads that count, by number + 1; null: all. */
	threadMask({threads}) {
		if (!threads)
			return null;
		const mask = new Uint8Array(this.profile.threads.length + 1);
		threads.forEach((t) => mask[t + 1] = 1);
		return mask;
	}
	/* Calls f(node, value, row) for what is selected, cut to @range. */
	eachRow(range, f, first = 0, end = Infinity, labels = this.filter.labels) {
		const rows = this.profile.events[this.filter.event], {threads, state} = this.filter;
		for (let i = first; rows && i < rows.count && i < end; i++) {
			if ((threads && !threads.has(rows.thread[i])) || (state >= 0 && rows.state[i] !== state) || (labels && !labels[rows.label[i]]))
				continue;
			let v = rows.value[i];
			if (v <= 0)
				continue; /* its weight went to a neighbour when values were rounded */
			if (range) {
				const from = rows.bucket[i], to = from + rows.span[i] + 1;
				const cut = Math.min(to, range[1]) - Math.max(from, range[0]);
				if (cut <= 0)
					continue;
				v *= cut / (to - from);
			}
			f(rows.node[i], v, i);
		}
	}
	name(id) {
		return id < 0 ? 'all' : this.strings.get(id);
	}
	/* Sums by name: self, total (recursion counted once) and, when comparing, the shares of both. */
	methods() {
		if (this.methodsVersion === this.version)
			return this.methodSums;
		const n = this.strings.length;
		const sums = {self: new Float64Array(n), total: this.byName(this.total)};
		const {name} = this.nodes;
		for (let i = 1; i < this.nodes.count; i++)
			sums.self[name[i]] += this.self[i];
		if (this.comparing) {
			sums.a = this.byName(this.a.total);
			sums.b = this.byName(this.b.total);
			sums.sigmas = noiseBound(this.usedNames().reduce((count, used) => count + used, 0));
		}
		this.methodsVersion = this.version;
		if (this.kept && this.kept.fields.version === this.version)
			Object.assign(this.kept.fields, {methodsVersion: this.version, methodSums: sums});
		return this.methodSums = sums;
	}
	/* What changed from A to B in a method: {change, noise}, as shares or as weights; a change up to
	 * the noise is what chance makes of equal programs. As in src/out/diff.c: samples are taken as
	 * independent, and the bound allows for the number of methods that are looked at. */
	changeBeyond(id) {
		const sums = this.methods(), [p0, p1] = [this.a, this.b].map((side) => weightOfSample(this.profile.meta.events[side.event]));
		const k0 = sums.a[id] / p0, k1 = sums.b[id] / p1, n0 = this.a.total[0] / p0, n1 = this.b.total[0] / p1;
		if (this.filter.amounts)
			return {change: sums.b[id] - sums.a[id], noise: sums.sigmas * Math.sqrt(k0 * p0 * p0 + k1 * p1 * p1)};
		const p = (k0 + k1) / (n0 + n1 || 1), none = !n0 || !n1;
		return {change: (n1 ? k1 / n1 : 0) - (n0 ? k0 / n0 : 0), noise: none ? 1 : sums.sigmas * Math.sqrt(Math.max(0, p * (1 - p)) * (1 / n0 + 1 / n1))};
	}
	byName(total) {
		const {name, end, count} = this.nodes, sums = new Float64Array(this.strings.length);
		const until = new Int32Array(this.strings.length); /* end of the subtree that counts it already */
		for (let i = 1; i < count; i++) {
			const k = name[i];
			if (i >= until[k]) {
				sums[k] += total[i];
				until[k] = end[i];
			}
		}
		return sums;
	}
	/* Which names match, and the weight of all stacks that hold one. */
	search(pattern) {
		const matched = new Uint8Array(this.strings.length);
		const {name, end, count} = this.nodes, used = this.usedNames();
		let names = 0;
		for (let i = 0; i < matched.length; i++) {
			if (used[i] && pattern.test(this.strings.get(i))) {
				matched[i] = 1;
				names++;
			}
		}
		let weight = 0;
		for (let i = 1; i < count;) {
			if (matched[name[i]]) {
				weight += this.total[i];
				i = end[i];
			} else {
				i++;
			}
		}
		return {matched, names, weight};
	}
	/* Which strings are names of frames. */
	usedNames() {
		if (!this.used) {
			const {name, count} = this.nodes;
			this.used = new Uint8Array(this.strings.length);
			for (let i = 1; i < count; i++)
				this.used[name[i]] = 1;
		}
		return this.used;
	}
	/* The outermost nodes of a name. */
	occurrences(id) {
		const {name, end, count} = this.nodes, found = [];
		for (let i = 1; i < count;) {
			if (name[i] === id) {
				if (this.total[i] > 0)
					found.push(i);
				i = end[i];
			} else {
				i++;
			}
		}
		return found;
	}
}

/* The first row of a group whose bucket is not before @at. */
function firstAt(bucket, {from, to}, at) {
	let low = from, high = to;
	while (low < high) {
		const mid = (low + high) >> 1;
		if (bucket[mid] < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* What one sample of an event weighs. */
function weightOfSample(event) {
	if (event.counted)
		return 1;
	return event.measured && event.interval ? event.interval : event.samples ? event.weight / event.samples : 1;
}

/* Standard errors that chance alone passes in one of twenty tables of @tests methods: the normal
 * quantile of 1 - 0.025 / tests. The tail beyond x is a continued fraction (good from 1.5 on). */
function noiseBound(tests) {
	const tail = (x) => {
		let f = x;
		for (let k = 40; k > 0; k--)
			f = x + k / f;
		return Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI) / f;
	};
	let low = 1.5, high = 12;
	for (let i = 0; i < 50; i++) {
		const mid = (low + high) / 2;
		if (tail(mid) > 0.025 / Math.max(1, tests))
			low = mid;
		else
			high = mid;
	}
	return high;
}
