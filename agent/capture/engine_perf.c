/* Perf events into rings, with registers and a window of user stack in each record: the target's
 * threads see no signal, but for those whose stacks exceed the window (deep_stacks.h). One ring per
 * CPU, owned by a dummy event; one event per thread and CPU that writes into it (an event for all
 * CPUs of a thread could not share a ring). */
#include "engine.h"

#include "base/units.h"
#include "deep_stacks.h"
#include "perf_chain.h"
#include "perf_event.h"
#include "perf_fd_inbox.h"
#include "perf_ring.h"
#include "ring_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CPUS_AT_ONCE 8
#define LOOKS	     250u

/* Bits of sample_regs_user (arch/x86/include/uapi/asm/perf_regs.h) in their order in a record. */
static const uint8_t reg_order[] = {SP_REG_RAX, SP_REG_RBX, SP_REG_RCX, SP_REG_RDX, SP_REG_RSI,
	SP_REG_RDI, SP_REG_RBP, SP_REG_RSP, SP_REG_PC, SP_REG_R8, SP_REG_R9, SP_REG_R10, SP_REG_R11,
	SP_REG_R12, SP_REG_R13, SP_REG_R14, SP_REG_R15};

#define ORDER_RSP 7 /* of them */

struct perf_engine {
	struct sp_perf_event_spec event;
	struct perf_event_attr attr;
	struct sp_perf_rings rings;
	uint32_t budget; /* descriptors */
	_Atomic uint32_t open;
	struct sp_perf_fd_inbox *passed; /* the launcher opens the events; NULL: we do */
	uint32_t pid, collector;	 /* thread id of the collector, once it drains */
	bool said, throttled, cut;
	bool put_off;	  /* threads wait for their events */
	uint32_t skipped; /* threads that found no descriptor */
	struct sp_deep_stacks deep;
};

static void gone(void *ctx, struct sp_tinfo *t)
{
	struct sp_capture *c = ctx;
	struct perf_engine *p = c->engine_data;

	if (p->passed)
		sp_perf_fd_inbox_forget(p->passed, t);
	atomic_store(&t->sig->perf_fd, -1);
	for (uint32_t i = 0; t->fds && i < p->rings.count; i++)
		if (t->fds[i] >= 0) {
			close(t->fds[i]);
			p->open--;
		}
	free(t->fds);
	t->fds = NULL;
}

/* The longest window with which a ring holds enough samples. Longer stacks come by signals. */
static uint64_t widest(const struct sp_capture *c, const struct perf_engine *p)
{
	return p->rings.bytes / sp_ring_samples(p->event.clock, c->interval_ns);
}

static uint32_t window_of(const struct perf_engine *p, const struct sp_tinfo *t)
{
	return t->window ? t->window : p->attr.sample_stack_user;
}

static void added(void *ctx, struct sp_tinfo *t)
{
	struct sp_capture *c = ctx;
	struct perf_engine *p = c->engine_data;
	struct perf_event_attr attr = p->attr;
	uint32_t n = p->rings.count;

	if (t->fds)
		return;
	if (p->passed) {
		sp_perf_fd_inbox_want(p->passed, t, window_of(p, t));
		return;
	}
	/* A thread that starts must not open dozens of events: the collector does, at once. */
	if (n > CPUS_AT_ONCE && p->collector && p->collector != (uint32_t)syscall(SYS_gettid)) {
		if (!p->put_off)
			sp_sig_wake();
		p->put_off = true;
		return;
	}
	if (p->open + n > p->budget || !(t->fds = malloc(n * sizeof(*t->fds)))) {
		p->skipped++;
		return;
	}
	attr.sample_stack_user = window_of(p, t);
	for (uint32_t i = 0; i < n; i++) {
		int fd = sp_perf_event_ask(&attr, (int32_t)t->tid, p->rings.ring[i].cpu);

		if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, p->rings.ring[i].fd) < 0) {
			close(fd);
			fd = -1;
		}
		t->fds[i] = fd < 0 ? -1 : fd;
		p->open += fd >= 0;
	}
	sp_deep_stacks_renewed(t, n);
}

static int prepare(struct sp_capture *c, struct perf_engine *p, struct sp_err *err)
{
	int r = sp_engine_perf_event(c, &p->event, &p->attr, err);

	if (r < 0)
		return r;
	sp_perf_attr_ring(&p->attr, SP_RING_USUAL_WINDOW);
	p->attr.exclude_callchain_kernel |= c->args->alluser;
	p->pid = (uint32_t)getpid();
	p->budget = sp_engine_fd_budget();
	return 0;
}

static bool may_be_passed(const struct sp_capture *c, int error)
{
	return c->perf && sp_engine_is_cpu(c->args) && !c->args->alluser &&
	       (error == -EACCES || error == -EPERM || error == -ENOSYS);
}

