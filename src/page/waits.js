'use strict';
/* What time was spent on, of the wall clock: each sample has one class, by the kind of its stack and by the
 * state of its thread, as src/prof/spark/time_class.h has them. */
const WAIT_HUES = {
	CPU: [142, 38], 'CPU, spinning for a lock': [120, 66], 'waits for a core': [58, 70], GC: [356, 62], safepoint: [338, 22], 'shuffle read wait': [216, 62], 'shuffle write': [276, 46], serialisation: [36, 70], 'HDFS/S3': [190, 56],
	disk: [298, 34], network: [204, 40], 'pipe or child process': [262, 40], lock: [14, 66], 'class initialisation': [84, 24], 'JVM waits for Python': [50, 66], 'codegen compile': [330, 46], 'task launch and result': [248, 30], 'Python CPU': [96, 42],
	'Python serialisation': [64, 52], 'Python waits for JVM': [172, 40], 'Python blocked': [172, 18], sleep: [228, 14], idle: [212, 8], other: [0, 0],
};

class Waits {
	/* @table: classes, a row of @states + 1 for each kind; @kinds: of each of @stacks, which are leaves of @nodes. */
	constructor(names, table, states, nodes, stacks, kinds) {
		this.names = names;
		this.table = table;
		this.width = states + 1;
		this.kind = new Uint16Array(nodes.count);
		stacks.forEach((node, i) => this.kind[node] = kinds[i]);
	}
	/* @state: as rows have it, 0 where it is not known. */
	of(node, state) {
		return this.table[this.kind[node] * this.width + state];
	}
}

/* How samples of an event are split, beside each other in the table of stages: the classes of wall, else areas.
 * {title, names, colour(i), of(node, row)} */
function kindsOfWork(profile, colours, event) {
	const {areas, states} = profile.meta, rows = profile.events[event], {waits} = profile;
	if (waits && profile.meta.events[event].name === 'wall')
		return {title: 'Time spent on', names: waits.names, colour: (i) => colours.wait(waits.names[i]), of: (node, i) => waits.of(node, rows.state[i])};
	/* as sp_area_in_state: a worker that waits as it reads what is serialised waits for its JVM */
	const find = (name) => areas.findIndex((a) => a.name === name), pickle = find('Python serialisation'), forJvm = find('Python waits for JVM');
	const waiting = [false, ...states.map((s) => s && s !== 'running' && s !== 'runnable')], {area} = profile.nodes;
	return {title: 'Samples by area', names: areas.map((a) => a.name), colour: (i) => colours.area(i),
		of: (node, i) => area[node] === pickle && waiting[rows.state[i]] ? forJvm : area[node]};
}
