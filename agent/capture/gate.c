/* See gate.h. */
#include "gate.h"

#include "base/clock.h"
#include "base/units.h"
#include "native_function.h"
#include "perf_event.h"
#include "sig/handler.h"
#include "vm/hotspot_counters.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define STATE "_ZN20SafepointSynchronize6_stateE"
/* enum SynchronizeState: _not_synchronized, _synchronizing, _synchronized; JDK 8 to 25. */
#define SYNCHRONIZING 1u

struct seen {
	uint64_t count, waited_ns;
};

static struct seen before;

/* A breakpoint; config1 of a probe points into spec. */
struct mark {
	struct sp_perf_event_spec spec;
	struct perf_event_attr attr;
	bool set;
};

static struct mark marks[2]; /* begin, end */
static uint32_t room, open_fds;
static _Atomic uint32_t unwatched; /* threads that found no descriptors */

/* False where the JVM keeps no such counters (-XX:-UsePerfData). */
static bool look(struct seen *ret)
{
	const volatile uint64_t *count = sp_hotspot_counters_find("sun.rt.safepoints");
	const volatile uint64_t *ticks = sp_hotspot_counters_find("sun.rt.safepointSyncTime");
	const volatile uint64_t *hertz = sp_hotspot_counters_find("sun.os.hrt.frequency");

	if (!count || !ticks || !hertz || !*hertz)
		return false;
	*ret = (struct seen){*count, (uint64_t)((double)*ticks * 1e9 / (double)*hertz)};
	return true;
}

static int set_safepoint(struct sp_err *err)
{
	struct sp_native_function state;

	if (sp_native_function_find("ttsp", NULL, STATE, &state, NULL) < 0)
		return sp_err_set(err, -ENOTSUP,
			"--ttsp needs the symbol table of libjvm.so, and this one has none");
	look(&before);
	sp_sig.gate_value = SYNCHRONIZING;
	atomic_store(&sp_sig.gate, (const _Atomic uint32_t *)state.address);
	return 0;
}

static int find_mark(const char *option, const char *name, struct mark *ret, struct sp_err *err)
{
	bool place = strncmp(name, "mem:", 4) == 0;
	char text[192];
	int r;

	snprintf(text, sizeof(text), place ? "%s" : "mem:%s:x", name);
	r = sp_perf_event_parse(text, &ret->spec, err);
	if (r == -ENOENT)
		return sp_err_set(err, r,
			"%s: '%s' is no function of a library that is loaded in the target", option,
			name);
	if (r < 0)
		return sp_err_prefix(err, r, "%s", option);
	if (!ret->spec.function)
		return sp_err_set(err, -EINVAL, "%s: '%s' is no function", option, name);
	sp_perf_event_attr(&ret->spec, 1, &ret->attr);
	ret->attr.disabled = 1;
	ret->attr.wakeup_events = 1;
	r = sp_perf_event_try(&ret->spec, &ret->attr);
	if (r < 0) {
		sp_perf_event_explain(place ? "mem:" : name, r, err);
		return sp_err_prefix(err, r, "%s", option);
	}
	ret->set = true;
	return 0;
}

static int set_marks(struct sp_capture *c, struct sp_err *err)
{
	const struct sp_args *a = c->args;
	uint32_t each = a->end[0] ? 2 : 1;
	int r = find_mark("--begin", a->begin, &marks[0], err);

	if (r == 0 && a->end[0])
		r = find_mark("--end", a->end, &marks[1], err);
	if (r < 0)
		return r;
	if (marks[1].set && marks[0].spec.config1 == marks[1].spec.config1)
		return sp_err_set(err, -EINVAL, "--begin and --end are the same function");
	room = sp_engine_fd_budget();
	if (sp_threads_count(c->threads) * each > room)
		return sp_err_set(err, -EMFILE,
			"--begin: breakpoints in %u threads need more than a quarter of the %u "
			"free "
			"descriptors",
			sp_threads_count(c->threads), room * 4);
	open_fds = 0;
	atomic_store(&unwatched, 0);
	memset(&sp_sig.window, 0, sizeof(sp_sig.window));
	sp_sig.window.begin = marks[0].spec.config1;
	sp_sig.window.end = marks[1].set ? marks[1].spec.config1 : 0;
	sp_sig.gate_value = SP_SIG_OPEN;
	atomic_store(&sp_sig.gate, a->nostop ? NULL : &sp_sig.window.open);
	return 0;
}

