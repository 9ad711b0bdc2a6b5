/* Probing by opening: see probe.h. Every event is opened for the calling process only, disabled,
 * and closed again at once. Kernel probes and user probes are opened on a name that does not exist:
 * the kernel checks the permission first, and nothing is ever patched. */
#include "probe/probe.h"
#include "probe/perf_table.h"
#include "base/cleanup.h"
#include "base/filtered.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The surroundings that decide, read once. */
struct where {
	int paranoid;	  /* kernel.perf_event_paranoid; -1000: cannot be read */
	int seccomp;	  /* a filter is at work */
	bool has_perfmon; /* CAP_PERFMON or CAP_SYS_ADMIN */
	sp_probe_fn *fn;
	void *ctx;
};

static void look_around(struct where *w)
{
	char text[4096];
	const char *p;

	w->paranoid = -1000;
	if (sp_io_read_text(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", text, sizeof(text)) >
		0)
		w->paranoid = atoi(text);
	if (sp_io_read_text(AT_FDCWD, "/proc/thread-self/status", text, sizeof(text)) <= 0 &&
		sp_io_read_text(AT_FDCWD, "/proc/self/status", text, sizeof(text)) <= 0)
		return;
	p = strstr(text, "\nSeccomp:");
	w->seccomp = p ? atoi(p + 9) : 0;
	p = strstr(text, "\nCapEff:");
	if (p) {
		unsigned long long caps = strtoull(p + 8, NULL, 16);

		w->has_perfmon = caps >> 38 & 1 || caps >> 21 & 1;
	}
}

static int row(struct where *w, enum sp_probe_group group, enum sp_probe_state state,
	const char *name, const char *note)
{
	struct sp_probe_row r = {group, state, name, note};

	return w->fn(w->ctx, &r);
}

static int open_event(uint32_t type, uint64_t config, bool kernel, struct perf_event_attr *more)
{
	struct perf_event_attr attr = {0};
	int fd;

	if (sp_filtered())
		return -EPERM; /* it may kill who asks */
	if (more)
		attr = *more;
	attr.size = PERF_ATTR_SIZE_VER1; /* known to Linux 3.10 */
	attr.type = type;
	attr.config = config;
	attr.disabled = 1;
	attr.sample_period = 1000000;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	attr.exclude_kernel = !kernel;
	attr.exclude_hv = 1;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Why the kernel would not let us, and the remedy. */
static void why_denied(const struct where *w, char *ret, size_t cap)
{
	if (w->seccomp == 2 && (w->paranoid < 3 || w->has_perfmon))
		snprintf(ret, cap,
			"the process has a seccomp filter (the container's), which may end it for "
			"perf_event_open: use ctimer, itimer or wall");
	else if (w->paranoid == -1000)
		snprintf(ret, cap, "this kernel has no perf events: use ctimer, itimer or wall");
	else
		snprintf(ret, cap,
			"perf_event_paranoid is %d and there is no CAP_PERFMON: set "
			"kernel.perf_event_paranoid to 1, or grant CAP_PERFMON",
			w->paranoid);
}

static void why_not(const struct where *w, int r, char *ret, size_t cap)
{
	switch (-r) {
	case EACCES:
	case EPERM:
	case ENOSYS:
		why_denied(w, ret, cap);
		break;
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
	case EINVAL:
		snprintf(ret, cap,
			"this CPU, or the virtual machine around it, does not count it: run where "
			"the CPU's counters are visible, on bare metal or in a VM with a virtual "
			"PMU");
		break;
	case EMFILE:
		snprintf(ret, cap, "no descriptor is left: raise the limit on open files");
		break;
	default:
		snprintf(ret, cap, "perf_event_open: %s", strerror(-r));
	}
}

/* With the kernel's share, else without it, else not. */
static int probe_perf(struct where *w, enum sp_probe_group group, const char *name, uint32_t type,
	uint64_t config, struct perf_event_attr *more)
{
	char why[200], note[300] = "";
	int fd = open_event(type, config, true, more);

	if (fd >= 0) {
		close(fd);
		return row(w, group, SP_PROBE_YES, name, "");
	}
	why_not(w, fd, why, sizeof(why));
	fd = fd == -EACCES || fd == -EPERM ? open_event(type, config, false, more) : fd;
	if (fd < 0) {
		why_not(w, fd, why, sizeof(why));
		return row(w, group, SP_PROBE_NO, name, why);
	}
	close(fd);
	snprintf(note, sizeof(note), "works without the kernel's part, because %s", why);
	return row(w, group, SP_PROBE_LIMITED, name, note);
}

/* cpu: rings of perf where kernel time is seen and a ring can be mapped; else timers. */
static int probe_cpu(struct where *w)
{
	SP_AUTO_CLOSE int fd = open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true, NULL);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char why[200], note[300];
	void *ring;

	if (fd < 0) {
		why_not(w, fd, why, sizeof(why));
		snprintf(note, sizeof(note), "works with ctimer, without kernel frames, because %s",
			why);
		return row(w, SP_PROBE_ENGINE, SP_PROBE_LIMITED, "cpu", note);
	}
	ring = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		return row(w, SP_PROBE_ENGINE, SP_PROBE_LIMITED, "cpu",
			"works with signals, because no perf ring can be mapped: raise "
			"kernel.perf_event_mlock_kb or the limit on locked memory");
	munmap(ring, 2 * page);
	return row(w, SP_PROBE_ENGINE, SP_PROBE_YES, "cpu", "");
}

static int probe_ctimer(struct where *w)
{
	struct sigevent none = {.sigev_notify = SIGEV_NONE};
	char note[120];
	int timer; /* the kernel's: glibc to 2.33 has its own in librt, which a JVM need not have
		      loaded */

	if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &none, &timer) < 0) {
		snprintf(note, sizeof(note), "timer_create: %s (limit on pending signals?)",
			strerror(errno));
		return row(w, SP_PROBE_ENGINE, SP_PROBE_NO, "ctimer", note);
	}
	syscall(SYS_timer_delete, timer);
	return row(w, SP_PROBE_ENGINE, SP_PROBE_YES, "ctimer", "");
}

