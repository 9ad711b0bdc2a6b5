/* What a recording says of itself: see load_metadata.h. */
#include "prof/load/load_metadata.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "prof/model/timeline.h"

static uint64_t number(const struct sp_jfr_event *e, const char *name)
{
	const struct sp_jfr_value *v = sp_jfr_value_of(e, name);

	return v && v->kind == SP_JFR_V_INT ? v->u : 0;
}

/* Copies a text field, cut to fit. Returns @buf, "" where there is none. */
static const char *text(const struct sp_jfr_event *e, const char *name, char *buf, size_t size)
{
	const struct sp_jfr_value *v = sp_jfr_value_of(e, name);

	snprintf(buf, size, "%.*s", v && v->kind == SP_JFR_V_TEXT ? (int)v->len : 0, v ? v->s : "");
	return buf;
}

/* A number; a share in thousandths of a percent: of all cores, which is at most one, or of one
 * core. */
static uint64_t point_of(const struct sp_jfr_event *e, const char *name, double most)
{
	const struct sp_jfr_value *v = sp_jfr_value_of(e, name);

	if (!v || v->kind != SP_JFR_V_FLOAT)
		return number(e, name);
	return v->f > 0 ? (uint64_t)((v->f < most ? v->f : most) * 100000) : 0;
}

/* Numbers of events that become points; @more: of all that are of one time together. */
static const struct {
	const char *type, *field;
	enum sp_series_kind kind;
	bool more;
} series[] = {
	{"jdk.CPULoad", "jvmUser", SP_SERIES_CPU_JVM, true},
	{"jdk.CPULoad", "jvmSystem", SP_SERIES_CPU_JVM, true},
	{"jdk.CPULoad", "machineTotal", SP_SERIES_CPU_MACHINE, false},
	{"jdk.CPUInformation", "hwThreads", SP_SERIES_CORES, false},
	{"jdk.GCHeapSummary", "heapUsed", SP_SERIES_HEAP, false},
	{"jdk.ResidentSetSize", "size", SP_SERIES_RSS, false},
	{"jdk.GarbageCollection", "sumOfPauses", SP_SERIES_GC, false},
	{"sparkprof.PythonProcess", "cpu", SP_SERIES_PY_CPU, true},
	{"sparkprof.PythonProcess", "rss", SP_SERIES_PY_RSS, true},
	{"sparkprof.PythonProcess", "pss", SP_SERIES_PY_PSS, true},
	{"sparkprof.MemoryGroup", "used", SP_SERIES_MEM_USED, false},
	{"sparkprof.MemoryGroup", "limit", SP_SERIES_MEM_LIMIT, false},
	{"jdk.ContainerCPUThrottling", "cpuElapsedSlices", SP_SERIES_PERIODS, false},
	{"jdk.ContainerCPUThrottling", "cpuThrottledSlices", SP_SERIES_THROTTLED, false},
	{"jdk.ContainerCPUThrottling", "cpuThrottledTime", SP_SERIES_THROTTLED_NS, false},
};

int sp_load_metadata_series(struct sp_loading *l, const char *type, const struct sp_jfr_event *e)
{
	int r = 0;

	for (size_t i = 0; i < SP_COUNT(series) && r == 0; i++)
		if (strcmp(series[i].type, type) == 0)
			r = (series[i].more ? sp_profile_point_more : sp_profile_point)(l->p,
				series[i].kind, e->start_ns,
				point_of(e, series[i].field,
					series[i].kind == SP_SERIES_PY_CPU ? 1e4 : 1));
	return r;
}

void sp_load_metadata_setting(struct sp_loading *l, const struct sp_jfr_event *e)
{
	char name[32], value[1024];

	text(e, "name", name, sizeof(name));
	text(e, "value", value, sizeof(value));
	if (strcmp(name, "event") == 0) {
		l->only_wall = strcmp(value, "wall") == 0;
		if (!l->only_wall || !l->event[0])
			snprintf(l->event, sizeof(l->event), "%s", value);
	} else if (strcmp(name, "interval") == 0)
		*(l->only_wall ? &l->only_wall_interval : &l->interval) = strtoull(value, NULL, 10);
	else if (strcmp(name, "wall") == 0)
		l->wall_interval = strtoull(value, NULL, 10);
	else if (strcmp(name, "note") == 0)
		sp_profile_note(l->p, value);
}

/* "… --executor-id 3 …" of a Spark executor's command line. */
static void read_executor(struct sp_loading *l, const struct sp_jfr_event *e)
{
	static const char word[] = "--executor-id ";
	SP_AUTO_FREE char *line = malloc(16384);
	const char *at;

	if (!line)
		return;
	at = strstr(text(e, "javaArguments", line, 16384), word);
	if (at) {
		at += strlen(word);
		snprintf(l->executor, sizeof(l->executor), "executor %.*s", (int)strcspn(at, " "),
			at);
	}
}

void sp_load_metadata_jvm(struct sp_loading *l, const struct sp_jfr_event *e)
{
	char name[128], version[256], line[400];
	uint64_t pid = number(e, "pid");
	int n;

	read_executor(l, e);
	text(e, "jvmName", name, sizeof(name));
	text(e, "jvmVersion", version, sizeof(version));
	/* HotSpot's version begins with its name, and goes on with how it was built. */
	if (name[0] && strncmp(version, name, strlen(name)) == 0) {
		version[strcspn(version, ")") + (strchr(version, ')') != NULL)] = 0;
		name[0] = 0;
	}
	n = snprintf(line, sizeof(line), "%s%s%s", name, name[0] && version[0] ? " " : "", version);
	if (n > 0)
		l->p->runtime_id = sp_dict_string(l->p->dict, line, (size_t)n);
	n = snprintf(line, sizeof(line), "pid %" PRIu64, pid);
	if (pid)
		l->p->target_id = sp_dict_string(l->p->dict, line, (size_t)n);
}

/* Counts in a recording are sums since its start, so the last one is the largest. */
int sp_load_metadata_lost(struct sp_loading *l, const struct sp_jfr_event *e)
{
	char reason[sizeof(l->losses.rows->reason)];

	text(e, "reason", reason, sizeof(reason));
	return reason[0] ? sp_losses_keep(&l->losses, SP_LOST_BY_REASON, reason,
				   number(e, "sinceTime"), number(e, "count"))
			 : 0;
}

int sp_load_metadata_counts(struct sp_loading *l, const struct sp_jfr_event *e)
{
	uint64_t since = number(e, "sinceTime");
	int r = sp_losses_keep(&l->losses, SP_LOST_IN_ALL, "", since, number(e, "lost"));

	l->depth_known |= sp_jfr_value_of(e, "tooDeep") != NULL;
	return r < 0 ? r : sp_losses_keep(&l->losses, SP_TOO_DEEP, "", since, number(e, "tooDeep"));
}

int sp_load_metadata_module(struct sp_loading *l, const struct sp_jfr_event *e)
{
	char path[4096];
	int r;

	if (!l->symbols)
		return 0;
	text(e, "path", path, sizeof(path));
	pthread_mutex_lock(l->lock);
	r = sp_symbols_add_module(l->symbols, path, number(e, "device"), number(e, "inode"));
	pthread_mutex_unlock(l->lock);
	return r;
}
