'use strict';
/* Reads the data of the page: base64, deflate, columns of varints. The format is described in
 * src/out/pagedata.h. Everything longer than a few milliseconds gives way to the browser now and then. */

const SLICE_MS = 30;
const channel = new MessageChannel();
let waiting = [];
channel.port1.onmessage = () => {
	const ready = waiting;
	waiting = [];
	ready.forEach((f) => f());
};

/* Resolves after the browser had its turn: drawing and input first. */
function pause() {
	return new Promise((resolve) => {
		waiting.push(resolve);
		channel.port2.postMessage(0);
	});
}

/* Calls work(from, to) for pieces of 0 … count, with a pause whenever a slice of time is over. */
async function inSlices(count, work) {
	const STEP = 1 << 15;
	let until = performance.now() + SLICE_MS / 2;
	for (let from = 0; from < count; from += STEP) {
		work(from, Math.min(count, from + STEP));
		if (performance.now() > until) {
			await pause();
			until = performance.now() + SLICE_MS / 2;
		}
	}
}

async function inflate(base64) {
	const stream = new DecompressionStream('deflate');
	const writer = stream.writable.getWriter(), reader = stream.readable.getReader();
	const chunks = [];
	let size = 0;
	const reading = (async () => {
		for (;;) {
			const {done, value} = await reader.read();
			if (done)
				return;
			chunks.push(value);
			size += value.length;
		}
	})();
	const STEP = 1 << 20;
	for (let at = 0; at < base64.length; at += STEP) {
		const text = atob(base64.slice(at, at + STEP));
		const bytes = new Uint8Array(text.length);
		for (let i = 0; i < bytes.length; i++)
			bytes[i] = text.charCodeAt(i);
		writer.write(bytes).catch(() => {});
		await pause();
	}
	writer.close().catch(() => {});
	await reading;
	const all = new Uint8Array(size);
	let at = 0;
	for (const c of chunks) {
		all.set(c, at);
		at += c.length;
	}
	return all;
}

class Reader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
	}
	get() {
		const b = this.bytes;
		let c = b[this.at++];
		if (c < 0x80)
			return c;
		let v = c & 0x7f, scale = 128;
		do {
			c = b[this.at++];
			v += (c & 0x7f) * scale;
			scale *= 128;
		} while (c >= 0x80);
		return v;
	}
	getSigned() {
		const v = this.get();
		return v % 2 ? -(v + 1) / 2 : v / 2;
	}
	/* Fills @array with numbers, in slices: as they are, or changed by next(value, index). */
	async numbers(array, next = null) {
		let until = performance.now() + SLICE_MS;
		for (let i = 0; i < array.length; i += 0x10000) {
			const end = Math.min(array.length, i + 0x10000);
			this.fill(array, i, end);
			for (let k = i; next && k < end; k++)
				array[k] = next(array[k], k);
			if (performance.now() > until) {
				await pause();
				until = performance.now() + SLICE_MS;
			}
		}
		return array;
	}
	/* Millions of times: no calls in it. */
	fill(array, from, to) {
		const b = this.bytes;
		let at = this.at;
		for (let i = from; i < to; i++) {
			let c = b[at++];
			if (c >= 0x80) {
				let v = c & 0x7f, scale = 128;
				do {
					c = b[at++];
					v += (c & 0x7f) * scale;
					scale *= 128;
				} while (c >= 0x80);
				c = v;
			}
			array[i] = c;
		}
		this.at = at;
	}
}

function unzigzag(v) {
	return v % 2 ? -(v + 1) / 2 : v / 2;
}

/* Strings are decoded when they are first asked for. */
class Strings {
	constructor(bytes, ends) {
		this.bytes = bytes;
		this.ends = ends;
		this.cache = new Array(ends.length);
		this.decoder = new TextDecoder();
	}
	get length() {
		return this.ends.length;
	}
	get(i) {
		let s = this.cache[i];
		if (s === undefined) {
			s = this.decoder.decode(this.bytes.subarray(i ? this.ends[i - 1] : 0, this.ends[i]));
			this.cache[i] = s;
		}
		return s;
	}
}

const SECTIONS = {
	1: async (r, p) => {
		p.meta = JSON.parse(new TextDecoder().decode(r.bytes));
	},
	2: async (r, p) => {
		let end = 0;
		const ends = await r.numbers(new Uint32Array(r.get()), (v) => end += v);
		p.strings = new Strings(r.bytes.subarray(r.at), ends);
	},
	3: async (r, p) => {
		const n = r.get();
		const names = await r.numbers(new Uint32Array(n)), tids = await r.numbers(new Float64Array(n));
		p.threadWeights = await r.numbers(new Float64Array(n + 1));
		p.threads = Array.from(names, (name, i) => ({name: p.strings.get(name), tid: tids[i]}));
	},
	4: async (r, p) => {
		p.nodes = await readNodes(r, p);
	},
	5: async (r, p) => {
		let node = 0;
		p.stacks = await r.numbers(new Int32Array(r.get()), (v) => node += unzigzag(v));
	},
	6: readSamples,
	7: async (r, p) => {
		const kind = r.get(), n = r.get();
		let sum = 0;
		const time = await r.numbers(new Float64Array(n), (v) => sum += unzigzag(v));
		sum = 0;
		p.series[kind] = {time, value: await r.numbers(new Float64Array(n), (v) => sum += unzigzag(v))};
	},
	8: async (r, p) => {
		const n = r.get(), words = [];
		for (let k = 0; k < 4; k++)
			words.push(await r.numbers(new Uint32Array(n)));
		const word = (k, i) => words[k][i] ? p.strings.get(words[k][i] - 1) : '', flag = (i, bit) => !!(words[3][i] & bit);
		/* label 0 is none; labels of samples count from 1 */
		for (let i = 0; i < n; i++)
			p.labels.push({executor: word(0, i), host: p.meta.hosts && p.meta.hosts[word(0, i)] || '', stage: word(1, i), task: word(2, i), begun: flag(i, 1), ended: flag(i, 2), whole: flag(i, 1) && flag(i, 2), helper: flag(i, 4)});
	},
	9: async (r, p) => {
		const n = r.get();
		const label = await r.numbers(new Uint32Array(n));
		let sum = 0;
		const start = await r.numbers(new Float64Array(n), (v) => sum += unzigzag(v)), length = await r.numbers(new Float64Array(n));
		p.spans = Array.from(label, (l, i) => ({label: l, from: start[i], to: start[i] + length[i] / 1000}));
	},
	10: async (r, p) => {
		const {waits, states} = p.meta, table = await r.numbers(new Uint8Array(r.get() * (states.length + 1)));
		p.waits = new Waits(waits, table, states.length, p.nodes, p.stacks, await r.numbers(new Uint16Array(p.stacks.length)));
	},
	11: async (r, p) => {
		const event = r.get(), deepest = r.get(), nodes = await readNodes(r, p), {quantum} = p.meta.events[event];
		p.picture = {event, deepest, nodes, total: await r.numbers(new Float64Array(nodes.count), (v) => v * quantum)};
	},
};

