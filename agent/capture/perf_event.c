/* See perf_event.h. */
#include "perf_event.h"

#include "base/cleanup.h"
#include "base/filtered.h"
#include "native_function.h"
#include "probe/perf_table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define UPROBE_TYPE "/sys/bus/event_source/devices/uprobe/type"

/* What `sparkprof list` shows is what is known here; cpu is the short name of cpu-clock. */
/* Of wall, threads that run are sampled by the same clock as cpu. */
static bool parse_named(const char *name, struct sp_perf_event_spec *ret)
{
	bool cpu = strcmp(name, "cpu") == 0 || strcmp(name, "wall") == 0;
	const struct sp_perf_event *e = sp_perf_table_find(cpu ? "cpu-clock" : name);

	if (!e)
		return false;
	ret->type = e->type;
	ret->config = e->config;
	ret->clock =
		e->type == PERF_TYPE_SOFTWARE &&
		(e->config == PERF_COUNT_SW_CPU_CLOCK || e->config == PERF_COUNT_SW_TASK_CLOCK);
	ret->default_period = ret->clock			  ? 10000000
			      : e->type == PERF_TYPE_SOFTWARE	  ? 1
			      : strstr(e->name, "misses") != NULL ? 1000
								  : 1000000;
	return true;
}

static bool parse_raw(const char *name, struct sp_perf_event_spec *ret)
{
	char *end;

	if (name[0] != 'r' || !name[1])
		return false;
	ret->config = strtoull(name + 1, &end, 16);
	ret->type = PERF_TYPE_RAW;
	ret->default_period = 1000000;
	return *end == 0;
}

static int read_number(const char *path)
{
	char text[24] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n > 0 ? atoi(text) : -1;
}

static int parse_tracepoint(const char *name, struct sp_perf_event_spec *ret, struct sp_err *err)
{
	static const char *const roots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	const char *colon = strchr(name, ':');

	for (size_t i = 0; i < SP_COUNT(roots); i++) {
		char path[320];
		int id;

		snprintf(path, sizeof(path), "%s/events/%.*s/%s/id", roots[i], (int)(colon - name),
			name, colon + 1);
		id = strchr(name, '/') ? -1 : read_number(path);
		if (id < 0)
			continue;
		ret->type = PERF_TYPE_TRACEPOINT;
		ret->config = (uint64_t)id;
		ret->default_period = 1;
		ret->in_kernel = true;
		return 0;
	}
	return sp_err_set(err, -ENOENT,
		"%s: no such tracepoint can be read under /sys/kernel/tracing; it needs root and a "
		"mounted tracefs",
		name);
}

#define BREAKPOINT_FORM "mem:ADDRESS or mem:FUNCTION[+OFFSET][/LENGTH][:rwx]"

/* ":rw" behind a place is cut off; two colons are of a C++ name. */
static int parse_access(const char *name, char *text, uint32_t *ret, struct sp_err *err)
{
	char *p = strrchr(text, ':');

	*ret = HW_BREAKPOINT_RW;
	if (!p || (p > text && p[-1] == ':'))
		return 0;
	*p++ = 0;
	*ret = 0;
	for (; *p; p++)
		*ret |= *p == 'r'   ? HW_BREAKPOINT_R
			: *p == 'w' ? HW_BREAKPOINT_W
			: *p == 'x' ? HW_BREAKPOINT_X
				    : 64;
	/* x86 has no breakpoint at what is only read, nor at both an access and an instruction. */
	if (*ret == HW_BREAKPOINT_R)
		*ret = HW_BREAKPOINT_RW;
	if (!*ret || *ret > HW_BREAKPOINT_X)
		return sp_err_set(err, -EINVAL, "%s: write " BREAKPOINT_FORM, name);
	return 0;
}

static void break_at(struct sp_perf_event_spec *ret, const struct sp_native_function *f)
{
	ret->type = PERF_TYPE_BREAKPOINT;
	ret->default_period = 1;
	ret->config1 = f->address;
	ret->function = ret->in_user = ret->bp_type == HW_BREAKPOINT_X;
	if (ret->function)
		ret->config2 = sizeof(long);
	memcpy(ret->probe, f->path, sizeof(f->path));
	ret->offset = f->offset;
}

/* Takes a number behind @mark off the end of @text. */
static bool take_number(char *text, char mark, uint64_t *ret)
{
	char *p = strrchr(text, mark), *end;

	if (!p)
		return true;
	*p++ = 0;
	*ret = strtoull(p, &end, 0);
	return *p && !*end;
}