/* There is one ITIMER_PROF in a process. */
static int probe_itimer(struct where *w)
{
	struct itimerval now;

	if (getitimer(ITIMER_PROF, &now) < 0)
		return row(w, SP_PROBE_ENGINE, SP_PROBE_NO, "itimer", strerror(errno));
	if (now.it_value.tv_sec || now.it_value.tv_usec)
		return row(w, SP_PROBE_ENGINE, SP_PROBE_NO, "itimer",
			"the process's profiling timer is in use, perhaps by another profiler: "
			"stop that, or use ctimer");
	return row(w, SP_PROBE_ENGINE, SP_PROBE_YES, "itimer", "");
}

/* Blocked threads are read by /proc/self/task/TID/syscall. */
static int probe_wall(struct where *w)
{
	char path[64], text[256];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/syscall", syscall(SYS_gettid));
	n = sp_io_read_text(AT_FDCWD, path, text, sizeof(text));
	if (n > 0)
		return row(w, SP_PROBE_ENGINE, SP_PROBE_YES, "wall", "");
	return row(w, SP_PROBE_ENGINE, SP_PROBE_LIMITED, "wall",
		"by signals: /proc/self/task/TID/syscall cannot be read here");
}

static int probe_engines(struct where *w)
{
	static const char *const java[] = {"alloc", "live", "lock", "nativelock", "nativemem"};
	int r = probe_cpu(w);

	if (r == 0)
		r = probe_ctimer(w);
	if (r == 0)
		r = probe_itimer(w);
	if (r == 0)
		r = probe_wall(w);
	/* Whether a JVM has them is asked by the recording that wants them. */
	for (size_t i = 0; r == 0 && i < SP_COUNT(java); i++)
		r = row(w, SP_PROBE_ENGINE, SP_PROBE_YES, java[i], "");
	if (r == 0)
		r = row(w, SP_PROBE_ENGINE, SP_PROBE_YES, "Class.method",
			"calls of a Java method, by name");
	return r;
}

/* The number of a tracepoint that is hardly ever hit. A tracepoint is armed while it is open, which
 * makes the kernel patch itself: so one is tried for all. */
static int tracepoint_id(uint64_t *ret)
{
	static const char *const roots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	char path[128], text[32];
	ssize_t n = -ENOENT;

	for (size_t i = 0; i < SP_COUNT(roots); i++) {
		snprintf(path, sizeof(path), "%s/events/sched/sched_process_exec/id", roots[i]);
		n = sp_io_read_text(AT_FDCWD, path, text, sizeof(text));
		if (n > 0) {
			*ret = strtoull(text, NULL, 10);
			return 0;
		}
	}
	return (int)n;
}

