'use strict';
/* Everything the pointer can do, the keyboard can do. One table: it is the help as well. */
const KEYS = [
	['/ or Ctrl-F', 'search by regular expression; Enter goes to the next match', null],
	['arrows', 'in the graph: to callee, caller and neighbours', null],
	['Enter', 'zoom to the selected frame', null],
	['Backspace', 'zoom out by one', (app, flame) => app.zoomOut(flame)],
	['Escape', 'end the search, then the zoom', (app) => app.set(app.state.search ? {search: ''} : {zoom: ''})],
	['0', 'undo zoom, focus and hidden frames', (app) => app.reset()],
	['f', 'focus on the selected method', (app) => app.act('focus')],
	['s', 'sandwich: its callers and callees', (app) => app.act('sandwich')],
	['h', 'hide the selected method', (app) => app.act('hide')],
	['c', 'copy its name', (app) => app.act('copy', false)],
	['C', 'copy its stack', (app) => app.act('copy', true)],
	['1 2 3 4', 'flame graph, callers, time order, sandwich', null],
	['i', 'root on top or at the bottom', (app) => byId('up').click()],
	['b', 'show or fold the frames that threads start with', (app) => byId('starts').click()],
	['r', 'collapse recursion', (app) => byId('recursion').click()],
	['a', 'colour by area, or by type or change', (app) => app.setColour(app.colouring() !== 'area' ? 'area' : app.model.comparing ? 'change' : 'type')],
	['t', 'show or hide the table', (app) => byId('side-button').click()],
	['l', 'show or fold the lanes below the strip of time', () => byId('lanes').click()],
	['x', 'compare the range with another one', (app) => app.compare()],
	['m', 'compare the chosen task with the median task of its stage', (app) => app.toggleVersus()],
	['w', 'the whole recording', () => byId('whole').click()],
	['?', 'this help', () => byId('help').showModal()],
];
const VIEWS = {1: 'flame', 2: 'callers', 3: 'time', 4: 'sandwich'};

function listenKeys(app) {
	byId('keys').replaceChildren(...KEYS.flatMap(([key, text]) => [element('dt', {textContent: key}), element('dd', {textContent: text})]),
		element('dt', {textContent: 'right click'}), element('dd', {textContent: 'copy a name, with Shift its stack'}),
		element('dt', {textContent: 'strip: arrows'}), element('dd', {textContent: 'move a range; with Shift change its end'}));
	byId('help-button').addEventListener('click', () => byId('help').showModal());
	addEventListener('keydown', (e) => {
		if ((e.ctrlKey || e.metaKey) && e.key === 'f') {
			e.preventDefault();
			findField();
			return;
		}
		if (e.ctrlKey || e.metaKey || e.altKey || byId('help').open)
			return;
		if (e.target === byId('search') ? searchKey(app, e) : e.target.tagName === 'SELECT' ? false : anyKey(app, e))
			e.preventDefault();
	});
}

function findField() {
	byId('search').focus();
	byId('search').select();
}

function searchKey(app, e) {
	if (e.key === 'Escape') {
		app.set({search: ''});
		app.flames.flame.host.focus();
		return true;
	}
	if (e.key === 'Enter') {
		app.nextMatch(e.shiftKey ? -1 : 1);
		return true;
	}
	return false;
}

function anyKey(app, e) {
	const flame = app.current && !app.current.host.hidden ? app.current : app.flames.flame;
	if (e.key === '/') {
		findField();
		return true;
	}
	if (e.target === byId('strip') && stripKey(app, e))
		return true;
	if (e.target.classList.contains('flame') && flameKey(app, e, flame))
		return true;
	if (VIEWS[e.key]) {
		app.show(VIEWS[e.key]);
		return true;
	}
	const entry = KEYS.find(([key, , act]) => act && key === e.key);
	if (entry)
		entry[2](app, flame);
	return !!entry;
}

function stripKey(app, e) {
	const direction = {ArrowLeft: -1, ArrowRight: 1}[e.key];
	if (direction)
		app.strip.step(direction, e.shiftKey);
	else if (e.key === 'Escape')
		byId('whole').click();
	else if (e.key === 'Enter' && app.strip.picking)
		app.strip.picking = false;
	else
		return false;
	app.showRange();
	return true;
}

function flameKey(app, e, flame) {
	const deeper = flame.icicle ? 'ArrowDown' : 'ArrowUp';
	if (e.key === 'ArrowUp' || e.key === 'ArrowDown')
		flame.step(e.key === deeper ? 'in' : 'out');
	else if (e.key === 'ArrowLeft' || e.key === 'ArrowRight')
		flame.step(e.key === 'ArrowLeft' ? 'left' : 'right');
	else if (e.key === 'Enter' && flame.selected)
		app.zoom(flame, flame.selected);
	else
		return false;
	return true;
}

/* Scrolls to the first match in the order of rows, if none is in sight: the graph stays where it shows one. */
App.prototype.firstMatch = function firstMatch() {
	const flame = this.state.view === 'sandwich' ? this.flames.callees : this.flames.flame, {layout} = flame;
	if (!this.found || !this.found.names || !layout)
		return;
	layout.ensure(layout.depth);
	const seen = (r) => flame.rowTop(r) >= 0 && flame.rowTop(r) + ROW <= flame.height;
	const rows = layout.rows.map((row, r) => ({r, item: row.items.find((i) => i.name >= 0 && this.found.matched[i.name])})).filter(({item}) => item);
	if (!rows.length || rows.some(({r}) => seen(r)))
		return;
	flame.setContent();
	flame.reveal(rows[0].item);
};

/* Selects the next matching frame that is drawn, row by row. */
App.prototype.nextMatch = function nextMatch(direction) {
	const flame = this.state.view === 'sandwich' ? this.flames.callees : this.flames.flame, list = [];
	if (!this.found)
		return;
	flame.layout.ensure(flame.layout.depth);
	for (const row of flame.layout.rows)
		for (const item of row.items)
			if (item.name >= 0 && this.found.matched[item.name])
				list.push(item);
	if (!list.length)
		return;
	const at = list.indexOf(flame.selected), next = list[(at + direction + list.length) % list.length];
	this.current = flame;
	flame.select(next);
	flame.reveal(next);
};
