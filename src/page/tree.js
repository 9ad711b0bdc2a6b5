'use strict';
/* The tree that is drawn. A drawn node stands for a set of the model's nodes (its members); its
 * children are made when they are first asked for, by grouping what comes next by name. Hidden
 * frames, collapsed recursion, callers instead of callees and the focus on a method are only other
 * ways to say what comes next, so none of them needs a pass over all stacks. */
class Tree {
	/* @o: {reverse, hidden: Set of names, collapse, members: where to start, or null for all} */
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
		const m = this.model, r = this.root, own = this.o.members;
		const source = own ? ['total'] : ['self'];
		r.members = [];
		r.wa = [];
		r.wb = [];
		const add = (i) => {
			const a = m.a[source[0]][i], b = m.b ? m.b[source[0]][i] : 0;
			if (a + b <= 0)
				return;
			r.members.push(i);
			r.wa.push(a);
			r.wb.push(b);
		};
		if (own)
			own.forEach(add);
		else
			for (let i = 1; i < this.nodes.count; i++)
				add(i);
		this.sumReverse(r);
	}
	sumReverse(d) {
		for (let k = 0; k < d.members.length; k++) {
			d.a += d.wa[k];
			d.b += d.wb[k];
		}
		d.total = this.weigh(d.a, d.b);
	}
	weigh(a, b) {
		const m = this.model;
		if (!m.comparing)
			return a;
		const sa = m.a.total[0] || 1, sb = m.b.total[0] || 1;
		return (a / sa + b / sb) / 2 * m.whole;
	}
	children(d) {
		if (!d.children) {
			d.children = this.o.reverse ? this.expandReverse(d) : this.expandForward(d);
			d.children.sort((x, y) => y.total - x.total || x.name - y.name);
		}
		return d.children;
	}
	child(groups, d, name) {
		let c = groups.get(name);
		if (!c)
			groups.set(name, c = {name, parent: d, depth: d.depth + 1, members: [], children: null, total: 0, a: 0, b: 0});
		return c;
	}
	expandForward(d) {
		const {name, end} = this.nodes, {total} = this.model, {hidden, collapse} = this.o, groups = new Map();
		const visit = (from) => {
			for (let c = from + 1, stop = end[from]; c < stop; c = end[c]) {
				if (total[c] <= 0)
					continue;
				if ((hidden.size && hidden.has(name[c])) || (collapse && name[c] === d.name))
					visit(c);
				else
					this.child(groups, d, name[c]).members.push(c);
			}
		};
		d.members.forEach(visit);
		const list = [...groups.values()];
		list.forEach((c) => this.sumForward(c));
		return list;
	}
	/* The first group of a caller tree is the leaf itself; from then on it is the caller. */
	expandReverse(d) {
		const {name, parent} = this.nodes, {hidden, collapse, members} = this.o, groups = new Map();
		const first = d === this.root && !members;
		for (let k = 0; k < d.members.length; k++) {
			let i = first ? d.members[k] : parent[d.members[k]];
			while (i > 0 && (hidden.has(name[i]) || (collapse && name[i] === d.name)))
				i = parent[i];
			if (i <= 0)
				continue;
			const c = this.child(groups, d, name[i]);
			if (!c.wa) {
				c.wa = [];
				c.wb = [];
			}
			c.members.push(i);
			c.wa.push(d.wa[k]);
			c.wb.push(d.wb[k]);
		}
		const list = [...groups.values()];
		list.forEach((c) => this.sumReverse(c));
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
		let h = 0;
		for (const i of d.members)
			h = Math.max(h, this.o.reverse ? this.nodes.depth[i] : this.nodes.height[i]);
		return h;
	}
	/* The member that weighs most: its type and line are shown. */
	heaviest(d) {
		let best = d.members[0], w = -1;
		for (let k = 0; k < d.members.length && k < 1000; k++) {
			const v = this.o.reverse ? d.wa[k] + d.wb[k] : this.model.total[d.members[k]];
			if (v > w) {
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
