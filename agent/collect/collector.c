/* See collector.h. The loop: every tick (20 ms, 80 where nothing new comes) look for threads, drain
 * the engines, and once a second write metrics and flush. */
#include "collector_internal.h"
#include "marks.h"

#include "base/clock.h"
#include "capture/gate.h"
#include "capture/sample_ring.h"
#include "hooks/hooks.h"
#include "hooks/library_hooks.h"
#include "hooks/nativemem.h"
#include "host/own_thread.h"
#include "host/sched_slice.h"
#include "jfr/event_fields.h"
#include "options/memory_shares.h"
#include "output/segments.h"
#include "sig/hook_capture.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TICK_NS	 20000000ull
#define FIRST_NS 1000000000ull

static void say_sentence(struct sp_collector *c, const char *sentence)
{
	c->capture->say(c->capture->say_ctx, sentence);
}

static void module_seen(void *ctx, const struct sp_module *m)
{
	struct sp_collector *c = ctx;

	sp_event_writer_module(c->record, m);
}

/* May stacks have frames of the kernel? */
static bool sees_kernel(const struct sp_args *a)
{
	return strcmp(a->kernel, "off") != 0 && strcmp(a->cstack, "no") != 0 && !a->alluser &&
	       strcmp(a->event, "ctimer") != 0 && strcmp(a->event, "itimer") != 0 &&
	       !sp_args_only_hooks(a);
}

static int open_all(struct sp_collector *c, struct sp_err *err)
{
	const struct sp_args *a = c->capture->args;
	int r = sp_dict_new(&c->dict, a->memory / SP_SHARE_DICT);

	if (r < 0)
		return sp_err_set(err, r, "out of memory for the dictionary");
	r = sp_sample_stack_new(&c->stacks, c->capture, c->dict, a->memory / SP_SHARE_STACKS, err);
	if (r < 0)
		return r;
	c->intern = sp_sample_stack_intern(c->stacks);
	sp_intern_on_module(c->intern, module_seen, c);
	/* no launcher that will put them in */
	if (c->input->segments || !c->capture->launcher)
		r = sp_intern_ask_files(
			c->intern, sees_kernel(a) ? a->memory / SP_SHARE_KERNEL_NAMES : 0);
	else if (a->left && sees_kernel(a))
		r = sp_intern_ask_kernel(c->intern, a->memory / SP_SHARE_KERNEL_NAMES);
	if (r < 0)
		return sp_err_set(err, r, "out of memory for names from files");
	r = sp_metrics_new(&c->metrics);
	c->processes = a->proc_ns ? sp_processes_new(a->proc_ns) : NULL;
	return r < 0 ? sp_err_set(err, r, "out of memory for the metrics") : 0;
}

int sp_collector_new(struct sp_collector **ret, struct sp_capture *capture,
	struct sp_recording_input *input, int out_fd, struct sp_err *err)
{
	struct sp_collector *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return sp_err_set(err, -ENOMEM, "out of memory");
	c->capture = capture;
	c->input = input;
	c->out_fd = out_fd;
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->finish_lock, NULL);
	pthread_mutex_init(&c->writing, NULL);
	pthread_cond_init(&c->done, NULL);
	r = open_all(c, err);
	if (r < 0) {
		sp_collector_free(c);
		return r;
	}
	sp_collector_set_sink(c);
	*ret = c;
	return 0;
}

void sp_collector_free(struct sp_collector *c)
{
	if (!c)
		return;
	sp_python_workers_free(c->python);
	sp_metrics_free(c->metrics);
	sp_processes_free(c->processes);
	sp_sample_stack_free(c->stacks);
	sp_dict_free(c->dict);
	pthread_cond_destroy(&c->done);
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->finish_lock);
	pthread_mutex_destroy(&c->writing);
	free(c);
}

struct sp_hotspot *sp_collector_hotspot(struct sp_collector *c)
{
	return sp_sample_stack_hotspot(c->stacks);
}

/* The handler's records, oldest first, unwound where they lie. */
static void drain_ring(struct sp_collector *c)
{
	struct sp_ring *ring = c->capture->ring;
	struct sp_ring_head *head;

	c->ring_filling = ring->base && sp_ring_used(ring) > ring->size / 8;
	atomic_store(&sp_sig.woken, 0);

	while (ring->base && (head = sp_ring_peek(ring))) {
		struct sp_sig_record *rec = (struct sp_sig_record *)head;
		struct sp_raw_sample s;

		/* A library may have come, and its first calls been sampled, since the last look.
		 */
		if (c->loads != sp_library_hooks_loads()) {
			c->loads = sp_library_hooks_loads();
			sp_sample_stack_refresh(c->stacks);
		}
		sp_hook_events_sample(rec, &s);
		s.thread = sp_threads_find(c->capture->threads, rec->tid);
		if (s.thread)
			sp_threads_learn(c->capture->threads, s.thread, rec->regs[SP_REG_RSP]);
		if (rec->kind == SP_HOOK_SAMPLE && c->engine->sampled)
			c->engine->sampled(c->capture, &s);
		else if (rec->kind == SP_HOOK_SAMPLE)
			sp_collector_sample(c, &s);
		else
			sp_collector_report(c, &s, rec);
		sp_ring_release(ring, head);
	}
}

