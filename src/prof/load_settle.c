/* What the readers left behind becomes a whole profile: names and intervals of events, weights,
 * what was lost, and what --by could not tell. See load_event.h. */
#include "prof/load_event.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

static void settle_lost(struct sp_loading *l)
{
	uint64_t told = 0;

	for (size_t i = 0; i < SP_LOAD_REASONS; i++) {
		told += l->reasons[i].count;
		sp_profile_lost(l->p, l->reasons[i].text, l->reasons[i].count);
	}
	if (l->lost > told)
		sp_profile_lost(l->p, "reason not told", l->lost - told);
	l->p->too_deep = l->too_deep;
	l->p->depth_told = l->depth_told;
}

/* Weights of events that count alike: samples times the interval. */
static void weigh_alike(struct sp_profile *p, unsigned event)
{
	struct sp_event *e = &p->events[event];

	if (e->interval == 0) {
		e->unit = SP_UNIT_COUNT; /* how long a sample stands for is not known */
		return;
	}
	for (size_t i = 0; i < p->row_count; i++)
		if (p->rows[i].event == event)
			p->rows[i].weight = p->rows[i].count * e->interval;
	e->weight = e->samples * e->interval;
}

/* async-profiler gives running threads no time span: such a sample stands for its intervals. */
static void weigh_missing(struct sp_profile *p, unsigned event)
{
	struct sp_event *e = &p->events[event];

	for (size_t i = 0; i < p->row_count; i++) {
		if (p->rows[i].event != event || p->rows[i].weight > 0)
			continue;
		p->rows[i].weight = p->rows[i].count * e->interval;
		e->weight += p->rows[i].weight;
	}
}

static bool is_time(const char *event)
{
	static const char *const names[] = {
		"cpu", "itimer", "ctimer", "wall", "cpu-clock", "task-clock"};

	for (size_t i = 0; i < SP_COUNT(names); i++)
		if (strcmp(names[i], event) == 0)
			return true;
	return false;
}

static const char *event_name(const struct sp_profile *p, unsigned i)
{
	return sp_dict_get_string(p->dict, p->events[i].name_id, NULL);
}

/* A wall recording names its event "wall"; where it has samples of running threads beside, these
 * stay "cpu". */
static void settle_events(struct sp_loading *l)
{
	struct sp_profile *p = l->p;
	bool has_wall = false;

	for (unsigned i = 0; i < p->event_count; i++)
		has_wall |= strcmp(event_name(p, i), "wall") == 0;
	for (unsigned i = 0; i < p->event_count; i++) {
		struct sp_event *e = &p->events[i];
		const char *name = event_name(p, i);
		bool wall = strcmp(name, "wall") == 0;

		if (wall) {
			e->interval = l->wall_interval ? l->wall_interval : l->interval;
		} else if (strcmp(name, "cpu") == 0) {
			if (l->event[0] && !(has_wall && strcmp(l->event, "wall") == 0))
				e->name_id = sp_dict_string(p->dict, l->event, strlen(l->event));
			e->unit = !l->event[0] || is_time(l->event) ? SP_UNIT_NS : SP_UNIT_COUNT;
			e->interval = l->interval;
		}
		if (e->measured)
			weigh_missing(p, i);
		else
			weigh_alike(p, i);
		if (wall && !l->ours)
			e->measured = false; /* others count their samples themselves */
	}
}

/* async-profiler's converter leaves out samples that have no stack at all, and so does what is
 * compared with it. They stay counted as unknown. */
static void drop_stackless(struct sp_loading *l)
{
	struct sp_profile *p = l->p;
	size_t kept = 0;

	for (size_t i = 0; i < p->row_count && !l->ours; i++) {
		struct sp_event *e = &p->events[p->rows[i].event];

		if (p->rows[i].stack) {
			p->rows[kept++] = p->rows[i];
			continue;
		}
		e->samples -= p->rows[i].count;
		e->weight -= p->rows[i].weight;
	}
	if (l->ours || kept == p->row_count)
		return;
	p->row_count = kept;
	sp_profile_reindex(p);
}

/* Takes out the events that were not asked for. */
static int keep_events(struct sp_loading *l)
{
	const struct sp_load_opts *o = l->opts;
	uint32_t mask = 0;
	bool cpu_too = true;

	for (unsigned i = 0; i < l->p->event_count; i++) {
		for (size_t k = 0; k < o->event_count; k++) {
			if (strcmp(event_name(l->p, i), o->events[k]) != 0)
				continue;
			mask |= 1u << i;
			cpu_too &= strcmp(o->events[k], "cpu") != 0;
		}
	}
	/* "cpu" is what people call whatever sampled CPU time */
	for (size_t k = 0; k < o->event_count && cpu_too; k++) {
		for (unsigned i = 0; i < l->p->event_count && strcmp(o->events[k], "cpu") == 0;
			i++) {
			const char *name = event_name(l->p, i);

			if (strcmp(name, "wall") != 0 &&
				(is_time(name) || strcmp(name, "cpu-time") == 0))
				mask |= 1u << i;
		}
	}
	return sp_profile_keep_events(l->p, mask);
}

/* Says so where --by found nothing to put there. */
static void settle_roots(struct sp_loading *l)
{
	struct sp_profile *p = l->p;
	const char *name = l->executor[0] ? l->executor : l->opts->executor;
	uint32_t root = 0;
	bool found = false;

	if (l->opts->by == SP_BY_EXECUTOR) {
		root = sp_dict_string(p->dict, name ? name : "?", name ? strlen(name) : 1);
		for (size_t i = 0; i < p->row_count; i++)
			p->rows[i].root = root;
		sp_profile_reindex(p);
	}
	if (l->opts->by != SP_BY_STAGE && l->opts->by != SP_BY_TASK)
		return;
	for (size_t i = 0; i < p->row_count && !found; i++)
		found = strncmp(sp_dict_get_string(p->dict, p->rows[i].root, NULL), "[no ", 4) != 0;
	if (!found)
		sp_profile_note(p, "no stage or task is known here: the recording has no "
				   "profiler.Span events and no thread that Spark named after a "
				   "task; try --by thread");
	else if (!l->ours && !(l->spans && l->spans->count))
		sp_profile_note(p,
			"stages and tasks are taken from thread names, and this "
			"recording keeps only the last name of each thread: the split is "
			"a guess");
}

int sp_loading_settle(struct sp_loading *l)
{
	int r = 0;

	l->p->start_ns = l->stats.start_ns;
	l->p->duration_ns =
		l->stats.end_ns > l->stats.start_ns ? l->stats.end_ns - l->stats.start_ns : 0;
	settle_events(l);
	if (l->opts->event_count)
		r = keep_events(l);
	drop_stackless(l);
	settle_lost(l);
	settle_roots(l);
	return r;
}
