/* Drives a headless Chromium by lines of JSON on stdin, one answer each on stdout: see browser.py. */
'use strict';
const puppeteer = require('puppeteer-core');
const readline = require('readline');

const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
	'--disable-component-update', '--disable-sync'];
const PATIENCE = 180000; // ms: beside others a page takes many times what it takes alone
let browser, page, seen;

const commands = {
	async open({url, width = 1400, height = 900, theme = 'light', before = ''}) {
		if (page)
			await page.close();
		page = await browser.newPage();
		seen = {errors: [], requests: []};
		page.on('console', (m) => m.type() === 'error' && seen.errors.push(m.text()));
		page.on('pageerror', (e) => seen.errors.push(e.message));
		page.on('dialog', (d) => {
			seen.errors.push(`dialog: ${d.message()}`);
			d.dismiss();
		});
		page.on('request', (r) => seen.requests.push(r.url()));
		await page.setViewport({width, height});
		await page.emulateMediaFeatures([{name: 'prefers-color-scheme', value: theme}]);
		if (before)
			await page.evaluateOnNewDocument(before);
		await page.goto(url, {timeout: PATIENCE});
		return null;
	},
	wait: ({code}) => page.waitForFunction(code, {timeout: PATIENCE}).then(() => null),
	eval: ({code}) => page.evaluate(code),
	key: async ({keys}) => {
		for (const key of keys) {
			const parts = key.split('+'), last = parts.pop();
			for (const k of parts)
				await page.keyboard.down(k);
			await page.keyboard.press(last);
			for (const k of parts)
				await page.keyboard.up(k);
		}
		return null;
	},
	type: ({text}) => page.keyboard.type(text).then(() => null),
	click: ({x, y, button = 'left'}) => page.mouse.click(x, y, {button}).then(() => null),
	move: ({x, y}) => page.mouse.move(x, y).then(() => null),
	drag: async ({from, to}) => {
		await page.mouse.move(...from);
		await page.mouse.down();
		await page.mouse.move((from[0] + to[0]) / 2, to[1]);
		await page.mouse.move(...to);
		await page.mouse.up();
		return null;
	},
	theme: ({theme}) => page.emulateMediaFeatures([{name: 'prefers-color-scheme', value: theme}]).then(() => null),
	media: ({media}) => page.emulateMediaType(media).then(() => null),
	screenshot: ({path}) => page.screenshot({path}).then(() => null),
	seen: async () => seen,
};

(async () => {
	browser = await puppeteer.launch({executablePath: process.argv[2], headless: true, userDataDir: process.argv[3], args: ARGS, timeout: PATIENCE, protocolTimeout: PATIENCE});
	for await (const line of readline.createInterface({input: process.stdin})) {
		const command = JSON.parse(line);
		let answer;
		try {
			answer = {ok: await commands[command.do](command)};
		} catch (e) {
			answer = {error: String(e.message || e)};
		}
		process.stdout.write(`${JSON.stringify(answer === undefined ? {} : answer)}\n`);
	}
	await browser.close();
})().catch((e) => {
	process.stderr.write(`${e.stack}\n`);
	process.exit(1);
});