static void count_losses(struct sp_collector *c)
{
	struct sp_ring *ring = c->capture->ring;

	sp_collector_count(&c->lost[SP_LOSS_NESTED], atomic_exchange(&sp_sig.reentered, 0));
	sp_collector_count(&c->lost[SP_LOSS_RING], atomic_exchange(&sp_sig.refused, 0));
	if (ring->base)
		sp_collector_count(&c->lost[SP_LOSS_RING], atomic_exchange(&ring->refused, 0));
	sp_collector_count(&c->lost[SP_LOSS_KERNEL], c->capture->lost);
	c->capture->lost = 0;
}

static void drain(struct sp_collector *c)
{
	sp_sample_stack_refresh(c->stacks);
	sp_library_hooks_look();
	sp_nativemem_look();
	if (c->engine->drain)
		c->engine->drain(c->capture);
	drain_ring(c);
	sp_collector_tasks(c);
	sp_collector_marks(c);
	count_losses(c);
}

static void sleep_until(struct sp_collector *c, uint64_t at_ns, uint32_t seen)
{
	uint64_t now = sp_clock_mono_ns();
	struct timespec left;

	if (now >= at_ns)
		return;
	left.tv_sec = (time_t)((at_ns - now) / 1000000000);
	left.tv_nsec = (long)((at_ns - now) % 1000000000);
	pthread_mutex_unlock(&c->writing);
	syscall(SYS_futex, &sp_sig.wake, FUTEX_WAIT_PRIVATE, seen, &left, NULL, 0);
	pthread_mutex_lock(&c->writing);
}

static uint64_t drain_ns(const struct sp_collector *c)
{
	uint64_t i = c->capture->interval_ns;

	/* Threads that are found to have long stacks are sampled another way: soon. */
	if (c->engine->finds_long_stacks && sp_clock_mono_ns() < c->begun_ns + FIRST_NS)
		return i < TICK_NS / 5 ? TICK_NS / 10 : TICK_NS / 4;
	/* Short intervals fill rings faster. Of the kernel's we do not know how far. */
	if (c->ring_filling || i < 1000000 || (c->engine->drain && i == 1000000))
		return TICK_NS / 4;
	return TICK_NS;
}

static uint64_t tick_ns(struct sp_collector *c)
{
	uint64_t rest = sp_collector_rest_ns(c), ns = rest ? rest : drain_ns(c);

	return c->wall && c->wall_ns < ns ? c->wall_ns : ns;
}

static uint64_t next_tick(uint64_t last, uint64_t now, uint64_t tick)
{
	/* Late: catch up without spinning, where rings may fill. */
	if (last + tick < now)
		return now + (tick > TICK_NS ? tick : tick / 4);
	return last > now ? now + tick : last + tick; /* earlier than planned: woken */
}

/* Many samples at once are cheaper than few at a time; who woke us waits for them. */
static void drain_when_due(struct sp_collector *c, bool woken)
{
	uint64_t now = sp_clock_mono_ns();

	if (c->wall)
		sp_wall_tick(c->wall);
	if (!woken && (now < c->next_drain_ns || sp_collector_may_wait(c, now)))
		return;
	c->next_drain_ns = now + drain_ns(c) - tick_ns(c) / 4;
	c->drained_ns = now;
	drain(c);
}

/* What --end did not end, the recording does. */
static void end_window(struct sp_collector *c)
{
	uint64_t since;
	uint32_t tid;

	if (sp_gate_still_open(c->capture, &tid, &since))
		sp_event_writer_event(c->record,
			SP_JFR_EVENT(WINDOW, .startTime.u = since,
				.duration.u = sp_clock_mono_ns() - since,
				.eventThread.u = sp_collector_thread_at(
					c, sp_threads_find(c->capture->threads, tid), tid, since)));
}

