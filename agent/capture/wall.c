/* See wall.h. Blocked time is charged to the stack the thread blocked in, and so is its wait for a
 * CPU after it was woken there. The time it ran, and its wait for a CPU after preemption, is owed
 * until the CPU engine has a stack of it; blocked time without a stack, until it is seen blocked.
 */
#include "wall.h"

#include "base/clock.h"
#include "blocked_stack.h"
#include "host/page_alloc.h"
#include "threads/kernel_state.h"
#include "wall_accounting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BACK_OFF_NS  100000000ull /* an idle thread is looked at at least this often */
#define OPEN_NS	     80000000ull  /* books of a thread that waits stay open at most so long */
#define KEPT_FDS_MAX 512

struct wall {
	uint32_t generation; /* of the thread in this slot */
	bool active;
	uint8_t state;	      /* of the stack it is blocked in */
	struct sp_seen_at at; /* nowhere: it was running, or could not be read */
	uint32_t looks, idle, wakes;
	int fds[SP_WALL_FILES]; /* 0: not kept open */
	struct sp_wall_accounting books;
	uint64_t next_ns;
	uint64_t from_ns, blocked_ns;	   /* blocked in @stack, not yet written */
	uint64_t delay_owed;		   /* waited for a CPU, until it is seen running */
	uint64_t blocked_owed, woken_owed; /* blocked unseen, until it is seen blocked */
	uint64_t paid_ns, seen_ns;	   /* of its CPU time, what is written, and what is known */
	uint64_t off_ns;       /* off a CPU since the books were closed, at the last look */
	struct sp_seen_at ran; /* where it was last seen running */
};

struct sp_walls {
	struct sp_capture *c;
	uint64_t interval_ns, now_ns, next_ns; /* now: of this round */
	struct wall *walls;		       /* one per slot of the registry */
	uint32_t kept_fds, max_fds;
	bool last;
	struct sp_wall_waits waits;
	struct sp_blocked_stack stack;
};

int sp_wall_start(
	struct sp_walls **ret, struct sp_capture *c, uint64_t interval_ns, struct sp_err *err)
{
	struct sp_walls *w = calloc(1, sizeof(*w));
	int fd = sp_kernel_state_open((uint32_t)getpid(), SP_WALL_SYSCALL);

	if (fd >= 0)
		close(fd);
	if (!w || fd < 0) {
		free(w);
		return fd < 0 ? sp_err_set(err, fd,
					"wall: /proc/self/task/TID/syscall cannot be read here "
					"(%s); "
					"use -e cpu",
					strerror(-fd))
			      : sp_err_set(err, -ENOMEM, "out of memory");
	}
	w->c = c;
	w->interval_ns = interval_ns;
	sp_wall_waits_init(&w->waits);
	w->max_fds = sp_engine_fd_budget() / 4;
	if (w->max_fds > KEPT_FDS_MAX)
		w->max_fds = KEPT_FDS_MAX;
	w->walls = sp_page_alloc_map(sizeof(struct wall) * SP_THREADS_MAX);
	if (!w->walls) {
		free(w);
		return sp_err_set(err, -ENOMEM, "out of memory");
	}
	sp_blocked_stack_open(&w->stack);
	*ret = w;
	return 0;
}

static void drop_fds(struct sp_walls *w, struct wall *x)
{
	for (int i = 0; i < SP_WALL_FILES; i++) {
		if (x->fds[i] <= 0)
			continue;
		close(x->fds[i]);
		x->fds[i] = 0;
		w->kept_fds--;
	}
}

/* A thread that wakes again and again keeps its files open. Returns -1 where it does not. */
static int kept(struct sp_walls *w, const struct sp_tinfo *t, struct wall *x,
	enum sp_kernel_state_file file)
{
	if (x->fds[file] <= 0 && x->wakes > 2 && w->kept_fds < w->max_fds) {
		x->fds[file] = sp_kernel_state_open(t->tid, file);
		w->kept_fds += x->fds[file] > 0;
	}
	return x->fds[file] > 0 ? x->fds[file] : -1;
}

void sp_wall_free(struct sp_walls *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < SP_THREADS_MAX && w->kept_fds; i++)
		drop_fds(w, &w->walls[i]);
	sp_page_alloc_unmap(w->walls, sizeof(struct wall) * SP_THREADS_MAX);
	sp_blocked_stack_close(&w->stack);
	free(w);
}

static void write_span(struct sp_walls *w, struct sp_tinfo *t, const struct sp_seen_at *at,
	enum sp_state state, uint64_t from_ns, uint64_t span_ns, uint32_t looks)
{
	if (span_ns && at->stack)
		w->c->sink.blocked(
			w->c->sink.ctx, t, at, state, from_ns, span_ns, looks ? looks : 1);
}