/* Never more than our share of the descriptors. */
static int check_budget(const struct sp_capture *c, const struct perf_engine *p, struct sp_err *err)
{
	uint64_t need = (uint64_t)sp_threads_count(c->threads) * p->rings.count;

	if (need + p->rings.count <= p->budget)
		return 0;
	return sp_err_set(err, -EMFILE,
		"perf rings: %u threads on %u CPUs need %llu descriptors, more than a "
		"quarter of the %u free ones (a higher limit on open files would help)",
		sp_threads_count(c->threads), p->rings.count, (unsigned long long)need,
		p->budget * 4);
}

/* Events that the launcher opens: its answer to one request for the rings shows that it can. */
static int open_passed(struct sp_capture *c, struct perf_engine *p, struct sp_err *err)
{
	struct sp_parcel rings;
	int r = sp_perf_fd_inbox_new(&p->passed, c->perf, &rings);

	if (r < 0)
		return r;
	r = sp_perf_rings_adopt(&p->rings, rings.fds, rings.n, c->memory, err);
	if (r == 0) {
		r = check_budget(c, p, err);
		if (r < 0)
			sp_perf_rings_close(&p->rings);
	}
	if (r < 0) {
		sp_perf_fd_inbox_free(p->passed);
		p->passed = NULL;
	}
	return r;
}

/* May we sample the kernel? cpu needs it, or system time would be lost silently; other events, and
 * a ring that the user insists on, do without. */
static int try_open(struct sp_capture *c, struct perf_engine *p, struct sp_err *err)
{
	bool must = sp_engine_is_cpu(c->args) && strcmp(c->args->capture, "ring") != 0;
	int error = sp_perf_event_try(&p->event, &p->attr);
	int r = error < 0 && may_be_passed(c, error) ? open_passed(c, p, err) : -ENOTSUP;

	if (r == 0 || r == -EMFILE)
		return r;
	return sp_engine_perf_opened(c, &p->event, &p->attr, must, error, err);
}

/* Rings that can hold only the top of most stacks are worth less than signals. */
static int check_windows(
	const struct sp_capture *c, const struct perf_engine *p, struct sp_err *err)
{
	unsigned long long need = p->rings.bytes;
	char has[32];

	if (c->in_kernel || widest(c, p) >= SP_RING_USUAL_WINDOW ||
		strcmp(c->args->capture, "ring") == 0)
		return 0;
	while (need < SP_RING_USUAL_WINDOW * sp_ring_samples(p->event.clock, c->interval_ns))
		need *= 2;
	need *= p->rings.count * (c->args->memory / c->memory);
	return sp_err_set(err, -ENOMEM,
		"perf rings: with %s for %u CPUs they would hold too little of the stacks "
		"(--memory=%llum would help)",
		sp_size_format(p->rings.bytes * p->rings.count, has, sizeof(has)), p->rings.count,
		need >> 20);
}

static int open_rings(struct sp_capture *c, struct perf_engine *p, struct sp_err *err)
{
	int r = sp_perf_rings_open(&p->rings, c->memory, err);

	if (r < 0)
		return r;
	r = check_budget(c, p, err);
	if (r == 0)
		r = check_windows(c, p, err);
	if (r < 0)
		sp_perf_rings_close(&p->rings);
	return r;
}

/* Events of a thread have come: their records go to the rings from here on. */
static void arrived(struct sp_capture *c, const struct sp_parcel *parcel)
{
	struct perf_engine *p = c->engine_data;

	for (uint32_t i = 0; i < parcel->n && i < p->rings.count; i++)
		ioctl(parcel->fds[i], PERF_EVENT_IOC_SET_OUTPUT, p->rings.ring[i].fd);
	sp_perf_fd_inbox_arrive(p->passed, parcel);
}

static void renewed(void *ctx, struct sp_tinfo *t)
{
	const struct perf_engine *p = ctx;

	sp_deep_stacks_renewed(t, p->rings.count);
}

/* Gives threads what has come for them, and asks for those that wait. */
static void look_after(struct sp_capture *c, struct perf_engine *p)
{
	uint32_t n = p->rings.count, used;
	struct sp_tinfo *t;
	int error;

	while ((t = sp_perf_fd_inbox_take(p->passed, c->threads, &error))) {
		if (error == 0) {
			p->open += n;
			sp_threads_with(c->threads, t, renewed, p);
		} else if (error != ESRCH) { /* else it has ended meanwhile */
			p->skipped++;
		}
	}
	used = p->open + n + sp_perf_fd_inbox_asked(p->passed) * n;
	sp_perf_fd_inbox_ask(p->passed, used < p->budget ? p->budget - used : 0, c->interval_ns);
}

