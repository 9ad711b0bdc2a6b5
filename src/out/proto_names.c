/* Names and numbers of pprof and OTLP: see proto_names.h. */
#include "out/proto_names.h"

#include <stdio.h>
#include <string.h>

#include "out/proto_put.h"
#include "prof/model/tasks.h"

enum { CAP = 1 << 30 };

int sp_proto_names_init(struct sp_proto_names *n)
{
	int r = sp_dict_new(&n->strings, CAP);

	return r < 0 ? r : sp_dict_new(&n->functions, CAP);
}

void sp_proto_names_done(struct sp_proto_names *n)
{
	sp_dict_free(n->strings);
	sp_dict_free(n->functions);
}

uint32_t sp_proto_string(struct sp_proto_names *n, const char *s)
{
	return *s ? sp_dict_string(n->strings, s, strlen(s)) : 0;
}

uint32_t sp_proto_function(
	struct sp_proto_names *n, const char *name, uint32_t *ret_string, bool *ret_new)
{
	struct sp_method m = {.name_id = sp_proto_string(n, name)};
	uint32_t id = sp_dict_method(n->functions, &m);

	*ret_string = m.name_id;
	*ret_new = m.name_id && id > n->functions_written;
	if (*ret_new)
		n->functions_written = id;
	return id;
}

/* Locations have ids of their own: a frame of the dictionary's threads, which are (function, line).
 */
uint32_t sp_proto_location(
	struct sp_proto_names *n, uint32_t function, uint32_t line, bool *ret_new)
{
	struct sp_thread key = {.tid = function, .java_id = line};
	uint32_t id = function ? sp_dict_thread(n->functions, &key) : 0;

	*ret_new = id > n->locations_written;
	if (*ret_new)
		n->locations_written = id;
	return id;
}

void sp_proto_put_line(struct sp_buf *b, uint32_t field, uint32_t function, uint32_t line)
{
	SP_AUTO_BUF struct sp_buf text = {0};

	sp_proto_put_number(&text, 1, function);
	if (line)
		sp_proto_put_number(&text, 2, line);
	b->failed |= text.failed;
	sp_proto_put_bytes(b, field, text.data, text.len);
}

static void put_number(
	sp_proto_put_label *put, void *ctx, enum sp_proto_label label, int64_t number)
{
	char text[24];

	if (number < 0)
		return;
	snprintf(text, sizeof(text), "%lld", (long long)number);
	put(ctx, label, text);
}

static void put_stage(sp_proto_put_label *put, void *ctx, int64_t stage, int64_t attempt)
{
	char text[48];

	if (stage < 0)
		return;
	snprintf(text, sizeof(text), attempt < 0 ? "%lld" : "%lld.%lld", (long long)stage,
		(long long)attempt);
	put(ctx, SP_PROTO_STAGE, text);
}

void sp_proto_labels_of_task(
	const struct sp_profile *p, uint32_t task, sp_proto_put_label *put, void *ctx)
{
	const struct sp_task_run *t = task && task <= p->task_count ? &p->tasks[task - 1] : NULL;
	const struct sp_stage *s;

	if (!t)
		return;
	s = sp_profile_find_stage(p, t->app, t->name.stage, t->name.stage_attempt);
	put(ctx, SP_PROTO_APP, sp_dict_get_string(p->dict, t->app, NULL));
	put(ctx, SP_PROTO_EXECUTOR, sp_dict_get_string(p->dict, t->executor, NULL));
	put(ctx, SP_PROTO_SPAN, sp_dict_get_string(p->dict, t->label, NULL));
	put_stage(put, ctx, t->name.stage, t->name.stage_attempt);
	put_number(put, ctx, SP_PROTO_TASK, t->name.task_id);
	put_number(put, ctx, SP_PROTO_SQL, s ? s->sql : -1);
}