/* Stacks of the chunk before are void: the next look takes the thread's again. */
static bool has_stack(const struct sp_walls *w, const struct wall *x)
{
	return x->at.stack && x->at.epoch == w->c->sink.epoch(w->c->sink.ctx);
}

/* Writes the thread's blocked time in its stack so far. */
static void write_blocked(struct sp_walls *w, struct sp_tinfo *t, struct wall *x)
{
	write_span(w, t, &x->at, x->state, x->from_ns, x->blocked_ns, x->looks);
	x->from_ns += x->blocked_ns;
	x->blocked_ns = 0;
	x->looks = 0;
}

static struct wall *wall_of(struct sp_walls *w, struct sp_tinfo *t)
{
	struct wall *x = &w->walls[sp_threads_slot(w->c->threads, t)];

	if (x->generation != t->generation) {
		drop_fds(w, x);
		memset(x, 0, sizeof(*x));
		x->generation = t->generation;
	}
	return x;
}

/* Has @s unwound and kept as where @x is blocked, unless the thread ran while it was read. */
static bool stands_in(struct sp_walls *w, struct wall *x, struct sp_raw_sample *s)
{
	if (!s->snap.stack_len || sp_kernel_state_cpu_ns(s->thread->tid) != x->books.cpu_ns)
		return false;
	w->c->sink.take(w->c->sink.ctx, s);
	x->at = s->ret;
	x->state = (uint8_t)s->state;
	return s->ret.stack != 0;
}

/* Takes the stack of a thread that is blocked. */
static bool capture(struct sp_walls *w, struct sp_tinfo *t, struct wall *x,
	const struct sp_kernel_state_where *at, uint64_t now)
{
	struct sp_raw_sample s = {.thread = t, .wall = true, .syscall_nr = at->nr};

	s.snap.time_ns = now;
	s.state = sp_kernel_state_class(at);
	sp_blocked_stack_read(&w->stack, w->c->threads, t, at, &s.snap);
	return stands_in(w, x, &s);
}

/* Takes the stack of a thread that was woken and waits for a CPU. */
static bool capture_woken(struct sp_walls *w, struct sp_tinfo *t, struct wall *x, uint64_t now)
{
	struct sp_raw_sample s = {.thread = t, .wall = true, .syscall_nr = -1};

	s.snap.time_ns = now;
	s.state = SP_STATE_BLOCKED;
	return sp_blocked_stack_woken(&w->stack, t, &s.snap) && stands_in(w, x, &s);
}

/* Charges what was blocked and waited unseen to the place that was seen next. */
static void charge_blocked(struct sp_walls *w, struct sp_tinfo *t, struct wall *x, uint64_t now)
{
	write_span(w, t, &x->at, SP_STATE_RUNNABLE, now - x->woken_owed, x->woken_owed, 1);
	x->blocked_ns += x->blocked_owed;
	x->from_ns = now - x->blocked_ns;
	x->woken_owed = x->blocked_owed = 0;
}

/* The thread ran since the last look: close the old place, begin the new one. It left the one and
 * came to the other at moments we do not know: half to each. */
static void divide(struct sp_walls *w, struct sp_tinfo *t, struct wall *x, const struct wall *at,
	const struct sp_wall_window *v)
{
	uint64_t woken = sp_wall_waits_woken(&w->waits, v), sure = x->blocked_ns;
	uint64_t here = 0, first = 0;

	x->delay_owed += v->delay - woken;
	if (has_stack(w, x)) {
		here = v->blocked <= sure  ? v->blocked
		       : at->books.blocked ? sure + (v->blocked - sure) / 2
					   : v->blocked;
		first = v->wakes > 1 ? woken / v->wakes : woken;
		write_span(w, t, &x->at, x->state, x->from_ns, here, x->looks);
		write_span(w, t, &x->at, SP_STATE_RUNNABLE, x->from_ns + here, first, 1);
	}
	x->woken_owed += woken - first;
	x->blocked_owed += v->blocked - here;
	x->blocked_ns = x->looks = x->idle = 0;
	x->at = at->at;
	x->state = at->state;
	if (x->at.stack) {
		x->looks = 1;
		charge_blocked(w, t, x, x->books.look_ns);
	}
}

/* Looks where the thread is. False: it waits for a CPU, how long the kernel books only when it gets
 * one, and it was also blocked since the last look; the books stay open until then. */
