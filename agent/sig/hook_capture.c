/* A hook's record: see hook_capture.h. */
#include "hook_capture.h"

#include "base/clock.h"
#include "stack_copy.h"

#include <sys/syscall.h>
#include <unistd.h>

/* In line, so that stack pointer and program counter belong to the caller's frame. */
static inline __attribute__((always_inline)) void read_registers(uint64_t *regs)
{
	__asm__ volatile("mov %%rbx, %c1(%0)\n\t"
			 "mov %%rbp, %c2(%0)\n\t"
			 "mov %%rsp, %c3(%0)\n\t"
			 "mov %%r12, %c4(%0)\n\t"
			 "mov %%r13, %c5(%0)\n\t"
			 "mov %%r14, %c6(%0)\n\t"
			 "mov %%r15, %c7(%0)\n\t"
			 "lea 0(%%rip), %%rax\n\t"
			 "mov %%rax, %c8(%0)"
			 :
			 : "r"(regs), "i"(SP_REG_RBX * 8), "i"(SP_REG_RBP * 8), "i"(SP_REG_RSP * 8),
			 "i"(SP_REG_R12 * 8), "i"(SP_REG_R13 * 8), "i"(SP_REG_R14 * 8),
			 "i"(SP_REG_R15 * 8), "i"(SP_REG_PC * 8)
			 : "rax", "memory");
}

/* A forked child has the hooks but not the ring. Java does not run in one, and nearly all of what
 * hooks there report is saved a system call. */
static bool in_child(enum sp_hook_kind kind)
{
	return (kind == SP_HOOK_MALLOC || kind == SP_HOOK_FREE || kind == SP_HOOK_NATIVE_LOCK) &&
	       (int32_t)syscall(SYS_getpid) != sp_sig.pid;
}

/* Whoever frees what others allocated: it is gone; whoever ends a window, it is over. */
static bool is_wanted(const struct sp_sig_thread *t, enum sp_hook_kind kind)
{
	return !t || kind == SP_HOOK_FREE || kind == SP_HOOK_WINDOW ||
	       atomic_load_explicit(&t->wanted, memory_order_relaxed);
}

__attribute__((noinline)) enum sp_hook_capture_outcome sp_hook_capture_report(
	const struct sp_hook_capture *h)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct sp_sig_thread *t = sp_sig_find(tid);
	uint64_t regs[SP_REG_COUNT] = {0}, tls = sp_thread_pointer();
	const struct sp_hook_capture_virtual none = {0}, *v = h->virtual ? h->virtual : &none;
	uint32_t given = v->count * (uint32_t)sizeof(*v->frames);
	struct sp_stack_range r = {0};
	struct sp_sig_record *rec;

	if (in_child(h->kind) || !is_wanted(t, h->kind))
		return SP_HOOK_UNWANTED;
	read_registers(regs);
	if (!h->stackless && !h->virtual)
		r = sp_stack_range(t, regs[SP_REG_RSP], 0, tls);
	rec = (struct sp_sig_record *)sp_ring_reserve(
		sp_sig.ring, sizeof(*rec) + r.len + given + h->text_len + v->name_len);
	if (!rec)
		return SP_HOOK_FULL;
	rec->tid = tid;
	rec->time_ns = h->time_ns ? h->time_ns : sp_clock_mono_ns();
	rec->weight = 0;
	rec->kind = h->kind;
	rec->text_len = h->text_len;
	rec->given = v->count;
	rec->vthread = v->id;
	rec->name_len = v->name_len;
	for (int i = 0; i < SP_HOOK_ARGS; i++)
		rec->arg[i] = h->arg[i];
	sp_stack_copy_bytes(rec->regs, regs, sizeof(regs));
	sp_stack_copy_all(rec, t, &r, tls);
	/* Behind what was reserved for the stack, of which less may have been read. */
	rec->text_at = r.len + given;
	sp_stack_copy_bytes(rec->stack + rec->text_at, h->text, h->text_len);
	sp_stack_copy_bytes(rec->stack + rec->text_at + h->text_len, v->name, v->name_len);
	if (given) {
		sp_stack_copy_bytes(rec->stack, v->frames, given);
		rec->stack_len = given;
	}
	sp_ring_commit(&rec->head);
	return SP_HOOK_TAKEN;
}
