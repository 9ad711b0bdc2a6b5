/* See task_table.h. Open tasks are few (one per core of the executor): a plain array. */
#include "task_table.h"

#include "host/page_alloc.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE  8192 /* ended tasks between two looks of the collector; a power of two */
#define STAGES 4096 /* stage attempts remembered as known; a power of two */
#define ABOUTS 64
#define PLANS  16  /* SQL executions between two looks of the collector */
#define TRIES  40  /* of the driver, 0.2 s apart: a busy one hears of a stage seconds late */
#define WANTED 256 /* stages that the driver may be asked for; a power of two */

struct sp_task_table {
	pthread_mutex_t lock;
	struct sp_task *open, *queue;
	uint64_t *known; /* stage << 32 | attempt, + 1; an older one gives way */
	struct sp_stage_about *abouts;
	uint32_t open_count, about_count;
	struct {
		int32_t stage, attempt;
		int64_t sql;
		uint32_t tries;
	} wanted[WANTED];
	uint64_t wanted_head, wanted_tail;
	struct {
		int64_t sql;
		char *pipelines; /* owned */
	} plans[PLANS];
	uint32_t plan_count;
	uint64_t head, tail, lost;
};

int sp_task_table_new(struct sp_task_table **ret)
{
	struct sp_task_table *ts = calloc(1, sizeof(*ts));

	if (!ts)
		return -ENOMEM;
	pthread_mutex_init(&ts->lock, NULL);
	ts->open = sp_page_alloc_map(SP_TASK_TABLE_OPEN * sizeof(*ts->open));
	ts->queue = sp_page_alloc_map(QUEUE * sizeof(*ts->queue));
	ts->known = sp_page_alloc_map(STAGES * sizeof(*ts->known));
	ts->abouts = sp_page_alloc_map(ABOUTS * sizeof(*ts->abouts));
	if (!ts->open || !ts->queue || !ts->known || !ts->abouts) {
		sp_task_table_free(ts);
		return -ENOMEM;
	}
	*ret = ts;
	return 0;
}

void sp_task_table_free(struct sp_task_table *ts)
{
	if (!ts)
		return;
	sp_page_alloc_unmap(ts->open, SP_TASK_TABLE_OPEN * sizeof(*ts->open));
	sp_page_alloc_unmap(ts->queue, QUEUE * sizeof(*ts->queue));
	sp_page_alloc_unmap(ts->known, STAGES * sizeof(*ts->known));
	sp_page_alloc_unmap(ts->abouts, ABOUTS * sizeof(*ts->abouts));
	for (uint32_t i = 0; i < ts->plan_count; i++)
		free(ts->plans[i].pipelines);
	pthread_mutex_destroy(&ts->lock);
	free(ts);
}

static struct sp_task *find(struct sp_task_table *ts, uint32_t tid, int64_t task_id)
{
	for (uint32_t i = 0; i < ts->open_count; i++) {
		struct sp_task *t = &ts->open[i];

		if (t->tid == tid && (task_id == -2 || t->name.task_id == task_id))
			return t;
	}
	return NULL;
}

static void remove_open(struct sp_task_table *ts, struct sp_task *t)
{
	*t = ts->open[--ts->open_count];
}

static void put(struct sp_task_table *ts, const struct sp_task *t)
{
	if (t->feeder && t->name.task_id < 0)
		return; /* its task was never found */
	if (ts->tail - ts->head == QUEUE)
		ts->lost++;
	else
		ts->queue[ts->tail++ & (QUEUE - 1)] = *t;
}

static void end(struct sp_task_table *ts, struct sp_task *t, uint64_t end_ns, bool ended)
{
	if (!t->over)
		t->end_ns = end_ns > t->start_ns ? end_ns : t->start_ns;
	t->ended = ended || t->over;
	put(ts, t);
	remove_open(ts, t);
}

static uint64_t key_of(int32_t stage, int32_t attempt)
{
	return ((uint64_t)(uint32_t)stage << 32 | (uint32_t)attempt) + 1;
}

static uint64_t *known(struct sp_task_table *ts, int32_t stage, int32_t attempt)
{
	uint64_t h = key_of(stage, attempt) * 0x9e3779b97f4a7c15ull;

	return &ts->known[h >> 40 & (STAGES - 1)];
}

