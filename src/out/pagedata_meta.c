/* The page's meta data, in JSON: see pagedata.h. */
#include "out/pagedata_put.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/escape.h"
#include "out/findings.h"
#include "out/line_table.h"
#include "out/phases.h"
#include "out/source_code.h"
#include "out/stage_groups.h"
#include "out/stage_table.h"
#include "prof/model/tasks.h"
#include "prof/model/throttle.h"

enum { LINED_METHODS = 100, LINES = 100 }; /* with self time by line */

static void json_text(struct sp_buf *b, const struct sp_profile *p, const char *key, uint32_t id)
{
	size_t n;
	const char *s = sp_dict_get_string(p->dict, id, &n);

	sp_buf_addf(b, ",\"%s\":", key);
	sp_escape_json(s, id ? n : 0, b);
}

static void json_remarks(struct sp_buf *b, const struct sp_profile *p, const char *key,
	const struct sp_remark *list, unsigned count)
{
	sp_buf_addf(b, ",\"%s\":[", key);
	for (unsigned i = 0; i < count; i++) {
		size_t n;
		const char *s = sp_dict_get_string(p->dict, list[i].text_id, &n);

		sp_buf_adds(b, i ? ",[" : "[");
		sp_escape_json(s, n, b);
		sp_buf_addf(b, ",%" PRIu64 "]", list[i].count);
	}
	sp_buf_addc(b, ']');
}

static const char *const units[] = {"ns", "bytes", "count"};

static void json_events(struct sp_buf *b, const struct sp_page *g)
{
	sp_buf_adds(b, ",\"events\":[");
	for (unsigned i = 0; i < g->p->event_count; i++) {
		const struct sp_event *e = &g->p->events[i];

		sp_buf_addf(b,
			"%s{\"unit\":\"%s\",\"interval\":%" PRIu64 ",\"quantum\":%" PRIu64
			",\"samples\":%" PRIu64 ",\"weight\":%" PRIu64
			",\"measured\":%s,\"counted\":%s,\"rows\":%" PRIu64 ",\"stated\":%s",
			i ? "," : "", units[e->unit % SP_COUNT(units)], e->interval, g->quantum[i],
			e->samples, e->weight, e->measured ? "true" : "false",
			g->counted ? "true" : "false", g->event_rows[i],
			g->stated[i] ? "true" : "false");
		json_text(b, g->p, "name", e->name_id);
		sp_buf_addc(b, '}');
	}
	sp_buf_addc(b, ']');
}

static void json_areas(struct sp_buf *b, const struct sp_page *g)
{
	bool used[UINT8_MAX + 1] = {0}; /* by number + 1 */

	for (size_t i = 1; i < g->trie.count; i++)
		used[g->trie.nodes[i].area] = true;
	sp_buf_adds(b, ",\"areas\":[");
	for (unsigned i = 0; i < sp_areas_count(g->areas); i++) {
		const struct sp_area *a = sp_areas_get(g->areas, i);

		sp_buf_adds(b, i ? ",{\"name\":" : "{\"name\":");
		sp_escape_json(a->name, strlen(a->name), b);
		sp_buf_addf(b, ",\"colour\":\"%s\",\"used\":%s}", a->colour,
			used[(i + 1) & UINT8_MAX] ? "true" : "false");
	}
	sp_buf_addc(b, ']');
}

static void json_waits(struct sp_buf *b)
{
	sp_buf_adds(b, ",\"waits\":[");
	for (unsigned i = 0; i < SP_TIME_CLASS_KINDS; i++)
		sp_buf_addf(b, "%s\"%s\"", i ? "," : "", sp_time_class_name(i));
	sp_buf_addc(b, ']');
}

/* What people call the stages, by the word that labels have for them. */
static void json_stages(struct sp_buf *b, const struct sp_page *g)
{
	const struct sp_profile *p = g->p;
	size_t n = 0;

	sp_buf_adds(b, ",\"stages\":{");
	for (size_t i = 0; g->diff && i < g->diff->stages.count; i++) {
		const struct sp_diff_amount *a = &g->diff->stages.list[i];

		sp_buf_adds(b, n++ ? "," : "");
		sp_escape_json(a->name, strlen(a->name), b);
		sp_buf_addc(b, ':');
		sp_escape_json(a->title, strlen(a->title), b);
	}
	for (size_t i = 0; !g->diff && i < p->stage_count; i++) {
		const struct sp_stage *s = &p->stages[i];
		SP_AUTO_BUF struct sp_buf title = {0};

		sp_stage_table_title(p, &(struct sp_stage_row){.about = s}, &title);
		if (!title.len)
			continue;
		sp_buf_addf(b, "%s\"stage %d.%d\":", n++ ? "," : "", s->stage, s->attempt);
		sp_escape_json(title.data, title.len, b);
	}
	sp_buf_addc(b, '}');
}

