/* Thread registry; see threads.h. One lock, held for a few system calls at most. */
#include "threads.h"

#include "base/clock.h"
#include "count.h"
#include "host/page_alloc.h"
#include "java_list.h"
#include "thread_name_history.h"
#include "threads_internal.h"
#include "threads_proc.h"

#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OLD_NAMES 4096
#define GROWS	  (1ull << 30)	/* as far below its end the first thread's stack may reach */
#define SCAN_NS	  4000000000ull /* at most, where the kernel counts threads; else a sixteenth */

int sp_threads_new(struct sp_threads **ret, const struct sp_args *args)
{
	struct sp_threads *ts = calloc(1, sizeof(*ts));

	if (!ts)
		return -ENOMEM;
	ts->args = args;
	pthread_mutex_init(&ts->lock, NULL);
	ts->slots = sp_page_alloc_map(sizeof(*ts->slots) * SP_THREADS_MAX);
	ts->infos = sp_page_alloc_map(sizeof(*ts->infos) * SP_THREADS_MAX);
	ts->index = sp_page_alloc_map(sizeof(*ts->index) * SP_TINDEX_SIZE);
	if (!ts->slots || !ts->infos || !ts->index ||
		sp_thread_name_history_new(&ts->old_names, OLD_NAMES, SP_THREAD_NAME) < 0) {
		sp_threads_free(ts);
		return -ENOMEM;
	}
	sp_sig.slots = ts->slots;
	sp_sig.slot_count = SP_THREADS_MAX;
	sp_sig.index = ts->index;
	sp_sig.index_mask = SP_TINDEX_SIZE - 1;
	*ret = ts;
	return 0;
}

void sp_threads_free(struct sp_threads *ts)
{
	if (!ts)
		return;
	sp_sig.slots = NULL;
	sp_sig.index = NULL;
	sp_sig.slot_count = 0;
	sp_threads_proc_tasks_done(&ts->proc);
	sp_page_alloc_unmap(ts->slots, sizeof(*ts->slots) * SP_THREADS_MAX);
	sp_page_alloc_unmap(ts->infos, sizeof(*ts->infos) * SP_THREADS_MAX);
	sp_page_alloc_unmap(ts->index, sizeof(*ts->index) * SP_TINDEX_SIZE);
	sp_thread_name_history_free(ts->old_names);
	pthread_mutex_destroy(&ts->lock);
	free(ts);
}

static bool is_agent(const struct sp_threads *ts, uint32_t tid)
{
	for (uint32_t i = 0; i < ts->agent_count; i++)
		if (ts->agents[i] == tid)
			return true;
	return false;
}

static bool is_wanted(const struct sp_threads *ts, const struct sp_tinfo *t)
{
	const char *pattern = ts->args->thread;

	if (t->agent || !sp_args_has_tid(ts->args, t->tid))
		return false;
	return !*pattern || fnmatch(pattern, t->name, 0) == 0;
}

static void set_name(struct sp_threads *ts, struct sp_tinfo *t, const char *name, const char *group,
	uint64_t now_ns)
{
	if (name && strncmp(t->name, name, sizeof(t->name) - 1) != 0) {
		if (t->name[0])
			t->name_log = sp_thread_name_history_put(
				ts->old_names, t->name, now_ns, t->name_log);
		t->named_ns = now_ns;
		snprintf(t->name, sizeof(t->name), "%s", name);
		t->name_version++;
	}
	if (group)
		snprintf(t->group, sizeof(t->group), "%s", group);
	atomic_store_explicit(&t->sig->wanted, is_wanted(ts, t), memory_order_relaxed);
}

/* Until it has a name in Java the kernel knows a thread by that of the thread that started it: what
 * it did before does not belong to that one. */
static void forget_kernel_name(struct sp_tinfo *t)
{
	if (!t->named_java)
		t->name[0] = 0;
}

static void release(struct sp_threads *ts, struct sp_tinfo *t)
{
	sp_tindex_remove(ts, t->tid, (uint32_t)(t - ts->infos));
	atomic_store_explicit(&t->sig->tid, 0, memory_order_release);
	t->state = SP_THREAD_FREE;
	t->tid = 0;
	if (ts->tombs > SP_TINDEX_SIZE / 4)
		sp_tindex_rebuild(ts);
}

static struct sp_tinfo *free_slot(struct sp_threads *ts)
{
	if (ts->used > ts->live + 64 || ts->used == SP_THREADS_MAX)
		for (uint32_t i = 0; i < ts->used; i++)
			if (ts->infos[i].state == SP_THREAD_FREE)
				return &ts->infos[i];
	return ts->used < SP_THREADS_MAX ? &ts->infos[ts->used++] : NULL;
}

