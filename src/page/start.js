'use strict';
/* Begins when everything is there. Without the means to draw, the plain table stays. */
async function start() {
	if (typeof DecompressionStream !== 'function')
		throw new Error('this browser has no DecompressionStream');
	const profile = await readData(takeText('data'));
	if (!profile.meta.events.length)
		return sayInstead('Nothing was sampled.');
	setDefaults(profile.meta.opens);
	const release = holdBack(), early = opensWithPicture(profile) ? new App(profile) : null;
	if (early) {
		early.drawPicture();
		performance.mark('drawn');
		await painted();
	}
	if (document.readyState === 'loading')
		await new Promise((resolve) => document.addEventListener('DOMContentLoaded', resolve));
	await readRest(takeText('rest'), profile);
	const app = early || new App(profile);
	await app.complete();
	if (!early)
		performance.mark('drawn');
	performance.mark('whole');
	release();
	globalThis.sparkprof = app; /* for tests and for the curious */
}

/* Whether the first picture is what the address asks for, and all around it is known: lanes of tasks
 * without times are made from samples. */
function opensWithPicture({picture, labels, spans}) {
	const state = readAddress(), usual = (key) => state[key] === DEFAULTS[key] || ['by', 'sort', 'stages', 'side', 'lanes', 'colour', 'up'].includes(key);
	return picture && state.view === 'flame' && (labels.length < 2 || spans.length > 0) && Object.keys(DEFAULTS).every(usual);
}

/* The text of an element, which is no longer needed; the page by itself has data of its own. */
function takeText(id) {
	const data = byId(id), text = data ? data.textContent : (globalThis.sampleData || {})[id] || '';
	if (data)
		data.remove();
	return text.trim();
}

/* Resolves when the browser has had its time to draw. It draws nothing of a page that nobody sees. */
async function painted() {
	await Promise.race([new Promise(requestAnimationFrame), new Promise((resolve) => setTimeout(resolve, 50))]);
	await pause();
}

/* Clicks and keys wait until what they ask for can be done. */
function holdBack() {
	const kept = [], types = ['click', 'keydown', 'contextmenu', 'pointerdown', 'pointermove', 'mousemove'];
	const keep = (e) => {
		e.stopPropagation();
		if (e.type === 'click' || e.type === 'keydown')
			kept.push(e);
	};
	types.forEach((type) => addEventListener(type, keep, true));
	return () => {
		types.forEach((type) => removeEventListener(type, keep, true));
		kept.forEach((e) => e.target.dispatchEvent(new e.constructor(e.type, e)));
	};
}

/* In the place of graphs, above the plain table. */
function sayInstead(text) {
	document.body.classList.remove('loading', 'ready');
	document.body.classList.add('failed');
	byId('trouble').textContent = text;
}

start().catch((e) => sayInstead(`The graphs cannot be drawn: ${e.message}. ` +
	'They need Chrome 80, Firefox 113, Safari 16.4 or later. Here is what was hot.'));
