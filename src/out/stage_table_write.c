/* The table of stages in CSV and JSON: see stage_table.h. */
#include "out/stage_table.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/json.h"
#include "out/number.h"

/* What the stage is called, and which task lagged behind. */
static void csv_words(struct sp_sink *sink, const struct sp_profile *p, const char *event,
	const struct sp_stage_row *r)
{
	SP_AUTO_BUF struct sp_buf name = {0};
	size_t bare;

	sp_buf_addf(&name, "%d.%d ", r->stage, r->attempt);
	bare = name.len;
	sp_stage_table_title(p, r, &name);
	if (name.len > bare) {
		sp_csv_field(sink, event);
		sp_sink_puts(sink, ",stage name,");
		sp_csv_field(sink, sp_buf_str(&name));
		sp_sink_puts(sink, ",,,,,,\r\n");
	}
	if (sp_stage_table_lags(r)) {
		sp_csv_field(sink, event);
		sp_sink_printf(sink,
			",stage straggler,%d.%d TID %lld,1,%" PRIu64 ",%" PRIu64 ",ns,,\r\n",
			r->stage, r->attempt, (long long)r->max_task, r->max.ns, r->max.ns);
	}
}

static void csv_part(struct sp_sink *sink, const char *event, const char *table,
	const struct sp_stage_row *r, const char *name, uint64_t weight, const char *unit)
{
	double share = sp_percent(weight, r->weight);

	if (!weight)
		return;
	sp_csv_field(sink, event);
	sp_sink_printf(sink, ",%s,%d.%d %s,,%" PRIu64 ",%" PRIu64 ",%s,%.4f,%.4f\r\n", table,
		r->stage, r->attempt, name, weight, weight, unit, share, share);
}

void sp_stage_table_csv(const struct sp_stage_table *s, const struct sp_profile *p,
	const char *event, const char *unit, struct sp_sink *sink)
{
	uint64_t all = 0;

	for (size_t i = 0; i < s->count; i++)
		all += s->rows[i].weight;
	for (size_t i = 0; i < s->count; i++) {
		const struct sp_stage_row *r = &s->rows[i];

		sp_csv_field(sink, event);
		sp_sink_printf(sink,
			",stages,%d.%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%.4f,%.4f\r\n",
			r->stage, r->attempt, r->samples, r->weight, r->weight, unit,
			sp_percent(r->weight, all), sp_percent(r->weight, all));
		sp_csv_field(sink, event);
		sp_sink_printf(sink, ",stage run time,%d.%d,%u,%" PRIu64 ",%" PRIu64 ",ns,,\r\n",
			r->stage, r->attempt, r->tasks, sp_stage_table_run_ns(r),
			sp_stage_table_run_ns(r));
		csv_words(sink, p, event, r);
		for (unsigned k = 0; k < sp_areas_count(s->areas); k++)
			csv_part(sink, event, "stage area", r, sp_areas_get(s->areas, k)->name,
				r->areas[k], unit);
		for (unsigned k = 0; k < SP_TIME_CLASS_KINDS; k++)
			csv_part(sink, event, "stage time", r, sp_time_class_name(k), r->spent[k],
				unit);
	}
}

static void json_text(
	struct sp_sink *sink, const char *key, const struct sp_profile *p, uint32_t id)
{
	if (!id)
		return;
	sp_sink_printf(sink, ",\"%s\":", key);
	sp_json_string(sink, sp_dict_get_string(p->dict, id, NULL));
}

static void json_part(struct sp_sink *sink, const char **sep, const char *name, uint64_t weight)
{
	if (!weight)
		return;
	sp_sink_puts(sink, *sep);
	sp_json_string(sink, name);
	sp_sink_printf(sink, ":%" PRIu64, weight);
	*sep = ",";
}

static void json_areas(
	const struct sp_stage_table *s, const struct sp_stage_row *r, struct sp_sink *sink)
{
	const char *sep = "";

	sp_sink_puts(sink, ",\"areas\":{");
	for (unsigned k = 0; k < sp_areas_count(s->areas); k++)
		json_part(sink, &sep, sp_areas_get(s->areas, k)->name, r->areas[k]);
	sp_sink_puts(sink, "}");
}

static void json_time(const struct sp_stage_row *r, struct sp_sink *sink)
{
	const char *sep = "";

	sp_sink_puts(sink, ",\"time\":{");
	for (unsigned k = 0; k < SP_TIME_CLASS_KINDS; k++)
		json_part(sink, &sep, sp_time_class_name(k), r->spent[k]);
	sp_sink_puts(sink, "}");
}

static void json_row(const struct sp_stage_table *s, const struct sp_profile *p,
	const struct sp_stage_row *r, struct sp_sink *sink)
{
	sp_sink_printf(sink,
		"{\"stage\":%d,\"attempt\":%d,\"tasks\":%u,\"run_ns\":%" PRIu64
		",\"samples\":%" PRIu64 ",\"weight\":%" PRIu64,
		r->stage, r->attempt, r->tasks, sp_stage_table_run_ns(r), r->samples, r->weight);
	if (s->waiting)
		sp_sink_printf(sink,
			",\"launch_ns\":%" PRIu64 ",\"cpu_ns\":%" PRIu64
			",\"launch_cpu_ns\":%" PRIu64 ",\"core_wait_ns\":%" PRIu64
			",\"jvm_gc_ns\":%" PRIu64 ",\"fetch_wait_ns\":%" PRIu64
			",\"shuffle_write_ns\":%" PRIu64 ",\"measured\":%" PRIu32,
			r->launch_ns, r->cpu_ns, r->launch_cpu_ns, r->core_ns, r->gc_ns,
			r->fetch_ns, r->write_ns, r->spark_tasks);
	if (r->finished)
		sp_sink_printf(sink, ",\"median_ns\":%" PRIu64 ",\"finished\":%" PRIu32,
			r->median_ns, r->finished);
	if (r->max_task >= 0)
		sp_sink_printf(sink,
			",\"max_ns\":%" PRIu64 ",\"max_task\":%" PRId64
			",\"running\":%s,\"at_least\":%s,\"lags\":%s",
			r->max.ns, r->max_task, r->max.running ? "true" : "false",
			r->max.least ? "true" : "false", sp_stage_table_lags(r) ? "true" : "false");
	json_text(sink, "app", p, r->app);
	if (r->about) {
		if (r->about->sql >= 0)
			sp_sink_printf(sink, ",\"sql\":%" PRId64, r->about->sql);
		if (r->about->job >= 0)
			sp_sink_printf(sink, ",\"job\":%" PRId64, r->about->job);
		json_text(sink, "name", p, r->about->name);
		json_text(sink, "description", p, r->about->description);
		json_text(sink, "call_site", p, r->about->call_site);
		json_text(sink, "job_group", p, r->about->group);
		json_text(sink, "sql_text", p, r->about->sql_text);
		json_text(sink, "query", p, r->about->query);
		json_text(sink, "batch", p, r->about->batch);
	}
	json_areas(s, r, sink);
	if (s->timed)
		json_time(r, sink);
	sp_sink_puts(sink, "}");
}

void sp_stage_table_json(
	const struct sp_stage_table *s, const struct sp_profile *p, struct sp_sink *sink)
{
	sp_sink_puts(sink, "[");
	for (size_t i = 0; i < s->count; i++) {
		sp_sink_puts(sink, i ? ",\n" : "\n");
		json_row(s, p, &s->rows[i], sink);
	}
	sp_sink_puts(sink, "]");
}
