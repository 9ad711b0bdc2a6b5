/* The page's meta data, in JSON: see pagedata.h. */
#include "out/pagedata_put.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/escape.h"
#include "out/stages.h"

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

static void json_events(struct sp_buf *b, const struct sp_page *g)
{
	static const char *const units[] = {"ns", "bytes", "count"};

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
	for (unsigned i = 0; i < SP_SPENT_KINDS; i++)
		sp_buf_addf(b, "%s\"%s\"", i ? "," : "", sp_spent_name(i));
	sp_buf_addc(b, ']');
}

/* What people call the stages, by the word that labels have for them. */
static void json_stages(struct sp_buf *b, const struct sp_profile *p)
{
	sp_buf_adds(b, ",\"stages\":{");
	for (size_t i = 0, n = 0; i < p->stage_count; i++) {
		const struct sp_stage *s = &p->stages[i];
		SP_AUTO_BUF struct sp_buf title = {0};

		sp_stages_title(p, &(struct sp_stage_row){.about = s}, &title);
		if (!title.len)
			continue;
		sp_buf_addf(b, "%s\"stage %d.%d\":", n++ ? "," : "", s->stage, s->attempt);
		sp_escape_json(title.data, title.len, b);
	}
	sp_buf_addc(b, '}');
}

/* Of stages whose tasks are folded: what the page cannot count itself. Times in milliseconds. */
static void json_folded(struct sp_buf *b, const struct sp_page *g)
{
	struct sp_stages s = {0};

	if (!g->p->fold || !g->p->event_count)
		return;
	if (sp_stages_init(&s, g->p, 0, g->areas) < 0)
		b->failed = true;
	sp_buf_adds(b, ",\"folded\":{");
	for (size_t i = 0; i < s.count && !b->failed; i++) {
		const struct sp_stage_row *r = &s.rows[i];

		sp_buf_addf(b,
			"%s\"stage %d.%d\":{\"tasks\":%" PRIu32 ",\"run\":%.3f,\"whole\":%" PRIu32
			",\"median\":%.3f,\"max\":%.3f,\"slowest\":%" PRId64 "}",
			i ? "," : "", r->stage, r->attempt, r->tasks, (double)r->run_ns / 1e6,
			r->length_count, (double)r->median_ns / 1e6, (double)r->max_ns / 1e6,
			r->max_task);
	}
	sp_buf_addc(b, '}');
	sp_stages_done(&s);
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
		"],\"samples\":[%" PRIu64 ",%" PRIu64 "],\"durations\":[%" PRIu64 ",%" PRIu64 "]}",
		d->views[0]->samples, d->views[1]->samples, d->views[0]->profile->duration_ns,
		d->views[1]->profile->duration_ns);
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

void sp_page_meta(const struct sp_page *g, const uint32_t *states, size_t count, struct sp_buf *b)
{
	const struct sp_profile *p = g->p;

	sp_buf_addf(b,
		"{\"start\":%" PRIu64 ",\"recorded\":%" PRIu64 ",\"duration\":%" PRIu64
		",\"bucket\":%" PRIu64 ",\"buckets\":%" PRIu32,
		g->start_ns, p->start_ns, p->duration_ns, p->bucket_ns, g->buckets);
	sp_buf_addf(b,
		",\"samples\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"truncated\":%" PRIu64
		",\"unknown\":%" PRIu64 ",\"filtered\":%" PRIu64 ",\"outside\":%" PRIu64,
		p->samples, p->lost_total, p->truncated, p->unknown, g->filtered, p->outside);
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
	json_stages(b, p);
	json_folded(b, g);
	json_diff(b, g->diff);
	sp_buf_addc(b, '}');
}