static int start(struct sp_capture *c, struct sp_err *err)
{
	struct sp_thread_hooks hooks = {added, gone, c};
	struct perf_engine *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return sp_err_set(err, -ENOMEM, "out of memory");
	r = prepare(c, p, err);
	if (r == 0)
		r = try_open(c, p, err);
	if (r == 0 && !p->passed)
		r = open_rings(c, p, err);
	if (r < 0) {
		free(p);
		return r;
	}
	p->attr.sample_stack_user = sp_perf_attr_window(UINT32_MAX, widest(c, p));
	c->engine_data = p;
	if (p->passed) {
		pthread_mutex_lock(&c->perf_lock);
		c->perf_arrived = arrived;
		pthread_mutex_unlock(&c->perf_lock);
	}
	sp_threads_hook(c->threads, &hooks);
	return 0;
}

/* What a record holds of a stack is room in the ring, used or not. So a thread's window, the
 * longest at first, becomes shorter when none of many stacks needed it; and longer for good as soon
 * as one does not fit. */
static void fit_window(
	struct sp_capture *c, struct perf_engine *p, struct sp_tinfo *t, uint64_t depth)
{
	uint64_t now = window_of(p, t), least, want;
	uint32_t fit;

	if (depth > t->reach)
		t->reach = (uint32_t)depth;
	if (depth <= now && (t->window || ++t->looks < LOOKS))
		return;
	least = sp_ring_ample(p->rings.bytes, p->event.clock, c->interval_ns);
	want = t->reach + t->reach / 4;
	fit = sp_perf_attr_window(want > least ? want : least, widest(c, p));
	t->window = fit;
	if (fit != now)
		sp_threads_renew(c->threads, t);
}

static void set_stack(struct sp_capture *c, struct perf_engine *p, struct sp_raw_sample *s,
	const uint8_t *bytes, uint64_t len, bool full)
{
	uint64_t sp = s->snap.regs[SP_REG_RSP], hi = 0;

	s->thread = sp_threads_find(c->threads, s->snap.tid);
	if (s->thread) {
		hi = atomic_load(&s->thread->sig->stack_hi);
		if (hi && (sp >= hi || sp < atomic_load(&s->thread->sig->stack_lo)))
			hi = 0;
		sp_threads_learn(c->threads, s->thread, sp);
	}
	s->snap.stack_addr = sp;
	s->snap.stack = bytes;
	s->snap.stack_len = (uint32_t)len;
	if (hi && s->snap.stack_len > hi - sp)
		s->snap.stack_len = (uint32_t)(hi - sp);
	s->snap.stack_end = hi ? hi : sp + len;
	if (!hi || s->thread->deep)
		return;
	fit_window(c, p, s->thread, hi - sp);
	if (full && hi - sp > window_of(p, s->thread))
		sp_deep_stacks_begin(&p->deep, c, s->thread, p->rings.count);
}

/* Pid and tid of a record as we know them; false: not one of ours, or not known (and counted). */
static bool whose(struct sp_capture *c, struct perf_engine *p, uint64_t ids, uint32_t *ret_tid)
{
	uint32_t pid = (uint32_t)ids, tid = (uint32_t)(ids >> 32);

	if (pid != (p->passed ? sp_perf_fd_inbox_pid(p->passed) : p->pid))
		return false;
	if (pid != p->pid) { /* the launcher counts in another pid namespace */
		uint32_t ours = sp_perf_fd_inbox_tid(p->passed, tid);

		if (!ours) {
			look_after(c, p);
			ours = sp_perf_fd_inbox_tid(p->passed, tid);
		}
		c->lost += !ours;
		tid = ours;
	}
	*ret_tid = tid;
	return tid != 0;
}

/* A PERF_RECORD_SAMPLE with the fields of sp_perf_attr_ring()'s sample_type, in the order of
 * perf_event_open(2). */
static void take_sample(struct sp_capture *c, const uint64_t *v, const uint64_t *end)
{
	struct perf_engine *p = c->engine_data;
	struct sp_raw_sample s = {.syscall_nr = -1, .state = SP_STATE_RUNNING};
	uint64_t kernel[SP_KERNEL_FRAMES], nr, size;

	if (end - v < 5 || !whose(c, p, v[0], &s.snap.tid))
		return;
	s.snap.time_ns = v[1];
	s.weight = c->interval_ns;
	nr = v[3];
	v += 4;
	if (nr >= (uint64_t)(end - v))
		return;
	s.kernel_count = sp_chain_kernel(v, nr, kernel, SP_KERNEL_FRAMES);
	s.kernel = kernel;
	v += nr;
	if (*v++ == PERF_SAMPLE_REGS_ABI_64 && (size_t)(end - v) > sizeof(reg_order)) {
		for (size_t i = 0; i < sizeof(reg_order); i++)
			s.snap.regs[reg_order[i]] = *v++;
		s.snap.known = SP_REG_ALL;
	}
	if (v >= end)
		return;
	size = *v++;
	if (size && size / 8 < (uint64_t)(end - v)) {
		uint64_t dyn = v[size / 8];

		if (dyn <= size)
			set_stack(c, p, &s, (const uint8_t *)v, dyn, dyn == size);
	}
	if (!sp_deep_stacks_keep(&p->deep, &s))
		c->sink.take(c->sink.ctx, &s);
}

