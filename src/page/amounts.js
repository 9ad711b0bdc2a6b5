'use strict';
/* The first thing of a comparison: how much there is, base | new | change ± chance, in all, by stage and by what
 * time was spent on. Stages of two runs that are the same are one line. A click shows a stage alone. */
class AmountTable {
	/* @on: {pick(stage)} */
	constructor(host, profile, colours, on) {
		this.host = host;
		this.profile = profile;
		this.on = on;
		this.stages = stagesOf(profile);
		host.hidden = false;
		this.draw();
	}
	async load(model, labels, chosen) {
		this.mark(chosen);
	}
	redraw() {
	}
	mark(chosen) {
		for (const body of this.host.querySelectorAll('tbody'))
			body.classList.toggle('current', !!chosen && body.dataset.stage === chosen);
	}
	draw() {
		const {amounts} = this.profile.meta.diff, table = element('table', {className: 'stages amounts'}), head = element('tr'), top = element('thead');
		for (const [id, text, title] of [['what', 'Time', ''], ['base', 'Base', this.profile.meta.diff.names[0]], ['new', 'New', this.profile.meta.diff.names[1]],
			['change', 'Change', 'New less base'], ['chance', '± Chance', 'What sampling alone makes of equal programs; two runs of one program differ by more']])
			head.append(element('th', {scope: 'col', className: id, textContent: text, title}));
		top.append(head);
		table.append(element('caption', {textContent: 'Time of both', className: 'unseen'}), top, this.body({name: 'total', ...amounts.total}));
		for (const s of amounts.stages)
			table.append(this.body(s, s.name));
		for (const w of amounts.waits)
			table.append(this.body(w));
		this.host.replaceChildren(table);
	}
	format(v) {
		const {unit} = this.profile.meta.diff.amounts;
		return unit === 'ns' ? `${(v / 1e9).toFixed(2)} s` : formatWeight(v, {unit});
	}
	body(a, stage) {
		const body = element('tbody'), row = element('tr'), first = element('th', {scope: 'row'}), change = a.weight[1] - a.weight[0];
		const beyond = Math.abs(change) > a.noise, cell = (text, className = 'number') => element('td', {className, textContent: text});
		const amount = (side) => a.there && !a.there[side] ? '–' : this.format(a.weight[side]);
		if (stage) {
			const button = element('button', {textContent: a.name.replace('stage ', ''), title: [a.name, a.title].filter(Boolean).join(': ')});
			body.dataset.stage = stage;
			body.addEventListener('click', () => this.on.pick(stage));
			first.append(button);
		} else {
			first.append(a.name);
		}
		row.append(first, cell(amount(0)), cell(amount(1)), cell((change < 0 ? '−' : '+') + this.format(Math.abs(change)), `number ${beyond ? change > 0 ? 'more' : 'less' : 'within'}`),
			cell(`± ${this.format(a.noise)}`, 'number within'));
		body.append(row);
		if (a.title) {
			const line = element('tr', {className: 'name'});
			line.append(element('td', {colSpan: 5, textContent: a.title, title: a.title}));
			body.append(line);
		}
		return body;
	}
}
