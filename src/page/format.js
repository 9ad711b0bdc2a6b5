'use strict';
/* Numbers and names as people read them. */
const TYPE_NAMES = ['interpreted', 'C1 compiled', 'C2 compiled', 'inlined', 'native', 'C++', 'kernel', 'Python'];

/* As toLocaleString('en-US') does, whose first call takes 10 ms. */
function formatNumber(v) {
	return String(Math.round(v)).replace(/\B(?=(\d{3})+$)/g, ',');
}

function formatDuration(ns) {
	const s = ns / 1e9;
	if (s >= 3600)
		return `${Math.floor(s / 3600)} h ${Math.round(s % 3600 / 60)} min`;
	if (s >= 600)
		return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
	for (const [scale, unit] of [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs']])
		if (s >= scale)
			return `${trim(s / scale)} ${unit}`;
	return `${Math.round(ns)} ns`;
}

function trim(v) {
	return v >= 100 ? formatNumber(v) : v >= 10 ? v.toFixed(1) : v.toFixed(2);
}

function formatBytes(v) {
	for (const [scale, unit] of [[2 ** 40, 'TB'], [2 ** 30, 'GB'], [2 ** 20, 'MB'], [2 ** 10, 'KB']])
		if (v >= scale)
			return `${trim(v / scale)} ${unit}`;
	return `${Math.round(v)} B`;
}

function formatWeight(v, event) {
	if (event.counted)
		return formatNumber(v);
	if (event.unit === 'ns')
		return formatDuration(v);
	return event.unit === 'bytes' ? formatBytes(v) : formatNumber(v);
}

function formatShare(part, whole) {
	const p = whole > 0 ? 100 * part / whole : 0;
	return `${p >= 99.995 ? '100' : p >= 10 ? p.toFixed(1) : p.toFixed(2)} %`;
}

/* A moment of the recording: 1:02, or 1:02.250 where less than a second matters. */
function formatMoment(seconds, fine) {
	const sign = seconds < 0 ? '-' : '', s = Math.abs(seconds) + 1e-9, h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
	const rest = fine ? (s % 60).toFixed(3).padStart(6, '0') : String(Math.floor(s % 60)).padStart(2, '0');
	return sign + (h ? `${h}:${String(m).padStart(2, '0')}:` : `${m}:`) + rest;
}

/* Whether slashes divide packages: not in C++, modules and what the JVM calls its own code, "I2C/C2I adapters". */
function hasPackages(name) {
	const paren = name.indexOf('('), head = paren < 0 ? name : name.slice(0, paren);
	return !name.includes('::') && !name.startsWith('[') && !head.includes(' ');
}

/* org/apache/spark/executor/Executor$TaskRunner.run → Executor$TaskRunner.run; C++ stays as it is. What
 * Spark generated is called by its own class. */
function shortName(name) {
	const paren = name.indexOf('('), slash = name.lastIndexOf('/', paren < 0 ? name.length : paren);
	return slash < 0 || !hasPackages(name) ? name : name.slice(slash + 1).replace('GeneratedClass$', '');
}

/* The method alone: Executor$TaskRunner.run → run, Task<A>::work(int) → work. */
function methodName(name) {
	if (!name.includes('::'))
		return hasPackages(name) ? shortName(name).replace(/\(.*$/s, '').replace(/^.*\./s, '') || name : name;
	let head = name.replace(/\(.*$/s, '');
	for (let before = ''; before !== head;)
		head = (before = head).replace(/<[^<>]*>/g, '');
	return head.slice(head.lastIndexOf('::') + 2) || name;
}

/* As Java spells it. */
function dotted(name) {
	return hasPackages(name) ? name.replaceAll('/', '.') : name;
}