static void json_group(struct sp_buf *b, const struct sp_page *g,
	const struct sp_stage_groups *groups, const struct sp_stage_group *x)
{
	SP_AUTO_BUF struct sp_buf title = {0};

	sp_stage_groups_title(groups, x, g->p, false, &title);
	sp_buf_adds(b, "{\"title\":");
	sp_escape_json(title.data, title.len, b);
	for (uint32_t i = 0; i < x->count; i++) {
		const struct sp_stage_row *r = &groups->stages->rows[x->members[i]];

		sp_buf_addf(
			b, "%s\"stage %d.%d\"", i ? "," : ",\"stages\":[", r->stage, r->attempt);
	}
	sp_buf_adds(b, "]}");
}

/* Stages that the table shows as one, where there is more than one of them. */
static void json_groups(struct sp_buf *b, const struct sp_page *g)
{
	__attribute__((cleanup(sp_stage_table_done))) struct sp_stage_table s = {0};
	__attribute__((cleanup(sp_stage_groups_done))) struct sp_stage_groups groups = {0};

	if (!g->p->event_count)
		return;
	if (sp_stage_table_init(&s, g->p, 0, g->areas) < 0 ||
		sp_stage_groups_init(&groups, &s, g->p) < 0)
		b->failed = true;
	sp_buf_adds(b, ",\"groups\":[");
	for (size_t i = 0, n = 0; i < groups.count && !b->failed; i++) {
		if (groups.list[i].count < 2)
			continue;
		sp_buf_adds(b, n++ ? "," : "");
		json_group(b, g, &groups, &groups.list[i]);
	}
	sp_buf_addc(b, ']');
}

/* Of each stage what the page does not count itself: run time, and its slowest task. Times in
 * milliseconds. */
static void json_times(struct sp_buf *b, const struct sp_page *g)
{
	__attribute__((cleanup(sp_stage_table_done))) struct sp_stage_table s = {0};
	int32_t wall = sp_profile_wall(g->p);

	if (!g->p->task_count || !g->p->event_count)
		return;
	if (sp_stage_table_init(&s, g->p, wall < 0 ? 0 : (unsigned)wall, g->areas) < 0)
		b->failed = true;
	sp_buf_addf(b, ",\"folded\":%s,\"times\":{", g->p->fold ? "true" : "false");
	for (size_t i = 0; i < s.count && !b->failed; i++) {
		const struct sp_stage_row *r = &s.rows[i];

		sp_buf_addf(b,
			"%s\"stage %d.%d\":{\"tasks\":%" PRIu32 ",\"run\":%.3f,\"launch\":%.3f"
			",\"finished\":%" PRIu32 ",\"median\":%.3f",
			i ? "," : "", r->stage, r->attempt, r->tasks,
			(double)sp_stage_table_run_ns(r) / 1e6, (double)r->launch_ns / 1e6,
			r->finished, (double)r->median_ns / 1e6);
		sp_buf_addf(b, ",\"gc\":%.3f,\"fetch\":%.3f,\"write\":%.3f", (double)r->gc_ns / 1e6,
			(double)r->fetch_ns / 1e6, (double)r->write_ns / 1e6);
		sp_buf_addf(b,
			",\"max\":%.3f,\"slowest\":%" PRId64 ",\"label\":%" PRIu32
			",\"running\":%s,\"least\":%s,\"lags\":%s}",
			(double)r->max.ns / 1e6, r->max_task, r->max_label,
			r->max.running ? "true" : "false", r->max.least ? "true" : "false",
			sp_stage_table_lags(r) ? "true" : "false");
	}
	sp_buf_addc(b, '}');
}

/* Of one recording, or several that are shown as one. */
static void json_findings(struct sp_buf *b, const struct sp_page *g)
{
	struct sp_findings f = {0};

	if (g->diff)
		return;
	if (sp_findings_init(&f, g->p, g->areas) < 0)
		b->failed = true;
	sp_buf_adds(b, ",\"findings\":");
	sp_findings_json(&f, b);
	sp_findings_done(&f);
}

