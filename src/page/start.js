'use strict';
/* Begins when everything is there. Without the means to draw, the plain table stays. */
async function start() {
	const data = byId('data'), text = data ? data.textContent : globalThis.sampleData || '';
	if (typeof DecompressionStream !== 'function')
		throw new Error('this browser has no DecompressionStream');
	const profile = await readData(text.trim());
	if (data)
		data.remove();
	const app = new App(profile);
	await app.settled;
	app.tellItem(null);
	performance.mark('drawn');
	globalThis.sparkprof = app; /* for tests and for the curious */
}

start().catch((e) => {
	document.body.classList.remove('loading', 'ready');
	document.body.classList.add('failed');
	byId('trouble').textContent = `The graphs cannot be drawn: ${e.message}. ` +
		'They need Chrome 80, Firefox 113, Safari 16.4 or later. Here is what was hot.';
});
