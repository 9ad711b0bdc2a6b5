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
#include "out/proto_names.h"
#include "out/proto_put.h"

enum { GZIP_WINDOW = 15 + 16, PIECE = 64 << 10 };

struct writer {
	struct sp_buf out, message, packed;
	struct sp_proto_names names;
};

static void writer_done(struct writer *w)
{
	sp_buf_done(&w->out);
	sp_buf_done(&w->message);
	sp_buf_done(&w->packed);
	sp_proto_names_done(&w->names);
}

/* {type, unit} */
static void value_type(struct writer *w, uint32_t field, const char *type, const char *unit)
{
	sp_buf_clear(&w->message);
	sp_proto_put_number(&w->message, 1, sp_proto_string(&w->names, type));
	sp_proto_put_number(&w->message, 2, sp_proto_string(&w->names, unit));
	sp_proto_put_bytes(&w->out, field, w->message.data, w->message.len);
}

/* The id of a function with that name, written when new. */
static uint32_t function(struct writer *w, const char *name)
{
	uint32_t string;
	bool is_new;
	uint32_t id = sp_proto_function(&w->names, name, &string, &is_new);

	if (is_new) {
		sp_buf_clear(&w->message);
		sp_proto_put_number(&w->message, 1, id);
		sp_proto_put_number(&w->message, 2, string);
		sp_proto_put_number(&w->message, 3, string);
		sp_proto_put_bytes(&w->out, 5, w->message.data, w->message.len);
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
		sp_proto_put_number(&w->message, 1, id);
		sp_proto_put_line(&w->message, 4, of, f->line);
		sp_proto_put_bytes(&w->out, 4, w->message.data, w->message.len);
	}
	return id;
}

static void label(struct writer *w, const char *key, const char *value)
{
	SP_AUTO_BUF struct sp_buf b = {0};

	if (!*value)
		return;
	sp_proto_put_number(&b, 1, sp_proto_string(&w->names, key));
	sp_proto_put_number(&b, 2, sp_proto_string(&w->names, value));
	sp_proto_put_bytes(&w->message, 3, b.data, b.len);
}

static void label_of_task(void *ctx, enum sp_proto_label which, const char *text)
{
	static const char *const keys[SP_PROTO_LABELS] = {
		"app", "executor", "span", "stage", "task", "sql"};

	label(ctx, keys[which], text);
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
		sp_proto_put_varint(&w->packed, id);
	}
	sp_buf_clear(&w->message);
	sp_proto_put_bytes(&w->message, 1, w->packed.data, w->packed.len);
	sp_buf_clear(&w->packed);
	for (unsigned i = 0; i < events; i++) {
		sp_proto_put_varint(&w->packed, i == event ? s->samples : 0);
		sp_proto_put_varint(&w->packed, i == event ? s->weight : 0);
	}
	sp_proto_put_bytes(&w->message, 2, w->packed.data, w->packed.len);
	if (s->thread)
		sp_frame_name_thread(d, s->thread, &name);
	label(w, "thread", sp_buf_str(&name));
	label(w, "state", sp_dict_get_string(d, s->state, NULL));
	sp_proto_labels_of_task(v->profile, s->task, label_of_task, w);
	sp_proto_put_bytes(&w->out, 2, w->message.data, w->message.len);
	return 0;
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
		value_type(w, 1, name, sp_proto_unit(e->unit));
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
			sp_proto_put_number(&w->out, 12, e->interval);
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
	__attribute__((cleanup(writer_done))) struct writer w = {.names.strings = NULL};
	SP_AUTO_BUF struct sp_buf comment = {0};
	int r = sp_proto_names_init(&w.names);

	if (r < 0)
		return r;
	r = add_events(&w, p, &opts->view);
	if (p->start_ns)
		sp_proto_put_number(&w.out, 9, p->start_ns);
	if (p->duration_ns)
		sp_proto_put_number(&w.out, 10, p->duration_ns);
	sp_out_summary(p, &comment);
	sp_proto_put_number(&w.out, 13, sp_proto_string(&w.names, sp_buf_str(&comment)));
	sp_proto_put_bytes(&w.out, 6, "", 0);
	for (uint32_t i = 1; i <= sp_dict_strings(w.names.strings); i++) {
		size_t n;
		const char *s = sp_dict_get_string(w.names.strings, i, &n);

		sp_proto_put_bytes(&w.out, 6, s, n);
	}
	if (r == 0 && (w.out.failed || w.message.failed || w.packed.failed))
		r = -ENOMEM;
	return r < 0 ? r : write_gzip(&w.out, sink);
}
