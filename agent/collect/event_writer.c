/* See event_writer.h. */
#include "event_writer.h"

#include "base/clock.h"
#include "environment.h"
#include "jfr/event_fields.h"
#include "jfr/setting.h"
#include "pysample/py_record.h"
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
	const struct sp_args *args;
	char engine[64];
	uint64_t interval_ns, start_ms;
	uint64_t since_ns; /* when the counters of this file began */
	const char *notes; /* lines; more may come */
	const struct sp_buf *properties;
	size_t noted; /* of them, what this chunk has */
	struct sp_jvminfo jvm;
	struct sp_spark_identity identity;
};

/* The sentences about fallbacks that this chunk does not have yet: a setting each. */
static void write_notes(struct sp_event_writer *r)
{
	const char *p = r->notes + r->noted;
	char line[1024];

	for (const char *nl; (nl = strchr(p, '\n')); p = nl + 1) {
		snprintf(line, sizeof(line), "%.*s", (int)(nl - p), p);
		sp_jfrw_setting(r->w, "note", line);
	}
	r->noted = (size_t)(p - r->notes);
}

static void write_identity(struct sp_event_writer *r)
{
	const struct sp_spark_identity *id = &r->identity;

	if (id->app_id[0] || id->executor_id[0] || id->spark_version[0])
		sp_jfrw_event(r->w,
			SP_JFR_EVENT(APPLICATION, .startTime.u = sp_clock_mono_ns(),
				.appId.s = id->app_id, .appName.s = id->app_name,
				.appAttempt.s = id->app_attempt, .executorId.s = id->executor_id,
				.host.s = id->host, .container.s = id->container, .pod.s = id->pod,
				.sparkVersion.s = id->spark_version,
				.scalaVersion.s = id->scala_version,
				.cores.u = (uint64_t)id->cores));
}

/* What every chunk says about the recording itself. */
static void write_head(struct sp_event_writer *r)
{
	uint64_t now = sp_clock_mono_ns();
	struct utsname u;
	char os[sizeof(u.sysname) + sizeof(u.release) + 2] = "";
	const struct sp_jvminfo *j = &r->jvm;

	if (uname(&u) == 0)
		snprintf(os, sizeof(os), "%s %s", u.sysname, u.release);
	sp_jfrw_event(
		r->w, SP_JFR_EVENT(ACTIVE_RECORDING, .startTime.u = now, .id.u = 1,
			      .name.s = "sparkprof " SP_VERSION, .recordingStart.u = r->start_ms));
	sp_jfrw_event(r->w, SP_JFR_EVENT(OS_INFORMATION, .startTime.u = now, .osVersion.s = os));
	sp_jfrw_event(r->w, SP_JFR_EVENT(JVM_INFORMATION, .startTime.u = now, .jvmName.s = j->name,
				    .jvmVersion.s = j->version, .jvmArguments.s = j->args,
				    .jvmFlags.s = j->flags, .javaArguments.s = j->command,
				    .jvmStartTime.u = j->start_ms, .pid.u = (uint64_t)getpid()));
	sp_environment_write(r->w, r->properties);
	sp_jfrw_setting(r->w, "event", r->args->event);
	sp_jfrw_setting(r->w, "engine", r->engine);
	sp_jfrw_setting_number(r->w, "interval", r->interval_ns);
	if (r->args->wall_ns)
		sp_jfrw_setting_number(r->w, "wall", r->args->wall_ns);
	if (r->args->alloc != SP_ARGS_NONE)
		sp_jfrw_setting_number(r->w, "alloc", r->args->alloc);
	if (r->args->lock_ns != SP_ARGS_NONE)
		sp_jfrw_setting_number(r->w, "lock", r->args->lock_ns);
	if (r->args->nativelock_ns != SP_ARGS_NONE)
		sp_jfrw_setting_number(r->w, "nativelock", r->args->nativelock_ns);
	if (r->args->nativemem != SP_ARGS_NONE)
		sp_jfrw_setting_number(r->w, "nativemem", r->args->nativemem);
	if (r->args->methods[0])
		sp_jfrw_setting(r->w, "calls", r->args->methods);
	if (r->args->trace[0])
		sp_jfrw_setting(r->w, "trace", r->args->trace);
	sp_jfrw_setting(r->w, "version", SP_VERSION);
	r->noted = 0;
	write_notes(r);
	write_identity(r);
}

