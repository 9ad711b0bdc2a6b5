/* See wall.h. Accounts per thread, all in nanoseconds:
 *   elapsed = ran (CPU clock) + delayed (schedstat) + stood (the rest)
 * What it stood goes to the stack it stands in; what it ran and was delayed is owed until the CPU
 * engine tells a stack of it. */
#include "wall.h"

#include "base/clock.h"
#include "collector.h"
#include "pages.h"
#include "wall_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define STACK_MAX    (256u << 10)
#define STACK_FIRST  (64u << 10)  /* where the end is not known yet: what is mapped of this */
#define BACK_OFF_NS  100000000ull /* an idle thread is looked at at least this often */
#define KEPT_FDS_MAX 256

struct wall {
	uint32_t generation; /* of the thread in this slot */
	bool active;
	uint8_t state;	       /* of the stack it stands in */
	uint32_t stack, epoch; /* 0: it was running, or could not be read */
	uint32_t looks, idle, wakes;
	int fd;
	uint64_t cpu_ns, delay_ns, look_ns, next_ns;
	uint64_t from_ns, stood_ns;		   /* stood in @stack, not yet written */
	uint64_t ran_owed, delay_owed, stood_owed; /* until a stack is known */
	uint64_t delay_ahead;	       /* of delay_owed, what schedstat has not told yet */
	uint64_t blocks;	       /* voluntary switches when last asked */
	uint32_t run_stack, run_epoch; /* where it was last seen running */
};

struct sp_walls {
	struct sp_capture *c;
	uint64_t interval_ns, next_ns;
	struct wall *walls; /* one per slot of the registry */
	uint32_t kept_fds, max_fds;
	bool last;
	pid_t pid;
	int mem; /* /proc/self/mem where process_vm_readv is forbidden, else -1 */
	uint8_t stack[STACK_MAX];
};

/* Older container runtimes forbid process_vm_readv; blocked threads would silently be missing. */
static int open_memory(void)
{
	uint64_t word = 0, got;
	struct iovec to = {&got, sizeof(got)}, from = {&word, sizeof(word)};

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof(got))
		return -1;
	return open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
}

int sp_wall_start(
	struct sp_walls **ret, struct sp_capture *c, uint64_t interval_ns, struct sp_err *err)
{
	struct sp_walls *w = calloc(1, sizeof(*w));
	int fd = sp_wall_open_where((uint32_t)getpid());

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
	w->pid = getpid();
	w->max_fds = sp_engine_fd_budget() / 4;
	if (w->max_fds > KEPT_FDS_MAX)
		w->max_fds = KEPT_FDS_MAX;
	w->walls = sp_pages_map(sizeof(struct wall) * SP_THREADS_MAX);
	if (!w->walls) {
		free(w);
		return sp_err_set(err, -ENOMEM, "out of memory");
	}
	w->mem = open_memory();
	*ret = w;
	return 0;
}

static void drop_fd(struct sp_walls *w, struct wall *x)
{
	if (x->fd <= 0)
		return;
	close(x->fd);
	x->fd = 0;
	w->kept_fds--;
}

void sp_wall_free(struct sp_walls *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < SP_THREADS_MAX && w->kept_fds; i++)
		drop_fd(w, &w->walls[i]);
	sp_pages_unmap(w->walls, sizeof(struct wall) * SP_THREADS_MAX);
	if (w->mem >= 0)
		close(w->mem);
	free(w);
}

static void write_span(struct sp_walls *w, struct sp_tinfo *t, const struct wall *x,
	enum sp_state state, uint64_t from_ns, uint64_t span_ns, uint32_t looks)
{
	if (span_ns && x->stack)
		sp_collector_stood(w->c->collector, t, x->stack, x->epoch, state, from_ns, span_ns,
			looks ? looks : 1);
}

/* Writes what the thread stood in its stack so far. */
static void settle(struct sp_walls *w, struct sp_tinfo *t, struct wall *x)
{
	write_span(w, t, x, x->state, x->from_ns, x->stood_ns, x->looks);
	x->from_ns += x->stood_ns;
	x->stood_ns = 0;
	x->looks = 0;
}

static struct wall *wall_of(struct sp_walls *w, struct sp_tinfo *t)
{
	struct wall *x = &w->walls[sp_threads_slot(w->c->threads, t)];

	if (x->generation != t->generation) {
		drop_fd(w, x);
		memset(x, 0, sizeof(*x));
		x->generation = t->generation;
	}
	return x;
}

