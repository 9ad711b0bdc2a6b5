/* See blocked_stack.h. */
#include "blocked_stack.h"

#include "base/filtered.h"
#include "sig/handler.h"

#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define FIRST (64u << 10) /* where the end is not known yet: what is mapped of this */
#define ABOVE 256	  /* of the last Java frame: its return address is there */

/* Older container runtimes forbid process_vm_readv; blocked threads would silently be missing. */
void sp_blocked_stack_open(struct sp_blocked_stack *w)
{
	uint64_t word = 0, got;
	struct iovec to = {&got, sizeof(got)}, from = {&word, sizeof(word)};

	w->pid = getpid();
	w->mem = -1;
	w->call = !sp_filtered() && process_vm_readv(w->pid, &to, 1, &from, 1, 0) == sizeof(got);
	if (!w->call)
		w->mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
}

void sp_blocked_stack_close(struct sp_blocked_stack *w)
{
	if (w->mem >= 0)
		close(w->mem);
	w->mem = -1;
}

/* Reads from @sp to @end, and the JVM's note of the last Java frame at @anchor_addr with it.
 * Returns how many bytes of the stack. */
static uint32_t read_stack(struct sp_blocked_stack *w, uint64_t sp, uint64_t end,
	struct sp_anchor *anchor, uint64_t anchor_addr)
{
	uint64_t words[8] = {0};
	uint32_t want = end - sp > sizeof(w->bytes) ? sizeof(w->bytes) : (uint32_t)(end - sp);
	struct iovec to[2] = {{w->bytes, want}, {words, sizeof(words)}};
	struct iovec from[2] = {{(void *)sp, want}, {(void *)anchor_addr, sizeof(words)}};
	ssize_t n;

	if (w->call) {
		n = process_vm_readv(w->pid, to, 2, from, anchor_addr ? 2 : 1, 0);
	} else {
		n = pread(w->mem, w->bytes, want, (off_t)sp);
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

static uint64_t anchor_of(const struct sp_tinfo *t)
{
	if (sp_sig.anchor.sp > 56 || sp_sig.anchor.fp > 56 || sp_sig.anchor.pc > 56)
		return 0;
	return atomic_load(&t->sig->anchor);
}

void sp_blocked_stack_read(struct sp_blocked_stack *w, struct sp_threads *threads,
	struct sp_tinfo *t, const struct sp_kernel_state_where *at, struct sp_snapshot *ret)
{
	uint64_t lo = atomic_load(&t->sig->stack_lo), hi = atomic_load(&t->sig->stack_hi);
	uint64_t end = hi && at->sp > lo && at->sp < hi ? hi : at->sp + FIRST;

	if (!hi)
		sp_threads_learn(threads, t, at->sp);
	ret->tid = t->tid;
	ret->known = 1u << SP_REG_RSP | 1u << SP_REG_PC;
	ret->regs[SP_REG_RSP] = ret->stack_addr = at->sp;
	ret->regs[SP_REG_PC] = at->pc;
	ret->stack = w->bytes;
	ret->stack_len = read_stack(w, at->sp, end, &ret->anchor, hi ? anchor_of(t) : 0);
	ret->stack_end = hi ? end : at->sp + ret->stack_len;
}

bool sp_blocked_stack_woken(
	struct sp_blocked_stack *w, const struct sp_tinfo *t, struct sp_snapshot *ret)
{
	uint64_t lo = atomic_load(&t->sig->stack_lo), hi = atomic_load(&t->sig->stack_hi);
	uint64_t addr = anchor_of(t), from;
	struct sp_anchor *a = &ret->anchor;

	if (!hi || !addr || !read_stack(w, hi - 8, hi, a, addr) || a->last_java_sp <= lo + ABOVE ||
		a->last_java_sp >= hi)
		return false;
	from = a->last_java_sp - ABOVE;
	ret->tid = t->tid;
	ret->known = 1u << SP_REG_RSP;
	ret->regs[SP_REG_RSP] = ret->stack_addr = from;
	ret->stack = w->bytes;
	ret->stack_end = hi;
	ret->stack_len = read_stack(w, from, hi, a, 0);
	return true;
}
