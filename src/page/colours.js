'use strict';
/* Calm colours for both themes. A frame's hue says its type, its area or how it changed; names of
 * one hue differ a little in lightness so that neighbours can be told apart. */
const TYPE_HUES = [[36, 46], [84, 32], [142, 30], [172, 32], [214, 38], [46, 66], [12, 58], [252, 44]];
const ALLOC_HUES = [[270, 34], [250, 38], [232, 42], [214, 42], [190, 34], [300, 28], [330, 40]];
const STATE_HUES = {
	running: [142, 38], runnable: [40, 70], lock: [356, 58], net: [216, 52], disk: [276, 38], sleep: [212, 10], poll: [190, 26],
	blocked: [20, 46], '': [142, 30],
};

class Colours {
	/* @areas: [{name, colour: "#rrggbb"}]; of a colour its hue and saturation count, the theme gives the lightness. */
	constructor(areas) {
		this.areaHues = areas.map((a) => hueOf(a.colour));
		this.media = matchMedia('(prefers-color-scheme: dark)');
		this.forced = null;
		this.cache = new Map();
		this.read();
	}
	read() {
		this.cache.clear();
		this.dark = this.forced ? this.forced === 'dark' : this.media.matches;
		const style = getComputedStyle(document.documentElement);
		const get = (name) => style.getPropertyValue(name).trim();
		this.text = get('--frame-text');
		this.paper = get('--paper');
		this.ink = get('--ink');
		this.faint = get('--faint');
		this.line = get('--line');
		this.accent = get('--accent');
		this.other = get('--other');
		this.match = get('--match');
		this.matchText = get('--match-text');
	}
	hsl([hue, saturation], shift = 0) {
		return this.dark ? `hsl(${hue} ${Math.round(saturation * 0.82)}% ${31 + shift}%)`
			: `hsl(${hue} ${saturation}% ${79 + shift}%)`;
	}
	strong([hue, saturation]) {
		return this.dark ? `hsl(${hue} ${saturation}% 52%)` : `hsl(${hue} ${saturation}% 62%)`;
	}
	cached(key, make) {
		let c = this.cache.get(key);
		if (!c)
			this.cache.set(key, c = make());
		return c;
	}
	byType(name, type, alloc) {
		const shift = (Math.imul(name + 7, 2654435761) >>> 27) % 7 - 3;
		return this.cached(`t${type}.${shift}.${alloc}`, () => this.hsl((alloc ? ALLOC_HUES : TYPE_HUES)[type] || [0, 0], shift));
	}
	byArea(name, area) {
		const shift = (Math.imul(name + 7, 2654435761) >>> 27) % 7 - 3;
		return this.cached(`a${area}.${shift}`, () => this.hsl(this.areaHues[area], shift));
	}
	/* @change: from -1 (only in A) to 1 (only in B). */
	byChange(change) {
		const step = Math.round(Math.max(-1, Math.min(1, change)) * 12);
		return this.cached(`d${step}`, () => {
			const strength = Math.abs(step) / 12, hue = step > 0 ? 8 : 216;
			return this.dark ? `hsl(${hue} ${Math.round(8 + 55 * strength)}% ${Math.round(30 + 9 * strength)}%)`
				: `hsl(${hue} ${Math.round(8 + 72 * strength)}% ${Math.round(88 - 17 * strength)}%)`;
		});
	}
	state(name) {
		return this.strong(STATE_HUES[name] || [hash(name) % 360, 30]);
	}
	wait(name) {
		return this.strong(WAIT_HUES[name] || [0, 0]);
	}
	area(index) {
		return this.strong(this.areaHues[index]);
	}
}

/* "#rrggbb" as [hue, saturation in percent]. */
function hueOf(colour) {
	const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255);
	const max = Math.max(r, g, b), min = Math.min(r, g, b), range = max - min;
	if (!range)
		return [0, 0];
	const hue = max === r ? (g - b) / range : max === g ? 2 + (b - r) / range : 4 + (r - g) / range;
	const saturation = range / (1 - Math.abs(max + min - 1));
	return [Math.round((hue * 60 + 360) % 360), Math.round(Math.min(66, saturation * 80))];
}

function hash(s) {
	let h = 7;
	for (let i = 0; i < s.length; i++)
		h = Math.imul(h, 31) + s.charCodeAt(i) | 0;
	return h >>> 0;
}
