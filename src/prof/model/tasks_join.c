/* One task that is in several files of a recording (tasks.h). */
#include "prof/model/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_place_and_task(const struct sp_task_run *x, const struct sp_task_run *y)
{
	int r = compare(x->app, y->app);

	if (r == 0)
		r = compare(x->executor, y->executor);
	return r ? r : compare((uint64_t)x->name.task_id, (uint64_t)y->name.task_id);
}

/* Of one task, the run with known times comes first. */
static int by_task(const void *a, const void *b)
{
	const struct sp_task_run *x = *(struct sp_task_run *const *)a;
	const struct sp_task_run *y = *(struct sp_task_run *const *)b;
	int r = by_place_and_task(x, y);

	return r ? r : compare(y->start_ns, x->start_ns);
}

/* The tasks of known executors, in that order; *ret_n of them, none where each has its times. */
static struct sp_task_run **in_order(const struct sp_profile *p, size_t *ret_n)
{
	struct sp_task_run **runs = calloc(p->task_count + 1, sizeof(*runs));
	size_t n = 0, timeless = 0;

	for (size_t i = 0; runs && i < p->task_count; i++) {
		struct sp_task_run *t = &p->tasks[i];

		if (t->name.task_id < 0 || t->helper || t->folded || !t->app || !t->executor)
			continue;
		runs[n++] = t;
		timeless += t->start_ns == 0;
	}
	if (runs && timeless)
		qsort(runs, n, sizeof(*runs), by_task);
	*ret_n = timeless ? n : 0;
	return runs;
}

static void replace(void *ctx, struct sp_sample *row)
{
	const uint32_t *to = ctx;

	row->task = to[row->task];
}

/* Executors that tasks or samples are of; and whether a driver is among them. */
static int count_executors(const struct sp_profile *p, size_t *ret_count, bool *ret_driver)
{
	SP_AUTO_FREE bool *seen = calloc(sp_dict_strings(p->dict) + 1ul, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	*ret_count = 0;
	*ret_driver = false;
	for (size_t i = 0; i < p->task_count; i++) {
		uint32_t id = p->tasks[i].executor;

		if (!id || seen[id])
			continue;
		seen[id] = true;
		if (strcmp(sp_dict_get_string(p->dict, id, NULL), "driver") == 0)
			*ret_driver = true;
		else
			*ret_count += 1;
	}
	return 0;
}

/* "several of app-1" becomes "4 executors of app-1", where it is known which they are. */
static int count_targets(struct sp_profile *p)
{
	static const char several[] = "several";
	const char *target = sp_dict_get_string(p->dict, p->target_id, NULL);
	SP_AUTO_BUF struct sp_buf b = {0};
	size_t n;
	bool driver;

	if (strncmp(target, several, strlen(several)) != 0)
		return 0;
	target += strlen(several);
	if (target[0] && strncmp(target, " of ", 4) != 0)
		return 0;
	if (count_executors(p, &n, &driver) < 0)
		return -ENOMEM;
	if (n + driver < 2)
		return 0;
	sp_buf_addf(&b, "%s%zu executor%s%s", driver ? "driver and " : "", n, n == 1 ? "" : "s",
		target);
	p->target_id = b.failed ? 0 : sp_dict_string(p->dict, b.data, b.len);
	return p->target_id ? 0 : -ENOMEM;
}

int sp_profile_join_tasks(struct sp_profile *p)
{
	size_t n, first = 0, joined = 0;
	SP_AUTO_FREE struct sp_task_run **runs = in_order(p, &n);
	SP_AUTO_FREE uint32_t *to = calloc(p->task_count + 1, sizeof(*to));

	if (!runs || !to || count_targets(p) < 0)
		return -ENOMEM;
	for (size_t i = 0; i <= p->task_count; i++)
		to[i] = (uint32_t)i;
	for (size_t i = 1; i < n; i++) {
		struct sp_task_run *t = runs[i];

		if (by_place_and_task(t, runs[first]) != 0) {
			first = i;
		} else if (t->start_ns == 0) {
			to[t - p->tasks + 1] = (uint32_t)(runs[first] - p->tasks) + 1;
			*t = (struct sp_task_run){.name = {-1, -1, -1, -1, -1},
				.app = t->app,
				.executor = t->executor};
			joined++;
		}
	}
	if (joined)
		sp_profile_rekey(p, replace, to);
	return 0;
}