static void end_thread(struct sp_threads *ts, struct sp_tinfo *t)
{
	if (t->state != SP_THREAD_LIVE)
		return;
	atomic_store_explicit(&t->sig->anchor, 0, memory_order_release);
	if (ts->hooked && !t->agent)
		ts->hooks.gone(ts->hooks.ctx, t);
	sp_threads_unmark_ending(ts, t);
	t->state = SP_THREAD_ENDED;
	t->ended_scan = ts->scan;
	ts->live--;
}

/* A new live thread; an ended one of the same number makes place. */
static struct sp_tinfo *add(struct sp_threads *ts, uint32_t tid)
{
	struct sp_tinfo *t = sp_tindex_find(ts, tid);
	uint32_t generation;

	if (t) {
		end_thread(ts, t);
		release(ts, t);
	}
	t = free_slot(ts);
	if (!t)
		return NULL;
	generation = t->generation + 1;
	memset(t, 0, sizeof(*t));
	t->generation = generation;
	t->sig = &ts->slots[t - ts->infos];
	t->tid = tid;
	t->timer = -1;
	t->agent = is_agent(ts, tid);
	t->seen = ts->scan;
	t->state = SP_THREAD_LIVE;
	ts->live++;
	atomic_store(&t->sig->stack_hi, 0);
	atomic_store(&t->sig->stack_lo, 0);
	atomic_store(&t->sig->anchor, 0);
	atomic_store(&t->sig->busy, 0);
	atomic_store(&t->sig->perf_fd, -1);
	atomic_store(&t->sig->end_fd, -1);
	/* Before anybody finds it: hooks of a thread that has no name yet would be left out. */
	atomic_store(&t->sig->wanted, is_wanted(ts, t));
	atomic_store_explicit(&t->sig->tid, tid, memory_order_release);
	sp_tindex_put(ts, tid, (uint32_t)(t - ts->infos));
	return t;
}

static void announce(struct sp_threads *ts, struct sp_tinfo *t)
{
	if (ts->hooked && !t->agent)
		ts->hooks.added(ts->hooks.ctx, t);
}

void sp_threads_hook(struct sp_threads *ts, const struct sp_thread_hooks *hooks)
{
	pthread_mutex_lock(&ts->lock);
	for (uint32_t i = 0; ts->hooked && i < ts->used; i++)
		if (ts->infos[i].state == SP_THREAD_LIVE && !ts->infos[i].agent)
			ts->hooks.gone(ts->hooks.ctx, &ts->infos[i]);
	ts->hooked = hooks != NULL;
	if (hooks)
		ts->hooks = *hooks;
	for (uint32_t i = 0; ts->hooked && i < ts->used; i++)
		if (ts->infos[i].state == SP_THREAD_LIVE)
			announce(ts, &ts->infos[i]);
	pthread_mutex_unlock(&ts->lock);
}

void sp_threads_announce(struct sp_threads *ts)
{
	pthread_mutex_lock(&ts->lock);
	for (uint32_t i = 0; i < ts->used; i++)
		if (ts->infos[i].state == SP_THREAD_LIVE)
			announce(ts, &ts->infos[i]);
	pthread_mutex_unlock(&ts->lock);
}

void sp_threads_renew(struct sp_threads *ts, struct sp_tinfo *t)
{
	pthread_mutex_lock(&ts->lock);
	if (ts->hooked && t->state == SP_THREAD_LIVE && !t->agent) {
		ts->hooks.gone(ts->hooks.ctx, t);
		ts->hooks.added(ts->hooks.ctx, t);
	}
	pthread_mutex_unlock(&ts->lock);
}

void sp_threads_exclude_self(struct sp_threads *ts)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct sp_tinfo *t;

	pthread_mutex_lock(&ts->lock);
	if (!is_agent(ts, tid) && ts->agent_count < sizeof(ts->agents) / sizeof(*ts->agents))
		ts->agents[ts->agent_count++] = tid;
	t = sp_tindex_find(ts, tid);
	if (t && t->state == SP_THREAD_LIVE) {
		if (ts->hooked && !t->agent)
			ts->hooks.gone(ts->hooks.ctx, t);
		t->agent = true;
		atomic_store(&t->sig->wanted, 0);
	}
	pthread_mutex_unlock(&ts->lock);
}

