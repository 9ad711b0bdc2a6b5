/* Copying a thread's stack and frame anchor into a record: what the signal handler and the hooks
 * share. See handler.h for what code here may do. */
#ifndef SP_AGENT_SIG_STACK_COPY_H
#define SP_AGENT_SIG_STACK_COPY_H

#include "handler.h"
#include "memory_read.h"

#define SP_RED_ZONE    128
#define SP_FOREIGN_MAX (64u << 10) /* copied through the kernel where bounds are unknown */

static inline void sp_stack_copy_bytes(void *dst, const void *src, size_t n)
{
	__asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
}

static inline uint64_t sp_thread_pointer(void)
{
	uint64_t tp;

	__asm__("mov %%fs:0, %0" : "=r"(tp));
	return tp;
}

static inline void sp_stack_copy_anchor(struct sp_anchor *to, uint64_t addr)
{
	/* The thread's own JavaThread: alive while the registry has its address (ThreadEnd). */
	if (!addr)
		return;
	to->last_java_sp = *(volatile uint64_t *)(addr + sp_sig.anchor.sp);
	to->last_java_fp = *(volatile uint64_t *)(addr + sp_sig.anchor.fp);
	to->last_java_pc = *(volatile uint64_t *)(addr + sp_sig.anchor.pc);
}

/* Copies by the kernel, which reports what is not mapped instead of faulting. */
static inline uint32_t sp_stack_copy_guarded(void *dst, uint64_t src, uint32_t n)
{
	ssize_t r = sp_memory_read(dst, src, n);

	return r < 0 ? 0 : (uint32_t)r;
}

/* What to copy: from the red zone to the stack's end where the bounds are known and hold SP. */
struct sp_stack_range {
	uint64_t from, end;
	uint32_t len;
	bool guarded;
};

/* @below: bytes under @sp that are in use, the red zone of a thread that was interrupted. */
static inline struct sp_stack_range sp_stack_range(
	const struct sp_sig_thread *t, uint64_t sp, uint64_t below, uint64_t tls)
{
	uint64_t lo = t ? atomic_load_explicit(&t->stack_lo, memory_order_relaxed) : 0;
	uint64_t hi = t ? atomic_load_explicit(&t->stack_hi, memory_order_relaxed) : 0;
	struct sp_stack_range r = {.from = sp - below};

	if (hi && sp > lo && sp < hi) {
		if (r.from < lo)
			r.from = lo;
		r.end = hi;
		/* glibc keeps the thread's block above its frames: mapped as long as it runs. */
		if (tls > sp && tls < hi)
			r.end = tls;
	} else if (!hi) {
		r.guarded = true;
		r.end = tls > sp && tls - sp < (1ull << 30) ? tls : sp + SP_FOREIGN_MAX;
	} else {
		r.end = r.from; /* a foreign stack: nothing is known about its end */
	}
	r.len = r.end - r.from > sp_sig.max_stack ? sp_sig.max_stack : (uint32_t)(r.end - r.from);
	if (r.guarded && r.len > SP_FOREIGN_MAX)
		r.len = SP_FOREIGN_MAX;
	return r;
}

/* Fills in what every record has; @rec was reserved for @r. */
static inline void sp_stack_copy_all(struct sp_sig_record *rec, const struct sp_sig_thread *t,
	const struct sp_stack_range *r, uint64_t tls)
{
	rec->tls = tls;
	sp_stack_copy_anchor(
		&rec->anchor, t ? atomic_load_explicit(&t->anchor, memory_order_relaxed) : 0);
	rec->stack_addr = r->from;
	rec->stack_end = r->end;
	rec->stack_len = r->len;
	if (r->guarded)
		rec->stack_len = sp_stack_copy_guarded(rec->stack, r->from, r->len);
	else
		sp_stack_copy_bytes(rec->stack, (const void *)r->from, r->len);
}

#endif