static int parse_breakpoint(const char *name, struct sp_perf_event_spec *ret, struct sp_err *err)
{
	struct sp_native_function f = {0};
	uint64_t len = 1, offset = 0;
	char text[256], *end;
	int r;

	snprintf(text, sizeof(text), "%s", name + 4);
	r = parse_access(name, text, &ret->bp_type, err);
	if (r == 0 && (!take_number(text, '/', &len) || !take_number(text, '+', &offset)))
		r = sp_err_set(err, -EINVAL, "%s: write " BREAKPOINT_FORM, name);
	if (r < 0)
		return r;
	f.address = strtoull(text, &end, 0);
	if (*end)
		r = sp_native_function_find(name, NULL, text, &f, err);
	if (r < 0)
		return r;
	f.address += offset;
	if (offset)
		f.path[0] = '\0'; /* no probe, which may be in the middle of an instruction */
	ret->config2 = len;
	break_at(ret, &f);
	return 0;
}

/* Calls of a native function: a breakpoint at its first instruction. */
static int parse_function(const char *name, struct sp_perf_event_spec *ret, struct sp_err *err)
{
	struct sp_native_function f;
	int r = sp_native_function_find(name, NULL, name, &f, err);

	if (r < 0)
		return r;
	ret->bp_type = HW_BREAKPOINT_X;
	break_at(ret, &f);
	return 0;
}

/* "/lib/libc.so.6:malloc" in ret->probe becomes the file, and the function's offset in it by the
 * library's own tables: so it must be loaded. */
static int find_function(const char *name, struct sp_perf_event_spec *ret, struct sp_err *err)
{
	char *colon = strrchr(ret->probe, ':');
	struct sp_native_function f;
	int r;

	if (!colon)
		return 0;
	*colon = 0;
	r = sp_native_function_find(name, ret->probe, colon + 1, &f, err);
	if (r < 0)
		return r;
	if (!f.offset)
		return sp_err_set(err, -ENOENT,
			"%s: where that function lies in the file is not known; write "
			"uprobe:/PATH+OFFSET",
			name);
	ret->config2 = f.offset;
	return 0;
}

/* kprobe:func+off, kretprobe:func, uprobe:path+off, uretprobe:path:func. */
static int parse_probe(const char *name, struct sp_perf_event_spec *ret, struct sp_err *err)
{
	const char *what = strchr(name, ':') + 1;
	bool user = name[0] == 'u', back = strncmp(name + 1, "retprobe", 8) == 0;
	char *plus;
	int type = read_number(user ? UPROBE_TYPE : "/sys/bus/event_source/devices/kprobe/type");

	if (type < 0)
		return sp_err_set(err, -ENOENT, "%s: this kernel offers no such probes", name);
	if (strlen(what) >= sizeof(ret->probe))
		return sp_err_set(err, -EINVAL, "%s: too long", name);
	memcpy(ret->probe, what, strlen(what) + 1);
	plus = strrchr(ret->probe, '+');
	if (!take_number(ret->probe, '+', &ret->config2))
		return sp_err_set(err, -EINVAL, "%s: what follows '+' is not a number", name);
	ret->type = (uint32_t)type;
	ret->config = back;
	ret->default_period = 1;
	ret->in_user = user;
	ret->in_kernel = !user;
	if (!user)
		return 0;
	return plus ? sp_native_function_begins(name, ret->probe, ret->config2, err)
		    : find_function(name, ret, err);
}

static bool is_probe(const char *name)
{
	return strncmp(name, "kprobe:", 7) == 0 || strncmp(name, "uprobe:", 7) == 0 ||
	       strncmp(name, "kretprobe:", 10) == 0 || strncmp(name, "uretprobe:", 10) == 0;
}

int sp_perf_event_parse(const char *name, struct sp_perf_event_spec *ret, struct sp_err *err)
{
	memset(ret, 0, sizeof(*ret));
	if (parse_named(name, ret) || parse_raw(name, ret))
		return 0;
	if (strncmp(name, "mem:", 4) == 0)
		return parse_breakpoint(name, ret, err);
	if (is_probe(name))
		return parse_probe(name, ret, err);
	if (strchr(name, ':') && !strstr(name, "::"))
		return parse_tracepoint(name, ret, err);
	if (strpbrk(name, " ./-"))
		return sp_err_set(
			err, -EINVAL, "'%s' is not an event; 'sparkprof list' shows them", name);
	return parse_function(name, ret, err);
}

void sp_perf_event_attr(
	const struct sp_perf_event_spec *e, uint64_t period, struct perf_event_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = e->type;
	attr->config = e->config;
	attr->config1 = e->config1;
	if (e->probe[0] && e->type != PERF_TYPE_BREAKPOINT)
		attr->config1 = (uint64_t)e->probe;
	attr->config2 = e->config2;
	attr->bp_type = e->bp_type;
	/* Whoever may not sample the kernel may watch a place of his own. */
	attr->exclude_kernel = attr->exclude_callchain_kernel = e->in_user;
	attr->sample_period = period;
	attr->exclude_idle = 1;
	attr->exclude_hv = e->type == PERF_TYPE_HARDWARE;
	/* A moment means the same in every capture. */
	attr->use_clockid = 1;
	attr->clockid = 1; /* CLOCK_MONOTONIC */
}