static bool find_wall(struct sp_walls *w, struct sp_tinfo *t, struct wall *x,
	struct sp_wall_reading *r, struct wall *ret)
{
	struct sp_kernel_state_where at;

	*ret = (struct wall){.books.cpu_ns = r->cpu_ns};
	x->wakes++;
	if (sp_kernel_state_where(t->tid, kept(w, t, x, SP_WALL_SYSCALL), &at) < 0)
		return true;
	if (!at.running) {
		ret->books.blocked = capture(w, t, ret, &at, r->now_ns);
		return true;
	}
	if (sp_kernel_state_cpu_ns(t->tid) != r->cpu_ns)
		return true;
	if (!x->books.blocked && x->books.blocks &&
		sp_kernel_state_blocks(t->tid, kept(w, t, x, SP_WALL_STATUS)) == x->books.blocks) {
		r->waits_ns = SP_WALL_ALL;
		return true;
	}
	ret->books.blocked = !w->last && capture_woken(w, t, ret, r->now_ns);
	if (ret->books.blocked)
		return true;
	/* Not for ever: on busy cores a look may find it waiting each time. */
	r->waits_ns = sp_wall_waits_guess(&w->waits);
	return w->last || r->now_ns - x->books.look_ns > OPEN_NS + 2 * w->interval_ns;
}

/* Closes the books of a thread that ran, or has no valid stack. */
static void moved(
	struct sp_walls *w, struct sp_tinfo *t, struct wall *x, uint64_t now, uint64_t cpu)
{
	struct sp_wall_reading r = {.now_ns = now, .cpu_ns = cpu, .before_ns = x->blocked_ns};
	struct sp_kernel_state_delay d = {x->books.delay_ns, x->books.arrivals};
	struct sp_wall_window v;
	struct wall at;

	if (!find_wall(w, t, x, &r, &at))
		return;
	if (cpu != x->books.cpu_ns || !x->at.stack)
		sp_kernel_state_delay(t->tid, kept(w, t, x, SP_WALL_SCHEDSTAT), &d);
	r.delay_ns = d.ns;
	r.arrivals = d.arrivals;
	r.is_blocked = at.books.blocked;
	sp_wall_accounting_close(&x->books, &r, &v);
	x->off_ns = 0;
	/* A slow file: read only where much is at stake. */
	if (v.contended)
		sp_wall_accounting_wakes(&x->books, &v,
			sp_kernel_state_blocks(t->tid, kept(w, t, x, SP_WALL_STATUS)),
			r.is_blocked);
	else
		x->books.blocks = 0;
	divide(w, t, x, &at, &v);
}

static void first_look(struct sp_walls *w, struct sp_tinfo *t, struct wall *x, uint64_t now)
{
	struct sp_wall_reading r = {.now_ns = now, .cpu_ns = sp_kernel_state_cpu_ns(t->tid)};
	struct sp_kernel_state_delay d = {0, 0};
	struct wall at;

	sp_kernel_state_delay(t->tid, -1, &d);
	find_wall(w, t, x, &r, &at);
	x->books = (struct sp_wall_accounting){now, r.cpu_ns, d.ns, d.arrivals,
		sp_kernel_state_blocks(t->tid, -1), 0, at.books.blocked};
	x->active = true;
	x->from_ns = now;
	x->paid_ns = r.cpu_ns;
	x->at = at.at;
	x->state = at.state;
}

/* On a CPU since the last look but for moments: where, the CPU engine knows. Its books stay open,
 * so that the moments are in the next account. */
static bool ran_on(struct sp_walls *w, struct wall *x, uint64_t now, uint64_t cpu)
{
	uint64_t elapsed = now - x->books.look_ns, ran = cpu - x->books.cpu_ns;
	uint64_t off = elapsed > ran ? elapsed - ran : 0, before = x->off_ns;

	x->off_ns = off;
	return !x->at.stack && !x->books.blocked && !w->last && elapsed < OPEN_NS &&
	       off < before + w->interval_ns / 16;
}

static void look_at_thread(struct sp_walls *w, struct sp_tinfo *t, struct wall *x, uint64_t now)
{
	uint64_t cpu = sp_kernel_state_cpu_ns(t->tid);

	if (!cpu)
		return;
	if (cpu == x->books.cpu_ns && has_stack(w, x)) {
		x->blocked_ns += now - x->books.look_ns;
		x->books.look_ns = now;
		x->looks++;
		x->idle++;
		return;
	}
	if (!ran_on(w, x, now, cpu))
		moved(w, t, x, now, cpu);
}

/* What it ran until its clock showed @cpu, and waited for a CPU meanwhile, goes to where it was
 * last seen running. */
