'use strict';
/* What every thread of a JVM starts with says nothing of its work: frames of the C library and of the
 * JVM, thread pools, Spark's way into a task. A graph opens without them. They are known by name, and
 * only from the root on: the same names further up a stack are work. */
const NATIVE_STARTS = /^(_*clone3?|start_thread|JavaMain|ThreadJavaMain|jni_(Call|invoke)\w+|thread_native_entry|java_start|thread_entry|Thread::call_run|JavaThread::(run|thread_main_inner)|JavaCalls::\w+|os::os_exception_wrapper|(StubRoutines|call_stub)\b.*)$/;
/* Packages may be cut to letters (--names=short). */
const JAVA_STARTS = new RegExp('^(' + [
	'j(ava)?.l(ang)?.(Virtual)?Thread.run(With)?',
	'j(ava)?.u(til)?.c(oncurrent)?.(ThreadPoolExecutor(.Worker)?.run(Worker)?|FutureTask.run(AndReset)?|Executors.RunnableAdapter.call|' +
		'ScheduledThreadPoolExecutor.ScheduledFutureTask.run|ForkJoinWorkerThread.run|ForkJoinPool.(runWorker|scan|WorkQueue.\\w+)|ForkJoinTask.doExec)',
	'i(o)?.n(etty)?.u(til)?.(c(oncurrent)?|i(nternal)?).(FastThreadLocalRunnable|ThreadExecutorMap.\\d+|SingleThreadEventExecutor.\\d+).run',
	'o(rg)?.a(pache)?.s(park)?.(e(xecutor)?.Executor.TaskRunner.((anonfun.)?run|Lambda|λ).*|u(til)?.(Utils|SparkErrorUtils).tryWithSafeFinally|s(cheduler)?.Task.run)',
	'o(rg)?.a(pache)?.s(park)?.TaskContext(Impl)?.runTaskWithListeners',
].join('|').replaceAll('.', '\\.').replaceAll('\\.*', '.*') + ')$');

function isStart(name) {
	const plain = name.replace(/_\[\w\]$/, '').replace(/\(.*/, '').replace(/([^:]):\d+$/, '$1');
	return NATIVE_STARTS.test(plain) || NATIVE_STARTS.test(name) || JAVA_STARTS.test(plain.replace(/[/$.]+/g, '.').replace(/\.$/, ''));
}

/* Nodes that are starts of threads: {is: 1 for each, deepest: how many one stack has at most}. Roots
 * in brackets, as --by and cut stacks have them, are no frames. */
function findStarts({parent, name, count}, strings) {
	const is = new Uint8Array(count), above = new Uint8Array(count), known = new Map();
	const starts = (id) => {
		if (!known.has(id))
			known.set(id, isStart(strings.get(id)));
		return known.get(id);
	};
	const root = (node) => node === 0 || (parent[node] === 0 && strings.get(name[node]).startsWith('['));
	let deepest = 0;
	for (let i = 1; i < count; i++) {
		const up = parent[i];
		if (!(is[up] || root(up)) || !starts(name[i]))
			continue;
		is[i] = 1;
		above[i] = Math.min(255, above[up] + 1);
		deepest = Math.max(deepest, above[i]);
	}
	return {is, deepest};
}
