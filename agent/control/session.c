/* See session.h: puts registry, engines, JVM side and collector together and takes them apart. */
#include "session.h"

#include "capture/engine.h"
#include "capture/sample_ring.h"
#include "collect/collector.h"
#include "hooks/class_sources.h"
#include "hooks/hooks.h"
#include "hooks/jvmti_thread.h"
#include "hooks/method_calls.h"
#include "host/own_memory.h"
#include "memory_budget.h"
#include "options/memory_shares.h"
#include "output/remote_upload.h"
#include "output/report_writer.h"
#include "output/segments.h"
#include "spark/driver_rest.h"
#include "vm/vm_statics.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* For the last segment on its way to the cluster's files, and the last report: less than the 30 s a
 * pod has. */
#define DFS_GRACE_NS 20000000000ull
#define LEAVING_MS   2000

static _Atomic bool
	taken; /* the handler's state, and what the JVM calls back, is one per process */

struct sp_session {
	struct sp_args args;
	struct sp_capture capture;
	struct sp_recording_input input;
	struct sp_ring ring;
	struct sp_threads *threads;
	struct sp_collector *collector;
	struct sp_remote_upload *dfs;	 /* NULL: the recording stays on this host */
	struct sp_report_writer *report; /* NULL: file= is a recording */
	struct sp_driver_rest *rest;	 /* NULL: nobody to ask */
	sp_say_fn *say;
	void *say_ctx;
	int debug_was_off;
	bool jvmside;
};

/* Have all handlers and hooks left? Hooks that wait for a safepoint's end go on when it is over, as
 * does the thread that takes them out. */
static bool all_have_left(void)
{
	struct timespec ms = {0, 1000000};

	for (int i = 0; atomic_load(&sp_sig.inflight) && i < LEAVING_MS; i++)
		nanosleep(&ms, NULL);
	return atomic_load(&sp_sig.inflight) == 0;
}

/* Frees everything that a partly started session has; the output is the caller's until it runs. */
static void dispose(struct sp_session *s)
{
	atomic_store(&sp_sig.hooks, 0); /* where the collector never ran */
	sp_driver_rest_stop(s->rest);
	if (s->jvmside)
		sp_jvmti_thread_stop();
	/* Only now: the JVM's end may have waited for them, too (vm_death). */
	sp_remote_upload_free(s->dfs);
	sp_report_writer_free(s->report);
	sp_vm_statics_debug_restore(s->debug_was_off);
	sp_collector_free(s->collector);
	sp_class_sources_free(s->input.sources);
	sp_own_memory_close();
	/* A handler that has not left by now (a stopped thread) keeps its memory, of which @s
	 * holds the ring's head. */
	if (all_have_left()) {
		sp_live_objects_free(s->input.live);
		sp_threads_free(s->threads);
		sp_task_table_free(s->input.tasks);
		sp_ring_done(&s->ring);
		sp_buf_done(&s->input.properties);
		free(s->input.lives.all);
		free(s);
	}
	atomic_store(&taken, false);
}

void sp_session_exclude_self(struct sp_session *s)
{
	sp_threads_exclude_self(s->threads);
}

/* What is said is also kept, to be written into the recording. */
static void say_and_note(void *ctx, const char *sentence)
{
	struct sp_session *s = ctx;
	char *notes = s->input.notes;
	size_t used = strlen(notes);

	if (used + strlen(sentence) + 2 <= sizeof(s->input.notes))
		snprintf(notes + used, sizeof(s->input.notes) - used, "%s\n", sentence);
	if (s->say)
		s->say(s->say_ctx, sentence);
}

/* The JVM ends: the recording must be whole before it does. */
static void vm_death(void *ctx)
{
	struct sp_session *s = ctx;

	/* A collection may have ended just before. */
	if (s->input.live && s->jvmside)
		sp_jvmti_thread_tick();
	sp_collector_finish(s->collector, NULL);
	if (s->dfs)
		sp_remote_upload_finish(s->dfs, DFS_GRACE_NS);
	if (s->report)
		sp_report_writer_finish(s->report, DFS_GRACE_NS);
}

/* What there is goes out at once: the end may come faster than the last segment is written. */
static void ending(void *ctx)
{
	struct sp_session *s = ctx;

	sp_segments_hurry(s->input.segments);
	sp_collector_nudge(s->collector);
}