static bool is_known(struct sp_task_table *ts, int32_t stage, int32_t attempt)
{
	return stage >= 0 && *known(ts, stage, attempt) == key_of(stage, attempt);
}

/* A thread of a native engine knows the task, not its attempts: the task's own thread does. */
static struct sp_task whole(struct sp_task_table *ts, const struct sp_task *task)
{
	struct sp_task t = *task;

	for (uint32_t i = 0; t.feeder && t.name.task_id >= 0 && i < ts->open_count; i++)
		if (!ts->open[i].feeder && ts->open[i].name.task_id == t.name.task_id)
			t.name = ts->open[i].name;
	return t;
}

static void want(struct sp_task_table *ts, const struct sp_stage_about *about)
{
	uint64_t i = ts->wanted_tail++ & (WANTED - 1);

	if (ts->wanted_tail - ts->wanted_head > WANTED)
		ts->wanted_head++;
	ts->wanted[i].stage = about->stage;
	ts->wanted[i].attempt = about->attempt;
	ts->wanted[i].sql = about->sql;
	ts->wanted[i].tries = about->tries;
}

void sp_task_table_begin(struct sp_task_table *ts, const struct sp_task *task)
{
	struct sp_task *t;

	pthread_mutex_lock(&ts->lock);
	t = find(ts, task->tid, -2);
	if (t)
		end(ts, t, task->start_ns, true);
	if (ts->open_count < SP_TASK_TABLE_OPEN)
		ts->open[ts->open_count++] = whole(ts, task);
	else
		ts->lost++;
	pthread_mutex_unlock(&ts->lock);
}

void sp_task_table_end(struct sp_task_table *ts, uint32_t tid, int64_t task_id, uint64_t end_ns)
{
	struct sp_task *t;

	pthread_mutex_lock(&ts->lock);
	t = find(ts, tid, task_id);
	if (t && t->feeder && t->name.task_id < 0 && !t->over) {
		t->over = true; /* it may still come out */
		t->end_ns = end_ns;
	} else if (t && !t->over) {
		end(ts, t, end_ns, true);
	}
	pthread_mutex_unlock(&ts->lock);
}

void sp_task_table_resolve(struct sp_task_table *ts, uint32_t tid, const struct sp_task_name *name)
{
	struct sp_task *t;

	pthread_mutex_lock(&ts->lock);
	t = find(ts, tid, -1);
	if (t && t->feeder) {
		if (name)
			t->name = *name;
		if (t->over)
			end(ts, t, t->end_ns, true);
	}
	pthread_mutex_unlock(&ts->lock);
}

void sp_task_table_forget(struct sp_task_table *ts, uint32_t tid, int64_t task_id)
{
	struct sp_task *t;

	pthread_mutex_lock(&ts->lock);
	t = find(ts, tid, task_id);
	if (t)
		remove_open(ts, t);
	pthread_mutex_unlock(&ts->lock);
}

void sp_task_table_learn(
	struct sp_task_table *ts, uint32_t tid, int64_t task_id, const struct sp_task_name *name)
{
	struct sp_task *t;

	pthread_mutex_lock(&ts->lock);
	t = find(ts, tid, task_id);
	if (t)
		t->name = *name;
	pthread_mutex_unlock(&ts->lock);
}

uint32_t sp_task_table_open(struct sp_task_table *ts, struct sp_task *list, uint32_t max)
{
	uint32_t n;

	pthread_mutex_lock(&ts->lock);
	n = ts->open_count < max ? ts->open_count : max;
	memcpy(list, ts->open, n * sizeof(*list));
	pthread_mutex_unlock(&ts->lock);
	return n;
}

uint32_t sp_task_table_threads(struct sp_task_table *ts, uint32_t *list, uint32_t max)
{
	uint32_t n = 0;

	pthread_mutex_lock(&ts->lock);
	for (uint32_t i = 0; i < ts->open_count && n < max; i++)
		if (!ts->open[i].feeder)
			list[n++] = ts->open[i].tid;
	pthread_mutex_unlock(&ts->lock);
	return n;
}

uint32_t sp_task_table_unwritten(
	struct sp_task_table *ts, uint64_t before_ns, struct sp_task *list, uint32_t max)
{
	uint32_t n = 0;

