/* See event_writer.h. */
#include "event_writer.h"

#include "base/clock.h"
#include "jfr/writer.h"
#include "vm/jvminfo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

struct sp_event_writer {
	struct sp_jfrw *w;
	struct sp_dict *dict;
	size_t dict_cap;
	const struct sp_args *args;
	char engine[64];
	uint64_t interval_ns, start_ms;
	uint64_t since_ns; /* when the counters of this file began */
	const char *notes; /* lines; more may come */
	size_t noted;	   /* of them, what this chunk has */
	struct sp_jvminfo jvm;
	struct sp_spark_identity identity;
};

static void setting(struct sp_event_writer *r, const char *name, const char *value)
{
	union sp_jfr_val v[] = {{.u = sp_clock_mono_ns()}, {.u = SP_JFR_EXECUTION_SAMPLE},
		{.s = name}, {.s = value}};

	sp_jfrw_event(r->w, SP_JFR_ACTIVE_SETTING, v);
}

static void number_setting(struct sp_event_writer *r, const char *name, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	setting(r, name, text);
}

/* The sentences about fallbacks that this chunk does not have yet: a setting each. */
static void write_notes(struct sp_event_writer *r)
{
	const char *p = r->notes + r->noted;
	char line[1024];

	for (const char *nl; (nl = strchr(p, '\n')); p = nl + 1) {
		snprintf(line, sizeof(line), "%.*s", (int)(nl - p), p);
		setting(r, "note", line);
	}
	r->noted = (size_t)(p - r->notes);
}

static void write_identity(struct sp_event_writer *r)
{
	const struct sp_spark_identity *id = &r->identity;
	union sp_jfr_val v[] = {{.u = sp_clock_mono_ns()}, {.s = id->app_id}, {.s = id->app_name},
		{.s = id->app_attempt}, {.s = id->executor_id}, {.s = id->host},
		{.s = id->container}, {.s = id->pod}, {.s = id->spark_version},
		{.s = id->scala_version}, {.u = (uint64_t)id->cores}};

	if (id->app_id[0] || id->executor_id[0] || id->spark_version[0])
		sp_jfrw_event(r->w, SP_JFR_APPLICATION, v);
}

/* What every chunk says about the recording itself. */
static void write_head(struct sp_event_writer *r)
{
	uint64_t now = sp_clock_mono_ns();
	struct utsname u;
	char os[sizeof(u.sysname) + sizeof(u.release) + 2] = "";
	union sp_jfr_val rec[] = {{.u = now}, {.u = 1}, {.s = "sparkprof " SP_VERSION}, {.s = NULL},
		{.u = 0}, {.u = 0}, {.u = r->start_ms}, {.u = 0}};
	const struct sp_jvminfo *j = &r->jvm;
	union sp_jfr_val jvm[] = {{.u = now}, {.s = j->name}, {.s = j->version}, {.s = j->args},
		{.s = j->flags}, {.s = j->command}, {.u = j->start_ms}, {.u = (uint64_t)getpid()}};
	union sp_jfr_val osv[] = {{.u = now}, {.s = os}};

	if (uname(&u) == 0)
		snprintf(os, sizeof(os), "%s %s", u.sysname, u.release);
	sp_jfrw_event(r->w, SP_JFR_ACTIVE_RECORDING, rec);
	sp_jfrw_event(r->w, SP_JFR_OS_INFORMATION, osv);
	sp_jfrw_event(r->w, SP_JFR_JVM_INFORMATION, jvm);
	setting(r, "event", r->args->event);
	setting(r, "engine", r->engine);
	number_setting(r, "interval", r->interval_ns);
	if (r->args->wall_ns)
		number_setting(r, "wall", r->args->wall_ns);
	if (r->args->alloc != SP_ARGS_NONE)
		number_setting(r, "alloc", r->args->alloc);
	if (r->args->lock_ns != SP_ARGS_NONE)
		number_setting(r, "lock", r->args->lock_ns);
	if (r->args->nativemem != SP_ARGS_NONE)
		number_setting(r, "nativemem", r->args->nativemem);
	if (r->args->methods[0])
		setting(r, "calls", r->args->methods);
	if (r->args->trace[0])
		setting(r, "trace", r->args->trace);
	setting(r, "version", SP_VERSION);
	r->noted = 0;
	write_notes(r);
	write_identity(r);
}

