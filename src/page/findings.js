'use strict';
/* What stands out: the findings of src/out/findings.h, costliest first, before the table of stages. A click shows the stage that
 * one is about, or compares the straggler with the median task, an executor with the others. */
class Findings {
	/* @on: {pick(stage), compare(label of a task), beside(executor)} */
	constructor(host, profile, on) {
		const list = profile.meta.findings || [];
		this.profile = profile;
		this.on = on;
		host.hidden = !list.length;
		if (!list.length)
			return;
		const box = element('details', {open: true}), items = element('ol');
		box.append(element('summary', {textContent: list.length === 1 ? 'What stands out' : `What stands out (${list.length})`}), items);
		items.append(...list.map((f) => this.item(f)));
		host.replaceChildren(box);
	}
	item(f) {
		const item = element('li'), target = this.targetOf(f);
		const says = element(target ? 'button' : 'span', {className: 'says', textContent: `${f.says}.`, title: target ? target.title : ''});
		if (target)
			says.addEventListener('click', target.go);
		item.append(says, element('span', {className: 'try', textContent: `Try: ${f.try}.`, title: `Try: ${f.try}.`}));
		return item;
	}
	/* What a click does: {title, go}; null: nothing. */
	targetOf({stage, attempt, task, executor}) {
		const word = `stage ${stage}.${attempt}`, {labels} = this.profile;
		const label = task === undefined ? -1 : labels.findIndex((l) => l.stage === word && !l.helper && l.task && l.task.endsWith(`TID ${task})`));
		const lane = `executor ${executor}`;
		if (executor !== undefined && labels.some((l) => l.executor === lane))
			return {title: 'Compare it with the others in the same stages', go: () => this.on.beside(lane)};
		if (label >= 0)
			return {title: 'Compare it with the median task of its stage', go: () => this.on.compare(label)};
		if (stage !== undefined && labels.some((l) => l.stage === word))
			return {title: `Show ${word} alone`, go: () => this.on.pick(word)};
		return null;
	}
}