static int probe_tracepoints(struct where *w)
{
	uint64_t id = 0;
	int r = tracepoint_id(&id);

	if (r == -EACCES || r == -EPERM)
		return row(w, SP_PROBE_TRACEPOINT, SP_PROBE_NO, "sys:name",
			"/sys/kernel/tracing cannot be read by this user: run as root, or mount "
			"tracefs with a gid of yours");
	if (r < 0)
		return row(w, SP_PROBE_TRACEPOINT, SP_PROBE_NO, "sys:name",
			"tracefs is not mounted here, or the kernel has none: mount -t tracefs "
			"tracefs /sys/kernel/tracing");
	return probe_perf(w, SP_PROBE_TRACEPOINT, "sys:name", PERF_TYPE_TRACEPOINT, id, NULL);
}

static int probe_breakpoint(struct where *w)
{
	static uint64_t watched;
	struct perf_event_attr attr = {.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uintptr_t)&watched,
		.bp_len = HW_BREAKPOINT_LEN_8};

	return probe_perf(
		w, SP_PROBE_BREAKPOINT, "mem:ADDR[/LEN][:rwx]", PERF_TYPE_BREAKPOINT, 0, &attr);
}

static int probe_dynamic(struct where *w, const char *pmu, const char *name)
{
	static const char missing[] = "/sparkprof_no_such_function";
	struct perf_event_attr attr = {.config1 = (uintptr_t)(missing + 1)};
	char path[96], text[32], note[200];
	int r;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	if (sp_io_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0) {
		snprintf(note, sizeof(note),
			"this kernel has no %s events (Linux 4.17 and later may have them)", pmu);
		return row(w, SP_PROBE_DYNAMIC, SP_PROBE_NO, name, note);
	}
	if (strcmp(pmu, "uprobe") == 0)
		attr.config1 = (uintptr_t)missing;
	r = open_event((uint32_t)atoi(text), 0, true, &attr);
	if (r >= 0)
		close(r);
	if (r >= 0 || r == -ENOENT || r == -EINVAL) /* permitted: only the name is missing */
		return row(w, SP_PROBE_DYNAMIC, SP_PROBE_YES, name, "");
	snprintf(note, sizeof(note),
		"the kernel refuses it (%s): run as root, or grant CAP_PERFMON", strerror(-r));
	return row(w, SP_PROBE_DYNAMIC, SP_PROBE_NO, name, note);
}

int sp_probe_run(sp_probe_fn *fn, void *ctx)
{
	struct where w = {.fn = fn, .ctx = ctx};
	const struct sp_perf_event *table;
	size_t n;
	int r;

	look_around(&w);
	table = sp_perf_table(&n);
	r = probe_engines(&w);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = probe_perf(
			&w, table[i].group, table[i].name, table[i].type, table[i].config, NULL);
	if (r == 0)
		r = probe_perf(&w, SP_PROBE_RAW, "rNNN", PERF_TYPE_RAW, 0x3c, NULL);
	if (r == 0)
		r = probe_tracepoints(&w);
	if (r == 0)
		r = probe_breakpoint(&w);
	if (r == 0)
		r = probe_dynamic(&w, "kprobe", "kprobe:FUNCTION");
	return r < 0 ? r : probe_dynamic(&w, "uprobe", "uprobe:FILE+OFFSET");
}

const char *sp_probe_group_name(unsigned group)
{
	static const char *const names[SP_PROBE_GROUPS] = {
		[SP_PROBE_ENGINE] = "engines",
		[SP_PROBE_SOFTWARE] = "perf software events",
		[SP_PROBE_HARDWARE] = "perf hardware events",
		[SP_PROBE_CACHE] = "perf cache events",
		[SP_PROBE_RAW] = "perf raw events",
		[SP_PROBE_TRACEPOINT] = "tracepoints",
		[SP_PROBE_BREAKPOINT] = "breakpoints",
		[SP_PROBE_DYNAMIC] = "kernel and user probes",
	};

	return group < SP_PROBE_GROUPS ? names[group] : NULL;
}