	pthread_mutex_lock(&ts->lock);
	for (uint32_t i = 0; i < ts->open_count && n < max; i++) {
		struct sp_task *t = &ts->open[i];

		if (t->written || t->over || t->name.task_id < 0 || t->name.stage < 0 ||
			t->start_ns >= before_ns)
			continue;
		t->written = true;
		list[n++] = *t;
	}
	pthread_mutex_unlock(&ts->lock);
	return n;
}

void sp_task_table_write_again(struct sp_task_table *ts)
{
	pthread_mutex_lock(&ts->lock);
	for (uint32_t i = 0; i < ts->open_count; i++)
		ts->open[i].written = false;
	pthread_mutex_unlock(&ts->lock);
}

const char *sp_task_table_stages(struct sp_task_table *ts, char *buf, size_t size)
{
	uint64_t last = 0, next;
	size_t at = 0;

	buf[0] = 0;
	pthread_mutex_lock(&ts->lock);
	for (;; last = next) {
		next = UINT64_MAX;
		for (uint32_t i = 0; i < ts->open_count; i++) {
			const struct sp_task_name *n = &ts->open[i].name;
			uint64_t key = key_of(n->stage, n->stage_attempt);

			if (n->stage >= 0 && key > last && key < next)
				next = key;
		}
		if (next == UINT64_MAX)
			break;
		if (size - at < 32) {
			snprintf(buf + at, size - at, "%s…", at ? ", " : "");
			break;
		}
		at += (size_t)snprintf(buf + at, size - at, "%s%u.%u", at ? ", " : "",
			(unsigned)((next - 1) >> 32), (unsigned)(next - 1));
	}
	pthread_mutex_unlock(&ts->lock);
	return buf;
}

bool sp_task_table_is_open(struct sp_task_table *ts, uint32_t tid, int64_t task_id)
{
	bool yes;

	pthread_mutex_lock(&ts->lock);
	yes = find(ts, tid, task_id) != NULL;
	pthread_mutex_unlock(&ts->lock);
	return yes;
}

bool sp_task_table_stage_known(struct sp_task_table *ts, int32_t stage, int32_t attempt)
{
	bool yes;

	pthread_mutex_lock(&ts->lock);
	yes = is_known(ts, stage, attempt);
	pthread_mutex_unlock(&ts->lock);
	return yes;
}

void sp_task_table_stage(struct sp_task_table *ts, const struct sp_stage_about *about)
{
	pthread_mutex_lock(&ts->lock);
	/* With the list full the stage stays unknown, and is added again by its next task. */
	if (ts->about_count < ABOUTS && !is_known(ts, about->stage, about->attempt)) {
		ts->abouts[ts->about_count++] = *about;
		*known(ts, about->stage, about->attempt) = key_of(about->stage, about->attempt);
		want(ts, about);
	}
	pthread_mutex_unlock(&ts->lock);
}

bool sp_task_table_wants_name(struct sp_task_table *ts)
{
	bool any;

	pthread_mutex_lock(&ts->lock);
	any = ts->wanted_head < ts->wanted_tail;
	pthread_mutex_unlock(&ts->lock);
	return any;
}

bool sp_task_table_next_wanted(struct sp_task_table *ts, struct sp_stage_about *ret)
{
	bool any;

	pthread_mutex_lock(&ts->lock);
	any = ts->wanted_head < ts->wanted_tail;
	if (any) {
		uint64_t i = ts->wanted_head++ & (WANTED - 1);

		memset(ret, 0, sizeof(*ret));
		ret->stage = ts->wanted[i].stage;
		ret->attempt = ts->wanted[i].attempt;
		ret->sql = ts->wanted[i].sql;
		ret->tries = ts->wanted[i].tries;
		ret->job = -1;
	}
	pthread_mutex_unlock(&ts->lock);
	return any;
}

void sp_task_table_want_again(struct sp_task_table *ts, const struct sp_stage_about *about)
{
	struct sp_stage_about again = *about;

	if (++again.tries >= TRIES)
		return;
	pthread_mutex_lock(&ts->lock);
	want(ts, &again);
	pthread_mutex_unlock(&ts->lock);
}

void sp_task_table_named(struct sp_task_table *ts, const struct sp_stage_about *about)
{
	pthread_mutex_lock(&ts->lock);
	if (ts->about_count < ABOUTS)
		ts->abouts[ts->about_count++] = *about;
	pthread_mutex_unlock(&ts->lock);
}