int sp_event_writer_open(struct sp_event_writer **ret, const struct sp_args *args, int fd,
	struct sp_dict *dict, const char *engine, uint64_t interval_ns, const char *notes,
	const struct sp_buf *properties, size_t memory, struct sp_err *err)
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
	r->args = args;
	r->interval_ns = interval_ns;
	r->notes = notes;
	r->properties = properties;
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

struct sp_jfrw *sp_event_writer_jfrw(struct sp_event_writer *r)
{
	return r->w;
}

void sp_event_writer_identity(struct sp_event_writer *r, const struct sp_spark_identity *id)
{
	r->identity = *id;
	write_identity(r);
}

/* Readers count events, so a timer that could not tick as often as asked (the kernel's HZ) still
 * gives one event per tick that was seen: shares stay right, and the setting has the interval. */
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
	sp_jfrw_event(
		r->w, SP_JFR_EVENT(CPU_LOAD, .startTime.u = m->time_ns, .jvmUser.f = m->cpu_user,
			      .jvmSystem.f = m->cpu_system, .machineTotal.f = m->cpu_machine));
	sp_jfrw_event(r->w, SP_JFR_EVENT(RSS, .startTime.u = m->time_ns, .size.u = m->rss,
				    .peak.u = m->rss_peak));
	if (m->classes_loaded)
		sp_jfrw_event(r->w, SP_JFR_EVENT(CLASS_LOADING, .startTime.u = m->time_ns,
					    .loadedClassCount.u = m->classes_loaded,
					    .unloadedClassCount.u = m->classes_unloaded));
	if (m->heap_committed)
		sp_jfrw_event(r->w, SP_JFR_EVENT(HEAP_SUMMARY, .startTime.u = m->time_ns,
					    .gcId.u = m->gc_count, .when.u = SP_GC_AFTER,
					    .heapSpace_committedSize.u = m->heap_committed,
					    .heapSpace_reservedSize.u = m->heap_max,
					    .heapUsed.u = m->heap_used));
	sp_event_writer_last_metrics(r, m);
}

void sp_event_writer_last_metrics(struct sp_event_writer *r, const struct sp_metrics *m)
{
	if (m->gc_new_pause_ns)
		sp_jfrw_event(r->w, SP_JFR_EVENT(GC, .startTime.u = m->time_ns - m->gc_new_pause_ns,
					    .duration.u = m->gc_new_pause_ns, .gcId.u = m->gc_count,
					    .sumOfPauses.u = m->gc_new_pause_ns,
					    .longestPause.u = m->gc_new_pause_ns));
	if (m->limited)
		sp_event_writer_throttled(r, m);
}

void sp_event_writer_throttled(struct sp_event_writer *r, const struct sp_metrics *m)
{
	const struct sp_throttled *t = &m->throttled;

	sp_jfrw_event(
		r->w, SP_JFR_EVENT(CPU_THROTTLING, .startTime.u = m->time_ns,
			      .cpuElapsedSlices.u = t->periods,
			      .cpuThrottledSlices.u = t->throttled, .cpuThrottledTime.u = t->ns));
}

void sp_event_writer_module(struct sp_event_writer *r, const struct sp_module *m)
{
	char id[2 * SP_BUILD_ID_MAX + 1] = "";
	struct stat st;
	bool have = stat(m->path, &st) == 0;

	for (uint8_t i = 0; i < m->build_id_len; i++)
		snprintf(id + 2 * i, 3, "%02x", m->build_id[i]);
	sp_jfrw_event(
		r->w, SP_JFR_EVENT(MODULE, .startTime.u = sp_clock_mono_ns(), .path.s = m->path,
			      .buildId.s = id, .baseAddress.u = m->start, .topAddress.u = m->end,
			      .device.u = have ? st.st_dev : 0, .inode.u = have ? st.st_ino : 0));
}

