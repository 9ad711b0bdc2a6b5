/* SIGPROF: copy registers, the JavaFrameAnchor and the stack from the red zone to the stack's end
 * into the ring. See handler.h for what code here may do. */
#include "handler.h"

#include "base/clock.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#define RED_ZONE    128
#define FOREIGN_MAX (64u << 10) /* copied through the kernel where bounds are unknown */

struct sp_sig_state sp_sig;

static void copy_bytes(void *dst, const void *src, size_t n)
{
	__asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
}

static uint64_t thread_pointer(void)
{
	uint64_t tp;

	__asm__("mov %%fs:0, %0" : "=r"(tp));
	return tp;
}

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

static void copy_anchor(struct sp_anchor *to, uint64_t addr)
{
	/* The thread's own JavaThread: alive while the registry has its address (ThreadEnd). */
	if (!addr)
		return;
	to->last_java_sp = *(volatile uint64_t *)(addr + sp_sig.anchor.sp);
	to->last_java_fp = *(volatile uint64_t *)(addr + sp_sig.anchor.fp);
	to->last_java_pc = *(volatile uint64_t *)(addr + sp_sig.anchor.pc);
}

/* Copies by the kernel, which reports what is not mapped instead of faulting. */
static uint32_t copy_guarded(void *dst, uint64_t src, uint32_t n)
{
	struct iovec to = {dst, n}, from = {(void *)src, n};
	ssize_t r = process_vm_readv(sp_sig.pid, &to, 1, &from, 1, 0);

	return r < 0 ? 0 : (uint32_t)r;
}

/* What to copy: from the red zone to the stack's end where the bounds are known and hold SP. */
struct range {
	uint64_t from, end;
	uint32_t len;
	bool guarded;
};

static struct range stack_range(const struct sp_sig_thread *t, uint64_t sp, uint64_t tls)
{
	uint64_t lo = t ? atomic_load_explicit(&t->stack_lo, memory_order_relaxed) : 0;
	uint64_t hi = t ? atomic_load_explicit(&t->stack_hi, memory_order_relaxed) : 0;
	struct range r = {.from = sp - RED_ZONE};

	if (hi && sp > lo && sp < hi) {
		if (r.from < lo)
			r.from = lo;
		r.end = hi;
		/* glibc keeps the thread's block above its frames: mapped as long as it runs. */
		if (tls > sp && tls < hi)
			r.end = tls;
	} else if (!hi) {
		r.guarded = true;
		r.end = tls > sp && tls - sp < (1ull << 30) ? tls : sp + FOREIGN_MAX;
	} else {
		r.end = r.from; /* a foreign stack: nothing is known about its end */
	}
	r.len = r.end - r.from > sp_sig.max_stack ? sp_sig.max_stack : (uint32_t)(r.end - r.from);
	if (r.guarded && r.len > FOREIGN_MAX)
		r.len = FOREIGN_MAX;
	return r;
}

static void take(struct sp_sig_thread *t, uint32_t tid, uint64_t weight, const ucontext_t *uc)
{
	uint64_t tls = thread_pointer();
	struct range r = stack_range(t, (uint64_t)uc->uc_mcontext.gregs[REG_RSP], tls);
	struct sp_sig_record *rec =
		(struct sp_sig_record *)sp_ring_reserve(sp_sig.ring, sizeof(*rec) + r.len);

	if (!rec)
		return;
	rec->tid = tid;
	rec->time_ns = sp_clock_mono_ns();
	rec->weight = weight;
	rec->tls = tls;
	copy_registers(rec->regs, uc);
	copy_anchor(&rec->anchor, t ? atomic_load_explicit(&t->anchor, memory_order_relaxed) : 0);
	rec->stack_addr = r.from;
	rec->stack_end = r.end;
	rec->stack_len = r.len;
	if (r.guarded)
		rec->stack_len = copy_guarded(rec->stack, r.from, r.len);
	else
		copy_bytes(rec->stack, (const void *)r.from, r.len);
	sp_ring_commit(&rec->head);
}

/* Is this signal one that our engine caused? Timers carry their slot's address, perf events their
 * descriptor; ITIMER_PROF carries nothing but SI_KERNEL, and only one program can have it. */
static bool is_ours(const siginfo_t *info, uint32_t mode, struct sp_sig_thread **ret, uint32_t tid)
{
	uint64_t v = (uint64_t)info->si_value.sival_ptr;
	struct sp_sig_thread *t;

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
	return info->si_code > 0 && t && info->si_fd == atomic_load(&t->perf_fd);
}

static bool sample(const siginfo_t *info, const ucontext_t *uc)
{
	uint32_t mode = atomic_load(&sp_sig.mode);
	uint32_t tid;
	struct sp_sig_thread *t = NULL;
	uint64_t weight = sp_sig.interval_ns;

	/* A forked child has the handler but not the ring. */
	if (mode == SP_SIG_OFF || (int32_t)syscall(SYS_getpid) != sp_sig.pid)
		return false;
	tid = (uint32_t)syscall(SYS_gettid);
	if (!is_ours(info, mode, &t, tid))
		return false;
	if (mode == SP_SIG_CTIMER && info->si_overrun > 0)
		weight *= 1 + (uint64_t)info->si_overrun;
	if (t && !atomic_load_explicit(&t->wanted, memory_order_relaxed))
		return true;
	if (t && atomic_exchange_explicit(&t->busy, 1, memory_order_acquire)) {
		atomic_fetch_add_explicit(&sp_sig.reentered, 1, memory_order_relaxed);
		return true;
	}
	take(t, tid, weight, uc);
	if (t)
		atomic_store_explicit(&t->busy, 0, memory_order_release);
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
	uint32_t tid = (uint32_t)syscall(SYS_gettid), none = 0;
	_Atomic uint32_t *mine = &chaining[tid % 64];
	bool first;

	if (!atomic_load(&sp_sig.have_previous) || atomic_load(mine) == tid)
		return;
	first = atomic_compare_exchange_strong(mine, &none, tid);
	call_previous(signo, info, context);
	if (first)
		atomic_store(mine, 0);
}

void sp_sig_handler(int signo, siginfo_t *info, void *context)
{
	int saved = errno;
	bool ours;

	atomic_fetch_add(&sp_sig.inflight, 1);
	ours = sample(info, context);
	atomic_fetch_sub(&sp_sig.inflight, 1);
	if (!ours) {
		atomic_fetch_add_explicit(&sp_sig.strangers, 1, memory_order_relaxed);
		chain(signo, info, context);
	}
	errno = saved;
}