int sp_gate_set(struct sp_capture *c, struct sp_err *err)
{
	memset(marks, 0, sizeof(marks));
	return c->args->ttsp ? set_safepoint(err) : set_marks(c, err);
}

void sp_gate_unset(void)
{
	atomic_store(&sp_sig.gate, NULL);
	sp_sig.window.begin = 0;
	marks[0].set = marks[1].set = false;
}

static void watch(const struct mark *m, _Atomic int32_t *at, uint32_t tid)
{
	int fd;

	if (!m->set || atomic_load(at) >= 0)
		return;
	fd = open_fds < room
		     ? sp_perf_event_ask((struct perf_event_attr *)&m->attr, (int32_t)tid, -1)
		     : -EMFILE;
	if (fd < 0) {
		unwatched += fd != -ESRCH;
		return;
	}
	open_fds++;
	atomic_store(at, fd); /* the handler has to know it before the first signal */
	sp_perf_event_signal(fd, tid);
}

static void unwatch(_Atomic int32_t *at)
{
	int fd = atomic_exchange(at, -1);

	if (fd < 0)
		return;
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	close(fd);
	open_fds--;
}

void sp_gate_added(struct sp_tinfo *t)
{
	/* The end first: what begins shall end. */
	watch(&marks[1], &t->sig->end_fd, t->tid);
	watch(&marks[0], &t->sig->perf_fd, t->tid);
}

void sp_gate_gone(struct sp_tinfo *t)
{
	/* That of another engine may be there. */
	if (!marks[0].set)
		return;
	unwatch(&t->sig->perf_fd);
	unwatch(&t->sig->end_fd);
}

static void say_safepoints(struct sp_capture *c)
{
	char text[160], time[32];
	struct seen now;

	if (!look(&now))
		return;
	snprintf(text, sizeof(text),
		"--ttsp: %llu safepoints; until all threads had stopped the JVM waited %s in all",
		(unsigned long long)(now.count - before.count),
		sp_duration_format(now.waited_ns - before.waited_ns, time, sizeof(time)));
	c->say(c->say_ctx, text);
}

bool sp_gate_still_open(const struct sp_capture *c, uint32_t *ret_tid, uint64_t *ret_since_ns)
{
	struct sp_sig_window *w = &sp_sig.window;
	uint32_t open = SP_SIG_OPEN;

	if (!c->args->begin[0] || !atomic_compare_exchange_strong(&w->open, &open, SP_SIG_SHUT))
		return false;
	*ret_tid = atomic_load(&w->tid);
	*ret_since_ns = atomic_load(&w->since_ns);
	atomic_fetch_add(&w->ns, sp_clock_mono_ns() - *ret_since_ns);
	return true;
}

static void say_windows(struct sp_capture *c)
{
	struct sp_sig_window *w = &sp_sig.window;
	uint64_t ns = atomic_load(&w->ns);
	char text[400], time[32];

	if (!atomic_load(&w->count))
		snprintf(text, sizeof(text), "--begin: %s was not called%s", c->args->begin,
			c->args->nostop ? "" : ", so that nothing was sampled");
	else
		snprintf(text, sizeof(text), "--begin: %s %u call%s of %s on, %s in all",
			c->args->nostop ? "recorded from" : "sampled from", atomic_load(&w->count),
			atomic_load(&w->count) == 1 ? "" : "s", c->args->begin,
			sp_duration_format(ns, time, sizeof(time)));
	c->say(c->say_ctx, text);
	if (!atomic_load(&unwatched))
		return;
	snprintf(text, sizeof(text),
		"--begin: not watched in %u threads, because the process has too few file "
		"descriptors (a higher limit on open files would help)",
		atomic_load(&unwatched));
	c->say(c->say_ctx, text);
}

void sp_gate_say(struct sp_capture *c)
{
	if (c->args->ttsp)
		say_safepoints(c);
	else if (c->args->begin[0])
		say_windows(c);
}
