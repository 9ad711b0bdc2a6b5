/* pprof's profile.proto, gzipped. Every event has two values (its samples, and its weight in
 * nanoseconds, bytes or occurrences); labels say thread, state and, of samples within a Spark task,
 * app, executor, stage ("5.0"), task (its TID) and sql; functions carry line numbers. */
#include "out/out.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "prof/model/tasks.h"

enum { GZIP_WINDOW = 15 + 16, PIECE = 64 << 10 };

struct writer {
	struct sp_buf out, message, packed;
	struct sp_dict *strings;   /* owned: ids are positions in the string table */
	struct sp_dict *functions; /* owned: methods are functions by name, and locations by line */
	uint32_t functions_written, locations_written;
};

static void writer_done(struct writer *w)
{
	sp_buf_done(&w->out);
	sp_buf_done(&w->message);
	sp_buf_done(&w->packed);
	sp_dict_free(w->strings);
	sp_dict_free(w->functions);
}

static void varint(struct sp_buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		sp_buf_addc(b, (char)(v | 0x80));
	sp_buf_addc(b, (char)v);
}

static void number(struct sp_buf *b, uint32_t field, uint64_t v)
{
	varint(b, field << 3);
	varint(b, v);
}

static void bytes(struct sp_buf *b, uint32_t field, const void *data, size_t n)
{
	varint(b, field << 3 | 2);
	varint(b, n);
	sp_buf_add(b, data, n);
}

/* Position in the string table: 0 is "", as the format wants it. */
static uint32_t string(struct writer *w, const char *s)
{
	return *s ? sp_dict_string(w->strings, s, strlen(s)) : 0;
}

/* {type, unit} */
static void value_type(struct writer *w, uint32_t field, const char *type, const char *unit)
{
	sp_buf_clear(&w->message);
	number(&w->message, 1, string(w, type));
	number(&w->message, 2, string(w, unit));
	bytes(&w->out, field, w->message.data, w->message.len);
}

/* The id of a function with that name, written when new. */
static uint32_t function(struct writer *w, const char *name)
{
	struct sp_method m = {.name_id = string(w, name)};
	uint32_t id = sp_dict_method(w->functions, &m);

	if (id == 0 || m.name_id == 0)
		return id;
	if (id > w->functions_written) {
		w->functions_written = id;
		sp_buf_clear(&w->message);
		number(&w->message, 1, id);
		number(&w->message, 2, m.name_id);
		number(&w->message, 3, m.name_id);
		bytes(&w->out, 5, w->message.data, w->message.len);
	}
	return id;
}

/* Locations have ids of their own: a frame of the dictionary's threads, which are (function, line).
 */
static uint32_t location(struct writer *w, const struct sp_view_frame *f)
{
	struct sp_thread key = {.tid = function(w, f->name), .java_id = f->line};
	uint32_t id = key.tid ? sp_dict_thread(w->functions, &key) : 0;
	SP_AUTO_BUF struct sp_buf line = {0};

	if (id <= w->locations_written)
		return id;
	w->locations_written = id;
	number(&line, 1, key.tid);
	if (f->line)
		number(&line, 2, f->line);
	sp_buf_clear(&w->message);
	number(&w->message, 1, id);
	bytes(&w->message, 4, line.data, line.len);
	bytes(&w->out, 4, w->message.data, w->message.len);
	return id;
}

static void label(struct writer *w, const char *key, const char *value)
{
	SP_AUTO_BUF struct sp_buf b = {0};

	if (!*value)
		return;
	number(&b, 1, string(w, key));
	number(&b, 2, string(w, value));
	bytes(&w->message, 3, b.data, b.len);
}

static void label_number(struct writer *w, const char *key, int64_t number, int64_t attempt)
{
	char text[48];

	if (number < 0)
		return;
	snprintf(text, sizeof(text), attempt < 0 ? "%lld" : "%lld.%lld", (long long)number,
		(long long)attempt);
	label(w, key, text);
}

static void label_task(struct writer *w, const struct sp_profile *p, uint32_t task)
{
	const struct sp_task_run *t = task && task <= p->task_count ? &p->tasks[task - 1] : NULL;
	const struct sp_stage *s;

	if (!t)
		return;
	s = sp_profile_find_stage(p, t->app, t->name.stage, t->name.stage_attempt);
	label(w, "app", sp_dict_get_string(p->dict, t->app, NULL));
	label(w, "executor", sp_dict_get_string(p->dict, t->executor, NULL));
	label(w, "span", sp_dict_get_string(p->dict, t->label, NULL));
	label_number(w, "stage", t->name.stage, t->name.stage_attempt);
	label_number(w, "task", t->name.task_id, -1);
	label_number(w, "sql", s ? s->sql : -1, -1);
}