static const char *const losses[SP_LOSSES] = {
	[SP_LOSS_RING] = "ring full",
	[SP_LOSS_NESTED] = "signal within a signal",
	[SP_LOSS_KERNEL] = "dropped by the kernel",
	[SP_LOSS_MEMORY] = "--memory used up",
	[SP_LOSS_DISK] = "removed to stay within maxdisk",
	[SP_LOSS_PYTHON] = SP_PYLOST_CHANGED,
};

void sp_event_writer_open_task(struct sp_event_writer *r, const struct sp_task *t, uint32_t thread)
{
	const struct sp_task_name *n = &t->name;

	sp_jfrw_event(r->w,
		SP_JFR_EVENT(TASK, .startTime.u = t->start_ns,
			.duration.u = t->end_ns - t->start_ns, .eventThread.u = thread,
			.stage.u = (uint32_t)n->stage, .stageAttempt.u = (uint32_t)n->stage_attempt,
			.index.u = (uint32_t)n->index, .attempt.u = (uint32_t)n->attempt,
			.taskId.u = (uint64_t)n->task_id, .begun.u = t->begun, .ended.u = t->ended,
			.helper.u = t->feeder, .launchTime.u = t->launch_ms));
}

void sp_event_writer_task(struct sp_event_writer *r, const struct sp_task *t, uint32_t thread)
{
	char tag[96];

	sp_task_name_tag(&t->name, tag, sizeof(tag));

	sp_jfrw_event(r->w, SP_JFR_EVENT(SPAN, .startTime.u = t->start_ns,
				    .duration.u = t->end_ns - t->start_ns, .eventThread.u = thread,
				    .tag.u = sp_dict_string(r->dict, tag, strlen(tag))));
	sp_event_writer_open_task(r, t, thread);
}

void sp_event_writer_stage(struct sp_event_writer *r, const struct sp_stage_about *a)
{
	sp_jfrw_event(
		r->w, SP_JFR_EVENT(STAGE, .startTime.u = sp_clock_mono_ns(),
			      .stage.u = (uint32_t)a->stage, .attempt.u = (uint32_t)a->attempt,
			      .sqlExecution.u = (uint64_t)a->sql, .jobGroup.s = a->group,
			      .description.s = a->description, .callSite.s = a->call_site,
			      .pool.s = a->pool, .streamingQuery.s = a->query,
			      .streamingBatch.s = a->batch, .name.s = a->name,
			      .job.u = (uint64_t)a->job, .sqlText.s = a->sql_text,
			      .finished.u = a->finished, .median.u = a->median_ms));
}

void sp_event_writer_plan(struct sp_event_writer *r, int64_t sql, const char *pipelines)
{
	sp_jfrw_event(r->w, SP_JFR_EVENT(SQL_PLAN, .startTime.u = sp_clock_mono_ns(),
				    .sqlExecution.u = (uint64_t)sql, .pipelines.s = pipelines));
}

void sp_event_writer_source(struct sp_event_writer *r, const char *location, const char *classes)
{
	sp_jfrw_event(r->w, SP_JFR_EVENT(CLASS_SOURCE, .startTime.u = sp_clock_mono_ns(),
				    .location.s = location, .classes.s = classes));
}

void sp_event_writer_counts(struct sp_event_writer *r, const struct sp_counts *c)
{
	sp_jfrw_event(r->w,
		SP_JFR_EVENT(COUNTS, .startTime.u = sp_clock_mono_ns(), .samples.u = c->samples,
			.lost.u = c->lost, .truncated.u = c->truncated, .unknown.u = c->unknown,
			.tooDeep.u = c->too_deep, .sinceTime.u = r->since_ns));
	for (int i = 0; i < SP_LOSSES; i++) {
		if (c->lost_by[i])
			sp_jfrw_event(r->w, SP_JFR_EVENT(LOST, .startTime.u = sp_clock_mono_ns(),
						    .reason.s = losses[i], .count.u = c->lost_by[i],
						    .sinceTime.u = r->since_ns));
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
	return sp_dict_used(r->dict) > sp_dict_cap(r->dict) / 8 * 7 || sp_dict_refused(r->dict);
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
	sp_environment_libraries(r->w); /* some came since the chunk began */
	sp_event_writer_counts(r, counts);
	e = sp_jfrw_close(r->w);
	free(r);
	return e < 0 ? sentence(e, err) : 0;
}
