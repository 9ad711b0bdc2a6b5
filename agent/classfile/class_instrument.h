/* Puts calls of ours into methods of a class file: one where a method begins, to count it, and one
 * wherever it ends, to measure how long it took. Everything else stays: what is put in is always a
 * multiple of four bytes long, so that switches keep their padding, and no jump leads into it but
 * those to a return, which shall go through it.
 * Plain functions over memory: no JVM, no global state. */
#ifndef SP_AGENT_CLASSFILE_CLASS_INSTRUMENT_H
#define SP_AGENT_CLASSFILE_CLASS_INSTRUMENT_H

#include "constant_pool.h"

/* The class with the methods that are called; every class loader must find it. */
#define SP_REWRITE_CLASS "sparkprof/Calls"

/* What to do to a method. */
struct sp_class_instrument_want {
	int32_t counted; /* ≥ 0: calls static void entered(int counted) first; -1: not */
	int32_t timed;	 /* ≥ 0: calls static void left(long since, int timed) last, since being
			  * System.nanoTime() at the beginning; -1: not. Both below 32768 */
};

struct sp_class_instrument {
	/* Asked for each method with code, and for those without. */
	struct sp_class_instrument_want (*want)(
		void *ctx, struct sp_class_text name, struct sp_class_text descriptor);
	/* A wanted method is left as it was; @why is half a sentence. May be NULL. */
	void (*left_out)(void *ctx, struct sp_class_text name, const char *why);
	void *ctx;
};

/* Rewrites the class file @in into @out. The time of a constructor that throws is not reported: its
 * object cannot be caught half made.
 * Returns how many methods were changed (0: @out is of no use), -EBADMSG where @in is not a class
 * file as we know them, -E2BIG where its constant pool is full, or -ENOMEM. */
int sp_class_instrument_class(
	const struct sp_class_instrument *rw, const uint8_t *in, size_t len, struct sp_buf *out);

#endif
