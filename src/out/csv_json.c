/* Tables for spreadsheets and scripts: methods, classes, packages, threads, states and what --by
 * asked for, each with its own and its whole share, and Spark's stages. CSV has one row for each
 * (of "stage run time", samples are tasks; "stage name" has no numbers); JSON an array for each
 * table, and what was sampled and lost. */
#include "out/out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/findings.h"
#include "out/hot_methods.h"
#include "out/json.h"
#include "out/number.h"
#include "out/phases.h"
#include "out/stage_table.h"
#include "prof/model/throttle.h"

/* One line of a table. Names are borrowed. */
struct row {
	const char *name;
	uint64_t self, total; /* weight */
	uint64_t samples;     /* of self */
	uint64_t seen;	      /* last stack that was counted in total, + 1 */
};

struct table {
	const char *title;
	struct row *rows;
	size_t count;
};

enum { METHODS, CLASSES, PACKAGES, THREADS, STATES, HOLDERS, ROOTS, TABLES };

struct tables {
	struct sp_view *v;
	struct sp_dict *names; /* classes and packages */
	struct table list[TABLES];
};

static void tables_done(struct tables *t)
{
	for (int i = 0; i < TABLES; i++)
		free(t->list[i].rows);
	sp_view_free(t->v);
	sp_dict_free(t->names);
}

/* "java/lang/Thread.run" is of class "java/lang/Thread" and package "java/lang"; functions have
 * neither. Returns the length, 0 for none. */
static size_t class_length(const char *name)
{
	const char *end = name + strcspn(name, "("),
		   *slash = memrchr(name, '/', (size_t)(end - name));
	const char *dot = memrchr(name, '.', (size_t)(end - name));

	if (!dot || strstr(name, "::") || name[0] == '[' || (slash && dot < slash))
		return 0;
	return (size_t)(dot - name);
}

static size_t package_length(const char *name, size_t class_len)
{
	const char *slash = name ? memrchr(name, '/', class_len) : NULL;

	if (name && !slash)
		slash = memrchr(name, '.', class_len);
	return slash ? (size_t)(slash - name) : 0;
}

/* The row of each frame in a table, 0 for none: @rows is by frame. */
static int map_frames(struct tables *t, int which, uint32_t *rows)
{
	uint32_t n = sp_view_frames(t->v);
	struct table *table = &t->list[which];
	SP_AUTO_FREE uint32_t *by_string = NULL;

	table->rows = calloc(n + 1ul, sizeof(*table->rows));
	by_string = calloc(n * 2ul + 2, sizeof(*by_string));
	if (!table->rows || !by_string)
		return -ENOMEM;
	for (uint32_t i = 1; i <= n; i++) {
		const char *name = sp_view_get_frame(t->v, i).name;
		size_t len = class_length(name);
		uint32_t id;

		if (which == METHODS)
			len = strlen(name);
		else if (which == PACKAGES)
			len = len ? package_length(name, len) : 0;
		if (!len)
			continue;
		id = which == METHODS ? i : sp_dict_string(t->names, name, len);
		if (id == 0 || id > n * 2ul)
			return -ENOMEM;
		if (!by_string[id]) {
			table->rows[table->count].name =
				which == METHODS ? name : sp_dict_get_string(t->names, id, NULL);
			by_string[id] = (uint32_t)++table->count;
		}
		rows[i] = by_string[id];
	}
	return 0;
}

static int count_frames(struct tables *t, int which)
{
	const struct sp_view *v = t->v;
	SP_AUTO_FREE uint32_t *rows = calloc(sp_view_frames(v) + 1ul, sizeof(*rows));
	int r = rows ? map_frames(t, which, rows) : -ENOMEM;

	for (size_t i = 0; i < v->stack_count && r == 0; i++) {
		const struct sp_view_stack *s = &v->stacks[i];

		for (uint32_t f = 0; f < s->count; f++) {
			struct row *row = rows[s->frames[f]]
						  ? &t->list[which].rows[rows[s->frames[f]] - 1]
						  : NULL;

			if (row && row->seen != i + 1) {
				row->total += s->weight;
				row->seen = i + 1;
			}
			if (row && f == s->count - 1) {
				row->self += s->weight;
				row->samples += s->samples;
			}
		}
	}
	return r;
}

static int count_shares(struct tables *t, int which)
{
	bool threads = which == THREADS;
	const struct sp_dict *d = t->v->profile->dict;
	const struct sp_view_share *shares = threads		? t->v->threads
					     : which == HOLDERS ? t->v->holders
								: t->v->states;
	size_t n = threads	      ? t->v->thread_count
		   : which == HOLDERS ? t->v->holder_count
				      : t->v->state_count;
	struct table *table = &t->list[which];

	table->rows = calloc(n + 1, sizeof(*table->rows));
	if (!table->rows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		SP_AUTO_BUF struct sp_buf name;
		uint32_t id;

		sp_buf_init(&name);
		if (threads)
			sp_frame_name_thread(d, shares[i].id, &name);
		else
			sp_buf_adds(&name, shares[i].id ? sp_dict_get_string(d, shares[i].id, NULL)
							: "[unknown]");
		id = sp_dict_string(t->names, sp_buf_str(&name), name.len);
		table->rows[table->count++] = (struct row){sp_dict_get_string(t->names, id, NULL),
			shares[i].weight, shares[i].weight, shares[i].samples, 0};
	}
	return 0;
}