/* Reads the stack of a thread that stands at @at into w->stack. Returns its length. */
static uint32_t read_stack(struct sp_walls *w, uint64_t sp, uint64_t end, struct sp_anchor *anchor,
	uint64_t anchor_addr)
{
	uint64_t words[8] = {0};
	uint32_t want = end - sp > STACK_MAX ? STACK_MAX : (uint32_t)(end - sp);
	struct iovec to[2] = {{w->stack, want}, {words, sizeof(words)}};
	struct iovec from[2] = {{(void *)sp, want}, {(void *)anchor_addr, sizeof(words)}};
	ssize_t n;

	if (w->mem < 0) {
		n = process_vm_readv(w->pid, to, 2, from, anchor_addr ? 2 : 1, 0);
	} else {
		n = pread(w->mem, w->stack, want, (off_t)sp);
		if (n == (ssize_t)want && anchor_addr &&
			pread(w->mem, words, sizeof(words), (off_t)anchor_addr) == sizeof(words))
			n += sizeof(words);
	}
	if (n < 0)
		return 0;
	if (anchor_addr && (uint64_t)n == want + sizeof(words)) {
		const uint8_t *a = (const uint8_t *)words;

		memcpy(&anchor->last_java_sp, a + sp_sig.anchor.sp, 8);
		memcpy(&anchor->last_java_fp, a + sp_sig.anchor.fp, 8);
		memcpy(&anchor->last_java_pc, a + sp_sig.anchor.pc, 8);
	}
	return (uint64_t)n > want ? want : (uint32_t)n;
}

/* Takes the stack of a blocked thread. It did not move meanwhile if its CPU clock did not. */
static bool capture(struct sp_walls *w, struct sp_tinfo *t, struct wall *x,
	const struct sp_wall_where *at, uint64_t now)
{
	struct sp_sample s = {.thread = t, .wall = true, .syscall_nr = at->nr};
	uint64_t lo = atomic_load(&t->sig->stack_lo), hi = atomic_load(&t->sig->stack_hi);
	uint64_t end = hi && at->sp > lo && at->sp < hi ? hi : at->sp + STACK_FIRST;
	uint64_t anchor = atomic_load(&t->sig->anchor);

	if (!hi)
		sp_threads_learn(w->c->threads, t, at->sp);
	if (sp_sig.anchor.sp > 56 || sp_sig.anchor.fp > 56 || sp_sig.anchor.pc > 56)
		anchor = 0;
	s.snap.tid = t->tid;
	s.snap.time_ns = now;
	s.snap.known = 1u << SP_REG_RSP | 1u << SP_REG_PC;
	s.snap.regs[SP_REG_RSP] = s.snap.stack_addr = at->sp;
	s.snap.regs[SP_REG_PC] = at->pc;
	s.snap.stack_end = end;
	s.snap.stack_len = read_stack(w, at->sp, end, &s.snap.anchor, hi ? anchor : 0);
	if (!hi)
		s.snap.stack_end = at->sp + s.snap.stack_len;
	s.snap.stack = w->stack;
	s.state = sp_wall_class(at);
	if (!s.snap.stack_len || sp_wall_cpu_ns(t->tid) != x->cpu_ns)
		return false;
	sp_collector_take(w->c->collector, &s);
	x->stack = s.ret_stack;
	x->epoch = s.ret_epoch;
	x->state = (uint8_t)s.state;
	return s.ret_stack != 0;
}

/* Brings the thread's accounts up to @now. Returns what it stood since the last look. */
static uint64_t account(struct wall *x, uint32_t tid, uint64_t now, uint64_t cpu)
{
	uint64_t elapsed = now - x->look_ns, ran = cpu - x->cpu_ns, delay = 0;

	if (ran || !x->stack) {
		uint64_t total = sp_wall_delay_ns(tid);

		delay = total > x->delay_ns ? total - x->delay_ns : 0;
		x->delay_ns = total;
		/* What was taken for a wait before the kernel told of it. */
		if (ran && x->delay_ahead) {
			delay = delay > x->delay_ahead ? delay - x->delay_ahead : 0;
			x->delay_ahead = 0;
		}
	}
	if (ran > elapsed)
		ran = elapsed;
	if (delay > elapsed - ran)
		delay = elapsed - ran;
	x->ran_owed += ran;
	x->delay_owed += delay;
	x->look_ns = now;
	x->cpu_ns = cpu;
	return elapsed - ran - delay;
}

/* A thread that wakes again and again keeps its file open. */
static void keep_fd(struct sp_walls *w, struct sp_tinfo *t, struct wall *x)
{
	int fd;

	if (x->fd > 0 || x->wakes++ < 2 || w->kept_fds >= w->max_fds)
		return;
	fd = sp_wall_open_where(t->tid);
	if (fd > 0) {
		x->fd = fd;
		w->kept_fds++;
	}
}

/* It runs at both looks and yet did not for @stood: if it never went to sleep it still waits for a
 * CPU, which schedstat tells only once it got one; else it slept where nobody saw it. */
static void unseen(uint32_t tid, struct wall *x, uint64_t stood)
{
	uint64_t blocks = sp_wall_blocks(tid);

	if (blocks == x->blocks) {
		x->delay_owed += stood;
		x->delay_ahead += stood;
	} else {
		x->stood_owed += stood;
	}
	x->blocks = blocks;
}

/* The thread ran since the last look: close the old place, find the new one. */
static void moved(
	struct sp_walls *w, struct sp_tinfo *t, struct wall *x, uint64_t now, uint64_t stood)
{
	struct sp_wall_where at;
	uint32_t old = x->stack, old_epoch = x->epoch;
	uint64_t half = old ? stood / 2 : 0;

