/* Pass 1 over a recording: see load_survey.h. */
#include "prof/load/load_survey.h"

#include <errno.h>
#include <string.h>

#include "jfr/reader.h"

static bool needs_tasks(const struct sp_load_opts *o)
{
	return o->tasks || o->by == SP_BY_STAGE || o->by == SP_BY_TASK || o->by == SP_BY_APP ||
	       o->by == SP_BY_SQL || o->by == SP_BY_EXECUTOR || o->stage || o->task || o->sql ||
	       o->executor_id || o->host;
}

static bool needs_leaks(const struct sp_load_opts *o)
{
	for (size_t i = 0; i < o->event_count; i++)
		if (strcmp(o->events[i], "leak") == 0)
			return true;
	return false;
}

unsigned sp_load_survey_topics(const struct sp_load_opts *o)
{
	return (needs_tasks(o) ? SP_LOAD_TASKS : 0u) | (needs_leaks(o) ? SP_LOAD_LEAKS : 0u);
}

const char *const *sp_load_no_fields(void *ctx, int wanted)
{
	static const char *const none[] = {NULL};

	return none;
}

static int want_live(void *ctx, const char *type)
{
	return strcmp(type, "sparkprof.LiveSoFar") == 0	  ? 1
	       : strcmp(type, "profiler.LiveObject") == 0 ? 2
							  : 0;
}

static int take_dump(void *ctx, const struct sp_jfr_event *e)
{
	uint64_t *last = ctx;

	*last = e->wanted == 2 ? UINT64_MAX : e->start_ns > *last ? e->start_ns : *last;
	return 0;
}

static int find_dump(int fd, uint64_t *ret_ns)
{
	struct sp_jfr_visitor v = {
		.ctx = ret_ns, .want = want_live, .fields = sp_load_no_fields, .event = take_dump};
	struct sp_dict *dict;
	int r = sp_dict_new(&dict, SP_LOAD_DICT_CAP);

	if (r < 0)
		return r;
	*ret_ns = 1;
	r = sp_jfr_read(fd, dict, &v, NULL, NULL);
	sp_dict_free(dict);
	return r == -ENOMEM ? r : 0;
}

int sp_load_survey(struct sp_load_survey *s, int fd, unsigned topics)
{
	int r = 0;

	if (topics & SP_LOAD_LEAKS)
		r = sp_leaks_read(&s->leaks, fd);
	if (r == 0 && (topics & SP_LOAD_DUMPS))
		r = find_dump(fd, &s->dump_ns);
	if (r == 0 && (topics & SP_LOAD_TASKS))
		r = sp_task_spans_read(&s->spans, fd);
	return r;
}

void sp_load_survey_done(struct sp_load_survey *s)
{
	sp_task_spans_done(&s->spans);
	sp_leaks_done(&s->leaks);
}