void sp_task_table_planned(struct sp_task_table *ts, int64_t sql, char *pipelines)
{
	pthread_mutex_lock(&ts->lock);
	if (ts->plan_count < PLANS) {
		ts->plans[ts->plan_count].sql = sql;
		ts->plans[ts->plan_count++].pipelines = pipelines;
		pipelines = NULL;
	}
	pthread_mutex_unlock(&ts->lock);
	free(pipelines);
}

bool sp_task_table_next_plan(struct sp_task_table *ts, int64_t *ret_sql, char **ret_pipelines)
{
	bool any;

	pthread_mutex_lock(&ts->lock);
	any = ts->plan_count > 0;
	if (any) {
		*ret_sql = ts->plans[0].sql;
		*ret_pipelines = ts->plans[0].pipelines;
		memmove(ts->plans, ts->plans + 1, --ts->plan_count * sizeof(ts->plans[0]));
	}
	pthread_mutex_unlock(&ts->lock);
	return any;
}

static bool lists(const struct sp_stage_about *list, uint32_t n, const struct sp_task_name *t)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i].stage == t->stage && list[i].attempt == t->stage_attempt)
			return true;
	return false;
}

uint32_t sp_task_table_running(struct sp_task_table *ts, struct sp_stage_about *list, uint32_t max)
{
	uint32_t n = 0;

	pthread_mutex_lock(&ts->lock);
	for (uint32_t i = 0; i < ts->open_count && n < max; i++) {
		const struct sp_task_name *t = &ts->open[i].name;

		if (t->stage < 0 || t->stage_attempt < 0 || lists(list, n, t))
			continue;
		memset(&list[n], 0, sizeof(*list));
		list[n].stage = t->stage;
		list[n].attempt = t->stage_attempt;
		list[n].sql = list[n].job = -1;
		n++;
	}
	pthread_mutex_unlock(&ts->lock);
	return n;
}

static bool lacks_launch(const struct sp_task *t)
{
	return !t->begun && !t->feeder && !t->launch_ms;
}

bool sp_task_table_wants_launch(struct sp_task_table *ts, int32_t stage, int32_t attempt)
{
	bool any = false;

	pthread_mutex_lock(&ts->lock);
	for (uint32_t i = 0; i < ts->open_count && !any; i++)
		any = ts->open[i].name.stage == stage &&
		      ts->open[i].name.stage_attempt == attempt && lacks_launch(&ts->open[i]);
	pthread_mutex_unlock(&ts->lock);
	return any;
}

void sp_task_table_launched(struct sp_task_table *ts, int64_t task_id, uint64_t launch_ms)
{
	pthread_mutex_lock(&ts->lock);
	for (uint32_t i = 0; i < ts->open_count; i++)
		if (ts->open[i].name.task_id == task_id && lacks_launch(&ts->open[i]))
			ts->open[i].launch_ms = launch_ms;
	pthread_mutex_unlock(&ts->lock);
}

void sp_task_table_close(struct sp_task_table *ts, uint64_t now_ns)
{
	pthread_mutex_lock(&ts->lock);
	while (ts->open_count)
		end(ts, &ts->open[0], now_ns, false);
	pthread_mutex_unlock(&ts->lock);
}

bool sp_task_table_next(struct sp_task_table *ts, struct sp_task *ret)
{
	bool any;

	pthread_mutex_lock(&ts->lock);
	any = ts->head < ts->tail;
	if (any)
		*ret = ts->queue[ts->head++ & (QUEUE - 1)];
	pthread_mutex_unlock(&ts->lock);
	return any;
}

bool sp_task_table_next_stage(struct sp_task_table *ts, struct sp_stage_about *ret)
{
	bool any;

	pthread_mutex_lock(&ts->lock);
	any = ts->about_count > 0;
	if (any)
		*ret = ts->abouts[--ts->about_count];
	pthread_mutex_unlock(&ts->lock);
	return any;
}

uint64_t sp_task_table_lost(struct sp_task_table *ts)
{
	uint64_t n;

	pthread_mutex_lock(&ts->lock);
	n = ts->lost;
	pthread_mutex_unlock(&ts->lock);
	return n;
}
