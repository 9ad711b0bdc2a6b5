/* --slowest: see slowest.h. */
#include "slowest.h"

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The mean time of a task of an entry, in ms; -1: none has finished. */
static double mean_of(struct sp_json_reader entry)
{
	int64_t tasks = sp_json_reader_int(sp_json_reader_get(entry, "completedTasks"), 0);
	int64_t ms = sp_json_reader_int(sp_json_reader_get(entry, "totalDuration"), 0);

	tasks += sp_json_reader_int(sp_json_reader_get(entry, "failedTasks"), 0);
	return tasks > 0 && ms >= 0 ? (double)ms / (double)tasks : -1;
}

static double look_up(struct sp_json_reader all, const char *id)
{
	struct sp_json_reader v;
	size_t at = 0;

	while ((v = sp_json_reader_next(all, &at)).p) {
		SP_AUTO_FREE char *its = sp_json_reader_text(sp_json_reader_get(v, "id"));

		if (its && strcmp(its, id) == 0)
			return mean_of(v);
	}
	return -1;
}

size_t sp_via_slowest_keep(const char *app, const char *json, size_t len, size_t keep,
	struct sp_via_member *list, size_t n)
{
	SP_AUTO_FREE double *means = calloc(n + 1, sizeof(*means));
	struct sp_json_reader all = sp_json_reader_value(json, json + len);
	size_t left = 0;

	for (size_t i = 0; means && i < n; i++) {
		bool asked = list[i].meant && list[i].role == SP_ROLE_EXECUTOR;

		means[i] = asked && strcmp(list[i].app, app) == 0 ? look_up(all, list[i].id) : -1;
		if (asked)
			list[i].meant = false;
	}
	for (; means && left < keep; left++) {
		size_t most = n;

		for (size_t i = 0; i < n; i++)
			if (means[i] >= 0 && (most == n || means[i] > means[most]))
				most = i;
		if (most == n)
			break;
		list[most].meant = true;
		means[most] = -1;
	}
	return left;
}

int sp_via_slowest(
	const struct sp_call *call, struct sp_via_member *list, size_t n, struct sp_err *err)
{
	SP_AUTO_BUF struct sp_buf answer = {0};
	SP_AUTO_FREE char *app = NULL;
	int r = sp_via_cluster_ask_driver(call, &app, &answer, err);

	if (r < 0)
		return r;
	if (sp_via_slowest_keep(app, answer.data, answer.len, call->slowest, list, n) == 0)
		return sp_err_set(err, -ESRCH,
			"--slowest: %s, the driver at %s, knows of no finished task of the "
			"executors "
			"that are meant",
			app, call->driver_ui);
	return 0;
}