/* The tree in pre-order with its root at 0: the subtree of n is n … end[n] - 1. */
async function readNodes(r, p) {
	const n = r.get(), size = n + 1;
	const nodes = {
		count: size, parent: new Int32Array(size), name: new Int32Array(size), type: new Uint8Array(size),
		area: new Uint8Array(size), line: new Int32Array(size), depth: new Int32Array(size), end: new Int32Array(size), height: new Int32Array(size),
	};
	const {parent, depth, end, height} = nodes;
	parent[0] = -1;
	await r.numbers(new Uint32Array(n), (up, i) => {
		let at = i;
		for (; up > 0; up--)
			at = parent[at];
		parent[i + 1] = at;
		depth[i + 1] = depth[at] + 1;
		return 0;
	});
	await r.numbers(nodes.name.subarray(1));
	await r.numbers(nodes.type.subarray(1));
	const last = new Int32Array(p.strings.length);
	await r.numbers(nodes.line.subarray(1), (v, i) => last[nodes.name[i + 1]] += unzigzag(v));
	await r.numbers(nodes.area.subarray(1), (v, i) => v ? v - 1 : nodes.area[parent[i + 1]]);
	nodes.name[0] = -1;
	for (let i = n; i >= 0; i--) {
		if (end[i] === 0)
			end[i] = i + 1;
		const up = parent[i];
		if (up >= 0) {
			if (end[up] < end[i])
				end[up] = end[i];
			if (height[up] < height[i] + 1)
				height[up] = height[i] + 1;
		}
	}
	return nodes;
}

async function readSamples(r, p) {
	const event = r.get(), n = r.get(), groups = r.get();
	const rows = {
		count: n, thread: new Int32Array(n), bucket: new Int32Array(n), span: new Int32Array(n), node: new Int32Array(n),
		state: new Uint8Array(n), label: new Int32Array(n), value: new Float64Array(n),
	};
	const first = new Uint8Array(n);
	let thread = 0, at = 0;
	rows.groups = []; /* rows of one thread, by time; longest: the most buckets that one of them lies in */
	for (let g = 0; g < groups; g++) {
		thread += r.get();
		const count = r.get();
		rows.thread.fill(thread - 1, at, at + count);
		rows.groups.push({thread: thread - 1, from: at, to: at + count, longest: 0});
		first[at] = 1;
		at += count;
	}
	let bucket = 0;
	await r.numbers(rows.bucket, (v, i) => bucket = first[i] ? v : bucket + v);
	await r.numbers(rows.span);
	for (const g of rows.groups)
		for (let i = g.from; i < g.to; i++)
			if (rows.span[i] >= g.longest)
				g.longest = rows.span[i] + 1;
	await r.numbers(rows.node, (v) => p.stacks[v]);
	await r.numbers(rows.state);
	let label = 0;
	await r.numbers(rows.label, (v, i) => label = (first[i] ? 0 : label) + unzigzag(v));
	const quantum = p.meta.events[event].quantum;
	await r.numbers(rows.value, (v) => v * quantum);
	p.events[event] = rows;
}

/* The profile as far as it is in the text of the data element: all but the tree and the samples. */
async function readData(base64) {
	const bytes = await inflate(base64);
	const r = new Reader(bytes);
	const p = {events: [], series: [], labels: [{executor: '', host: '', stage: '', task: '', whole: false, helper: false}], spans: [], waits: null};
	if (new TextDecoder().decode(bytes.subarray(0, 4)) !== 'SPPG')
		throw new Error('this is not the data of a report');
	r.at = 4;
	if (r.get() !== 4)
		throw new Error('the data is of another version than the page');
	await readSections(r, p);
	return p;
}

/* Adds what is in the text of the other element. */
async function readRest(base64, p) {
	await readSections(new Reader(await inflate(base64)), p);
}

async function readSections(r, p) {
	const {bytes} = r;
	let until = performance.now() + SLICE_MS;
	while (r.at < bytes.length) {
		const id = r.get(), length = r.get();
		if (SECTIONS[id])
			await SECTIONS[id](new Reader(bytes.subarray(r.at, r.at + length)), p);
		r.at += length;
		if (performance.now() > until) {
			await pause();
			until = performance.now() + SLICE_MS;
		}
	}
}
