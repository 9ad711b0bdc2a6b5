/* What hooks in the JVM and in libraries report: registers and stack of the calling thread, as the
 * signal handler takes them, with what happened there. A hook asks sp_hook_capture_enter() first
 * and says sp_hook_capture_leave() when it touches nothing of the recording any more. */
#ifndef SP_AGENT_SIG_HOOK_CAPTURE_H
#define SP_AGENT_SIG_HOOK_CAPTURE_H

#include "handler.h"

#include <string.h>

/* A virtual thread by the JVM's own word: most of its frames may lie in the heap. */
struct sp_hook_capture_virtual {
	uint64_t id; /* java.lang.Thread's */
	const char *name;
	uint32_t name_len;
	const struct sp_given_frame *frames; /* innermost first */
	uint32_t count;
};

struct sp_hook_capture {
	enum sp_hook_kind kind;
	uint64_t time_ns; /* 0: now */
	uint64_t arg[SP_HOOK_ARGS];
	const char *text; /* copied; may be NULL */
	uint32_t text_len;
	bool stackless;
	const struct sp_hook_capture_virtual
		*virtual; /* in the place of the stack; NULL: it has none */
};

/* The registers that are known of a thread in a call: those that a callee keeps. */
#define SP_HOOK_REGS                                                                 \
	(1u << SP_REG_RBX | 1u << SP_REG_RBP | 1u << SP_REG_RSP | 1u << SP_REG_R12 | \
		1u << SP_REG_R13 | 1u << SP_REG_R14 | 1u << SP_REG_R15 | 1u << SP_REG_PC)

/* May hooks of this kind report now? If so, the recording stays until sp_hook_capture_leave(). */
static inline bool sp_hook_capture_enter(enum sp_hook_kind kind)
{
	atomic_fetch_add(&sp_sig.inflight, 1);
	if (atomic_load(&sp_sig.hooks) & 1u << kind)
		return true;
	atomic_fetch_sub(&sp_sig.inflight, 1);
	return false;
}

static inline void sp_hook_capture_leave(void)
{
	atomic_fetch_sub(&sp_sig.inflight, 1);
}

/* Is the ring more than half full, because the collector gets no CPU? */
static inline bool sp_hook_capture_tight(void)
{
	const struct sp_ring *r = sp_sig.ring;

	return atomic_load_explicit(&r->head, memory_order_relaxed) -
		       atomic_load_explicit(&r->tail, memory_order_relaxed) >
	       r->size / 2;
}

/* The class that it is about, "Ljava/lang/String;" as "java/lang/String"; arrays as they are. */
static inline void sp_hook_capture_class(struct sp_hook_capture *h, const char *signature)
{
	size_t n = strlen(signature);

	if (signature[0] == 'L' && n > 2) {
		signature++;
		n -= 2;
	}
	h->text = signature;
	h->text_len = n < 512 ? (uint32_t)n : 512;
}

enum sp_hook_capture_outcome {
	SP_HOOK_TAKEN,
	SP_HOOK_FULL,	  /* the ring is (counted): another may represent it */
	SP_HOOK_UNWANTED, /* a thread that is not wanted, or a forked child: nobody does */
};

/* Puts a record into the ring. Between enter and leave; any thread, lock-free. */
enum sp_hook_capture_outcome sp_hook_capture_report(const struct sp_hook_capture *h);

#endif
