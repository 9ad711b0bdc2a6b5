/* See processes.h. */
#include "processes.h"

#include "base/clock.h"
#include "base/list_dir.h"
#include "jfr/event_fields.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST 4096 /* processes: a walk shall not keep the collector from its rings */

struct seen {
	uint32_t pid;
	uint64_t start, ticks,
		reported; /* since boot; of CPU time, and how many of them events have reported */
};

/* One line of /proc/PID/stat. */
struct stats {
	char name[32];
	unsigned ppid, uid, threads;
	unsigned long long user, system, start, size, rss;
};

struct sp_processes {
	uint64_t every_ns, at_ns, now_ns;
	uint64_t tick_ns, page, memory;
	uint32_t own;
	struct sp_event_writer *to; /* NULL at the first look */
	struct seen lists[2][MOST]; /* by pid, as /proc lists them: the last look, and this one */
	uint32_t count[2], current, passed;
};

static bool read_stats(const char *pid, struct stats *ret)
{
	char path[64], buf[1024], *name, *end;
	struct stat owner;
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (fstat(fd, &owner) == 0)
		n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return false;
	buf[n] = 0;
	name = strchr(buf, '(');
	end = strrchr(buf, ')'); /* a name may have one too */
	if (!name || !end)
		return false;
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(end - name - 1), name + 1);
	ret->uid = owner.st_uid;
	return sscanf(end + 1,
		       " %*c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %u "
		       "%*d %llu %llu %llu",
		       &ret->ppid, &ret->user, &ret->system, &ret->threads, &ret->start, &ret->size,
		       &ret->rss) == 7;
}

/* As it was at the last look; nothing where it began since. */
static struct seen before(struct sp_processes *p, const struct seen *s)
{
	const struct seen *old = p->lists[!p->current];
	uint32_t n = p->count[!p->current];

	while (p->passed < n && old[p->passed].pid < s->pid)
		p->passed++;
	old += p->passed;
	return p->passed < n && old->pid == s->pid && old->start == s->start ? *old
									     : (struct seen){0};
}

/* What it has used is reported once it is worth an event, so that events add up to all of it. */
static void tell(struct sp_processes *p, struct seen *s, const struct stats *x)
{
	struct seen old = before(p, s);
	uint64_t span = p->now_ns - p->at_ns, cpu_ns = (s->ticks - old.reported) * p->tick_ns;
	uint64_t rss = x->rss * p->page;
	bool own = s->pid == p->own;

	s->reported = old.reported;
	if (!own && cpu_ns < span / 20 && rss < p->memory / 20)
		return;
	s->reported = s->ticks;
	sp_event_writer_event(
		p->to, SP_JFR_EVENT(PROCESS_SAMPLE, .startTime.u = p->now_ns, .pid.u = s->pid,
			       .ppid.u = x->ppid, .name.s = x->name, .uid.u = x->uid,
			       .cpuPercent.f = (float)((s->ticks - old.ticks) * p->tick_ns) /
					       (float)(span ? span : 1),
			       .threads.u = x->threads, .vmSize.u = x->size, .vmRss.u = rss,
			       .cpuTime.u = cpu_ns, .target.u = own));
}

static void look_at(void *ctx, const char *name)
{
	struct sp_processes *p = ctx;
	struct seen *s = &p->lists[p->current][p->count[p->current]];
	struct stats x;

	if (name[0] < '1' || name[0] > '9' || p->count[p->current] >= MOST || !read_stats(name, &x))
		return;
	*s = (struct seen){
		(uint32_t)strtoul(name, NULL, 10), x.start, x.user + x.system, x.user + x.system};
	p->count[p->current]++;
	if (p->to)
		tell(p, s, &x);
}

static void look(struct sp_processes *p, struct sp_event_writer *to)
{
	p->to = to;
	p->now_ns = sp_clock_mono_ns();
	p->current = !p->current;
	p->count[p->current] = p->passed = 0;
	sp_list_dir("/proc", look_at, p);
	p->at_ns = p->now_ns;
}

struct sp_processes *sp_processes_new(uint64_t every_ns)
{
	struct sp_processes *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->every_ns = every_ns;
	p->tick_ns = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);
	p->page = (uint64_t)sysconf(_SC_PAGESIZE);
	p->memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * p->page;
	p->own = (uint32_t)getpid();
	look(p, NULL);
	return p;
}

void sp_processes_free(struct sp_processes *p)
{
	free(p);
}

void sp_processes_tick(struct sp_processes *p, struct sp_event_writer *to, bool last)
{
	if (p && sp_clock_mono_ns() - p->at_ns >= (last ? 1000000000 : p->every_ns))
		look(p, to);
}