static void json_amount(struct sp_buf *b, const struct sp_diff_amount *a)
{
	sp_buf_adds(b, "{\"name\":");
	sp_escape_json(a->name, strlen(a->name), b);
	sp_buf_adds(b, ",\"title\":");
	sp_escape_json(a->title, strlen(a->title), b);
	sp_buf_addf(b,
		",\"there\":[%d,%d],\"tasks\":[%u,%u],\"weight\":[%" PRIu64 ",%" PRIu64
		"],\"noise\":%.6g}",
		a->there[0], a->there[1], a->tasks[0], a->tasks[1], a->weight[0], a->weight[1],
		a->noise);
}

static void json_table(struct sp_buf *b, const char *key, const struct sp_diff_amounts *t)
{
	sp_buf_addf(b, ",\"%s\":[", key);
	for (size_t i = 0; i < t->count; i++) {
		sp_buf_adds(b, i ? "," : "");
		json_amount(b, &t->list[i]);
	}
	sp_buf_addc(b, ']');
}

static void json_amounts(struct sp_buf *b, const struct sp_diff *d)
{
	const struct sp_event *e = d->views[SP_DIFF_NEW]->event;

	sp_buf_addf(b, ",\"amounts\":{\"unit\":\"%s\",\"total\":",
		units[(e ? e->unit : SP_UNIT_COUNT) % SP_COUNT(units)]);
	json_amount(b, &d->total);
	json_table(b, "stages", &d->stages);
	json_table(b, "waits", &d->waits);
	sp_buf_addc(b, '}');
}

/* Of a driver, by the event that has most to say: wall, else the first. */
static void json_driver(struct sp_buf *b, const struct sp_page *g)
{
	int32_t wall = sp_profile_wall(g->p);
	__attribute__((cleanup(sp_phases_done))) struct sp_phases f = {0};

	if (g->diff || !g->p->event_count)
		return;
	if (sp_phases_init(&f, g->p, wall < 0 ? 0 : (unsigned)wall) < 0)
		b->failed = true;
	if (!f.count)
		return;
	sp_buf_adds(b, ",\"driver\":");
	sp_phases_json(&f, g->p, b);
}

static void json_diff(struct sp_buf *b, const struct sp_diff *d)
{
	if (!d)
		return;
	sp_buf_addf(b, ",\"diff\":{\"absolute\":%s,\"event\":", d->absolute ? "true" : "false");
	sp_escape_json(sp_diff_event(d), strlen(sp_diff_event(d)), b);
	for (unsigned i = 0; i < 2; i++) {
		sp_buf_adds(b, i ? "," : ",\"names\":[");
		sp_escape_json(sp_diff_name(d, i), strlen(sp_diff_name(d, i)), b);
	}
	sp_buf_addf(b,
		"],\"samples\":[%" PRIu64 ",%" PRIu64 "],\"durations\":[%" PRIu64 ",%" PRIu64 "]",
		d->views[0]->samples, d->views[1]->samples, d->views[0]->profile->duration_ns,
		d->views[1]->profile->duration_ns);
	json_amounts(b, d);
	sp_buf_addc(b, '}');
}

/* By the names that labels have. */
static void json_hosts(struct sp_buf *b, const struct sp_profile *p)
{
	SP_AUTO_BUF struct sp_buf name;

	sp_buf_init(&name);
	for (size_t i = 0; i < p->placed_count; i++) {
		const char *executor = sp_dict_get_string(p->dict, p->placed[i].executor, NULL);
		const char *host = sp_dict_get_string(p->dict, p->placed[i].host, NULL);

		sp_buf_adds(b, i ? "," : ",\"hosts\":{");
		sp_buf_clear(&name);
		sp_buf_addf(&name, "%s%s", strcmp(executor, "driver") == 0 ? "" : "executor ",
			executor);
		sp_escape_json(sp_buf_str(&name), name.len, b);
		sp_buf_addc(b, ':');
		sp_escape_json(host, strlen(host), b);
	}
	sp_buf_adds(b, p->placed_count ? "}" : "");
}

static void json_line(struct sp_buf *b, const struct sp_page *g, const struct sp_line_method *m,
	const struct sp_line_weight *l, struct sp_source_code *code)
{
	SP_AUTO_BUF struct sp_buf text = {0};

	sp_buf_addf(b, "[%" PRId32 ",%" PRIu64, l->line, l->weight);
	if (sp_source_code_line(code, g->p->dict, &m->frame, l->line, &text)) {
		sp_buf_addc(b, ',');
		sp_escape_json(sp_buf_str(&text), text.len, b);
	}
	sp_buf_addc(b, ']');
}