static void take_record(void *ctx, const struct perf_event_header *h)
{
	struct sp_capture *c = ctx;
	struct perf_engine *p = c->engine_data;
	const uint64_t *v = (const uint64_t *)(h + 1);

	if (h->type == PERF_RECORD_SAMPLE)
		take_sample(c, v, (const uint64_t *)((const uint8_t *)h + h->size));
	else if (h->type == PERF_RECORD_LOST && h->size >= sizeof(*h) + 16)
		c->lost += v[1];
	else if (h->type == PERF_RECORD_THROTTLE && !p->throttled) {
		p->throttled = true;
		c->say(c->say_ctx,
			"perf: the kernel slowed sampling down "
			"(kernel.perf_event_max_sample_rate); a longer interval would help");
	}
}

static void drain(struct sp_capture *c)
{
	struct perf_engine *p = c->engine_data;

	if (!p->collector)
		p->collector = (uint32_t)syscall(SYS_gettid);
	if (p->put_off) {
		p->put_off = false;
		sp_threads_announce(c->threads);
	}
	if (p->skipped && !p->said) {
		p->said = true;
		c->say(c->say_ctx,
			"perf rings: the process has too few descriptors for all its threads; the "
			"newest are not sampled (a higher limit on open files would help; "
			"--capture=signal "
			"needs fewer)");
	}
	if (p->passed)
		look_after(c, p);
	sp_deep_stacks_settle(&p->deep, c, false);
	sp_perf_rings_drain(&p->rings, take_record, c);
}

/* A signal of a thread with long stacks. Its record was written before it, but may have come after
 * the rings were read. */
static void sampled(struct sp_capture *c, struct sp_raw_sample *s)
{
	struct perf_engine *p = c->engine_data;

	if (!sp_deep_stacks_due(s))
		sp_perf_rings_drain(&p->rings, take_record, c);
	sp_deep_stacks_sampled(&p->deep, c, s);
}

/* Is @h a sample of a stack longer than its window? Its thread's next samples are, until drain().
 */
static void see_cut(void *ctx, const struct perf_event_header *h)
{
	struct sp_capture *c = ctx;
	struct perf_engine *p = c->engine_data;
	const uint64_t *v = (const uint64_t *)(h + 1), *end = v + (h->size - sizeof(*h)) / 8;
	struct sp_tinfo *t;
	uint64_t sp, hi;

	if (p->cut || h->type != PERF_RECORD_SAMPLE || end - v < 5 || v[3] + 22 > (size_t)(end - v))
		return;
	t = (uint32_t)v[0] == p->pid ? sp_threads_find(c->threads, (uint32_t)(v[0] >> 32)) : NULL;
	sp = v[5 + v[3] + ORDER_RSP];
	hi = t && !t->deep ? atomic_load(&t->sig->stack_hi) : 0;
	p->cut = sp < hi && hi - sp > window_of(p, t);
}

static bool can_wait(struct sp_capture *c)
{
	struct perf_engine *p = c->engine_data;

	if (p->passed || p->put_off || sp_perf_rings_filling(&p->rings))
		return false;
	p->cut = false;
	sp_perf_rings_peek(&p->rings, see_cut, c);
	return !p->cut;
}

static void stop(struct sp_capture *c)
{
	struct perf_engine *p = c->engine_data;

	sp_threads_hook(c->threads, NULL);
	/* What is drained after this may hold a thread's first long stack: no handler for that. */
	p->deep.over = true;
	if (p->deep.installed)
		sp_engine_signal_uninstall();
}

static void done(struct sp_capture *c)
{
	struct perf_engine *p = c->engine_data;

	sp_deep_stacks_settle(&p->deep, c, true);
	pthread_mutex_lock(&c->perf_lock);
	c->perf_arrived = NULL;
	pthread_mutex_unlock(&c->perf_lock);
	sp_perf_fd_inbox_free(p->passed);
	sp_perf_rings_close(&p->rings);
	free(p);
	c->engine_data = NULL;
}

const struct sp_engine sp_engine_perf_ring = {.name = "perf rings",
	.start = start,
	.drain = drain,
	.can_wait = can_wait,
	.sampled = sampled,
	.stop = stop,
	.done = done,
	.finds_long_stacks = true};
