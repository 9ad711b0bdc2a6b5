/* OpenTelemetry's profiles (package v1development of its protocol), as a collector receives them:
 * one request. A profile there has one kind of value: each event has one of its samples and one of
 * its weight, with the same stacks. Attributes say thread, state and, of samples within a Spark
 * task, application, executor, stage ("5.0"), task (its TID) and SQL. The first entry of each table
 * is empty and means "none". */
#include "out/out.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "out/proto_names.h"
#include "out/proto_put.h"

/* Fields of the dictionary. */
enum { MAPPINGS = 1, LOCATIONS, FUNCTIONS, LINKS, STRINGS, ATTRIBUTES, STACKS };

struct writer {
	const struct sp_profile *p;
	struct sp_buf tables;	  /* the dictionary's, but for its strings */
	struct sp_buf profiles;	  /* the scope's */
	struct sp_buf samples[2]; /* of the event in hand: by samples, by weight */
	struct sp_buf message, packed;
	struct sp_proto_names names; /* threads of its strings are attributes */
	uint32_t attributes_written, stacks_written;
	uint64_t written; /* profiles */
};

static void writer_done(struct writer *w)
{
	struct sp_buf *const bufs[] = {
		&w->tables, &w->profiles, &w->samples[0], &w->samples[1], &w->message, &w->packed};

	for (size_t i = 0; i < SP_COUNT(bufs); i++)
		sp_buf_done(bufs[i]);
	sp_proto_names_done(&w->names);
}

static void put_table(struct writer *w, uint32_t table)
{
	sp_proto_put_bytes(&w->tables, table, w->message.data, w->message.len);
}

static uint32_t function(struct writer *w, const char *name)
{
	uint32_t string;
	bool is_new;
	uint32_t id = sp_proto_function(&w->names, name, &string, &is_new);

	if (is_new) {
		sp_buf_clear(&w->message);
		sp_proto_put_number(&w->message, 1, string);
		put_table(w, FUNCTIONS);
	}
	return id;
}

static uint32_t location(struct writer *w, const struct sp_view_frame *f)
{
	uint32_t of = function(w, f->name);
	bool is_new;
	uint32_t id = sp_proto_location(&w->names, of, f->line, &is_new);

	if (is_new) {
		sp_buf_clear(&w->message);
		sp_proto_put_line(&w->message, 3, of, f->line);
		put_table(w, LOCATIONS);
	}
	return id;
}

/* AnyValue { string_value } as field @field. */
static void put_value(struct sp_buf *b, uint32_t field, const char *s)
{
	SP_AUTO_BUF struct sp_buf value = {0};

	sp_proto_put_text(&value, 1, s);
	b->failed |= value.failed;
	sp_proto_put_bytes(b, field, value.data, value.len);
}

/* Adds an attribute's place to w->packed. */
static void attribute(struct writer *w, const char *key, const char *value)
{
	struct sp_thread pair = {.tid = sp_proto_string(&w->names, key),
		.java_id = sp_proto_string(&w->names, value)};
	uint32_t id = *value ? sp_dict_thread(w->names.strings, &pair) : 0;

	if (!id)
		return;
	if (id > w->attributes_written) {
		w->attributes_written = id;
		sp_buf_clear(&w->message);
		sp_proto_put_number(&w->message, 1, pair.tid);
		put_value(&w->message, 2, value);
		put_table(w, ATTRIBUTES);
	}
	sp_proto_put_varint(&w->packed, id);
}

static void attribute_of_task(void *ctx, enum sp_proto_label which, const char *text)
{
	static const char *const keys[SP_PROTO_LABELS] = {"spark.application.id",
		"spark.executor.id", "span", "spark.stage", "spark.task", "spark.sql"};

	attribute(ctx, keys[which], text);
}

