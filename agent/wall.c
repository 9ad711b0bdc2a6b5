/* See wall.h. What a thread stood goes to the stack it stands in, and so does what it waited for a
 * CPU after it was woken there. What it ran, and waited for a CPU when it was pushed off one, is
 * owed until the CPU engine tells a stack of it; what it stood unseen, until it is seen standing.
 */
#include "wall.h"

#include "base/clock.h"
#include "collector.h"
#include "pages.h"
#include "wall_books.h"
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
#define OPEN_NS	     80000000ull  /* books of a thread that waits stay open at most so long */
#define KEPT_FDS_MAX 512

struct wall {
	uint32_t generation; /* of the thread in this slot */
	bool active;
	uint8_t state;	       /* of the stack it stands in */
	struct sp_standing at; /* nowhere: it was running, or could not be read */
	uint32_t looks, idle, wakes;
	int fds[SP_WALL_FILES]; /* 0: not kept open */
	struct sp_wall_books books;
	uint64_t next_ns;
	uint64_t from_ns, stood_ns;	 /* stood in @stack, not yet written */
	uint64_t delay_owed;		 /* waited for a CPU, until it is seen running */
	uint64_t stood_owed, woken_owed; /* stood unseen, until it is seen standing */
	uint64_t paid_ns;		 /* of its CPU time, what is written */
	struct sp_standing ran;		 /* where it was last seen running */
};

