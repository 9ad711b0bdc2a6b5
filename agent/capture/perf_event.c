/* See perf_event.h. */
#include "perf_event.h"

#include "base/cleanup.h"
#include "probe/perf_table.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/hw_breakpoint.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* What `sparkprof list` shows is what is known here; cpu is the short name of cpu-clock. */
static bool parse_named(const char *name, struct sp_perf_event_spec *ret)
{
	const struct sp_perf_event *e =
		sp_perf_table_find(strcmp(name, "cpu") == 0 ? "cpu-clock" : name);

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
		return 0;
	}
	return sp_err_set(err, -ENOENT,
		"%s: no such tracepoint can be read under /sys/kernel/tracing; it needs root and a "
		"mounted tracefs",
		name);
}

static int parse_breakpoint(const char *name, struct sp_perf_event_spec *ret, struct sp_err *err)
{
	char text[256], *p, *end;
	uint64_t len = 1, offset = 0;

	ret->type = PERF_TYPE_BREAKPOINT;
	ret->bp_type = HW_BREAKPOINT_RW;
	ret->default_period = 1;
	snprintf(text, sizeof(text), "%s", name + 4);
	p = strrchr(text, ':');
	if (p) {
		*p++ = 0;
		ret->bp_type = 0;
		for (; *p; p++)
			ret->bp_type |= *p == 'r'   ? HW_BREAKPOINT_R
					: *p == 'w' ? HW_BREAKPOINT_W
					: *p == 'x' ? HW_BREAKPOINT_X
						    : 64;
		if (!ret->bp_type || ret->bp_type > HW_BREAKPOINT_X)
			return sp_err_set(err, -EINVAL, "%s: write mem:addr[/len][:rw|:x]", name);
		if (ret->bp_type == HW_BREAKPOINT_X)
			len = sizeof(long);
	}
	p = strchr(text, '/');
	if (p) {
		*p++ = 0;
		len = strtoull(p, NULL, 0);
	}
	p = strchr(text, '+');
	if (p) {
		*p++ = 0;
		offset = strtoull(p, NULL, 0);
	}
	ret->config1 = strtoull(text, &end, 0);
	if (*end)
		ret->config1 = (uint64_t)dlsym(RTLD_DEFAULT, text);
	if (!ret->config1)
		return sp_err_set(err, -ENOENT, "%s: no such address or exported function", name);
	ret->config1 += offset;
	ret->config2 = len;
	return 0;
}

struct place {
	uint64_t address, offset;
};

static int find_offset(struct dl_phdr_info *lib, size_t size, void *ctx)
{
	struct place *p = ctx;

	for (int i = 0; i < lib->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &lib->dlpi_phdr[i];
		uint64_t at = lib->dlpi_addr + h->p_vaddr;

		if (h->p_type == PT_LOAD && p->address >= at && p->address < at + h->p_memsz) {
			p->offset = p->address - at + h->p_offset;
			return 1;
		}
	}
	return 0;
}

/* "/lib/libc.so.6:malloc" in ret->probe becomes the file, and the function's offset in it by the
 * library's own table: so it must be loaded. */
static int find_function(const char *name, struct sp_perf_event_spec *ret, struct sp_err *err)
{
	char *colon = strrchr(ret->probe, ':');
	struct place p = {0};
	void *lib;

	if (!colon)
		return 0;
	*colon = 0;
	lib = dlopen(ret->probe, RTLD_LAZY | RTLD_NOLOAD);
	if (!lib)
		return sp_err_set(err, -ENOENT,
			"%s: that library is not loaded in the target, so that its functions are "
			"not known; write uprobe:/PATH+OFFSET",
			name);
	p.address = (uint64_t)dlsym(lib, colon + 1);
	if (p.address)
		dl_iterate_phdr(find_offset, &p);
	dlclose(lib);
	if (!p.offset)
		return sp_err_set(err, -ENOENT,
			"%s: that library has no such function among those it exports; write "
			"uprobe:/PATH+OFFSET",
			name);
	ret->config2 = p.offset;
	return 0;
}

/* kprobe:func+off, kretprobe:func, uprobe:path+off, uretprobe:path:func. */
static int parse_probe(const char *name, struct sp_perf_event_spec *ret, struct sp_err *err)
{
	const char *what = strchr(name, ':') + 1;
	bool user = name[0] == 'u', back = strncmp(name + 1, "retprobe", 8) == 0;
	char *plus;
	int type = read_number(user ? "/sys/bus/event_source/devices/uprobe/type"
				    : "/sys/bus/event_source/devices/kprobe/type");

	if (type < 0)
		return sp_err_set(err, -ENOENT, "%s: this kernel offers no such probes", name);
	if (strlen(what) >= sizeof(ret->probe))
		return sp_err_set(err, -EINVAL, "%s: too long", name);
	memcpy(ret->probe, what, strlen(what) + 1);
	plus = strrchr(ret->probe, '+');
	if (plus) {
		*plus = 0;
		ret->config2 = strtoull(plus + 1, NULL, 0);
	}
	ret->type = (uint32_t)type;
	ret->config = back;
	ret->default_period = 1;
	return user && !plus ? find_function(name, ret, err) : 0;
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
	if (strchr(name, ':'))
		return parse_tracepoint(name, ret, err);
	return sp_err_set(err, -EINVAL, "'%s' is not an event; 'sparkprof list' shows them", name);
}

void sp_perf_event_attr(
	const struct sp_perf_event_spec *e, uint64_t period, struct perf_event_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = e->type;
	attr->config = e->config;
	attr->config1 = e->probe[0] ? (uint64_t)e->probe : e->config1;
	attr->config2 = e->config2;
	attr->bp_type = e->bp_type;
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

static bool filtered(void)
{
	return prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER;
}

int sp_perf_event_ask(struct perf_event_attr *attr, int32_t tid, int cpu)
{
	return filtered() ? -EPERM : sp_perf_attr_open(attr, tid, cpu);
}

int sp_perf_event_explain(const char *event, int error, struct sp_err *err)
{
	int paranoid = read_number("/proc/sys/kernel/perf_event_paranoid");

	if (is_probe(event) && explain_probe(event, error, err) < 0)
		return error;
	switch (error) {
	case -EACCES:
	case -EPERM:
		/* The kernel itself denies by EACCES (perf_allow_kernel), filters by EPERM. */
		if (paranoid > 1 && (error == -EACCES || !filtered()))
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
