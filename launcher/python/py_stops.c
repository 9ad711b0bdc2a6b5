/* See py_stops.h. */
#include "py_stops.h"

#include "py_native.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Of one process. */
struct stops {
	struct sp_pynative *native; /* owned; NULL: not asked for, or not to be had */
	bool native_tried;
	struct sp_pyptrace stop; /* --blocking */
};

static struct stops *stops_of(struct sp_pyworker *w)
{
	if (!w->way)
		w->way = calloc(1, sizeof(struct stops));
	return w->way;
}

/* Native and Python frames. Returns as sp_pynative_stack; -ENOSYS where only Python's are to be had
 * of this process. */
static int read_mixed(
	struct stops *x, struct sp_pyworker *w, size_t number, pid_t tid, struct sp_pysampling *s)
{
	struct sp_err err;

	if (!x->native_tried && sp_pynative_new(&x->native, w->pid, &err) < 0)
		x->native = NULL;
	x->native_tried = true;
	if (!x->native)
		return -ENOSYS;
	return sp_pynative_stack(x->native, &w->reader, number, tid, s->stack, s->mixed);
}

struct python_look {
	struct sp_pyreader *reader;
	size_t number;
	struct sp_pystack *stack;
};

static int look_python(void *ctx)
{
	const struct python_look *l = ctx;

	return sp_pyreader_stack(l->reader, l->number, l->stack);
}

/* With --blocking a thread that runs is stopped meanwhile. Returns as sp_pyreader_stack. */
static int read_python(struct sp_pystops *all, struct stops *x, struct sp_pyworker *w,
	size_t number, pid_t tid, struct sp_pysampling *s)
{
	struct python_look look = {&w->reader, number, s->stack};
	int r, stopped;

	if (!all->blocking)
		return look_python(&look);
	r = sp_pyptrace_waiting(w->pid, tid, look_python, &look);
	if (r != -EAGAIN)
		return r;
	stopped = sp_pyptrace(&x->stop, tid);
	all->unstopped += stopped < 0;
	r = look_python(&look);
	if (stopped >= 0)
		sp_pyptrace_go(&x->stop, tid, stopped);
	return r;
}

static int read_stopped(void *ctx, struct sp_pyworker *w, size_t number, pid_t tid,
	struct sp_pysampling *s, bool *ret_mixed)
{
	struct sp_pystops *all = ctx;
	struct stops *x = stops_of(w);
	int r = -ENOSYS;

	if (!x)
		return sp_pyreader_stack(&w->reader, number, s->stack);
	if (all->native)
		r = read_mixed(x, w, number, tid, s);
	*ret_mixed = r == 0 && s->stack->count && !s->stack->partial;
	if (*ret_mixed)
		return 0;
	all->bare += all->native && (r < 0 || s->stack->partial);
	return r == 0 ? 0 : read_python(all, x, w, number, tid, s);
}

static void add_stops(struct sp_pyptraces *sum, const struct sp_pyptraces *x)
{
	sum->count += x->count;
	sum->all_ns += x->all_ns;
	sum->longest_ns = x->longest_ns > sum->longest_ns ? x->longest_ns : sum->longest_ns;
}

static void gone(void *ctx, struct sp_pyworker *w)
{
	struct sp_pystops *all = ctx;
	struct stops *x = w->way;

	w->way = NULL;
	if (!x)
		return;
	add_stops(&all->sum, &x->stop.stops); /* also with --native, where that could not be had */
	if (x->native) {
		struct sp_pyptraces stops = sp_pynative_stops(x->native);

		add_stops(&all->sum, &stops);
	}
	sp_pynative_free(x->native);
	sp_pyptrace_tidy(&x->stop);
	free(x);
}

void sp_pystops_init(struct sp_pystops *s, bool native, bool blocking)
{
	*s = (struct sp_pystops){.way = {.ctx = s, .read = read_stopped, .gone = gone},
		.native = native,
		.blocking = blocking};
}

void sp_pystops_note(const struct sp_pystops *s, struct sp_pyrecord *r)
{
	const struct sp_pyptraces *x = &s->sum;
	char text[160];

	if (x->count) {
		snprintf(text, sizeof(text),
			"%s stopped Python threads %llu times, for %llu us on average, %llu at "
			"most",
			s->native ? "--native" : "--blocking", (unsigned long long)x->count,
			(unsigned long long)(x->all_ns / x->count / 1000),
			(unsigned long long)(x->longest_ns / 1000));
		sp_pyrecord_note(r, text);
	}
	if (s->unstopped) {
		snprintf(text, sizeof(text), "%llu Python stacks were read without stopping them",
			(unsigned long long)s->unstopped);
		sp_pyrecord_note(r, text);
	}
	if (s->bare) {
		snprintf(text, sizeof(text), "%llu Python stacks lack their native frames",
			(unsigned long long)s->bare);
		sp_pyrecord_note(r, text);
	}
}