static void code_unloaded(void *ctx, uint64_t addr)
{
	struct sp_session *s = ctx;

	sp_hotspot_code_unloaded(sp_collector_hotspot(s->collector), addr);
}

static void stub_generated(void *ctx, const char *name, uint64_t begin, uint64_t end)
{
	struct sp_session *s = ctx;

	sp_hotspot_stub_generated(sp_collector_hotspot(s->collector), name, begin, end);
}

static int start_jvmside(struct sp_session *s, JavaVM *vm, struct sp_err *err)
{
	struct sp_hotspot *h = sp_collector_hotspot(s->collector);
	struct sp_jvmti_thread_events ev = {.threads = s->threads,
		.tasks = s->input.tasks,
		.identity = &s->input.identity,
		.properties = &s->input.properties,
		.redact = !s->args.noredact,
		.lives = &s->input.lives,
		.vm_death = vm_death,
		.ctx = s};
	struct sp_anchor_layout layout;
	int r;

	if (h) {
		sp_hotspot_anchor(h, &layout);
		ev.anchor_offset = layout.anchor;
		ev.code_unloaded = code_unloaded;
		ev.stub_generated = stub_generated;
		sp_sig.anchor = (struct sp_sig_anchor_layout){.sp = (uint16_t)layout.sp,
			.fp = (uint16_t)layout.fp,
			.pc = (uint16_t)layout.pc};
	}
	if (s->input.segments && sp_segments_is_remote(s->args.file))
		ev.ending = ending;
	sp_hooks_invite(&s->capture, s->input.live, &ev);
	if (s->input.sources)
		ev.guests[ev.guest_count++] = sp_class_sources_guest(s->input.sources);
	/* First the threads that are there, so that their names find them. */
	sp_threads_scan(s->threads, h, true);
	r = sp_jvmti_thread_start(vm, &ev, err);
	s->jvmside = r == 0;
	return r;
}

/* Not worth failing for. */
static void ask_for_names(struct sp_session *s, JavaVM *vm)
{
	sp_driver_rest_start(
		&s->rest, vm, s->threads, s->input.tasks, &s->input.identity, s->args.driver_ui);
}

static int start_parts(struct sp_session *s, JavaVM *vm, int out_fd, struct sp_err *err)
{
	struct sp_capture *c = &s->capture;
	const struct sp_engine *engine = NULL;
	bool wall = strcmp(s->args.event, "wall") == 0;
	int r = sp_threads_new(&s->threads, &s->args);

	if (r < 0)
		return sp_err_set(err, r, "out of memory for the list of threads");
	c->threads = s->threads;
	r = sp_task_table_new(&s->input.tasks);
	if (r < 0)
		return sp_err_set(err, r, "out of memory for the list of tasks");
	c->ring = &s->ring;
	r = sp_class_sources_new(&s->input.sources);
	if (r < 0)
		return sp_err_set(err, r, "out of memory for the list of classes");
	r = sp_collector_new(&s->collector, c, &s->input, out_fd, err);
	if (r == 0)
		r = sp_hooks_prepare(c, &s->input.live, err);
	if (r == 0)
		r = start_jvmside(s, vm, err);
	if (r == 0)
		r = sp_engine_start(c, &engine, err);
	if (r < 0)
		return r;
	r = sp_collector_start(
		s->collector, engine, wall ? sp_args_interval(&s->args) : s->args.wall_ns, err);
	if (r < 0) {
		engine->stop(c);
		if (engine->done)
			engine->done(c);
		return r;
	}
	ask_for_names(s, vm);
	return 0;
}

/* Where it cannot be started the recording stays as it is. */
static void start_report(struct sp_session *s)
{
	if (s->input.segments && sp_segments_reports(s->input.segments) &&
		sp_report_writer_start(&s->report, s->input.segments, &s->args) < 0)
		s->report = NULL;
}

static int start_dfs(struct sp_session *s, JavaVM *vm, struct sp_err *err)
{
	int r;

	if (!s->input.segments || !sp_segments_is_remote(s->args.file))
		return 0;
	r = sp_remote_upload_start(
		&s->dfs, vm, s->input.segments, s->threads, s->say, s->say_ctx, err);
	if (r < 0)
		sp_collector_finish(s->collector, NULL);
	return r;
}