void sp_threads_started(struct sp_threads *ts, uint64_t java_thread, uint64_t anchor,
	uint64_t java_id, const char *name, const char *group)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	uint64_t lo = 0, hi = 0;
	struct sp_tinfo *t;

	sp_threads_proc_own_stack(&lo, &hi);
	pthread_mutex_lock(&ts->lock);
	t = sp_tindex_find(ts, tid);
	/* A native thread that attaches to the JVM is known already. */
	if (!t || t->state != SP_THREAD_LIVE || (t->java_thread && t->java_thread != java_thread)) {
		t = add(ts, tid);
		if (t)
			t->seen = ts->scan + 1; /* the scan under way may have missed it */
	} else if (!t->agent && ts->hooked) {
		ts->hooks.gone(ts->hooks.ctx, t);
	}
	if (t) {
		t->java_thread = t->java_was = java_thread;
		t->java_since_ns = sp_clock_mono_ns();
		t->java_id = java_id;
		sp_threads_unmark_ending(ts, t);
		forget_kernel_name(t);
		t->listed = t->named_java = true;
		atomic_store_explicit(&t->sig->anchor, anchor, memory_order_release);
		sp_threads_set_bounds(t, lo, hi);
		set_name(ts, t, name, group, sp_clock_mono_ns());
		announce(ts, t);
	}
	pthread_mutex_unlock(&ts->lock);
}

void sp_threads_ended(struct sp_threads *ts, const char *name)
{
	struct sp_tinfo *t;

	pthread_mutex_lock(&ts->lock);
	t = sp_tindex_find(ts, (uint32_t)syscall(SYS_gettid));
	if (t && t->state == SP_THREAD_LIVE) {
		if (name)
			set_name(ts, t, name, NULL, sp_clock_mono_ns());
		/* It may live on as a native thread (DetachCurrentThread): only the JVM's part
		 * ends here, the rest when /proc no longer shows it. */
		atomic_store_explicit(&t->sig->anchor, 0, memory_order_release);
		t->java_thread = 0;
		sp_threads_mark_ending(ts, t);
		t->listed = true; /* or a list read before this would bring its JavaThread back */
	}
	pthread_mutex_unlock(&ts->lock);
}

static struct sp_tinfo *find_java(struct sp_threads *ts, uint64_t java_thread)
{
	struct sp_tinfo *t = sp_tindex_find(ts, (uint32_t)syscall(SYS_gettid));

	if (t && t->state == SP_THREAD_LIVE && t->java_thread == java_thread)
		return t;
	for (uint32_t i = 0; i < ts->used; i++) {
		t = &ts->infos[i];
		if (t->state == SP_THREAD_LIVE && t->java_thread == java_thread)
			return t;
	}
	return NULL;
}

uint32_t sp_threads_name(struct sp_threads *ts, uint64_t java_thread, uint64_t java_id,
	const char *name, const char *group, uint64_t asked_ns)
{
	struct sp_tinfo *t;
	uint32_t tid = 0;

	pthread_mutex_lock(&ts->lock);
	t = find_java(ts, java_thread);
	if (t) {
		bool stale = t->named_java && t->named_ns > asked_ns;

		forget_kernel_name(t);
		set_name(ts, t, stale ? NULL : name, group, asked_ns);
		tid = stale ? 0 : t->tid;
		t->java_id = java_id;
		t->named_java = true;
	}
	pthread_mutex_unlock(&ts->lock);
	return tid;
}

uint32_t sp_threads_renamed(
	struct sp_threads *ts, uint64_t java_thread, const char *name, uint64_t now_ns)
{
	struct sp_tinfo *t;
	uint32_t tid = 0;

	pthread_mutex_lock(&ts->lock);
	t = find_java(ts, java_thread);
	if (t) {
		tid = t->tid;
		forget_kernel_name(t);
		t->named_java = true;
		set_name(ts, t, name, NULL, now_ns);
	}
	pthread_mutex_unlock(&ts->lock);
	return tid;
}

uint32_t sp_threads_name_at(
	struct sp_threads *ts, const struct sp_tinfo *t, uint64_t time_ns, char buf[SP_THREAD_NAME])
{
	const char *old = NULL;
	uint32_t version;

	pthread_mutex_lock(&ts->lock);
	version = t->name_version;
	if (time_ns < t->named_ns)
		old = sp_thread_name_history_at(ts->old_names, t->name_log, time_ns);
	memcpy(buf, old ? old : t->name, SP_THREAD_NAME);
	pthread_mutex_unlock(&ts->lock);
	return old ? 0 : version;
}

