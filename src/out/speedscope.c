/* speedscope's file format: all frames once, then a profile for each event, or with -t for each
 * event and thread. Frames are shared. */
#include "out/out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/json.h"

static const char *unit_name(enum sp_unit unit, bool total)
{
	if (!total)
		return "none";
	return unit == SP_UNIT_NS ? "nanoseconds" : unit == SP_UNIT_BYTES ? "bytes" : "none";
}

/* The views of all events, and where the frames of each start in the shared list. */
struct views {
	struct sp_view *list[SP_PROFILE_EVENTS];
	uint32_t first[SP_PROFILE_EVENTS];
	unsigned count;
};

static void views_done(struct views *v)
{
	for (unsigned i = 0; i < v->count; i++)
		sp_view_free(v->list[i]);
}

static int views_init(struct views *v, const struct sp_profile *p, const struct sp_view_opts *opts)
{
	uint32_t first = 0;

	for (unsigned i = 0; i < p->event_count; i++) {
		struct sp_view_opts o = *opts;
		int r;

		if (p->events[i].samples == 0)
			continue;
		o.event = sp_profile_event_name(p, i);
		if (opts->event && strcmp(opts->event, o.event) != 0)
			continue;
		o.split = opts->threads;
		o.threads = false;
		r = sp_view_new(p, &o, &v->list[v->count]);
		if (r < 0)
			return r;
		v->first[v->count] = first;
		first += sp_view_frames(v->list[v->count++]);
	}
	return 0;
}

static void write_frames(const struct views *v, struct sp_sink *sink)
{
	const char *sep = "";

	sp_sink_puts(sink, "\"shared\":{\"frames\":[");
	for (unsigned k = 0; k < v->count; k++) {
		for (uint32_t i = 1; i <= sp_view_frames(v->list[k]); i++) {
			sp_sink_printf(sink, "%s\n{\"name\":", sep);
			sp_json_string(sink, sp_view_get_frame(v->list[k], i).name);
			sp_sink_puts(sink, "}");
			sep = ",";
		}
	}
	sp_sink_puts(sink, "\n]}");
}

/* Stacks of one thread, or of all with @thread NULL. */
static bool belongs(const struct sp_view_stack *s, const struct sp_view_share *thread)
{
	return s->value > 0 && (!thread || s->thread == thread->id);
}

static void write_profile(const struct views *v, unsigned k, const struct sp_view_share *thread,
	bool total, struct sp_sink *sink)
{
	const struct sp_view *view = v->list[k];
	const struct sp_dict *d = view->profile->dict;
	SP_AUTO_BUF struct sp_buf name;
	const char *sep = "";
	uint64_t sum = 0;

	sp_buf_init(&name);
	sp_buf_adds(&name, sp_dict_get_string(d, view->event->name_id, NULL));
	if (thread) {
		sp_buf_addc(&name, ' ');
		sp_frame_name_thread(d, thread->id, &name);
	}
	sp_sink_puts(sink, "{\"type\":\"sampled\",\"name\":");
	sp_json_string(sink, sp_buf_str(&name));
	sp_sink_printf(sink, ",\"unit\":\"%s\",\"samples\":[", unit_name(view->event->unit, total));
	for (size_t i = 0; i < view->stack_count; i++) {
		const struct sp_view_stack *s = &view->stacks[i];

		if (!belongs(s, thread))
			continue;
		sum += s->value;
		sp_sink_printf(sink, "%s\n[", sep);
		for (uint32_t f = 0; f < s->count; f++)
			sp_sink_printf(sink, "%s%u", f ? "," : "", v->first[k] + s->frames[f] - 1);
		sp_sink_puts(sink, "]");
		sep = ",";
	}
	sp_sink_puts(sink, "\n],\"weights\":[");
	sep = "";
	for (size_t i = 0; i < view->stack_count; i++) {
		if (!belongs(&view->stacks[i], thread))
			continue;
		sp_sink_printf(sink, "%s%" PRIu64, sep, view->stacks[i].value);
		sep = ",";
	}
	sp_sink_printf(sink, "],\"startValue\":0,\"endValue\":%" PRIu64 "}", sum);
}

int sp_out_speedscope(
	const struct sp_profile *p, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	__attribute__((cleanup(views_done))) struct views v = {.count = 0};
	const char *title = sp_dict_get_string(p->dict, p->title_id, NULL);
	int r = views_init(&v, p, &opts->view);
	const char *sep = "";

	if (r < 0)
		return r;
	if (!*title)
		title = sp_dict_get_string(p->dict, p->target_id, NULL);
	sp_sink_puts(sink, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
			   "\"exporter\":\"sparkprof " SP_VERSION "\",\"name\":");
	sp_json_string(sink, *title ? title : "sparkprof");
	sp_sink_puts(sink, ",\"activeProfileIndex\":0,\n");
	write_frames(&v, sink);
	sp_sink_puts(sink, ",\n\"profiles\":[");
	for (unsigned k = 0; k < v.count; k++) {
		size_t n = opts->view.threads ? v.list[k]->thread_count : 1;

		for (size_t i = 0; i < n; i++) {
			sp_sink_puts(sink, sep);
			write_profile(&v, k, opts->view.threads ? &v.list[k]->threads[i] : NULL,
				opts->view.total, sink);
			sep = ",\n";
		}
	}
	sp_sink_puts(sink, "]}\n");
	return 0;
}
