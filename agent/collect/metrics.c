/* See metrics.h. */
#include "metrics.h"

#include "base/clock.h"
#include "base/io.h"
#include "vm/hotspot_counters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct sp_metrics_reader {
	uint64_t user_ns, system_ns, machine_busy, machine_all, at_ns;
	uint64_t gc_ns;
	long cpus;
	char group[SP_CPU_GROUP_PATH]; /* cpu.stat of its CPU limit; "": none */
	struct sp_metrics before;
};

int sp_metrics_new(struct sp_metrics_reader **ret)
{
	struct sp_metrics_reader *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (r->cpus < 1)
		r->cpus = 1;
	sp_cpu_group_find(r->group);
	sp_metrics_read(r, &r->before);
	*ret = r;
	return 0;
}

bool sp_metrics_before(struct sp_metrics_reader *r, struct sp_metrics *ret)
{
	bool limited = r->before.limited;

	*ret = r->before;
	r->before.limited = false;
	return limited;
}

void sp_metrics_free(struct sp_metrics_reader *r)
{
	free(r);
}

static uint64_t timeval_ns(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * 1000000000ull + (uint64_t)tv.tv_usec * 1000;
}

static float share(uint64_t part, uint64_t whole)
{
	float f = whole ? (float)part / (float)whole : 0;

	return f > 1 ? 1 : f;
}

static void read_cpu(struct sp_metrics_reader *r, struct sp_metrics *m)
{
	struct rusage u;
	uint64_t user, system, span = (m->time_ns - r->at_ns) * (uint64_t)r->cpus;
	unsigned long long f[8] = {0}, all = 0, idle;
	char buf[512];

	getrusage(RUSAGE_SELF, &u);
	user = timeval_ns(u.ru_utime);
	system = timeval_ns(u.ru_stime);
	m->cpu_user = share(user - r->user_ns, span);
	m->cpu_system = share(system - r->system_ns, span);
	m->rss_peak = (uint64_t)u.ru_maxrss * 1024;
	r->user_ns = user;
	r->system_ns = system;
	r->at_ns = m->time_ns;
	sp_io_read_text(AT_FDCWD, "/proc/stat", buf, sizeof(buf));
	sscanf(buf, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &f[0], &f[1], &f[2], &f[3],
		&f[4], &f[5], &f[6], &f[7]);
	for (int i = 0; i < 8; i++)
		all += f[i];
	idle = f[3] + f[4];
	m->cpu_machine = share(all - idle - r->machine_busy, all - r->machine_all);
	r->machine_busy = all - idle;
	r->machine_all = all;
}

static void read_rss(struct sp_metrics *m)
{
	unsigned long long size = 0, rss = 0;
	char buf[128];

	sp_io_read_text(AT_FDCWD, "/proc/self/statm", buf, sizeof(buf));
	if (sscanf(buf, "%llu %llu", &size, &rss) == 2)
		m->rss = rss * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void heap_counter(struct sp_metrics *m, const char *name, uint64_t value)
{
	size_t n = strlen(name);
	const char *tail = strrchr(name, '.');

	if (strncmp(name, "sun.gc.generation.", 18) != 0 || !tail || n < 24)
		return;
	/* Spaces are added up; a generation's own capacity would count them twice. */
	if (!strstr(name, ".space."))
		return;
	if (strcmp(tail, ".used") == 0)
		m->heap_used += value;
	else if (strcmp(tail, ".capacity") == 0)
		m->heap_committed += value;
	else if (strcmp(tail, ".maxCapacity") == 0 && value < 1ull << 60)
		m->heap_max += value;
}

struct perf_sums {
	struct sp_metrics *m;
	uint64_t ticks, hz;
};

static void counter(void *ctx, const char *name, const volatile uint64_t *value)
{
	struct perf_sums *s = ctx;
	const char *tail = strrchr(name, '.');

	if (strcmp(name, "sun.os.hrt.frequency") == 0) {
		s->hz = *value ? *value : s->hz;
	} else if (strncmp(name, "sun.gc.collector.", 17) == 0 && tail) {
		if (strcmp(tail, ".invocations") == 0)
			s->m->gc_count += *value;
		else if (strcmp(tail, ".time") == 0)
			s->ticks += *value;
	} else if (strcmp(name, "java.cls.loadedClasses") == 0 ||
		   strcmp(name, "java.cls.sharedLoadedClasses") == 0) {
		s->m->classes_loaded += *value;
	} else if (strcmp(name, "java.cls.unloadedClasses") == 0 ||
		   strcmp(name, "java.cls.sharedUnloadedClasses") == 0) {
		s->m->classes_unloaded += *value;
	} else {
		heap_counter(s->m, name, *value);
	}
}

static void read_perf(struct sp_metrics *m)
{
	struct perf_sums s = {m, 0, 1000000000};

	sp_hotspot_counters_each(counter, &s);
	m->gc_pause_ns = (uint64_t)((double)s.ticks * 1e9 / (double)s.hz);
}

void sp_metrics_read(struct sp_metrics_reader *r, struct sp_metrics *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->time_ns = sp_clock_mono_ns();
	read_cpu(r, ret);
	read_rss(ret);
	read_perf(ret);
	ret->limited = sp_cpu_group_read(r->group, &ret->throttled);
	/* HotSpot counts a collection as it begins, and its time when it is over. */
	ret->gc_new_pause_ns = ret->gc_pause_ns - r->gc_ns;
	r->gc_ns = ret->gc_pause_ns;
}