/* The stack's place in its table; leaf first. 0: out of memory. */
static uint32_t add_stack(struct writer *w, const struct sp_view *v, const struct sp_view_stack *s)
{
	sp_buf_clear(&w->packed);
	for (uint32_t i = s->count; i-- > 0;) {
		struct sp_view_frame f = sp_view_get_frame(v, s->frames[i]);
		uint32_t id = location(w, &f);

		if (id == 0)
			return 0;
		sp_proto_put_varint(&w->packed, id);
	}
	sp_buf_clear(&w->message);
	sp_proto_put_bytes(&w->message, 1, w->packed.data, w->packed.len);
	put_table(w, STACKS);
	return ++w->stacks_written;
}

static int add_sample(struct writer *w, const struct sp_view *v, const struct sp_view_stack *s)
{
	const struct sp_dict *d = w->p->dict;
	const struct sp_thread *t = sp_dict_get_thread(d, s->thread);
	const uint64_t values[] = {s->samples, s->weight};
	uint32_t stack = add_stack(w, v, s);

	if (!stack)
		return -ENOMEM;
	sp_buf_clear(&w->packed);
	if (t)
		attribute(w, "thread.name", sp_dict_get_string(d, t->name_id, NULL));
	attribute(w, "thread.state", sp_dict_get_string(d, s->state, NULL));
	sp_proto_labels_of_task(w->p, s->task, attribute_of_task, w);
	for (unsigned i = 0; i < 2; i++) {
		SP_AUTO_BUF struct sp_buf value = {0};

		sp_proto_put_varint(&value, values[i]);
		sp_buf_clear(&w->message);
		sp_proto_put_number(&w->message, 1, stack);
		sp_proto_put_bytes(&w->message, 2, w->packed.data, w->packed.len);
		sp_proto_put_bytes(&w->message, 4, value.data, value.len);
		sp_proto_put_bytes(&w->samples[i], 2, w->message.data, w->message.len);
		w->samples[i].failed |= value.failed;
	}
	return 0;
}

/* {type, unit} */
static void value_type(
	struct writer *w, struct sp_buf *to, uint32_t field, const char *type, const char *unit)
{
	sp_buf_clear(&w->message);
	sp_proto_put_number(&w->message, 1, sp_proto_string(&w->names, type));
	sp_proto_put_number(&w->message, 2, sp_proto_string(&w->names, unit));
	sp_proto_put_bytes(to, field, w->message.data, w->message.len);
}

/* Sixteen bytes that identify this profile. */
static void put_id(struct writer *w, struct sp_buf *to)
{
	const struct sp_profile *p = w->p;
	const uint64_t of[] = {p->start_ns, p->duration_ns, p->samples, ++w->written};
	uint64_t id[2] = {sp_hash_bytes(of, sizeof(of)), sp_hash_mix(of[0], of[1] ^ of[3])};

	sp_proto_put_bytes(to, 7, id, sizeof(id));
}

static void put_profile(struct writer *w, const struct sp_event *e, struct sp_buf *samples,
	const char *type, const char *unit)
{
	SP_AUTO_BUF struct sp_buf b = {0};

	value_type(w, &b, 1, type, unit);
	sp_buf_add(&b, samples->data, samples->len);
	sp_proto_put_fixed64(&b, 3, w->p->start_ns);
	sp_proto_put_number(&b, 4, w->p->duration_ns);
	if (e->interval) {
		value_type(w, &b, 5, sp_dict_get_string(w->p->dict, e->name_id, NULL),
			sp_proto_unit(e->unit));
		sp_proto_put_number(&b, 6, e->interval);
	}
	put_id(w, &b);
	sp_proto_put_bytes(&w->profiles, 2, b.data, b.len);
	w->profiles.failed |= b.failed | samples->failed;
}

