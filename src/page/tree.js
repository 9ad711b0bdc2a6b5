'use strict';
/* The tree that is drawn. A drawn node represents a set of the model's nodes (its members); its
 * children are made when they are first asked for, by grouping what comes next by name. Hidden
 * frames, collapsed recursion, callers instead of callees and the focus on a method are only other
 * ways to say what comes next, so none of them needs a pass over all stacks. */
class Tree {
	/* @o: {reverse, hidden: Set of names, collapse, members: where to start, or null for all,
	 *      starts: Uint8Array with a 1 for each node that is left out as the start of a thread, or null} */
	constructor(model, o) {
		this.model = model;
		this.nodes = model.nodes;
		this.o = o;
		this.root = {name: -1, parent: null, depth: 0, members: [0], children: null, total: 0, a: 0, b: 0};
		if (o.title !== undefined)
			this.root.name = o.title;
		if (o.reverse)
			this.startReverse();
		else
			this.startForward();
	}
	startForward() {
		const r = this.root;
		if (this.o.members)
			r.members = this.o.members;
		this.sumForward(r);
	}
	sumForward(d) {
		const m = this.model;
		for (const i of d.members) {
			d.total += m.total[i];
			d.a += m.a.total[i];
			if (m.b)
				d.b += m.b.total[i];
		}
	}
	/* Members of a caller tree carry the weight of the samples that came this way. */
	startReverse() {
		const m = this.model, r = this.root, own = this.o.members, source = own ? 'total' : 'self';
		const wa = m.a[source], wb = m.b && m.b[source];
		r.members = own || this.leaves(wa, wb);
		const n = r.members.length;
		r.wa = new Float64Array(n);
		r.wb = wb && new Float64Array(n);
		for (let k = 0; k < n; k++) {
			r.wa[k] = wa[r.members[k]];
			if (wb)
				r.wb[k] = wb[r.members[k]];
		}
		this.sumReverse(r);
	}
	/* Nodes that samples end in. */
	leaves(wa, wb) {
		const count = this.nodes.count, all = new Int32Array(count);
		let n = 0;
		for (let i = 1; i < count; i++)
			if (wa[i] > 0 || (wb && wb[i] > 0))
				all[n++] = i;
		return all.subarray(0, n);
	}
	sumReverse(d) {
		for (let k = 0; k < d.members.length; k++) {
			d.a += d.wa[k];
			if (d.wb)
				d.b += d.wb[k];
		}
		d.total = this.model.weigh(d.a, d.b);
	}
	children(d) {
		if (!d.children) {
			d.children = this.o.reverse ? this.expandReverse(d) : this.expandForward(d);
			d.children.sort((x, y) => y.total - x.total || x.name - y.name);
		}
		return d.children;
	}
	make(d, name) {
		return {name, parent: d, depth: d.depth + 1, members: [], children: null, total: 0, a: 0, b: 0};
	}
	/* Groups by name: @slots holds the place of a name in the list + 1 while one is made. */
	group(list, d, name) {
		const slots = this.model.slots;
		let at = slots[name];
		if (!at) {
			list.push(this.make(d, name));
			at = slots[name] = list.length;
		}
		return at - 1;
	}
	release(list) {
		for (const c of list)
			this.model.slots[c.name] = 0;
		return list;
	}
	expandForward(d) {
		const {name, end} = this.nodes, {total} = this.model, {hidden, collapse, starts} = this.o, list = [];
		const open = Array.from(d.members).reverse(); /* not by recursion: stacks may be deeper than ours */
		while (open.length) {
			const from = open.pop();
			for (let c = from + 1, stop = end[from]; c < stop; c = end[c]) {
				if (total[c] <= 0)
					continue;
				if ((starts && starts[c]) || (hidden.size && hidden.has(name[c])) || (collapse && name[c] === d.name))
					open.push(c);
				else
					list[this.group(list, d, name[c])].members.push(c);
			}
		}
		for (const c of this.release(list))
			this.sumForward(c);
		return list;
	}
	/* The first group of a caller tree is the leaf itself; from then on it is the caller. Twice over
	 * the members, of which there may be as many as stacks: who goes where, then side by side. */
	expandReverse(d) {
		const n = d.members.length, next = new Int32Array(n), to = new Int32Array(n), list = [], counts = [];
		for (let k = 0; k < n; k++) {
			const i = next[k] = this.callerOf(d, k);
			if (i <= 0)
				continue;
			const g = to[k] = this.group(list, d, this.nodes.name[i]);
			counts[g] = (counts[g] || 0) + 1;
		}
		return this.share(d, this.release(list), counts, next, to);
	}
	callerOf(d, k) {
		const {name, parent} = this.nodes, {hidden, collapse} = this.o;
		let i = d === this.root && !this.o.members ? d.members[k] : parent[d.members[k]];
		while (i > 0 && ((hidden.size && hidden.has(name[i])) || (collapse && name[i] === d.name)))
			i = parent[i];
		return i;
	}
	/* Gives each of @list its members: parts of one array. */
	share(d, list, counts, next, to) {
		const n = next.length, members = new Int32Array(n), wa = new Float64Array(n), wb = d.wb && new Float64Array(n), ends = new Int32Array(list.length);
		for (let g = 1; g < list.length; g++)
			ends[g] = ends[g - 1] + counts[g - 1];
		for (let k = 0; k < n; k++) {
			if (next[k] <= 0)
				continue;
			const at = ends[to[k]]++;
			members[at] = next[k];
			wa[at] = d.wa[k];
			if (wb)
				wb[at] = d.wb[k];
		}
		list.forEach((c, g) => {
			c.members = members.subarray(ends[g] - counts[g], ends[g]);
			c.wa = wa.subarray(ends[g] - counts[g], ends[g]);
			c.wb = wb && wb.subarray(ends[g] - counts[g], ends[g]);
			this.sumReverse(c);
		});
		return list;
	}
	/* What is left when the children are taken away. In a caller tree this is where stacks begin. */
	self(d) {
		let s = d.total;
		for (const c of this.children(d))
			s -= c.total;
		return s > d.total * 1e-9 ? s : 0;
	}
	/* No drawn subtree is deeper than this. */
	height(d) {
		const {height} = this.nodes;
		if (this.o.reverse)
			return height[0];
		let h = 0;
		for (let k = 0; k < d.members.length; k++)
			h = Math.max(h, height[d.members[k]]);
		return h;
	}
	/* The member that weighs most: its type and line are shown. */
	heaviest(d) {
		let best = d.members[0], w = -1;
		for (let k = 0; k < d.members.length && k < 1000; k++) {
			const v = this.o.reverse ? d.wa[k] + (d.wb ? d.wb[k] : 0) : this.model.total[d.members[k]];
			if (v > w || (v === w && d.members[k] < best)) {
				w = v;
				best = d.members[k];
			}
		}
		return best;
	}
	/* A drawn node as a short word for the address, and back. */
	key(d) {
		return d === this.root ? '' : `${this.pathMember(d)}.${d.depth}`;
	}
	pathMember(d) {
		if (!this.o.reverse)
			return d.members[0];
		/* the leaf from which this caller was reached */
		let at = d;
		while (at.parent && at.parent !== this.root)
			at = at.parent;
		const start = at.members.find((m) => this.follow(m, d.depth) === d);
		return start === undefined ? d.members[0] : start;
	}
	find(key) {
		const [member, depth] = key.split('.').map(Number);
		return member > 0 && member < this.nodes.count ? this.follow(member, depth) || this.root : this.root;
	}
	follow(member, depth) {
		const {name, parent} = this.nodes, path = [];
		for (let i = member; i > 0; i = parent[i])
			path.push(name[i]);
		if (!this.o.reverse)
			path.reverse();
		let d = this.root;
		for (const id of path) {
			const next = this.children(d).find((c) => c.name === id);
			if (next)
				d = next;
			if (d.depth === depth)
				return d;
		}
		return null;
	}
}