struct sp_walls {
	struct sp_capture *c;
	uint64_t interval_ns, next_ns;
	struct wall *walls; /* one per slot of the registry */
	uint32_t kept_fds, max_fds;
	bool last;
	struct sp_wall_waits waits;
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
	int fd = sp_wall_open((uint32_t)getpid(), SP_WALL_SYSCALL);

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
static int kept(
	struct sp_walls *w, const struct sp_tinfo *t, struct wall *x, enum sp_wall_file file)
{
	if (x->fds[file] <= 0 && x->wakes > 2 && w->kept_fds < w->max_fds) {
		x->fds[file] = sp_wall_open(t->tid, file);
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
	sp_pages_unmap(w->walls, sizeof(struct wall) * SP_THREADS_MAX);
	if (w->mem >= 0)
		close(w->mem);
	free(w);
}

static void write_span(struct sp_walls *w, struct sp_tinfo *t, const struct sp_standing *at,
	enum sp_state state, uint64_t from_ns, uint64_t span_ns, uint32_t looks)
{
	if (span_ns && at->stack)
		sp_collector_stood(
			w->c->collector, t, at, state, from_ns, span_ns, looks ? looks : 1);
}

/* Writes what the thread stood in its stack so far. */
static void settle(struct sp_walls *w, struct sp_tinfo *t, struct wall *x)
{
	write_span(w, t, &x->at, x->state, x->from_ns, x->stood_ns, x->looks);
	x->from_ns += x->stood_ns;
	x->stood_ns = 0;
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

/* Has @s unwound and kept as where @x stands, unless the thread ran while it was read. */
static bool stands_in(struct sp_walls *w, struct wall *x, struct sp_sample *s)
{
	if (!s->snap.stack_len || sp_wall_cpu_ns(s->thread->tid) != x->books.cpu_ns)
		return false;
	s->snap.stack = w->stack;
	sp_collector_take(w->c->collector, s);
	x->at = s->ret;
	x->state = (uint8_t)s->state;
	return s->ret.stack != 0;
}

static uint64_t anchor_of(const struct sp_tinfo *t)
{
	if (sp_sig.anchor.sp > 56 || sp_sig.anchor.fp > 56 || sp_sig.anchor.pc > 56)
		return 0;
	return atomic_load(&t->sig->anchor);
}

/* Takes the stack of a blocked thread. It did not move meanwhile if its CPU clock did not. */
static bool capture(struct sp_walls *w, struct sp_tinfo *t, struct wall *x,
	const struct sp_wall_where *at, uint64_t now)
{
	struct sp_sample s = {.thread = t, .wall = true, .syscall_nr = at->nr};
	uint64_t lo = atomic_load(&t->sig->stack_lo), hi = atomic_load(&t->sig->stack_hi);
	uint64_t end = hi && at->sp > lo && at->sp < hi ? hi : at->sp + STACK_FIRST;

	if (!hi)
		sp_threads_learn(w->c->threads, t, at->sp);
	s.snap.tid = t->tid;
	s.snap.time_ns = now;
	s.snap.known = 1u << SP_REG_RSP | 1u << SP_REG_PC;
	s.snap.regs[SP_REG_RSP] = s.snap.stack_addr = at->sp;
	s.snap.regs[SP_REG_PC] = at->pc;
	s.snap.stack_end = end;
	s.snap.stack_len = read_stack(w, at->sp, end, &s.snap.anchor, hi ? anchor_of(t) : 0);
	if (!hi)
		s.snap.stack_end = at->sp + s.snap.stack_len;
	s.state = sp_wall_class(at);
	return stands_in(w, x, &s);
}

/* Takes the Java stack of a thread that waits for a CPU in native code or in the JVM: where it was
 * woken. The kernel does not tell the registers of such a thread; the JVM tells its last Java
 * frame. */
static bool capture_woken(struct sp_walls *w, struct sp_tinfo *t, struct wall *x, uint64_t now)
{
	struct sp_sample s = {.thread = t, .wall = true, .syscall_nr = -1};
	uint64_t lo = atomic_load(&t->sig->stack_lo), hi = atomic_load(&t->sig->stack_hi);
	uint64_t addr = anchor_of(t), from;
	struct sp_anchor *a = &s.snap.anchor;

	if (!hi || !addr || !read_stack(w, hi - 8, hi, a, addr) || a->last_java_sp <= lo + 256 ||
		a->last_java_sp >= hi)
		return false;
	from = a->last_java_sp - 256;
	s.snap.tid = t->tid;
	s.snap.time_ns = now;
	s.snap.known = 1u << SP_REG_RSP;
	s.snap.regs[SP_REG_RSP] = s.snap.stack_addr = from;
	s.snap.stack_end = hi;
	s.snap.stack_len = read_stack(w, from, hi, a, 0);
	s.state = SP_STATE_BLOCKED;
	return stands_in(w, x, &s);
}

/* Writes what was stood and waited unseen to the place that was seen next. */
static void pay_stood(struct sp_walls *w, struct sp_tinfo *t, struct wall *x, uint64_t now)
{
	write_span(w, t, &x->at, SP_STATE_RUNNABLE, now - x->woken_owed, x->woken_owed, 1);
	x->stood_ns += x->stood_owed;
	x->from_ns = now - x->stood_ns;
	x->woken_owed = x->stood_owed = 0;
}

/* The thread ran since the last look: close the old place, begin the new one. It left the one and
 * came to the other at moments we do not know: half to each. */
static void divide(struct sp_walls *w, struct sp_tinfo *t, struct wall *x, const struct wall *at,
	const struct sp_wall_window *v)
{
	uint64_t woken = sp_wall_waits_woken(&w->waits, v), sure = x->stood_ns;
	uint64_t here = 0, first = 0;

	x->delay_owed += v->delay - woken;
	if (x->at.stack && x->at.epoch == sp_collector_epoch(w->c->collector)) {
		here = v->stood <= sure	 ? v->stood
		       : at->books.stood ? sure + (v->stood - sure) / 2
					 : v->stood;
		first = v->wakes > 1 ? woken / v->wakes : woken;
		write_span(w, t, &x->at, x->state, x->from_ns, here, x->looks);
		write_span(w, t, &x->at, SP_STATE_RUNNABLE, x->from_ns + here, first, 1);
	}
	x->woken_owed += woken - first;
	x->stood_owed += v->stood - here;
	x->stood_ns = x->looks = x->idle = 0;
	x->at = at->at;
	x->state = at->state;
	if (x->at.stack) {
		x->looks = 1;
		pay_stood(w, t, x, x->books.look_ns);
	}
}

/* Looks where the thread is. False: it waits for a CPU, how long the kernel books only when it gets
 * one, and it stood as well since the last look; the books stay open until then. */
static bool find(struct sp_walls *w, struct sp_tinfo *t, struct wall *x, struct sp_wall_reading *r,
	struct wall *ret)
{
	struct sp_wall_where at;

	*ret = (struct wall){.books.cpu_ns = r->cpu_ns};
	x->wakes++;
	if (sp_wall_where(t->tid, kept(w, t, x, SP_WALL_SYSCALL), &at) < 0)
		return true;
	if (!at.running) {
		ret->books.stood = capture(w, t, ret, &at, r->now_ns);
		return true;
	}
	if (sp_wall_cpu_ns(t->tid) != r->cpu_ns)
		return true;
	if (!x->books.stood && x->books.blocks &&
		sp_wall_blocks(t->tid, kept(w, t, x, SP_WALL_STATUS)) == x->books.blocks) {
		r->waits_ns = SP_WALL_ALL;
		return true;
	}
	ret->books.stood = !w->last && capture_woken(w, t, ret, r->now_ns);
	if (ret->books.stood)
		return true;
	/* Not for ever: on busy cores a look may find it waiting each time. */
	r->waits_ns = sp_wall_waits_guess(&w->waits);
	return w->last || r->now_ns - x->books.look_ns > OPEN_NS + 2 * w->interval_ns;
}

/* Closes the books of a thread that ran, or whose stack is void. */
static void moved(
	struct sp_walls *w, struct sp_tinfo *t, struct wall *x, uint64_t now, uint64_t cpu)
{
	struct sp_wall_reading r = {.now_ns = now, .cpu_ns = cpu, .before_ns = x->stood_ns};
	struct sp_wall_delay d = {x->books.delay_ns, x->books.arrivals};
	struct sp_wall_window v;
	struct wall at;

	if (!find(w, t, x, &r, &at))
		return;
	if (cpu != x->books.cpu_ns || !x->at.stack)
		sp_wall_delay(t->tid, kept(w, t, x, SP_WALL_SCHEDSTAT), &d);
	r.delay_ns = d.ns;
	r.arrivals = d.arrivals;
	r.stands = at.books.stood;
	sp_wall_books_close(&x->books, &r, &v);
	/* A slow file: read only where much is at stake. */
	if (v.contended)
		sp_wall_books_wakes(&x->books, &v,
			sp_wall_blocks(t->tid, kept(w, t, x, SP_WALL_STATUS)), r.stands);
	else
		x->books.blocks = 0;
	divide(w, t, x, &at, &v);
}

static void first_look(struct sp_walls *w, struct sp_tinfo *t, struct wall *x, uint64_t now)
{
	struct sp_wall_reading r = {.now_ns = now, .cpu_ns = sp_wall_cpu_ns(t->tid)};
	struct sp_wall_delay d = {0, 0};
	struct wall at;

	sp_wall_delay(t->tid, -1, &d);
	find(w, t, x, &r, &at);
	x->books = (struct sp_wall_books){
		now, r.cpu_ns, d.ns, d.arrivals, sp_wall_blocks(t->tid, -1), 0, at.books.stood};
	x->active = true;
	x->from_ns = now;
	x->paid_ns = r.cpu_ns;
	x->at = at.at;
	x->state = at.state;
}

static void look(struct sp_walls *w, struct sp_tinfo *t, struct wall *x, uint64_t now)
{
	uint64_t cpu = sp_wall_cpu_ns(t->tid);
	bool here = x->at.stack && x->at.epoch == sp_collector_epoch(w->c->collector);

	if (!cpu)
		return;
	if (cpu == x->books.cpu_ns && here) {
		x->stood_ns += now - x->books.look_ns;
		x->books.look_ns = now;
		x->looks++;
		x->idle++;
		return;
	}
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

/* What it stood where nobody saw it, and never will. */
static void pay_unseen(struct sp_walls *w, struct sp_tinfo *t, struct wall *x, uint64_t time_ns)
{
	uint64_t woken_ns = time_ns - x->woken_owed;

	write_span(w, t, &x->ran, SP_STATE_RUNNABLE, woken_ns, x->woken_owed, 1);
	write_span(w, t, &x->ran, SP_STATE_BLOCKED, woken_ns - x->stood_owed, x->stood_owed, 1);
	x->woken_owed = x->stood_owed = 0;
}

static void visit(void *ctx, struct sp_tinfo *t)
{
	struct sp_walls *w = ctx;
	struct wall *x = wall_of(w, t);
	uint64_t now, wait;

	if (t->state == SP_THREAD_ENDED) {
		if (x->active) {
			settle(w, t, x);
			pay(w, t, x, x->books.look_ns, x->books.cpu_ns);
			pay_unseen(w, t, x, x->books.look_ns);
		}
		x->active = false;
		drop_fds(w, x);
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

void sp_wall_ran(struct sp_walls *w, const struct sp_sample *s)
{
	struct sp_tinfo *t = s->thread;
	struct wall *x = wall_of(w, t);

	if (!x->active || t->state != SP_THREAD_LIVE)
		return;
	x->ran = s->ret;
	pay(w, t, x, s->snap.time_ns, sp_wall_cpu_ns(t->tid));
}

static void settle_one(void *ctx, struct sp_tinfo *t)
{
	struct sp_walls *w = ctx;
	struct wall *x = wall_of(w, t);

	uint64_t now = sp_clock_mono_ns();

	if (!x->active)
		return;
	if (x->at.stack && sp_wall_cpu_ns(t->tid) == x->books.cpu_ns) {
		x->stood_ns += now - x->books.look_ns;
		x->books.look_ns = now;
	} else if (w->last) {
		look(w, t, x, now);
	}
	settle(w, t, x);
	/* What it ran since its last sample would go to the next, which does not come. */
	if (w->last) {
		pay(w, t, x, now, sp_wall_cpu_ns(t->tid));
		pay_unseen(w, t, x, now);
	}
}

void sp_wall_settle(struct sp_walls *w, bool last)
{
	w->last = last;
	sp_threads_each(w->c->threads, false, settle_one, w);
}