static void saw_task(void *ctx, uint32_t tid)
{
	struct sp_threads *ts = ctx;
	struct sp_tinfo *t;
	char comm[32];

	/* Per thread, not around the whole scan: a starting thread must not wait for it. */
	pthread_mutex_lock(&ts->lock);
	t = sp_tindex_find(ts, tid);
	if (t && t->state == SP_THREAD_LIVE) {
		if (t->seen < ts->scan)
			t->seen = ts->scan;
		if (t->ending_scan + 1 < ts->scan)
			sp_threads_unmark_ending(ts, t); /* it lives on */
	} else if (!(t = add(ts, tid))) {
		ts->full = true;
	} else {
		ts->want_list = true;
		ts->found++;
		sp_threads_proc_comm(tid, comm);
		sp_threads_proc_whole_name(comm, sizeof(comm));
		/* The control connection's threads are ours as well. */
		if (strncmp(comm, "sparkprof", 9) == 0)
			t->agent = true;
		set_name(ts, t, comm, NULL, sp_clock_mono_ns());
		announce(ts, t);
	}
	pthread_mutex_unlock(&ts->lock);
}

static void let_go(struct sp_threads *ts)
{
	pthread_mutex_lock(&ts->lock);
	for (uint32_t i = 0; i < ts->used; i++) {
		struct sp_tinfo *t = &ts->infos[i];

		if (t->state == SP_THREAD_LIVE && t->seen < ts->scan)
			end_thread(ts, t);
		else if (t->state == SP_THREAD_ENDED && t->ended_scan + 2 < ts->scan)
			release(ts, t);
	}
	pthread_mutex_unlock(&ts->lock);
}

/* What is writable may be a stack. */
static void fill_bounds(void *ctx, uint64_t start, uint64_t end, enum sp_mapping kind)
{
	struct sp_threads *ts = ctx;

	if (kind == SP_MAPPING_STACK)
		start = end - GROWS;
	for (uint32_t i = 0; kind != SP_MAPPING_READABLE && i < ts->used; i++) {
		struct sp_tinfo *t = &ts->infos[i];

		if (t->state == SP_THREAD_LIVE && t->want_sp && t->hint_sp >= start &&
			t->hint_sp < end)
			sp_threads_set_bounds(t, start, end);
	}
}

void sp_threads_scan(struct sp_threads *ts, const struct sp_hotspot *h, bool force)
{
	uint64_t now = sp_clock_mono_ns(), took;

	if (ts->want_bounds) {
		pthread_mutex_lock(&ts->lock);
		ts->want_bounds = false;
		sp_threads_proc_maps(fill_bounds, ts);
		pthread_mutex_unlock(&ts->lock);
	}
	/* One may end while another begins: look anyway now and then. Those of a JVM that starts
	 * threads by the thousand differ all the time; Java's are reported. */
	if (!force && (now < ts->rest_ns || (now < ts->next_scan_ns && sp_threads_count_fits(ts))))
		return;
	pthread_mutex_lock(&ts->lock);
	ts->scan++;
	ts->full = false;
	pthread_mutex_unlock(&ts->lock);
	if (sp_threads_proc_tasks(&ts->proc, saw_task, ts) == 0)
		let_go(ts);
	if (ts->want_list && h)
		sp_threads_java_list(ts, h);
	/* A scan of 10,000 threads takes milliseconds: at most 1 % of our time, and 10 % where they
	 * come and go. */
	took = sp_clock_mono_ns() - now;
	ts->next_scan_ns = now + (ts->proc.counts ? SCAN_NS : SCAN_NS / 16) + 100 * took;
	ts->rest_ns = now + 10 * took;
}

void sp_threads_learn(struct sp_threads *ts, struct sp_tinfo *t, uint64_t sp)
{
	if (t->want_sp || atomic_load(&t->sig->stack_hi))
		return;
	t->hint_sp = sp;
	t->want_sp = ts->want_bounds = true;
}

struct sp_tinfo *sp_threads_find(struct sp_threads *ts, uint32_t tid)
{
	struct sp_tinfo *t;

	pthread_mutex_lock(&ts->lock);
	t = sp_tindex_find(ts, tid);
	pthread_mutex_unlock(&ts->lock);
	return t;
}

void sp_threads_each(
	struct sp_threads *ts, bool ended, void (*fn)(void *ctx, struct sp_tinfo *t), void *ctx)
{
	for (uint32_t i = 0; i < ts->used; i++) {
		struct sp_tinfo *t = &ts->infos[i];

		if (!t->agent &&
			(t->state == SP_THREAD_LIVE || (ended && t->state == SP_THREAD_ENDED)))
			fn(ctx, t);
	}
}

uint32_t sp_threads_slot(const struct sp_threads *ts, const struct sp_tinfo *t)
{
	return (uint32_t)(t - ts->infos);
}

uint32_t sp_threads_found(const struct sp_threads *ts)
{
	return ts->found;
}

uint32_t sp_threads_count(const struct sp_threads *ts)
{
	return ts->live;
}
