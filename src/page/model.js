'use strict';
/* What is selected of the profile (event, threads, state, range of time) as sums over the tree's
 * nodes. Two ranges can be selected at once: A, and B to compare it with. */
class Model {
	constructor(profile) {
		this.profile = profile;
		this.nodes = profile.nodes;
		this.strings = profile.strings;
		this.version = 0;
		this.slots = new Int32Array(profile.strings.length); /* zeroes that trees borrow to group by name */
	}
	/* @f: {event, threads: Set of thread numbers or null, state: number + 1 or -1 for all,
	 *      range: [from, to) in buckets or null, other: the range to compare with or null} */
	select(f) {
		const n = this.nodes.count;
		this.filter = f;
		this.event = this.profile.meta.events[f.event];
		this.a = this.sum(f.range);
		this.b = f.other ? this.sum(f.other) : null;
		this.comparing = !!this.b;
		if (!this.b) {
			this.self = this.a.self;
			this.total = this.a.total;
		} else {
			/* both ranges weigh the same, however long they are: what vanished stays visible */
			const sa = this.a.total[0] || 1, sb = this.b.total[0] || 1, whole = (sa + sb) / 2;
			this.self = new Float64Array(n);
			this.total = new Float64Array(n);
			for (let i = 0; i < n; i++) {
				this.self[i] = (this.a.self[i] / sa + this.b.self[i] / sb) / 2 * whole;
				this.total[i] = (this.a.total[i] / sa + this.b.total[i] / sb) / 2 * whole;
			}
		}
		this.whole = this.total[0];
		this.version++;
	}
	sum(range) {
		const n = this.nodes.count, self = new Float64Array(n), parent = this.nodes.parent;
		this.eachRow(range, (node, value) => self[node] += value);
		const total = self.slice();
		for (let i = n - 1; i > 0; i--)
			total[parent[i]] += total[i];
		return {self, total};
	}
	/* Calls f(node, value, row) for what is selected, cut to @range. */
	eachRow(range, f) {
		const rows = this.profile.events[this.filter.event], {threads, state} = this.filter;
		if (!rows)
			return;
		for (let i = 0; i < rows.count; i++) {
			if ((threads && !threads.has(rows.thread[i])) || (state >= 0 && rows.state[i] !== state))
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
		}
		this.methodsVersion = this.version;
		return this.methodSums = sums;
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
