/* The task of a thread at a time, and of a name: see task_spans.h. */
#include "prof/load/task_spans.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define NEAR_NS 20000000ull

/* The first span of the list behind that place. */
static size_t behind(const struct sp_task_spans *s, uint32_t tid, uint64_t time_ns)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct sp_task_run *x = &s->list[mid].run;

		if (x->tid < tid || (x->tid == tid && x->start_ns <= time_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Whether nothing of the thread begins between the start of that span and the time. */
static bool is_latest(const struct sp_task_spans *s, size_t i, uint32_t tid, uint64_t time_ns)
{
	const struct sp_task_run *x = &s->list[i].run;

	return x->tid == tid && x->start_ns <= time_ns && x->end_ns >= time_ns &&
	       (i + 1 == s->count || tid != s->list[i + 1].run.tid ||
		       s->list[i + 1].run.start_ns > time_ns);
}

uint32_t sp_task_spans_find(
	const struct sp_task_spans *s, uint32_t tid, uint64_t time_ns, uint32_t last)
{
	size_t low;

	if (last && last <= s->count && is_latest(s, last - 1, tid, time_ns))
		return last;
	low = behind(s, tid, time_ns);

	/* spans of one thread nest: a few steps back is where the innermost open one is */
	for (size_t i = low, left = 64; i-- > 0 && left-- > 0;) {
		if (s->list[i].run.tid != tid)
			return 0;
		if (s->list[i].run.end_ns >= time_ns)
			return (uint32_t)i + 1;
	}
	return 0;
}

uint32_t sp_task_spans_before(const struct sp_task_spans *s, uint32_t tid, uint64_t time_ns)
{
	size_t next = behind(s, tid, time_ns);

	return next > 0 && s->list[next - 1].run.tid == tid ? (uint32_t)next : 0;
}

static bool same_name(const struct sp_task_name *a, const struct sp_task_name *b)
{
	return a->task_id == b->task_id && a->stage == b->stage && a->index == b->index &&
	       a->stage_attempt == b->stage_attempt && a->attempt == b->attempt;
}

uint32_t sp_task_spans_near(
	const struct sp_task_spans *s, uint32_t tid, uint64_t time_ns, bool *ret_last)
{
	size_t next = behind(s, tid, time_ns);
	const struct sp_task_run *b = next < s->count ? &s->list[next].run : NULL;
	const struct sp_task_run *a = next > 0 ? &s->list[next - 1].run : NULL;
	uint64_t after, before;

	b = b && b->tid == tid ? b : NULL;
	a = a && a->tid == tid ? a : NULL;
	before = a ? time_ns - a->end_ns : UINT64_MAX;
	after = b ? b->start_ns - time_ns : UINT64_MAX;
	*ret_last = b == NULL;
	if (before > NEAR_NS && after > NEAR_NS)
		return 0;
	return (uint32_t)(after < before ? next + 1 : next);
}

/* A name may outlive its span; it means no other task. */
static uint32_t known_task(const struct sp_task_spans *s, const struct sp_task_name *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].run.name.task_id == name->task_id && !s->list[i].run.helper)
			return (uint32_t)i + 1;
	return 0;
}

uint32_t sp_task_spans_name(struct sp_task_spans *s, const struct sp_task_name *name)
{
	size_t i = known_task(s, name);

	if (i)
		return (uint32_t)i;
	pthread_mutex_lock(s->lock);
	while (i < s->named_count && !same_name(&s->named[i], name))
		i++;
	if (i == s->named_count && sp_grow_one(&s->named, i, sizeof(*s->named)) == 0)
		s->named[s->named_count++] = *name;
	i = i < s->named_count ? s->count + i + 1 : 0;
	pthread_mutex_unlock(s->lock);
	return (uint32_t)i;
}