int sp_event_writer_open(struct sp_event_writer **ret, const struct sp_args *args, int fd,
	struct sp_dict *dict, const char *engine, uint64_t interval_ns, const char *notes,
	size_t memory, struct sp_err *err)
{
	struct sp_jfrw_cfg cfg = {.buffer = memory,
		.chunk_size = args->chunk_bytes,
		.chunk_time_ns = args->chunk_ns,
		.stream = args->stream,
		.append = args->append};
	struct sp_event_writer *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return sp_err_set(err, -ENOMEM, "out of memory");
	r->dict = dict;
	r->dict_cap = args->memory / 4;
	r->args = args;
	r->interval_ns = interval_ns;
	r->notes = notes;
	r->start_ms = sp_clock_wall_ns() / 1000000;
	r->since_ns = sp_clock_mono_ns();
	snprintf(r->engine, sizeof(r->engine), "%s", engine);
	sp_jvminfo_read(&r->jvm, !args->noredact);
	e = sp_jfrw_new(&r->w, fd, dict, &cfg, err);
	if (e < 0) {
		free(r);
		return e;
	}
	write_head(r);
	*ret = r;
	return 0;
}

void sp_event_writer_identity(struct sp_event_writer *r, const struct sp_spark_identity *id)
{
	r->identity = *id;
	write_identity(r);
}

/* Readers count events, so a timer that could not tick as often as asked (the kernel's HZ) still
 * gives one event per tick that was seen: shares stay right, and the setting tells the interval. */
void sp_event_writer_cpu(
	struct sp_event_writer *r, uint64_t time_ns, uint32_t thread, uint32_t stack)
{
	/* async-profiler's converter takes samples without a state for CPU time, others for wall
	 * clock; who is sampled by CPU time runs anyway. */
	sp_jfrw_sample(r->w, time_ns, thread, stack, SP_STATE_UNKNOWN);
}

void sp_event_writer_wall(struct sp_event_writer *r, uint64_t time_ns, uint32_t thread,
	uint32_t stack, enum sp_state state, uint64_t span_ns, uint32_t samples)
{
	sp_jfrw_wall(r->w, time_ns, thread, stack, state, samples, span_ns);
}

void sp_event_writer_event(
	struct sp_event_writer *r, enum sp_jfr_type_id type, const union sp_jfr_val *vals)
{
	sp_jfrw_event(r->w, type, vals);
}

void sp_event_writer_metrics(struct sp_event_writer *r, const struct sp_metrics *m)
{
	union sp_jfr_val cpu[] = {
		{.u = m->time_ns}, {.f = m->cpu_user}, {.f = m->cpu_system}, {.f = m->cpu_machine}};
	union sp_jfr_val rss[] = {{.u = m->time_ns}, {.u = m->rss}, {.u = m->rss_peak}};
	union sp_jfr_val heap[] = {{.u = m->time_ns}, {.u = m->gc_count}, {.u = SP_GC_AFTER},
		{.u = 0}, {.u = 0}, {.u = m->heap_committed}, {.u = 0}, {.u = m->heap_max},
		{.u = m->heap_used}};
	union sp_jfr_val gc[] = {{.u = m->time_ns - m->gc_new_pause_ns}, {.u = m->gc_new_pause_ns},
		{.u = m->gc_count}, {.u = 0}, {.u = 0}, {.u = m->gc_new_pause_ns},
		{.u = m->gc_new_pause_ns}};

	sp_jfrw_event(r->w, SP_JFR_CPU_LOAD, cpu);
	sp_jfrw_event(r->w, SP_JFR_RSS, rss);
	if (m->heap_committed)
		sp_jfrw_event(r->w, SP_JFR_HEAP_SUMMARY, heap);
	if (m->gc_new)
		sp_jfrw_event(r->w, SP_JFR_GC, gc);
	if (m->limited)
		sp_event_writer_throttled(r, m);
}

void sp_event_writer_throttled(struct sp_event_writer *r, const struct sp_metrics *m)
{
	const struct sp_throttled *t = &m->throttled;
	union sp_jfr_val v[] = {
		{.u = m->time_ns}, {.u = t->periods}, {.u = t->throttled}, {.u = t->ns}};

	sp_jfrw_event(r->w, SP_JFR_CPU_THROTTLING, v);
}

void sp_event_writer_module(struct sp_event_writer *r, const struct sp_module *m)
{
	char id[2 * SP_BUILD_ID_MAX + 1] = "";
	struct stat st;
	bool have = stat(m->path, &st) == 0;
	union sp_jfr_val v[] = {{.u = sp_clock_mono_ns()}, {.s = m->path}, {.s = id},
		{.u = m->start}, {.u = m->end}, {.u = have ? st.st_dev : 0},
		{.u = have ? st.st_ino : 0}};

	for (uint8_t i = 0; i < m->build_id_len; i++)
		snprintf(id + 2 * i, 3, "%02x", m->build_id[i]);
	sp_jfrw_event(r->w, SP_JFR_MODULE, v);
}

static const char *const losses[SP_LOSSES] = {
	[SP_LOSS_RING] = "ring full",
	[SP_LOSS_NESTED] = "signal within a signal",
	[SP_LOSS_KERNEL] = "dropped by the kernel",
	[SP_LOSS_MEMORY] = "--memory used up",
	[SP_LOSS_DISK] = "removed to stay within maxdisk",
};

