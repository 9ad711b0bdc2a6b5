/* Chooses the engine for an event: the best that works here, each step down said in a sentence. */
#include "engine.h"

#include "base/cleanup.h"
#include "base/list_dir.h"
#include "gate.h"
#include "perf_event.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static void say_sentence(struct sp_capture *c, const char *sentence)
{
	c->say(c->say_ctx, sentence);
}

bool sp_engine_is_cpu(const struct sp_args *args)
{
	return strcmp(args->event, "cpu") == 0 || strcmp(args->event, "wall") == 0;
}

int sp_engine_perf_event(struct sp_capture *c, struct sp_perf_event_spec *ret,
	struct perf_event_attr *ret_attr, struct sp_err *err)
{
	int r = sp_perf_event_parse(sp_engine_is_cpu(c->args) ? "cpu" : c->args->event, ret, err);

	if (r < 0)
		return r;
	c->in_kernel = ret->in_kernel;
	c->counts = !ret->clock;
	if (c->counts)
		c->interval_ns = c->args->interval_ns ? c->args->interval_ns : ret->default_period;
	sp_perf_event_attr(ret, c->interval_ns, ret_attr);
	ret_attr->exclude_kernel |= c->args->alluser;
	return 0;
}

int sp_engine_perf_opened(struct sp_capture *c, struct sp_perf_event_spec *e,
	struct perf_event_attr *attr, bool must, int error, struct sp_err *err)
{
	if ((error == -EACCES || error == -EPERM) && !must && !attr->exclude_kernel) {
		attr->exclude_kernel = 1;
		attr->exclude_callchain_kernel = 1;
		error = sp_perf_event_try(e, attr);
		if (error == 0)
			say_sentence(c,
				"perf: only user mode may be sampled here, so time in the kernel "
				"is missing; CAP_PERFMON or kernel.perf_event_paranoid=1 would "
				"help");
	}
	return error < 0 ? sp_perf_event_explain(c->args->event, error, err) : 0;
}

static void count_entry(void *ctx, const char *name)
{
	*(uint64_t *)ctx += 1;
}

uint32_t sp_engine_fd_budget(void)
{
	struct rlimit limit;
	uint64_t used = 0;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
		sp_list_dir("/proc/self/fd", count_entry, &used) < 0)
		return 0;
	if (limit.rlim_cur > 1u << 30)
		limit.rlim_cur = 1u << 30;
	return limit.rlim_cur > used ? (uint32_t)((limit.rlim_cur - used) / 4) : 0;
}

static int start_one(struct sp_capture *c, const struct sp_engine *e,
	const struct sp_engine **ret_engine, struct sp_err *err)
{
	int r = e->start(c, err);

	if (r == 0)
		*ret_engine = e;
	return r;
}

/* The launcher may open perf events, but not for threads that start after it has left. */
static bool leaves(const struct sp_capture *c)
{
	return strcmp(c->args->perf, "leaves") == 0;
}

static const char would_help[] =
	" (collect sees the kernel: its launcher stays and opens perf events for new threads)";

/* Of wall it is only a part that steps down: threads that wait are read, not sampled. */
static void say_step(struct sp_capture *c, const char *why, const struct sp_engine *next)
{
	bool wall = strcmp(c->args->event, "wall") == 0;
	char text[1024];

	snprintf(text, sizeof(text), "%s; %susing %s instead%s", why,
		wall ? "for threads that run, " : "", next->name, leaves(c) ? would_help : "");
	say_sentence(c, text);
}

/* cpu: perf ring, perf with a signal, ctimer, itimer; what is forced is not left. */
static int start_cpu(struct sp_capture *c, const struct sp_engine **ret_engine, struct sp_err *err)
{
	static const struct sp_engine *const order[] = {
		&sp_engine_perf_ring, &sp_engine_perf_signal, &sp_engine_ctimer, &sp_engine_itimer};
	bool ring_only = strcmp(c->args->capture, "ring") == 0;
	bool signal_only = strcmp(c->args->capture, "signal") == 0 ||
			   (!ring_only && sp_perf_event_is_call(c->args->event)) ||
			   c->args->target_cpu[0];
	/* Timers can replace only CPU time, and that of all CPUs. */
	bool timers = sp_engine_is_cpu(c->args) && !c->args->target_cpu[0];
	size_t last = ring_only ? 1 : timers ? 4 : 2;
	struct sp_err why[SP_COUNT(order)] = {{{0}}};
	size_t failed = 0;
	int r = -ENOTSUP;

	for (size_t i = signal_only ? 1 : 0; i < last; i++) {
		r = start_one(c, order[i], ret_engine, &why[failed]);
		/* The others would disturb, or be disturbed by, that one as well. */
		if (r == 0 || r == -EBUSY)
			break;
		failed += i + 1 < last;
		/* Where the ring may not see the kernel, perf with signals may not either. */
		if (i == 0 && last == 4 && r != -EMFILE && r != -ENOMEM)
			i = 1;
	}
	/* What is used instead is known only now. */
	for (size_t i = 0; i < failed && r == 0; i++)
		say_step(c, why[i].text, *ret_engine);
	if (r < 0)
		*err = why[failed];
	return r;
}

/* The kernel's timers do not know. */
static void say_user_only(struct sp_capture *c, const struct sp_engine *e)
{
	char text[160];

	if (!c->args->alluser || (e != &sp_engine_ctimer && e != &sp_engine_itimer))
		return;
	snprintf(text, sizeof(text),
		"%s: time in the kernel is sampled too, which only perf events can leave out",
		e->name);
	say_sentence(c, text);
}

/* Nothing is sampled: hooks report. */
static void stop_none(struct sp_capture *c)
{
}

static const struct sp_engine engine_none = {
	.name = "hooks", .start = sp_engine_ring, .stop = stop_none};

/* Only a handler sees what the JVM does at that moment. Not that of perf's signals, which come late
 * and together after a long system call; nor of one timer for all threads, which shares what passed
 * among them. */
static int start_gated(
	struct sp_capture *c, const struct sp_engine **ret_engine, struct sp_err *err)
{
	int r = sp_gate_set(c, err);

	if (r == 0)
		r = start_one(c, &sp_engine_ctimer, ret_engine, err);
	if (r < 0)
		sp_gate_unset();
	return r;
}

static int choose(struct sp_capture *c, const struct sp_engine **ret_engine, struct sp_err *err)
{
	const char *event = c->args->event;
	bool ring = strcmp(c->args->capture, "ring") == 0;

	if (sp_args_only_hooks(c->args))
		return start_one(c, &engine_none, ret_engine, err);
	if (sp_args_gated(c->args))
		return start_gated(c, ret_engine, err);
	if (strcmp(event, "ctimer") == 0 || strcmp(event, "itimer") == 0) {
		if (ring)
			return sp_err_set(err, -EINVAL,
				"%s works by signals: omit --capture=ring or use -e cpu", event);
		return start_one(c, event[0] == 'c' ? &sp_engine_ctimer : &sp_engine_itimer,
			ret_engine, err);
	}
	return start_cpu(c, ret_engine, err);
}

int sp_engine_start(struct sp_capture *c, const struct sp_engine **ret_engine, struct sp_err *err)
{
	int r = choose(c, ret_engine, err);

	if (r == 0)
		say_user_only(c, *ret_engine);
	return r;
}
