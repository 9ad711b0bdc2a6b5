/* What java.c and interpreter.c share: frames of generated code. Contexts and errors as in
 * unwind_internal.h.
 */
#ifndef SP_UNWIND_JAVA_H
#define SP_UNWIND_JAVA_H

#include "unwind/unwind_internal.h"

/* Interpreter frame, relative to rbp */
#define I_RETURN    8
#define I_SENDER_SP (-8)
#define I_METHOD    (-24)
#define I_BCP	    (-64)

static inline uint64_t at(uint64_t base, int off)
{
	return base + (uint64_t)(int64_t)off;
}

static inline bool in_stack(const struct sp_walk *w, uint64_t addr)
{
	return addr >= w->regs.r[SP_ARCH_SP] && addr < w->snap->stack_end && !(addr & 7);
}

/* Append a frame: of a method, of a stub by its name, of code that is not known. NULL: no room. */
struct sp_frame *sp_java_emit(
	struct sp_walk *w, enum sp_frame_type type, uint64_t method, uint64_t cm, int32_t bci);
struct sp_frame *sp_java_emit_stub(struct sp_walk *w, const struct sp_blob *b);
void sp_java_emit_unknown(struct sp_walk *w);

/* Makes the caller that @p says the frame in hand. */
enum sp_unwind_reason sp_java_to_caller(struct sp_walk *w, const struct sp_walk_place *p);

/* One interpreted frame. */
enum sp_unwind_reason sp_interpreter_step(struct sp_walk *w, const struct sp_blob *b);
/* The caller where a call is on its way into the interpreter (or an adapter) and has no frame yet.
 */
bool sp_interpreter_frameless(struct sp_walk *w, bool adapter, struct sp_walk_place *ret);

#endif