static int add_event(struct writer *w, const struct sp_event *e, const struct sp_view_opts *opts)
{
	const char *name = sp_dict_get_string(w->p->dict, e->name_id, NULL);
	struct sp_view_opts o = *opts;
	char count[160];
	struct sp_view *v;
	int r;

	o.event = name;
	o.split = o.lines = true;
	o.threads = false; /* an attribute */
	r = sp_view_new(w->p, &o, &v);
	if (r < 0)
		return r;
	sp_buf_clear(&w->samples[0]);
	sp_buf_clear(&w->samples[1]);
	for (size_t i = 0; i < v->stack_count && r == 0; i++)
		r = add_sample(w, v, &v->stacks[i]);
	sp_view_free(v);
	snprintf(count, sizeof(count), "%s_samples", name);
	put_profile(w, e, &w->samples[0], count, "count");
	put_profile(w, e, &w->samples[1], name, sp_proto_unit(e->unit));
	return r;
}

/* KeyValue as field @field. */
static void put_pair(struct sp_buf *b, uint32_t field, const char *key, const char *value)
{
	SP_AUTO_BUF struct sp_buf pair = {0};

	if (!*value)
		return;
	sp_proto_put_text(&pair, 1, key);
	put_value(&pair, 2, value);
	sp_proto_put_bytes(b, field, pair.data, pair.len);
}

/* The resource and what it did; the scope says by which program, and how well. */
static void put_resource(struct writer *w, struct sp_buf *out)
{
	const struct sp_profile *p = w->p;
	SP_AUTO_BUF struct sp_buf resource = {0}, scope = {0}, scoped = {0}, all = {0}, line = {0};

	put_pair(&resource, 1, "service.name",
		sp_dict_get_string(p->dict, p->title_id ? p->title_id : p->target_id, NULL));
	put_pair(&resource, 1, "host.name", sp_dict_get_string(p->dict, p->host_id, NULL));
	put_pair(&resource, 1, "process.runtime.description",
		sp_dict_get_string(p->dict, p->runtime_id, NULL));
	sp_out_summary(p, &line);
	sp_proto_put_text(&scope, 1, "sparkprof");
	sp_proto_put_text(&scope, 2, SP_VERSION);
	put_pair(&scope, 3, "sparkprof.summary", sp_buf_str(&line));
	sp_proto_put_bytes(&scoped, 1, scope.data, scope.len);
	sp_buf_add(&scoped, w->profiles.data, w->profiles.len);
	sp_proto_put_bytes(&all, 1, resource.data, resource.len);
	sp_proto_put_bytes(&all, 2, scoped.data, scoped.len);
	sp_proto_put_bytes(out, 1, all.data, all.len);
	out->failed |= resource.failed | scope.failed | scoped.failed | all.failed;
}

static void put_dictionary(struct writer *w, struct sp_buf *out)
{
	SP_AUTO_BUF struct sp_buf b = {0};

	for (uint32_t table = MAPPINGS; table <= STACKS; table++)
		sp_proto_put_bytes(&b, table, "", 0);
	sp_buf_add(&b, w->tables.data, w->tables.len);
	for (uint32_t i = 1; i <= sp_dict_strings(w->names.strings); i++)
		sp_proto_put_text(&b, STRINGS, sp_dict_get_string(w->names.strings, i, NULL));
	sp_proto_put_bytes(out, 2, b.data, b.len);
	out->failed |= b.failed;
}

int sp_out_otlp(const struct sp_profile *p, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	__attribute__((cleanup(writer_done))) struct writer w = {.p = p};
	SP_AUTO_BUF struct sp_buf out = {0};
	int r = sp_proto_names_init(&w.names);

	for (unsigned i = 0; i < p->event_count && r == 0; i++) {
		const char *only = opts->view.event;

		if (p->events[i].samples &&
			(!only || strcmp(only, sp_profile_event_name(p, i)) == 0))
			r = add_event(&w, &p->events[i], &opts->view);
	}
	if (r < 0)
		return r;
	put_resource(&w, &out);
	put_dictionary(&w, &out);
	if (out.failed || w.profiles.failed || w.tables.failed || w.packed.failed)
		return -ENOMEM;
	sp_sink_write(sink, out.data, out.len);
	return 0;
}
