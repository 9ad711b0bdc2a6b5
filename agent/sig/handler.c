/* SIGPROF: copy registers, the JavaFrameAnchor and the stack from the red zone to the stack's end
 * into the ring. See handler.h for what code here may do. */
#include "bare_syscall.h"
#include "hook_capture.h"
#include "stack_copy.h"

#include "base/clock.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <ucontext.h>
#include <unistd.h>

struct sp_sig_state sp_sig;

struct sp_sig_thread *sp_sig_find(uint32_t tid)
{
	for (uint32_t i = sp_sig_hash(tid), n = 0; n <= sp_sig.index_mask; i++, n++) {
		uint32_t k = atomic_load_explicit(
			&sp_sig.index[i & sp_sig.index_mask], memory_order_acquire);

		if (!k)
			return NULL;
		if (k <= sp_sig.slot_count &&
			atomic_load_explicit(&sp_sig.slots[k - 1].tid, memory_order_acquire) == tid)
			return &sp_sig.slots[k - 1];
	}
	return NULL;
}

static void copy_registers(uint64_t *regs, const ucontext_t *uc)
{
	static const uint8_t from[SP_REG_COUNT] = {
		[SP_REG_RAX] = REG_RAX,
		[SP_REG_RDX] = REG_RDX,
		[SP_REG_RCX] = REG_RCX,
		[SP_REG_RBX] = REG_RBX,
		[SP_REG_RSI] = REG_RSI,
		[SP_REG_RDI] = REG_RDI,
		[SP_REG_RBP] = REG_RBP,
		[SP_REG_RSP] = REG_RSP,
		[SP_REG_R8] = REG_R8,
		[SP_REG_R9] = REG_R9,
		[SP_REG_R10] = REG_R10,
		[SP_REG_R11] = REG_R11,
		[SP_REG_R12] = REG_R12,
		[SP_REG_R13] = REG_R13,
		[SP_REG_R14] = REG_R14,
		[SP_REG_R15] = REG_R15,
		[SP_REG_PC] = REG_RIP,
	};

	for (int i = 0; i < SP_REG_COUNT; i++)
		regs[i] = (uint64_t)uc->uc_mcontext.gregs[from[i]];
}