static void pay(
	struct sp_walls *w, struct sp_tinfo *t, struct wall *x, uint64_t time_ns, uint64_t cpu)
{
	uint64_t ran = cpu > x->paid_ns ? cpu - x->paid_ns : 0;

	/* All of it has passed: first the wait, then the run that ends here. */
	write_span(w, t, &x->ran, SP_STATE_RUNNING, time_ns - ran, ran, 1);
	write_span(
		w, t, &x->ran, SP_STATE_RUNNABLE, time_ns - ran - x->delay_owed, x->delay_owed, 1);
	x->paid_ns += ran;
	x->delay_owed = 0;
}

/* Blocked time that was not seen and never will be. */
static void pay_unseen(struct sp_walls *w, struct sp_tinfo *t, struct wall *x, uint64_t time_ns)
{
	uint64_t woken_ns = time_ns - x->woken_owed;

	write_span(w, t, &x->ran, SP_STATE_RUNNABLE, woken_ns, x->woken_owed, 1);
	write_span(w, t, &x->ran, SP_STATE_BLOCKED, woken_ns - x->blocked_owed, x->blocked_owed, 1);
	x->woken_owed = x->blocked_owed = 0;
}

static void visit(void *ctx, struct sp_tinfo *t)
{
	struct sp_walls *w = ctx;
	struct wall *x = wall_of(w, t);
	uint64_t now, wait;

	if (t->state == SP_THREAD_ENDED) {
		if (x->active) {
			write_blocked(w, t, x);
			pay(w, t, x, x->books.look_ns,
				x->seen_ns > x->books.cpu_ns ? x->seen_ns : x->books.cpu_ns);
			pay_unseen(w, t, x, x->books.look_ns);
		}
		x->active = false;
		drop_fds(w, x);
		return;
	}
	if (w->now_ns < x->next_ns || !atomic_load(&t->sig->wanted))
		return;
	now = sp_clock_mono_ns();
	if (x->active)
		look_at_thread(w, t, x, now);
	else
		first_look(w, t, x, now);
	/* The longer it is blocked, the rarer the look: its time is known anyway. */
	wait = w->interval_ns * (1 + x->idle / 8);
	if (wait > BACK_OFF_NS)
		wait = BACK_OFF_NS > w->interval_ns ? BACK_OFF_NS : w->interval_ns;
	x->next_ns = now + wait - w->interval_ns / 4;
}

void sp_wall_tick(struct sp_walls *w)
{
	uint64_t now = sp_clock_mono_ns();

	if (now < w->next_ns)
		return;
	w->now_ns = now;
	w->next_ns = now + w->interval_ns - w->interval_ns / 8;
	sp_threads_each(w->c->threads, true, visit, w);
}

void sp_wall_charge_running(struct sp_walls *w, const struct sp_raw_sample *s)
{
	struct sp_tinfo *t = s->thread;
	struct wall *x = wall_of(w, t);
	uint64_t cpu, owed, since;

	if (!x->active || t->state != SP_THREAD_LIVE)
		return;
	x->ran = s->ret;
	cpu = sp_kernel_state_cpu_ns(t->tid);
	x->seen_ns = cpu;
	owed = cpu > x->paid_ns ? cpu - x->paid_ns : 0;
	since = sp_clock_mono_ns() - s->snap.time_ns;
	/* Several samples may come at once: what it ran after this one is the next one's. */
	if (sp_engine_is_cpu(w->c->args) && owed > s->weight)
		cpu -= owed - s->weight < since ? owed - s->weight : since;
	pay(w, t, x, s->snap.time_ns, cpu);
}

static void settle_one(void *ctx, struct sp_tinfo *t)
{
	struct sp_walls *w = ctx;
	struct wall *x = wall_of(w, t);

	uint64_t now = sp_clock_mono_ns();

	if (!x->active)
		return;
	if (has_stack(w, x) && sp_kernel_state_cpu_ns(t->tid) == x->books.cpu_ns) {
		x->blocked_ns += now - x->books.look_ns;
		x->books.look_ns = now;
	} else if (w->last) {
		look_at_thread(w, t, x, now);
	}
	if (has_stack(w, x))
		write_blocked(w, t, x);
	/* What it ran since its last sample would go to the next, which does not come. */
	if (w->last) {
		pay(w, t, x, now, sp_kernel_state_cpu_ns(t->tid));
		pay_unseen(w, t, x, now);
	}
}

void sp_wall_settle(struct sp_walls *w, bool last)
{
	w->last = last;
	sp_threads_each(w->c->threads, false, settle_one, w);
}