static int add_stack(struct writer *w, const struct sp_view *v, const struct sp_view_stack *s,
	unsigned event, unsigned events)
{
	const struct sp_dict *d = v->profile->dict;
	SP_AUTO_BUF struct sp_buf name = {0};

	sp_buf_clear(&w->packed);
	for (uint32_t i = s->count; i-- > 0;) {
		struct sp_view_frame f = sp_view_get_frame(v, s->frames[i]);
		uint32_t id = location(w, &f);

		if (id == 0)
			return -ENOMEM;
		varint(&w->packed, id);
	}
	sp_buf_clear(&w->message);
	bytes(&w->message, 1, w->packed.data, w->packed.len);
	sp_buf_clear(&w->packed);
	for (unsigned i = 0; i < events; i++) {
		varint(&w->packed, i == event ? s->samples : 0);
		varint(&w->packed, i == event ? s->weight : 0);
	}
	bytes(&w->message, 2, w->packed.data, w->packed.len);
	if (s->thread)
		sp_frame_name_thread(d, s->thread, &name);
	label(w, "thread", sp_buf_str(&name));
	label(w, "state", sp_dict_get_string(d, s->state, NULL));
	label_task(w, v->profile, s->task);
	bytes(&w->out, 2, w->message.data, w->message.len);
	return 0;
}

static const char *unit_name(enum sp_unit unit)
{
	return unit == SP_UNIT_NS ? "nanoseconds" : unit == SP_UNIT_BYTES ? "bytes" : "count";
}

/* Which events are written, and how many. */
static unsigned choose(
	const struct sp_profile *p, const char *only, uint8_t list[SP_PROFILE_EVENTS])
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->event_count; i++) {
		const char *name = sp_profile_event_name(p, i);

		if (p->events[i].samples && (!only || strcmp(only, name) == 0))
			list[n++] = (uint8_t)i;
	}
	return n;
}

static int add_events(struct writer *w, const struct sp_profile *p, const struct sp_view_opts *opts)
{
	uint8_t list[SP_PROFILE_EVENTS];
	unsigned n = choose(p, opts->event, list);
	int r = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct sp_event *e = &p->events[list[i]];
		const char *name = sp_dict_get_string(p->dict, e->name_id, NULL);
		char count[160];

		snprintf(count, sizeof(count), n > 1 ? "%s_samples" : "samples", name);
		value_type(w, 1, count, "count");
		value_type(w, 1, name, unit_name(e->unit));
	}
	for (unsigned i = 0; i < n && r == 0; i++) {
		const struct sp_event *e = &p->events[list[i]];
		struct sp_view_opts o = *opts;
		struct sp_view *v;

		o.event = sp_dict_get_string(p->dict, e->name_id, NULL);
		o.split = o.lines = true;
		o.threads = false; /* a label */
		r = sp_view_new(p, &o, &v);
		if (r < 0)
			return r;
		for (size_t k = 0; k < v->stack_count && r == 0; k++)
			r = add_stack(w, v, &v->stacks[k], i, n);
		sp_view_free(v);
		if (i == 0 && e->unit == SP_UNIT_NS && e->interval) {
			value_type(w, 11, o.event, "nanoseconds");
			number(&w->out, 12, e->interval);
		}
	}
	return r;
}

static int write_gzip(const struct sp_buf *b, struct sp_sink *sink)
{
	SP_AUTO_FREE uint8_t *piece = malloc(PIECE);
	z_stream z = {.next_in = (uint8_t *)b->data, .avail_in = (unsigned)b->len};
	int r;

	if (!piece || b->len > UINT32_MAX ||
		deflateInit2(&z, 6, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	do {
		z.next_out = piece;
		z.avail_out = PIECE;
		r = deflate(&z, Z_FINISH);
		sp_sink_write(sink, piece, PIECE - z.avail_out);
	} while (r == Z_OK);
	deflateEnd(&z);
	return r == Z_STREAM_END ? 0 : -ENOMEM;
}

int sp_out_pprof(const struct sp_profile *p, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	__attribute__((cleanup(writer_done))) struct writer w = {.functions_written = 0};
	SP_AUTO_BUF struct sp_buf comment = {0};
	int r = sp_dict_new(&w.strings, 1ull << 30);

	if (r == 0)
		r = sp_dict_new(&w.functions, 1ull << 30);
	if (r < 0)
		return r;
	r = add_events(&w, p, &opts->view);
	if (p->start_ns)
		number(&w.out, 9, p->start_ns);
	if (p->duration_ns)
		number(&w.out, 10, p->duration_ns);
	sp_out_summary(p, &comment);
	number(&w.out, 13, string(&w, sp_buf_str(&comment)));
	bytes(&w.out, 6, "", 0);
	for (uint32_t i = 1; i <= sp_dict_strings(w.strings); i++) {
		size_t n;
		const char *s = sp_dict_get_string(w.strings, i, &n);

		bytes(&w.out, 6, s, n);
	}
	if (r == 0 && (w.out.failed || w.message.failed || w.packed.failed))
		r = -ENOMEM;
	return r < 0 ? r : write_gzip(&w.out, sink);
}
