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
		this.more = element('button', {className: 'more', hidden: true});
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
		const [beyond, by] = [0, 1].map(() => new Float64Array(this.order === 'change' && this.model.comparing ? sums.total.length : 0));
		if (beyond.length)
			for (const i of ids) {
				const {change, noise} = this.model.changeBeyond(i);
				by[i] = Math.abs(change);
				beyond[i] = Math.max(0, by[i] - noise);
			}
		const orders = {
			self: (x, y) => sums.self[y] - sums.self[x] || sums.total[y] - sums.total[x],
			total: (x, y) => sums.total[y] - sums.total[x] || sums.self[y] - sums.self[x],
			change: (x, y) => beyond[y] - beyond[x] || by[y] - by[x] || sums.total[y] - sums.total[x],
			grew: (x, y) => this.change(y) - this.change(x),
			shrank: (x, y) => this.change(x) - this.change(y),
			name: (x, y) => this.model.name(x) < this.model.name(y) ? -1 : 1,
		};
		return ids.sort(orders[this.order] && (this.model.comparing || !['change', 'grew', 'shrank'].includes(this.order)) ? orders[this.order] : orders.self);
	}
	change(i) {
		return this.model.comparing ? this.model.changeBeyond(i).change : 0;
	}
	draw() {
		const m = this.model, sums = m.methods(), ids = this.sorted();
		const head = element('tr'), columns = [['self', 'Self'], ['total', 'Total'], ['name', 'Method']];
		if (m.comparing)
			columns.splice(0, 2, ['change', {grew: 'Grew', shrank: 'Shrank'}[this.order] || 'Change'], ['noise', '± chance'], ['total', 'Total']);
		for (const [id, label] of columns) {
			const button = element('button', {textContent: label, title: this.titleOf(id, label), disabled: id === 'noise'});
			const cell = element('th', {scope: 'col', className: id}), changes = ['change', 'grew', 'shrank'], at = changes.indexOf(this.order);
			if (this.order === id || (id === 'change' && at > 0))
				cell.setAttribute('aria-sort', id === 'name' || this.order === 'shrank' ? 'ascending' : 'descending');
			button.addEventListener('click', () => {
				this.order = id === 'change' ? changes[(at + 1) % 3] : id;
				this.on.order(this.order);
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
	titleOf(id, label) {
		return {change: 'Sort by change beyond chance, then by growth, then by shrinking',
			noise: 'A change up to this is what chance makes of equal programs'}[id] || `Sort by ${label.toLowerCase()}`;
	}
	/* The change of a method, and what chance may have done. */
	changeCells(row, id) {
		const m = this.model, {change, noise} = m.changeBeyond(id), sums = m.methods(), amounts = m.filter.amounts;
		const show = (v) => amounts ? formatWeight(v, m.event) : (100 * v).toFixed(2);
		const within = Math.abs(change) <= noise, word = !sums.a[id] ? 'new' : !sums.b[id] ? 'vanished' : '';
		const title = `${formatShare(sums.a[id], m.a.total[0])} → ${formatShare(sums.b[id], m.b.total[0])}` +
			`${word ? `, ${word}` : ''}; ${within ? 'within' : 'beyond'} what chance makes`;
		row.append(element('td', {className: `number ${within ? 'within' : change > 0 ? 'grew' : 'shrank'}`, title,
			textContent: `${change > 0 ? '+' : change < 0 ? '−' : ''}${show(Math.abs(change))}`}),
		element('td', {className: 'number within', title, textContent: show(noise)}));
	}
	row(id, sums) {
		const m = this.model, row = element('tr'), full = dotted(m.name(id)), short = shortName(m.name(id));
		row.dataset.name = id;
		if (m.comparing)
			this.changeCells(row, id);
		for (const key of m.comparing ? ['total'] : ['self', 'total']) {
			const cell = element('td', {className: 'number', title: formatWeight(sums[key][id], m.event)});
			const bar = element('span', {className: 'bar'});
			bar.style.width = `${100 * sums[key][id] / (this.most[key] || 1)}%`;
			cell.append(bar, element('span', {textContent: formatShare(sums[key][id], m.whole)}));
			row.append(cell);
		}
		const cell = element('th', {scope: 'row'}), button = element('button', {title: full});
		button.append(element('bdi', {textContent: short})); /* the end of a name says more than its beginning */
		cell.append(button);
		row.append(cell);
		return row;
	}
}

function element(tag, properties = {}) {
	return Object.assign(document.createElement(tag), properties);
}