	/* It left one place and came to another at moments we do not know: half to each. Where it
	 * stood is also where it waited for a CPU, once it was woken. */
	x->stood_ns += half;
	settle(w, t, x);
	if (old) {
		write_span(w, t, x, SP_STATE_RUNNABLE, now - x->delay_owed, x->delay_owed, 1);
		x->delay_owed = 0;
	}
	x->idle = 0;
	x->stack = 0;
	keep_fd(w, t, x);
	if (sp_wall_where(t->tid, x->fd > 0 ? x->fd : -1, &at) == 0 && !at.running &&
		capture(w, t, x, &at, now)) {
		x->from_ns = now - (stood - half);
		x->stood_ns = stood - half;
		x->looks = 1;
		if (x->delay_owed && !x->ran_owed) {
			write_span(
				w, t, x, SP_STATE_RUNNABLE, now - x->delay_owed, x->delay_owed, 1);
			x->delay_owed = 0;
		}
		return;
	}
	/* Running now: the rest goes where it stood before. */
	x->stack = old;
	x->epoch = old_epoch;
	if (old) {
		x->stood_ns = stood - half;
		x->looks = 0;
		settle(w, t, x);
	} else if (stood) {
		unseen(t->tid, x, stood);
	}
	x->stack = 0;
}

static void first_look(struct sp_walls *w, struct sp_tinfo *t, struct wall *x, uint64_t now)
{
	x->active = true;
	x->look_ns = x->from_ns = now;
	x->cpu_ns = sp_wall_cpu_ns(t->tid);
	x->delay_ns = sp_wall_delay_ns(t->tid);
	x->blocks = sp_wall_blocks(t->tid);
	moved(w, t, x, now, 0);
}

static void look(struct sp_walls *w, struct sp_tinfo *t, struct wall *x, uint64_t now)
{
	uint64_t cpu = sp_wall_cpu_ns(t->tid), stood;
	bool here = x->stack && x->epoch == sp_collector_epoch(w->c->collector);

	if (!cpu)
		return;
	if (cpu == x->cpu_ns && here) {
		x->stood_ns += now - x->look_ns;
		x->look_ns = now;
		x->looks++;
		x->idle++;
		return;
	}
	stood = account(x, t->tid, now, cpu);
	moved(w, t, x, now, stood);
}

/* What it ran is written under @stack. */
static void pay(struct sp_walls *w, struct sp_tinfo *t, struct wall *x, uint64_t time_ns)
{
	struct wall seen = {.stack = x->run_stack, .epoch = x->run_epoch};

	write_span(w, t, &seen, SP_STATE_RUNNING, time_ns, x->ran_owed, 1);
	write_span(w, t, &seen, SP_STATE_RUNNABLE, time_ns, x->delay_owed, 1);
	write_span(w, t, &seen, SP_STATE_BLOCKED, time_ns, x->stood_owed, 1);
	x->ran_owed = x->delay_owed = x->stood_owed = 0;
}

static void visit(void *ctx, struct sp_tinfo *t)
{
	struct sp_walls *w = ctx;
	struct wall *x = wall_of(w, t);
	uint64_t now, wait;

	if (t->state == SP_THREAD_ENDED) {
		if (x->active) {
			settle(w, t, x);
			pay(w, t, x, x->look_ns);
		}
		x->active = false;
		drop_fd(w, x);
		return;
	}
	if (!atomic_load(&t->sig->wanted))
		return;
	now = sp_clock_mono_ns();
	if (now < x->next_ns)
		return;
	if (x->active)
		look(w, t, x, now);
	else
		first_look(w, t, x, now);
	/* The longer it has stood, the rarer the look: its time is known anyway. */
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
	w->next_ns = now + w->interval_ns - w->interval_ns / 8;
	sp_threads_each(w->c->threads, true, visit, w);
}

void sp_wall_ran(
	struct sp_walls *w, struct sp_tinfo *t, uint64_t time_ns, uint32_t stack, uint32_t epoch)
{
	struct wall *x = wall_of(w, t);
	uint64_t cpu, stood;

	if (!x->active || t->state != SP_THREAD_LIVE)
		return;
	cpu = sp_wall_cpu_ns(t->tid);
	if (cpu && cpu != x->cpu_ns) {
		stood = account(x, t->tid, sp_clock_mono_ns(), cpu);
		moved(w, t, x, x->look_ns, stood);
	}
	x->run_stack = stack;
	x->run_epoch = epoch;
	pay(w, t, x, time_ns);
}

static void settle_one(void *ctx, struct sp_tinfo *t)
{
	struct sp_walls *w = ctx;
	struct wall *x = wall_of(w, t);

	uint64_t now = sp_clock_mono_ns();

	if (!x->active)
		return;
	if (x->stack && sp_wall_cpu_ns(t->tid) == x->cpu_ns) {
		x->stood_ns += now - x->look_ns;
		x->look_ns = now;
	} else if (w->last) {
		look(w, t, x, now);
	}
	settle(w, t, x);
	/* What it ran since its last sample would go to the next, which does not come. */
	if (w->last)
		pay(w, t, x, now);
}

void sp_wall_settle(struct sp_walls *w, bool last)
{
	w->last = last;
	sp_threads_each(w->c->threads, false, settle_one, w);
}
