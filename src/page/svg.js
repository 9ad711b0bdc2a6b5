/* Zoom by click, search by Ctrl-F, for an SVG flame graph opened in a browser. */
(function () {
'use strict';
var frames = [].slice.call(document.querySelectorAll('#frames > g')), left = 10, width = 1180;
var up = 1; /* -1: the root is on top */
var facts = document.getElementById('facts'), said = facts.textContent;
frames.forEach(function (g) {
	var r = g.querySelector('rect'), t = g.querySelector('text');
	g.box = {x: +r.getAttribute('x'), w: +r.getAttribute('width'), y: +r.getAttribute('y')};
	g.rect = r;
	up = g.box.y > frames[0].box.y ? -1 : up;
	g.name = g.querySelector('title').textContent;
	g.label = t;
	g.addEventListener('click', function () { zoom(g.box); });
	g.addEventListener('mouseover', function () { facts.textContent = g.name; });
	g.addEventListener('mouseout', function () { facts.textContent = said; });
});
function zoom(z) {
	var scale = width / z.w;
	frames.forEach(function (g) {
		var b = g.box, below = (b.y - z.y) * up > 0, caller = below && b.x <= z.x + 0.2 && b.x + b.w >= z.x + z.w - 0.6;
		var x = caller ? left : left + (b.x - z.x) * scale, w = caller ? width : b.w * scale;
		var off = !caller && (below || x + w < left + 0.1 || x > left + width - 0.1);
		g.setAttribute('class', (off ? 'off ' : caller ? 'dim ' : '') + (g.hit ? 'match' : ''));
		if (off)
			return;
		g.rect.setAttribute('x', x);
		g.rect.setAttribute('width', Math.max(0.3, w));
		write(g, x, w);
	});
}
function write(g, x, w) {
	var room = Math.floor((w - 6) / 6.6), name = g.name.replace(/ \([^()]*\)$/, '');
	if (!g.label) {
		g.label = document.createElementNS('http://www.w3.org/2000/svg', 'text');
		g.label.setAttribute('y', g.box.y + 13);
		g.appendChild(g.label);
	}
	if (name.length > room && !/::|^[^(]* /.test(name))
		name = name.slice(name.lastIndexOf('/') + 1);
	g.label.setAttribute('x', x + 3);
	g.label.textContent = room < 3 ? '' : name.length <= room ? name : name.slice(0, room - 1) + '…';
}
function search() {
	var text = prompt('Search frames (regular expression)', ''), pattern, n = 0;
	if (text === null)
		return;
	try {
		pattern = text && new RegExp(text);
	} catch (e) {
		facts.textContent = e.message;
		return;
	}
	frames.forEach(function (g) {
		g.hit = pattern && pattern.test(g.name);
		n += g.hit ? 1 : 0;
		g.setAttribute('class', (g.getAttribute('class') || '').replace('match', '') + (g.hit ? ' match' : ''));
	});
	facts.textContent = said + (text ? '; ' + n + ' frames match ' + text : '');
}
addEventListener('keydown', function (e) {
	if ((e.ctrlKey || e.metaKey) && e.key === 'f' || e.key === '/') {
		e.preventDefault();
		search();
	} else if (e.key === 'Escape') {
		zoom(frames[0].box);
	}
});
}());