/* Probes have reasons of their own; 0: none that is known here. */
static int explain_probe(const char *event, int error, struct sp_err *err)
{
	bool user = event[0] == 'u';

	switch (error) {
	case -EACCES:
		return sp_err_set(err, error,
			"%s: only root and CAP_PERFMON may set probes, whatever "
			"kernel.perf_event_paranoid is",
			event);
	case -ENOENT:
		return sp_err_set(err, error, "%s: %s", event,
			user ? "there is no such file where the target looks for it"
			     : "the kernel has no function of that name that may be probed");
	case -EINVAL:
	case -EILSEQ:
		return sp_err_set(err, error, "%s: the kernel sets no probe at that place (%s)",
			event,
			user ? "an offset in the file, at an instruction's start"
			     : "an instruction's start in a function that may be probed");
	default:
		return 0;
	}
}

static int try_once(struct perf_event_attr *attr)
{
	int fd = sp_perf_event_ask(attr, 0, -1);

	return fd < 0 ? fd : close(fd);
}

int sp_perf_event_try(struct sp_perf_event_spec *e, struct perf_event_attr *attr)
{
	int type = e->function && e->probe[0] ? read_number(UPROBE_TYPE) : -1;
	struct perf_event_attr probe = *attr;
	int r = try_once(attr);

	if (r == 0 || type < 0)
		return r;
	probe.type = (uint32_t)type;
	probe.config = 0;
	probe.bp_type = 0;
	probe.config1 = (uint64_t)e->probe;
	probe.config2 = e->offset;
	if (try_once(&probe) < 0)
		return r;
	*attr = probe;
	return 0;
}

int sp_perf_event_ask(struct perf_event_attr *attr, int32_t tid, int cpu)
{
	return sp_filtered() ? -EPERM : sp_perf_attr_open(attr, tid, cpu);
}

int sp_perf_event_signal(int fd, uint32_t tid)
{
	struct f_owner_ex owner = {F_OWNER_TID, (pid_t)tid};

	if (fcntl(fd, F_SETFL, O_ASYNC) < 0 || fcntl(fd, F_SETSIG, SIGPROF) < 0 ||
		fcntl(fd, F_SETOWN_EX, &owner) < 0 || ioctl(fd, PERF_EVENT_IOC_RESET, 0) < 0 ||
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	return 0;
}

/* A word that names no event of the kernel's. */
static bool is_function(const char *name)
{
	struct sp_perf_event_spec e;

	return strstr(name, "::") ||
	       (!strpbrk(name, ": ./-") && !parse_named(name, &e) && !parse_raw(name, &e));
}

bool sp_perf_event_is_call(const char *name)
{
	size_t n = strlen(name);

	if (strncmp(name, "mem:", 4) == 0)
		return strcmp(name + n - 2, ":x") == 0;
	return strncmp(name, "uprobe:", 7) == 0 || is_function(name);
}

int sp_perf_event_explain(const char *event, int error, struct sp_err *err)
{
	int paranoid = read_number("/proc/sys/kernel/perf_event_paranoid");

	if (is_function(event) && paranoid > 2 && (error == -EACCES || !sp_filtered()))
		return sp_err_set(err, error,
			"%s: this user may not set breakpoints (kernel.perf_event_paranoid is %d; "
			"2 "
			"or CAP_PERFMON would help)",
			event, paranoid);
	if (is_function(event) && error == -ENOSPC)
		return sp_err_set(err, error,
			"%s: the CPU's four debug registers are taken, and only root and "
			"CAP_PERFMON may set a probe instead",
			event);
	if (is_probe(event) && explain_probe(event, error, err) < 0)
		return error;
	switch (error) {
	case -EACCES:
	case -EPERM:
		/* The kernel itself denies by EACCES (perf_allow_kernel), filters by EPERM. */
		if (paranoid > 1 && (error == -EACCES || !sp_filtered()))
			return sp_err_set(err, error,
				"%s: this user may not sample the kernel "
				"(kernel.perf_event_paranoid "
				"is %d; 1 or CAP_PERFMON would help)",
				event, paranoid);
		return sp_err_set(err, error,
			"%s: perf_event_open is not called below a seccomp filter, as containers "
			"have one: it may end the JVM",
			event);
	case -ENOENT:
	case -EOPNOTSUPP:
	case -ENODEV:
		return sp_err_set(err, error,
			"%s: this machine (often: a virtual one) does not count it", event);
	case -ENOSYS:
		return sp_err_set(err, error, "%s: this kernel has no perf events", event);
	case -EMFILE:
		return sp_err_set(err, error, "%s: the process has no descriptors left", event);
	default:
		return sp_err_set(err, error, "%s: perf_event_open: %s", event, strerror(-error));
	}
}
