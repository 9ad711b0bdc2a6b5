'use strict';
/* What a driver worked on: time by phase, of the threads that run queries and of those beside them; and the longest gaps in which no job
 * ran. A click on a gap selects its time. As src/out/phases.c has it, of the whole recording. */

class PhaseTable {
	/* @on: {range(from, to)}, seconds from the start of the strip */
	constructor(host, profile, on) {
		const {driver} = profile.meta;
		host.hidden = !driver;
		if (!driver)
			return;
		this.meta = profile.meta;
		this.on = on;
		host.append(this.table(driver.phases));
		if (driver.gaps)
			host.append(this.gaps(driver));
	}
	table(phases) {
		const table = element('table', {className: 'phases'}), head = element('tr'), top = element('thead'), body = element('tbody');
		const most = Math.max(1, ...phases.map((p) => p.query_ns));
		for (const [id, text, title] of [['phase', 'Driver', 'What its threads worked on'], ['query', 'Queries', 'Time in which a thread that runs queries, or the application\'s Python, was at it'],
			['beside', 'Beside', 'Time of the threads beside them: scheduler, listeners, broadcasts, GC']])
			head.append(element('th', {scope: 'col', className: id, textContent: text, title}));
		top.append(head);
		for (const {name, query_ns: query, threads_ns: threads, beside_ns: beside} of phases) {
			const row = element('tr'), bar = element('div', {className: 'took'});
			const time = (ns) => element('td', {className: 'number', textContent: ns ? formatDuration(ns) : '–'});
			if (query && threads / query >= 1.05)
				row.title = `${(threads / query).toFixed(1)} threads at a time`;
			bar.style.width = `${100 * query / most}%`;
			row.append(element('th', {scope: 'row', textContent: name}), time(query), time(beside));
			row.firstChild.append(bar);
			body.append(row);
		}
		table.append(element('caption', {textContent: 'Phases of the driver', className: 'unseen'}), top, body);
		return table;
	}
	gaps({gaps, jobless_ns: jobless, covered_ns: covered}) {
		const list = element('div', {className: 'gaps'}), before = (this.meta.recorded - this.meta.start) / 1e9;
		list.append(element('p', {textContent: `No job ran for ${formatDuration(jobless)} of ${formatDuration(covered)}${gaps.length ? '; the longest gaps:' : '.'}`}));
		for (const {from_ns: from, took_ns: took, work} of gaps) {
			const names = Object.entries(work).sort((x, y) => y[1] - x[1]).slice(0, 3).map(([key, ns]) => `${this.nameOf(key)} ${formatDuration(ns)}`);
			const text = `${formatDuration(took)} at ${formatDuration(from)}: ${names.join(', ') || 'no query was at work'}`;
			const button = element('button', {textContent: text, title: 'Select this time'});
			button.addEventListener('click', () => this.on.range(before + from / 1e9, before + (from + took) / 1e9));
			list.append(button);
		}
		return list;
	}
	nameOf(key) {
		const found = this.meta.driver.phases.find((p) => p.phase === key);
		return found ? found.name : key;
	}
}