/* With --by the first frame of each stack is what was asked for. */
static int count_roots(struct tables *t, enum sp_by by)
{
	static const char *const titles[] = {[SP_BY_THREAD] = "thread",
		[SP_BY_CLASS] = "work of class",
		[SP_BY_EXECUTOR] = "executor",
		[SP_BY_STAGE] = "stage",
		[SP_BY_TASK] = "task",
		[SP_BY_AREA] = "area",
		[SP_BY_APP] = "app",
		[SP_BY_SQL] = "sql",
		[SP_BY_STATE] = "state",
		[SP_BY_WAIT] = "wait",
		[SP_BY_OPERATOR] = "operator"};
	struct table *table = &t->list[ROOTS];
	const struct sp_view *v = t->v;
	SP_AUTO_FREE uint32_t *rows = calloc(sp_view_frames(v) + 1ul, sizeof(*rows));

	if (by <= SP_BY_THREAD)
		return 0;
	table->title = titles[by];
	table->rows = calloc(sp_view_frames(v) + 1ul, sizeof(*table->rows));
	if (!rows || !table->rows)
		return -ENOMEM;
	for (size_t i = 0; i < v->stack_count; i++) {
		const struct sp_view_stack *s = &v->stacks[i];
		uint32_t f = s->count ? s->frames[0] : 0;

		if (!f)
			continue;
		if (!rows[f]) {
			table->rows[table->count].name = sp_view_get_frame(v, f).name;
			rows[f] = (uint32_t)++table->count;
		}
		table->rows[rows[f] - 1].self += s->weight;
		table->rows[rows[f] - 1].total += s->weight;
		table->rows[rows[f] - 1].samples += s->samples;
	}
	return 0;
}

