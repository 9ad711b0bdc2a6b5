'use strict';
/* What is selected of the profile (event, threads, state, range of time) as sums over the tree's
 * nodes. Two selections can be compared, A and B: two ranges of time, or the two recordings of a
 * comparison, which are its events 0 and 1. */
class Model {
	constructor(profile) {
		this.profile = profile;
		this.nodes = profile.nodes;
		this.strings = profile.strings;
		this.version = 0;
		this.slots = new Int32Array(profile.strings.length); /* zeroes that trees borrow to group by name */
	}
	/* @f: {event, threads: Set of thread numbers or null, state: number + 1 or -1 for all,
	 *      labels: Uint8Array with a 1 for each label that counts or null,
	 *      range: [from, to) in buckets or null, other: the range to compare with or null,
	 *      amounts: compared as they are, not as shares of each} */
	select(f) {
		const n = this.nodes.count, {meta} = this.profile;
		this.filter = f;
		this.event = meta.diff ? {...meta.events[1], name: meta.diff.event} : meta.events[f.event];
		this.sides = meta.diff ? [0, 1] : [f.event, f.event];
		this.a = this.sum(f.range, this.sides[0]);
		this.b = meta.diff || f.other ? this.sum(f.other, this.sides[1]) : null;
		this.comparing = !!this.b;
		if (!this.b) {
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
		this.version++;
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
	sum(range, event) {
		const n = this.nodes.count, self = new Float64Array(n), parent = this.nodes.parent;
		this.eachRow(range, (node, value) => self[node] += value, event);
		const total = self.slice();
		for (let i = n - 1; i > 0; i--)
			total[parent[i]] += total[i];
		return {self, total};
	}
	/* Calls f(node, value, row) for what is selected, cut to @range. */
	eachRow(range, f, event = this.filter.event) {
		const rows = this.profile.events[event], {threads, state, labels} = this.filter;
		if (!rows)
			return;
		for (let i = 0; i < rows.count; i++) {
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
			sums.sigmas = noiseBound(sums.total.reduce((count, t) => count + (t > 0), 0));
		}
		this.methodsVersion = this.version;
		return this.methodSums = sums;
	}
	/* What changed from A to B in a method: {change, noise}, as shares or as weights; a change up to
	 * the noise is what chance makes of equal programs. As in src/out/diff.c: samples are taken as
	 * independent, and the bound allows for the number of methods that are looked at. */
	changeBeyond(id) {
		const sums = this.methods(), [p0, p1] = this.sides.map((e) => weightOfSample(this.profile.meta.events[e]));
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
		const {name, end, count} = this.nodes;
		const used = new Uint8Array(this.strings.length);
		for (let i = 1; i < count; i++)
			used[name[i]] = 1;
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

/* What one sample of an event weighs. */
function weightOfSample(event) {
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