void sp_sig_wake(void)
{
	atomic_fetch_add(&sp_sig.wake, 1);
	syscall(SYS_futex, &sp_sig.wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Long stacks fill the ring before its reader's time comes. */
static void wake_reader(struct sp_ring *r)
{
	uint64_t used = atomic_load_explicit(&r->head, memory_order_relaxed) -
			atomic_load_explicit(&r->tail, memory_order_relaxed);

	if (used <= r->size / 4 || used > r->size || atomic_exchange(&sp_sig.woken, 1))
		return;
	sp_sig_wake();
}

/* What is not @wanted has no stack: it only says when it was. */
static bool take_sample(
	struct sp_sig_thread *t, uint32_t tid, uint64_t weight, bool wanted, const ucontext_t *uc)
{
	uint64_t tls = sp_thread_pointer();
	struct sp_stack_range r = {0};
	struct sp_sig_record *rec;

	if (wanted)
		r = sp_stack_range(t, (uint64_t)uc->uc_mcontext.gregs[REG_RSP], SP_RED_ZONE, tls);
	rec = (struct sp_sig_record *)sp_ring_reserve(sp_sig.ring, sizeof(*rec) + r.len);
	/* Of a long stack the top is better than nothing. */
	if (!rec && r.len > SP_FOREIGN_MAX) {
		atomic_fetch_sub_explicit(&sp_sig.ring->refused, 1, memory_order_relaxed);
		r.len = SP_FOREIGN_MAX;
		rec = (struct sp_sig_record *)sp_ring_reserve(sp_sig.ring, sizeof(*rec) + r.len);
	}
	if (!rec)
		return false;
	rec->tid = tid;
	rec->time_ns = sp_clock_mono_ns();
	rec->weight = weight;
	rec->kind = SP_HOOK_SAMPLE;
	rec->text_len = rec->given = 0;
	copy_registers(rec->regs, uc);
	sp_stack_copy_all(rec, t, &r, tls);
	sp_ring_commit(&rec->head);
	wake_reader(sp_sig.ring);
	return true;
}

/* Is this signal one that our engine caused? Timers carry their slot's address, perf events their
 * descriptor; ITIMER_PROF carries nothing but SI_KERNEL, and only one program can have it. */
static bool is_ours(const siginfo_t *info, uint32_t mode, struct sp_sig_thread **ret, uint32_t tid)
{
	uint64_t v = (uint64_t)info->si_value.sival_ptr;
	struct sp_sig_thread *t;
	int32_t fd;

	if (mode == SP_SIG_CTIMER) {
		if (info->si_code != SI_TIMER || v < (uint64_t)sp_sig.slots ||
			v >= (uint64_t)(sp_sig.slots + sp_sig.slot_count))
			return false;
		t = (struct sp_sig_thread *)v;
		*ret = atomic_load_explicit(&t->tid, memory_order_acquire) == tid ? t : NULL;
		return true;
	}
	*ret = t = sp_sig_find(tid);
	if (mode == SP_SIG_ITIMER)
		return info->si_code == SI_KERNEL;
	fd = t ? atomic_load(&t->perf_fd) : -1;
	if (fd == SP_SIG_ANY_FD)
		return info->si_code == POLL_IN;
	return info->si_code > 0 && fd >= 0 && info->si_fd == fd;
}

/* Opened or shut before the clock is read, which may be the function: its signal then finds nothing
 * to do. It is open once its begin is there for who shuts it. */
static void open_window(struct sp_sig_window *w, uint32_t tid)
{
	uint32_t was = SP_SIG_SHUT;

	if (!atomic_compare_exchange_strong(&w->open, &was, SP_SIG_OPENING))
		return;
	atomic_fetch_add(&w->count, 1);
	atomic_store(&w->tid, tid);
	atomic_store(&w->since_ns, sp_clock_mono_ns());
	atomic_store(&w->open, SP_SIG_OPEN);
}

static void shut_window(struct sp_sig_window *w)
{
	uint32_t was = atomic_load(&w->open);
	struct sp_hook_capture h = {
		.kind = SP_HOOK_WINDOW, .stackless = true, .arg = {atomic_load(&w->since_ns)}};

	if (was != SP_SIG_OPEN || !atomic_compare_exchange_strong(&w->open, &was, SP_SIG_SHUT))
		return;
	h.time_ns = sp_clock_mono_ns();
	atomic_fetch_add(&w->ns, h.time_ns - h.arg[0]);
	sp_hook_capture_report(&h);
}

/* Opens or shuts it where a thread comes to --begin or --end. Of two signals for one thread the
 * kernel keeps one, so any that finds a thread there will do. Returns whether it was a
 * breakpoint's. */
static bool comes_to_mark(const siginfo_t *info, uint64_t pc, uint32_t tid)
{
	struct sp_sig_window *w = &sp_sig.window;
	struct sp_sig_thread *t = info->si_code > 0 ? sp_sig_find(tid) : NULL;
	bool begins = t && info->si_fd == atomic_load(&t->perf_fd);
	bool ends = t && info->si_fd == atomic_load(&t->end_fd);
	int saved = errno;

	if (begins || pc == w->begin)
		open_window(w, tid);
	else if (ends || pc == w->end)
		shut_window(w);
	errno = saved;
	return begins || ends;
}

static bool gate_open(void)
{
	const _Atomic uint32_t *gate = atomic_load_explicit(&sp_sig.gate, memory_order_acquire);

	return !gate || atomic_load_explicit(gate, memory_order_relaxed) == sp_sig.gate_value;
}

static void sample(const siginfo_t *info, const ucontext_t *uc, uint32_t mode,
	struct sp_sig_thread *t, uint32_t tid)
{
	uint64_t times = 1;
	bool wanted;

	if (mode == SP_SIG_CTIMER && info->si_overrun > 0)
		times += (uint64_t)info->si_overrun;
	/* One timer for all threads: what passed is shared with those that are not wanted. */
	wanted = !t || atomic_load_explicit(&t->wanted, memory_order_relaxed);
	if ((!wanted && mode != SP_SIG_ITIMER) || !gate_open())
		return;
	if (t && atomic_exchange_explicit(&t->busy, 1, memory_order_acquire)) {
		atomic_fetch_add_explicit(&sp_sig.reentered, 1, memory_order_relaxed);
		return;
	}
	if (!take_sample(t, tid,
		    mode == SP_SIG_ITIMER ? sp_clock_read(CLOCK_PROCESS_CPUTIME_ID)
					  : sp_sig.interval_ns * times,
		    wanted, uc))
		atomic_fetch_add_explicit(&sp_sig.refused, times - 1, memory_order_relaxed);
	if (t)
		atomic_store_explicit(&t->busy, 0, memory_order_release);
}

/* Calls nothing of the C library before the event stands still. An event that the handler itself
 * causes, as one of calls of clock_gettime() would be, signals again as soon as it returns: its
 * thread would never get on. */
static bool answer(const siginfo_t *info, const ucontext_t *uc)
{
	uint32_t mode = atomic_load(&sp_sig.mode), tid;
	struct sp_sig_thread *t = NULL;
	bool pauses = mode == SP_SIG_PERF && sp_sig.counts;
	int saved;

	/* A forked child has the handler but not the ring. */
	if (mode == SP_SIG_OFF || (int32_t)sp_bare_syscall(SYS_getpid, 0, 0, 0) != sp_sig.pid)
		return false;
	tid = (uint32_t)sp_bare_syscall(SYS_gettid, 0, 0, 0);
	if (mode == SP_SIG_CTIMER && sp_sig.window.begin &&
		comes_to_mark(info, (uint64_t)uc->uc_mcontext.gregs[REG_RIP], tid))
		return true;
	if (!is_ours(info, mode, &t, tid))
		return false;
	if (pauses)
		sp_bare_syscall(SYS_ioctl, info->si_fd, PERF_EVENT_IOC_DISABLE, 0);
	saved = errno;
	sample(info, uc, mode, t, tid);
	errno = saved;
	if (pauses)
		sp_bare_syscall(SYS_ioctl, info->si_fd, PERF_EVENT_IOC_ENABLE, 0);
	return true;
}

/* Threads that are in chain(), by their number: who once took SIGPROF over from us may call us in
 * turn, and the two would call each other until the stack is used up. */
static _Atomic uint32_t chaining[64];

static void call_previous(int signo, siginfo_t *info, void *context)
{
	const struct sigaction *p = &sp_sig.previous;

	if (p->sa_flags & SA_SIGINFO)
		p->sa_sigaction(signo, info, context);
	else if (p->sa_handler != SIG_DFL && p->sa_handler != SIG_IGN)
		p->sa_handler(signo);
}

static void chain(int signo, siginfo_t *info, void *context)
{
	uint32_t tid = (uint32_t)sp_bare_syscall(SYS_gettid, 0, 0, 0), none = 0;
	_Atomic uint32_t *mine = &chaining[tid % 64];
	bool first;
	int saved;

	if (!atomic_load(&sp_sig.have_previous) || atomic_load(mine) == tid)
		return;
	first = atomic_compare_exchange_strong(mine, &none, tid);
	saved = errno;
	call_previous(signo, info, context);
	errno = saved;
	if (first)
		atomic_store(mine, 0);
}

void sp_sig_handler(int signo, siginfo_t *info, void *context)
{
	bool ours;

	atomic_fetch_add(&sp_sig.inflight, 1);
	ours = answer(info, context);
	atomic_fetch_sub(&sp_sig.inflight, 1);
	if (!ours) {
		atomic_fetch_add_explicit(&sp_sig.strangers, 1, memory_order_relaxed);
		chain(signo, info, context);
	}
}