static void free_code(struct sp_source_code **s)
{
	sp_source_code_close(*s);
}

/* Self time by line of the hottest methods of each event, of the whole recording. */
static void json_lines(struct sp_buf *b, const struct sp_page *g)
{
	__attribute__((cleanup(free_code))) struct sp_source_code *code = NULL;
	const char *sep = "";

	if (g->diff)
		return;
	if (g->o->source && sp_source_code_open(&code, g->o->source) < 0)
		b->failed = true;
	sp_buf_adds(b, ",\"lines\":[");
	for (unsigned e = 0; e < g->p->event_count; e++) {
		__attribute__((cleanup(sp_line_table_done))) struct sp_line_table t = {0};

		if (sp_line_table_init(&t, g->p, e, NULL, &g->o->view.style) < 0)
			b->failed = true;
		for (size_t i = 0; !b->failed && i < t.count && i < LINED_METHODS; i++) {
			const struct sp_line_method *m = &t.methods[i];

			sp_buf_addf(b, "%s{\"event\":%u,\"name\":", sep, e);
			sp_escape_json(m->name, strlen(m->name), b);
			for (size_t k = 0; k < m->count && k < LINES; k++) {
				sp_buf_adds(b, k ? "," : ",\"lines\":[");
				json_line(b, g, m, &m->lines[k], code);
			}
			sp_buf_addf(
				b, "],\"count\":%zu,\"weight\":%" PRIu64 "}", m->count, m->weight);
			sep = ",";
		}
	}
	sp_buf_addc(b, ']');
}

/* What the page opens with, where it is not the usual. */
static void json_opens(struct sp_buf *b, const struct sp_out_opts *o)
{
	sp_buf_addf(b, ",\"opens\":{%s%s%s},\"minwidth\":%g",
		o->reverse ? "\"view\":\"callers\"" : "", o->reverse && !o->inverted ? "," : "",
		o->reverse != o->inverted ? "\"up\":\"1\"" : "", o->minwidth);
}

void sp_page_meta(const struct sp_page *g, const uint32_t *states, size_t count, struct sp_buf *b)
{
	const struct sp_profile *p = g->p;
	char limit[256];

	sp_buf_addf(b,
		"{\"start\":%" PRIu64 ",\"recorded\":%" PRIu64 ",\"duration\":%" PRIu64
		",\"bucket\":%" PRIu64 ",\"buckets\":%" PRIu32,
		g->start_ns, p->start_ns, p->duration_ns, p->bucket_ns, g->buckets);
	sp_buf_addf(b,
		",\"samples\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"truncated\":%" PRIu64
		",\"unknown\":%" PRIu64 ",\"filtered\":%" PRIu64 ",\"outside\":%" PRIu64,
		p->samples, p->lost_total, p->truncated, p->unknown, g->filtered, p->outside);
	sp_throttle_describe(p, limit, sizeof(limit));
	sp_buf_adds(b, ",\"limit\":");
	sp_escape_json(limit, strlen(limit), b);
	json_text(b, p, "title", p->title_id);
	json_text(b, p, "target", p->target_id);
	json_text(b, p, "runtime", p->runtime_id);
	json_text(b, p, "command", p->command_id);
	json_text(b, p, "host", p->host_id);
	json_hosts(b, p);
	sp_buf_addf(b, ",\"unlabelled\":%s", g->unlabelled ? "true" : "false");
	sp_buf_adds(b, ",\"version\":\"" SP_VERSION "\",\"states\":[");
	for (size_t i = 0; i < count; i++) {
		size_t n;
		const char *s = sp_dict_get_string(p->dict, states[i], &n);

		sp_buf_adds(b, i ? "," : "");
		sp_escape_json(s, n, b);
	}
	sp_buf_addc(b, ']');
	json_remarks(b, p, "reasons", p->lost, p->lost_count);
	json_remarks(b, p, "notes", p->notes, p->note_count);
	json_events(b, g);
	json_areas(b, g);
	if (g->spent)
		json_waits(b);
	json_stages(b, g);
	json_groups(b, g);
	json_times(b, g);
	json_findings(b, g);
	json_driver(b, g);
	json_diff(b, g->diff);
	json_lines(b, g);
	if (!g->diff)
		json_opens(b, g->o);
	sp_buf_addc(b, '}');
}
