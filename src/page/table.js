'use strict';
/* The table of hot methods: real rows of the document, so that it can be read, searched, copied and
 * printed. */
const TABLE_STEP = 100;

class Table {
	/* @on: {pick(name), order(column)} */
	constructor(host, on) {
		this.host = host;
		this.on = on;
		this.order = 'self';
		this.shown = TABLE_STEP;
		this.table = element('table', {className: 'hot'});
		this.more = element('button', {className: 'more', textContent: 'Show more'});
		this.more.addEventListener('click', () => {
			this.shown += TABLE_STEP * 5;
			this.draw();
		});
		host.append(this.table, this.more);
		this.table.addEventListener('click', (e) => {
			const row = e.target.closest('tr[data-name]');
			if (row)
				this.on.pick(Number(row.dataset.name));
		});
	}
	show(model, matched) {
		this.model = model;
		this.matched = matched;
		this.draw();
	}
	sorted() {
		const sums = this.model.methods(), ids = [];
		for (let i = 0; i < sums.total.length; i++)
			if (sums.total[i] > 0 && (!this.matched || this.matched[i]))
				ids.push(i);
		const change = (i) => this.change(i);
		const orders = {
			self: (x, y) => sums.self[y] - sums.self[x] || sums.total[y] - sums.total[x],
			total: (x, y) => sums.total[y] - sums.total[x] || sums.self[y] - sums.self[x],
			change: (x, y) => Math.abs(change(y)) - Math.abs(change(x)),
			name: (x, y) => this.model.name(x) < this.model.name(y) ? -1 : 1,
		};
		return ids.sort(orders[this.order] || orders.self);
	}
	/* Points of percent from A to B. */
	change(i) {
		const m = this.model, sums = m.methods();
		return m.comparing ? sums.b[i] / (m.b.total[0] || 1) - sums.a[i] / (m.a.total[0] || 1) : 0;
	}
	draw() {
		const m = this.model, sums = m.methods(), ids = this.sorted();
		const head = element('tr'), columns = [['self', 'Self'], ['total', 'Total'], ['name', 'Method']];
		if (m.comparing)
			columns.splice(2, 0, ['change', 'A → B']);
		for (const [id, label] of columns) {
			const button = element('button', {textContent: label, title: `Sort by ${label.toLowerCase()}`});
			const cell = element('th', {scope: 'col', className: id});
			if (this.order === id)
				cell.setAttribute('aria-sort', id === 'name' ? 'ascending' : 'descending');
			button.addEventListener('click', () => {
				this.order = id;
				this.on.order(id);
				this.draw();
				this.table.querySelector(`th.${id} button`).focus();
			});
			cell.append(button);
			head.append(cell);
		}
		const body = element('tbody');
		this.most = {self: Math.max(0, ...ids.slice(0, this.shown).map((i) => sums.self[i])), total: m.whole};
		for (const id of ids.slice(0, this.shown))
			body.append(this.row(id, sums));
		const top = element('thead');
		top.append(head);
		this.table.replaceChildren(element('caption', {textContent: 'Hot methods', className: 'unseen'}), top, body);
		this.more.hidden = ids.length <= this.shown;
		this.more.textContent = `Show more of ${formatNumber(ids.length)}`;
	}
	row(id, sums) {
		const m = this.model, row = element('tr'), full = dotted(m.name(id)), short = shortName(m.name(id));
		row.dataset.name = id;
		for (const key of ['self', 'total']) {
			const cell = element('td', {className: 'number', title: formatWeight(sums[key][id], m.event)});
			const bar = element('span', {className: 'bar'});
			bar.style.width = `${100 * sums[key][id] / (this.most[key] || 1)}%`;
			cell.append(bar, element('span', {textContent: formatShare(sums[key][id], m.whole)}));
			row.append(cell);
		}
		if (m.comparing) {
			const points = 100 * this.change(id);
			row.append(element('td', {className: `number ${points > 0 ? 'grew' : 'shrank'}`,
				textContent: `${points > 0 ? '+' : points < 0 ? '−' : ''}${Math.abs(points).toFixed(2)}`}));
		}
		const cell = element('th', {scope: 'row'}), button = element('button', {textContent: short, title: full});
		cell.append(button);
		row.append(cell);
		return row;
	}
}

function element(tag, properties = {}) {
	return Object.assign(document.createElement(tag), properties);
}
