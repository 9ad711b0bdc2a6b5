'use strict';
/* What is shown, as words of the address: a link or a bookmark shows the same picture. Only what
 * differs from the default is written. */
const DEFAULTS = {
	view: 'flame', event: '', thread: '', state: '', executor: '', stage: '', task: '', versus: '', range: '', other: '', search: '', colour: '', as: '', by: '',
	up: '', starts: '', recursion: '', focus: '', method: '', hide: '', zoom: '', sort: '', stages: '', side: '1', lanes: '1',
};

/* What the report was asked to open with. */
function setDefaults(opens) {
	Object.assign(DEFAULTS, opens);
}

function readAddress() {
	const state = {...DEFAULTS};
	for (const [key, value] of new URLSearchParams(location.hash.slice(1)))
		if (key in DEFAULTS)
			state[key] = value;
	return state;
}

function writeAddress(state) {
	const words = new URLSearchParams();
	for (const key of Object.keys(DEFAULTS))
		if (state[key] !== DEFAULTS[key])
			words.set(key, state[key]);
	const text = words.toString();
	if (text !== location.hash.slice(1))
		history.replaceState(null, '', text ? `#${text}` : location.pathname + location.search);
}

/* "12.5-20" in seconds, as buckets, and back. */
function parseRange(text, seconds, buckets) {
	const m = /^([\d.]+)-([\d.]+)$/.exec(text);
	if (!m || !(seconds > 0))
		return null;
	const from = Math.round(m[1] / seconds), to = Math.round(m[2] / seconds);
	return from >= 0 && from < to && from < buckets ? [from, Math.min(to, buckets)] : null;
}

function formatRange(range, seconds) {
	return range ? range.map((b) => +(b * seconds).toFixed(3)).join('-') : '';
}