/* The last act: engines off, what they took written, the recording complete. */
static void finish(struct sp_collector *c)
{
	struct sp_counts counts;
	struct sp_metrics metrics;
	uint64_t bytes, lost = 0;

	sp_hooks_silence(c->capture);
	c->engine->stop(c->capture);
	end_window(c);
	sp_gate_say(c->capture);
	sp_task_table_close(c->input->tasks, sp_clock_mono_ns());
	sp_thread_filter_check_say(&c->thread_filter, c->capture);
	sp_marks_end();
	drain(c);
	if (sp_task_table_lost(c->input->tasks))
		say_sentence(c, "task table full: some samples have no task");
	if (c->input->live)
		sp_collector_count(&c->samples,
			sp_hook_events_live(c->input->live, c->record, c->dict, true, &lost));
	sp_collector_count(&c->lost[SP_LOSS_MEMORY], lost);
	sp_hook_events_rest(&c->callers, c->record, sp_intern_epoch(c->intern));
	if (c->wall)
		sp_wall_settle(c->wall, true);
	sp_wall_free(c->wall);
	c->wall = NULL;
	/* After that: what the JVM's threads have waited for until here is what Python did. */
	pthread_mutex_unlock(&c->writing);
	sp_python_workers_end(c->python);
	pthread_mutex_lock(&c->writing);
	if (c->engine->done)
		c->engine->done(c->capture);
	sp_collector_identify(c);
	sp_collector_python(c);
	sp_processes_tick(c->processes, c->record, true);
	sp_metrics_read(c->metrics, &metrics);
	sp_event_writer_last_metrics(c->record, &metrics);
	sp_collector_sources(c);
	sp_collector_lives(c);
	sp_collector_last_room(c);
	sp_collector_piece_counts(c, &counts);
	bytes = sp_event_writer_bytes(c->record);
	atomic_store(&c->bytes, c->bytes_before + bytes);
	c->finish_status = sp_event_writer_close(c->record, &counts, &c->finish_err);
	c->record = NULL;
	if (c->input->segments)
		sp_segments_finish(c->input->segments, bytes, counts.samples);
	pthread_mutex_lock(&c->lock);
	c->finished = true;
	c->flush_done = c->flush_wanted;
	pthread_cond_broadcast(&c->done);
	pthread_mutex_unlock(&c->lock);
}

static void *run(void *arg)
{
	struct sp_collector *c = arg;
	uint64_t next = sp_clock_mono_ns();
	uint32_t before = 0;

	sp_threads_exclude_self(c->capture->threads);
	sp_sched_slice_raise_priority();
	pthread_mutex_lock(&c->writing);
	c->running = true;
	if (!c->identity_version)
		sp_spark_identity_early(&c->identity);
	sp_collector_start_python(c);
	sp_marks_begin();
	while (!atomic_load(&c->stop)) {
		uint32_t seen = atomic_load(&sp_sig.wake);
		uint64_t now;

		sp_threads_scan(c->capture->threads, sp_sample_stack_hotspot(c->stacks), false);
		sp_thread_filter_check_look(&c->thread_filter, c->capture);
		drain_when_due(c, seen != before);
		before = seen;
		sp_collector_flush_if_due(c);
		now = sp_clock_mono_ns();
		/* A recording that cannot be written is not worth a sample. */
		if (c->flush_status < 0) {
			say_sentence(c, c->flush_err.text);
			break;
		}
		if (c->end_ns && now >= c->end_ns)
			break;
		sleep_until(c, next = next_tick(next, now, tick_ns(c)), seen);
	}
	finish(c);
	pthread_mutex_unlock(&c->writing);
	if (c->flush_status < 0 && c->input->segments)
		sp_segments_failed(c->input->segments);
	return NULL;
}

static int open_record(struct sp_collector *c, const struct sp_engine *engine, uint64_t wall_ns,
	struct sp_err *err)
{
	const struct sp_args *a = c->capture->args;
	struct sp_counts none = {0};
	int r = sp_event_writer_open(&c->record, a, c->out_fd, c->dict, engine->name,
		c->capture->interval_ns, c->input->notes, &c->input->properties,
		a->memory / SP_SHARE_EVENTS, err);

	if (r == 0)
		sp_collector_identify(c);
	if (r < 0 || !wall_ns)
		return r;
	c->wall_ns = wall_ns;
	c->wall_left = wall_ns - 1;
	r = sp_wall_start(&c->wall, c->capture, wall_ns, err);
	if (r < 0)
		sp_event_writer_close(c->record, &none, NULL);
	return r;
}

int sp_collector_start(struct sp_collector *c, const struct sp_engine *engine, uint64_t wall_ns,
	struct sp_err *err)
{
	const struct sp_args *a = c->capture->args;
	int r = open_record(c, engine, wall_ns, err);

	if (r < 0)
		return r;
	c->engine = engine;
	c->begun_ns = c->news_ns = sp_clock_mono_ns();
	c->next_flush_ns = sp_clock_mono_ns() + a->flush_ns;
	c->end_ns = a->timeout_ns ? sp_clock_mono_ns() + a->timeout_ns : 0;
	r = sp_own_thread_start(&c->thread, "sparkprof", SP_STACK_PLAIN, run, c);
	if (r < 0) {
		struct sp_counts none = {0};

		sp_event_writer_close(c->record, &none, NULL);
		sp_wall_free(c->wall);
		c->wall = NULL;
		return sp_err_set(err, r, "cannot start a thread in the target: %s", strerror(-r));
	}
	c->started = true;
	return 0;
}