static int by_self(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int tables_init(struct tables *t, const struct sp_profile *p, const struct sp_view_opts *o)
{
	static const char *const titles[TABLES] = {
		"method", "class", "package", "thread", "state", "holder", ""};
	int r = sp_dict_new(&t->names, 1ull << 30);

	for (int i = 0; i < TABLES; i++)
		t->list[i].title = titles[i];
	if (r == 0)
		r = sp_view_new(p, o, &t->v);
	for (int i = METHODS; i <= PACKAGES && r == 0; i++)
		r = count_frames(t, i);
	if (r == 0)
		r = count_shares(t, THREADS);
	if (r == 0)
		r = count_shares(t, STATES);
	if (r == 0)
		r = count_shares(t, HOLDERS);
	if (r == 0)
		r = count_roots(t, o->by);
	for (int i = 0; i < TABLES && r == 0; i++)
		if (t->list[i].count)
			qsort(t->list[i].rows, t->list[i].count, sizeof(struct row), by_self);
	return r;
}

static const char *unit_name(enum sp_unit unit)
{
	return unit == SP_UNIT_NS ? "ns" : unit == SP_UNIT_BYTES ? "bytes" : "count";
}

static void write_csv_table(
	const struct tables *t, int which, const char *event, struct sp_sink *sink)
{
	const struct table *table = &t->list[which];

	for (size_t i = 0; i < table->count; i++) {
		const struct row *r = &table->rows[i];

		sp_csv_field(sink, event);
		sp_sink_puts(sink, ",");
		sp_csv_field(sink, table->title);
		sp_sink_puts(sink, ",");
		sp_csv_field(sink, r->name);
		sp_sink_printf(sink, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%.4f,%.4f\r\n",
			r->samples, r->self, r->total, unit_name(t->v->event->unit),
			sp_percent(r->self, t->v->weight), sp_percent(r->total, t->v->weight));
	}
}

static void write_json_table(const struct table *table, struct sp_sink *sink)
{
	sp_json_string(sink, table->title);
	sp_sink_puts(sink, ":[");
	for (size_t i = 0; i < table->count; i++) {
		const struct row *r = &table->rows[i];

		sp_sink_puts(sink, i ? ",\n{\"name\":" : "\n{\"name\":");
		sp_json_string(sink, r->name);
		sp_sink_printf(sink,
			",\"samples\":%" PRIu64 ",\"self\":%" PRIu64 ",\"total\":%" PRIu64 "}",
			r->samples, r->self, r->total);
	}
	sp_sink_puts(sink, "]");
}

/* Of a driver. */
static int write_json_phases(const struct sp_profile *p, unsigned event, struct sp_sink *sink)
{
	SP_AUTO_BUF struct sp_buf b = {0};
	__attribute__((cleanup(sp_phases_done))) struct sp_phases f = {0};
	int r = sp_phases_init(&f, p, event);

	if (r < 0 || !f.count)
		return r;
	sp_phases_json(&f, p, &b);
	sp_sink_printf(sink, ",\n\"driver\":%s", sp_buf_str(&b));
	return b.failed ? -ENOMEM : 0;
}

static int write_json_event(const struct tables *t, const char *event,
	const struct sp_stage_table *stages, struct sp_sink *sink)
{
	const struct sp_profile *p = t->v->profile;
	int r;

	const char *sep = "";

	sp_sink_puts(sink, "{\"event\":");
	sp_json_string(sink, event);
	sp_sink_printf(sink,
		",\"unit\":\"%s\",\"interval\":%" PRIu64 ",\"samples\":%" PRIu64
		",\"weight\":%" PRIu64 ",\"tables\":{",
		unit_name(t->v->event->unit), t->v->event->interval, t->v->samples, t->v->weight);
	for (int i = 0; i < TABLES; i++) {
		if (i >= HOLDERS && !t->list[i].count)
			continue;
		sp_sink_puts(sink, sep);
		write_json_table(&t->list[i], sink);
		sep = ",\n";
	}
	sp_sink_puts(sink, "}");
	if (stages->count) {
		sp_sink_puts(sink, ",\n\"stages\":");
		sp_stage_table_json(stages, p, sink);
	}
	r = write_json_phases(p, (unsigned)(t->v->event - p->events), sink);
	sp_sink_puts(sink, "}");
	return r;
}

/* Calls for every event that is asked for, with its tables. */
static int each_event(
	const struct sp_profile *p, const struct sp_out_opts *opts, bool json, struct sp_sink *sink)
{
	bool first = true;

	for (unsigned i = 0; i < p->event_count; i++) {
		__attribute__((cleanup(tables_done))) struct tables t = {0};
		__attribute__((cleanup(sp_stage_table_done))) struct sp_stage_table stages = {0};
		struct sp_view_opts o = opts->view;
		int r;

		if (!p->events[i].samples ||
			(o.event && strcmp(o.event, sp_profile_event_name(p, i)) != 0))
			continue;
		o.event = sp_profile_event_name(p, i);
		o.style.annotate = false;
		o.threads = false;
		r = tables_init(&t, p, &o);
		if (r == 0 && p->task_count)
			r = sp_stage_table_init(&stages, p, i, o.areas);
		if (r < 0)
			return r;
		if (json) {
			sp_sink_puts(sink, first ? "" : ",\n");
			r = write_json_event(&t, o.event, &stages, sink);
		}
		for (int k = 0; k < TABLES && !json; k++)
			write_csv_table(&t, k, o.event, sink);
		if (!json)
			sp_stage_table_csv(&stages, p, o.event, unit_name(t.v->event->unit), sink);
		if (r < 0)
			return r;
		first = false;
	}
	return 0;
}

int sp_out_csv(const struct sp_profile *p, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	sp_sink_puts(sink, "event,table,name,samples,self,total,unit,self %,total %\r\n");
	return each_event(p, opts, false, sink);
}

static int write_json_findings(
	const struct sp_profile *p, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	__attribute__((cleanup(sp_findings_done))) struct sp_findings f = {0};
	SP_AUTO_BUF struct sp_buf b = {0};
	int r = sp_findings_init(&f, p, opts->view.areas);

	if (r < 0)
		return r;
	sp_findings_json(&f, &b);
	sp_sink_puts(sink, sp_buf_str(&b));
	return b.failed ? -ENOMEM : 0;
}

int sp_out_json(const struct sp_profile *p, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	struct sp_throttle limit;
	int r;

	sp_sink_puts(sink, "{\"target\":");
	sp_json_string(sink, sp_dict_get_string(p->dict, p->target_id, NULL));
	sp_sink_puts(sink, ",\"runtime\":");
	sp_json_string(sink, sp_dict_get_string(p->dict, p->runtime_id, NULL));
	sp_sink_printf(sink,
		",\"start_ns\":%" PRIu64 ",\"duration_ns\":%" PRIu64 ",\"samples\":%" PRIu64
		",\"lost\":%" PRIu64 ",\"truncated\":%" PRIu64 ",\"unknown\":%" PRIu64,
		p->start_ns, p->duration_ns, p->samples, p->lost_total, p->truncated, p->unknown);
	if (sp_throttle_of(p, &limit))
		sp_sink_printf(sink,
			",\"cpu_limit\":{\"periods\":%" PRIu64 ",\"throttled\":%" PRIu64
			",\"throttled_ns\":%" PRIu64 "}",
			limit.periods, limit.throttled, limit.ns);
	sp_sink_puts(sink, ",\n\"findings\":");
	r = write_json_findings(p, opts, sink);
	if (r < 0)
		return r;
	sp_sink_puts(sink, ",\n\"events\":[");
	r = each_event(p, opts, true, sink);
	sp_sink_puts(sink, "]}\n");
	return r;
}
