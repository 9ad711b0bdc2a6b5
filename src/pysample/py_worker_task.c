/* Whom a Python worker works for: see py_worker.h. By its own TaskContext; while it has none, by
 * the thread of the JVM that its socket leads to. */
#include "pysample/py_worker.h"

#include <errno.h>
#include <string.h>

enum { TASK_SEARCH_NS = 500000000 }; /* between looks for the class */

/* For all threads: they work for the same task. */
static void write_socket(struct sp_pyworker *w, struct sp_pysampling *s, int64_t task,
	uint64_t since_ns, uint64_t now_ns)
{
	for (size_t i = 0; i < w->thread_count && w->java; i++) {
		char name[96];

		sp_pyworker_thread_name(w, &w->threads[i], name, sizeof(name));
		sp_pyrecord_socket(s->record,
			sp_pyrecord_thread(s->record, w->threads[i].tid, name, sp_pyworker_kind(w)),
			w->java, task, since_ns, now_ns);
	}
}

static uint64_t run_of(const struct sp_pyworker *w)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < w->thread_count; i++)
		sum += w->threads[i].run_ns;
	return sum;
}

bool sp_pyworker_is_unknown(const struct sp_pyworker *w)
{
	return w->python && w->worker && w->task.tid < 0 && run_of(w) != w->idle_run_ns;
}

void sp_pyworker_socket(
	struct sp_pyworker *w, struct sp_pysampling *s, uint32_t java, uint64_t now_ns)
{
	w->java = java;
	w->idle_run_ns = run_of(w);
	if (!java)
		return;
	sp_pyrecord_hold(s->record);
	write_socket(w, s, w->task.tid, w->task.tid < 0 ? w->idle_ns : now_ns, now_ns);
	sp_pyrecord_release(s->record);
	w->idle_ns = now_ns;
}

/* The span of its task so far, for each of its threads. */
static void write_task(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns)
{
	for (size_t i = 0; i < w->thread_count && w->task.tid >= 0; i++) {
		char name[96];

		sp_pyworker_thread_name(w, &w->threads[i], name, sizeof(name));
		sp_pyrecord_task(s->record, &w->task,
			sp_pyrecord_thread(s->record, w->threads[i].tid, name, sp_pyworker_kind(w)),
			w->task_since_ns, now_ns);
	}
}

void sp_pyworker_end_task(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns)
{
	for (size_t i = 0; i < w->thread_count; i++) {
		sp_pyworker_wall(&w->threads[i], s);
		sp_pyworker_settle(&w->threads[i], s);
	}
	write_task(w, s, now_ns);
}

void sp_pyworker_flush(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns, bool end)
{
	if (end) {
		sp_pyworker_end_task(w, s, now_ns);
		return;
	}
	for (size_t i = 0; i < w->thread_count; i++)
		sp_pyworker_wall(&w->threads[i], s);
	if (sp_pyrecord_is_joined(s->record))
		write_task(w, s, now_ns);
}

/* The first one of a new process began before its context was there: all that it did until then was
 * done for it. One that had a task when it was first looked at has had it since before that; its
 * first sample covers the interval before the look. */
static uint64_t begin_of(
	const struct sp_pyworker *w, const struct sp_pysampling *s, uint64_t now_ns)
{
	if (w->had_task && w->was_idle)
		return now_ns;
	return w->first_ns > s->wall_ns ? w->first_ns - s->wall_ns : 0;
}

void sp_pyworker_task(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns)
{
	struct sp_pytask now = {-1, -1, -1, -1};
	int r = w->task_place.slot ? sp_pytask_read(&w->reader, &w->task_place, &now) : -ESTALE;

	if (r == -ESTALE && w->task_search_ns <= now_ns) {
		if (sp_pytask_find(&w->reader, &w->task_place) < 0)
			memset(&w->task_place, 0, sizeof(w->task_place));
		w->task_search_ns = now_ns + TASK_SEARCH_NS;
		if (w->task_place.slot)
			r = sp_pytask_read(&w->reader, &w->task_place, &now);
	}
	if (now_ns < w->first_ns) /* the look began before the worker was found */
		w->first_ns = now_ns;
	w->was_idle |= r == -ENOENT && w->task_place.slot;
	if (r == -EAGAIN || r == -ESTALE || now.tid == w->task.tid)
		return;
	sp_pyrecord_hold(s->record);
	sp_pyworker_end_task(w, s, now_ns);
	if (w->task.tid < 0)
		write_socket(w, s, -1, w->idle_ns, now_ns); /* it was the new one's all along */
	w->idle_ns = now_ns;
	w->java = 0;
	if (now.tid >= 0)
		sp_pyreader_forget(&w->reader); /* it has loaded its functions anew */
	w->task = now;
	w->task_since_ns = begin_of(w, s, now_ns);
	w->had_task |= now.tid >= 0;
	w->was_idle |= now.tid >= 0;
	sp_pyrecord_release(s->record);
}