int sp_session_start(struct sp_session **ret, JavaVM *vm, const struct sp_args *args, int out_fd,
	struct sp_segments *segments, const struct sp_perf_source *launcher, sp_say_fn *say,
	void *say_ctx, struct sp_err *err)
{
	struct sp_session *s;
	int r;

	if (atomic_exchange(&taken, true))
		return sp_err_set(err, -EBUSY, "a recording is already running in this JVM");
	s = calloc(1, sizeof(*s));
	if (!s) {
		atomic_store(&taken, false);
		return sp_err_set(err, -ENOMEM, "out of memory");
	}
	s->args = *args;
	s->capture = (struct sp_capture){
		.args = &s->args,
		.interval_ns = sp_args_interval(args),
		.say = say_and_note,
		.say_ctx = s,
		.launcher = launcher,
		.perf = strcmp(args->perf, "passed") == 0 ? launcher : NULL,
	};
	s->input.segments = segments;
	pthread_mutex_init(&s->capture.perf_lock, NULL);
	pthread_mutex_init(&s->input.identity.lock, NULL);
	pthread_mutex_init(&s->input.lives.lock, NULL);
	s->say = say;
	s->say_ctx = say_ctx;
	if (args->ignored[0]) {
		struct sp_err note;

		sp_err_set(&note, 0, "unsupported options ignored: %s", args->ignored);
		say_and_note(s, note.text);
	}
	r = sp_memory_budget_apply(&s->args, say_and_note, s, err);
	if (r == 0) {
		s->capture.memory = s->args.memory / SP_SHARE_RINGS;
		sp_own_memory_open();
		s->debug_was_off = sp_vm_statics_debug_on();
		r = start_parts(s, vm, out_fd, err);
		if (r == 0)
			r = start_dfs(s, vm, err);
		if (r == 0)
			start_report(s);
	}
	if (r < 0) {
		dispose(s);
		return r;
	}
	*ret = s;
	return 0;
}

void sp_session_counts(const struct sp_session *s, struct sp_counts *ret)
{
	sp_collector_counts(s->collector, ret);
}

int sp_session_dup(const struct sp_session *s)
{
	return sp_collector_dup(s->collector);
}

const char *sp_session_stages(const struct sp_session *s, char *buf, size_t size)
{
	return sp_task_table_stages(s->input.tasks, buf, size);
}

const char *sp_session_missing(const struct sp_session *s, char *buf, size_t size)
{
	char names[512] = "";

	if (s->args.methods[0] || s->args.trace[0])
		sp_method_calls_missing(names, sizeof(names));
	snprintf(buf, size, "%s%s", names,
		names[0] ? ": no class with such a method was loaded" : "");
	return buf;
}

void sp_session_perf(struct sp_session *s, const struct sp_parcel *parcel)
{
	struct sp_capture *c = &s->capture;

	pthread_mutex_lock(&c->perf_lock);
	if (c->perf_arrived)
		c->perf_arrived(c, parcel);
	else
		sp_parcel_drop(parcel);
	pthread_mutex_unlock(&c->perf_lock);
}

int sp_session_flush(struct sp_session *s, struct sp_err *err)
{
	if (s->input.live && s->jvmside)
		sp_jvmti_thread_tick();
	return sp_collector_flush(s->collector, err);
}

/* Who named an address wants to hear that it did not help; others had numbers to expect. */
static void stop_asking(struct sp_session *s)
{
	bool in_vain = sp_driver_rest_stop(s->rest);
	char text[sizeof(s->args.driver_ui) + 128];

	s->rest = NULL;
	if (!in_vain || !s->args.driver_ui[0])
		return;
	snprintf(text, sizeof(text), "--driver-ui: %s has no stages of this application",
		s->args.driver_ui);
	say_and_note(s, text);
}

int sp_session_stop(struct sp_session *s, struct sp_counts *ret_counts, struct sp_err *err)
{
	int r;

	stop_asking(s);
	/* Who is alive, and what else there is to say, is asked at the last moment. */
	sp_class_sources_hurry(s->input.sources);
	if (s->jvmside)
		sp_jvmti_thread_tick();
	r = sp_collector_finish(s->collector, err);
	if (ret_counts)
		sp_collector_counts(s->collector, ret_counts);
	sp_collector_close(s->collector);
	if (s->dfs)
		sp_remote_upload_finish(s->dfs, DFS_GRACE_NS);
	if (s->report)
		sp_report_writer_finish(s->report, DFS_GRACE_NS);
	dispose(s);
	return r;
}