void sp_event_writer_open_task(struct sp_event_writer *r, const struct sp_task *t, uint32_t thread)
{
	const struct sp_task_name *n = &t->name;
	union sp_jfr_val task[] = {{.u = t->start_ns}, {.u = t->end_ns - t->start_ns},
		{.u = thread}, {.u = (uint32_t)n->stage}, {.u = (uint32_t)n->stage_attempt},
		{.u = (uint32_t)n->index}, {.u = (uint32_t)n->attempt}, {.u = (uint64_t)n->task_id},
		{.u = t->begun}, {.u = t->ended}, {.u = t->feeder}, {.u = t->launch_ms}};

	sp_jfrw_event(r->w, SP_JFR_TASK, task);
}

void sp_event_writer_task(struct sp_event_writer *r, const struct sp_task *t, uint32_t thread)
{
	char tag[96];

	sp_task_name_tag(&t->name, tag, sizeof(tag));

	union sp_jfr_val span[] = {{.u = t->start_ns}, {.u = t->end_ns - t->start_ns},
		{.u = thread}, {.u = sp_dict_string(r->dict, tag, strlen(tag))}};

	sp_jfrw_event(r->w, SP_JFR_SPAN, span);
	sp_event_writer_open_task(r, t, thread);
}

void sp_event_writer_stage(struct sp_event_writer *r, const struct sp_stage_about *a)
{
	union sp_jfr_val v[] = {{.u = sp_clock_mono_ns()}, {.u = (uint32_t)a->stage},
		{.u = (uint32_t)a->attempt}, {.u = (uint64_t)a->sql}, {.s = a->group},
		{.s = a->description}, {.s = a->call_site}, {.s = a->pool}, {.s = a->query},
		{.s = a->batch}, {.s = a->name}, {.u = (uint64_t)a->job}, {.s = a->sql_text},
		{.u = a->finished}, {.u = a->median_ms}};

	sp_jfrw_event(r->w, SP_JFR_STAGE, v);
}

void sp_event_writer_source(struct sp_event_writer *r, const char *location, const char *classes)
{
	union sp_jfr_val v[] = {{.u = sp_clock_mono_ns()}, {.s = location}, {.s = classes}};

	sp_jfrw_event(r->w, SP_JFR_CLASS_SOURCE, v);
}

void sp_event_writer_counts(struct sp_event_writer *r, const struct sp_counts *c)
{
	union sp_jfr_val v[] = {{.u = sp_clock_mono_ns()}, {.u = c->samples}, {.u = c->lost},
		{.u = c->truncated}, {.u = c->unknown}, {.u = c->too_deep}, {.u = r->since_ns}};

	sp_jfrw_event(r->w, SP_JFR_COUNTS, v);
	for (int i = 0; i < SP_LOSSES; i++) {
		union sp_jfr_val why[] = {{.u = sp_clock_mono_ns()}, {.s = losses[i]},
			{.u = c->lost_by[i]}, {.u = r->since_ns}};

		if (c->lost_by[i])
			sp_jfrw_event(r->w, SP_JFR_LOST, why);
	}
}

static int sentence(int e, struct sp_err *err)
{
	if (e == -ENOSPC)
		return sp_err_set(err, e,
			"the recording could not be written: no space left on its disk; what was "
			"flushed before is there");
	return sp_err_set(err, e, "the recording could not be written: %s", strerror(-e));
}

bool sp_event_writer_full(const struct sp_event_writer *r)
{
	return sp_dict_used(r->dict) > r->dict_cap / 8 * 7 || sp_dict_refused(r->dict);
}

int sp_event_writer_flush(struct sp_event_writer *r, struct sp_err *err)
{
	int e;

	write_notes(r);
	/* A dictionary that is nearly full begins a new chunk, and so days fit into its memory. */
	e = sp_event_writer_full(r) ? sp_jfrw_rotate(r->w) : sp_jfrw_flush(r->w);

	if (e < 0)
		return sentence(e, err);
	if (e == 0)
		return 0;
	sp_dict_reset(r->dict);
	write_head(r);
	return 1;
}

int sp_event_writer_switch(struct sp_event_writer *r, int fd, struct sp_err *err)
{
	int e;

	write_notes(r);
	e = sp_jfrw_switch(r->w, fd);
	if (e < 0)
		return sentence(e, err);
	r->since_ns = sp_clock_mono_ns();
	sp_dict_reset(r->dict);
	write_head(r);
	return 1;
}

uint64_t sp_event_writer_bytes(const struct sp_event_writer *r)
{
	return sp_jfrw_bytes(r->w);
}

int sp_event_writer_close(
	struct sp_event_writer *r, const struct sp_counts *counts, struct sp_err *err)
{
	int e;

	write_notes(r);
	sp_event_writer_counts(r, counts);
	e = sp_jfrw_close(r->w);
	free(r);
	return e < 0 ? sentence(e, err) : 0;
}
