/* The state of one unwind, shared by the unwinder's sources: unwind.c (loop, native frames), java.c
 * (frames of generated code), top_frame.c (a thread that is in a prologue or epilogue),
 * blocked.c (registers that the capture did not know). */
#ifndef SP_UNWIND_UNWIND_INTERNAL_H
#define SP_UNWIND_UNWIND_INTERNAL_H

#include "base/arena.h"
#include "unwind/cfi.h"
#include "unwind/code_cache.h"
#include "unwind/hook_path_cache.h"
#include "unwind/stack_memo.h"
#include "unwind/unwind.h"

struct sp_row_entry {
	uint64_t pc, func;
	uint32_t epoch;
	int32_t err; /* of the lookup: a miss is cached too */
	struct sp_cfi_row row;
};

struct sp_blob_entry {
	uint64_t pc;
	uint64_t batch; /* in which it was seen to be still the same */
	struct sp_blob blob;
};

#define SP_SCOPES_CACHED 16

struct sp_scopes_entry {
	uint64_t pc;
	uint32_t compile_id;
	uint8_t top, exact, count, valid;
	int32_t bci[SP_SCOPES_CACHED];
	uint64_t method[SP_SCOPES_CACHED], const_method[SP_SCOPES_CACHED];
};

struct sp_unwinder {
	struct sp_arena arena;
	const struct sp_mem *mem;
	struct sp_modules *modules;
	struct sp_hotspot *hotspot;
	struct sp_row_entry *rows;
	struct sp_blob_entry *blobs;
	struct sp_scopes_entry *scopes;
	struct sp_stack_memos memos;
	struct sp_stack_memo_trail *trail;
	struct sp_hook_path *ways, *draft;
	uint32_t row_mask, blob_mask, scope_mask, way_mask;
	uint64_t batch;
	uint64_t mark;	      /* see sp_unwinder_mark() */
	uint32_t unloads;     /* of code, at the last snapshot */
	uint64_t unloaded_ns; /* none of them was later */
	bool batched;	      /* by the caller; else each snapshot is one */
};

struct sp_walk {
	struct sp_unwinder *u;
	const struct sp_snapshot *snap;
	struct sp_cfi_regs regs;
	bool exact; /* pc is where the thread is: top frame, or interrupted by a signal */
	bool cut;   /* a read needed stack bytes that the snapshot does not have */
	bool done;  /* reached the thread's entry */
	bool vthread;
	struct sp_frame *frames;
	uint32_t max;
	struct sp_unwind_result *res;
	struct sp_anchor anchor; /* for the native frames being walked */
	uint64_t callee_blob;	 /* CodeBlob of the frame above, 0 if it was native */
	struct sp_stack_memo_trail *trail;
	struct sp_hook_path *way; /* being drafted, or NULL */
	/* rowless.c: native frames since a step without a row, not believed yet */
	bool doubt;
	uint32_t doubt_count; /* frames before that step, and registers */
	struct sp_cfi_regs doubt_regs;
};

/* A word of the thread's stack. Returns 0; -ENODATA beyond the snapshot (sets cut); -EFAULT outside
 * of the stack. */
__attribute__((warn_unused_result)) int sp_walk_load(void *walk, uint64_t addr, uint64_t *ret);
static inline bool sp_walk_word(struct sp_walk *w, uint64_t addr, uint64_t *ret)
{
	return sp_walk_load(w, addr, ret) == 0;
}

/* Appends a frame; NULL when there is no room. */
struct sp_frame *sp_walk_emit(struct sp_walk *w, enum sp_frame_kind kind, enum sp_frame_type type);

static inline bool sp_walk_knows(const struct sp_walk *w, unsigned reg)
{
	return w->regs.known & SP_KNOWN(reg);
}

static inline bool sp_walk_in_java(const struct sp_walk *w, uint64_t pc)
{
	const struct sp_hotspot *h = w->u->hotspot;

	return h && pc >= h->code_low && pc < h->code_high;
}

/* Makes @pc, @sp and (if @fp_known) @fp the caller's; all other registers become unknown. */
void sp_walk_set(struct sp_walk *w, uint64_t pc, uint64_t sp, uint64_t fp, bool fp_known);

/* The row for a native pc, cached. Returns as sp_cfi_find. */
int sp_walk_row(struct sp_walk *w, uint64_t pc, const struct sp_cfi_row **ret, uint64_t *ret_func);

/* The blob for a pc, cached and checked to be still the same. Returns as sp_code_cache_find. */
int sp_walk_blob(struct sp_walk *w, uint64_t pc, const struct sp_blob **ret);

/* The scopes at @pc, cached. Returns as sp_code_cache_scopes; in an epilogue, what
 * sp_code_cache_returning says. */
int sp_walk_scopes(struct sp_walk *w, const struct sp_blob *b, uint64_t pc, bool top,
	struct sp_scope *ret, unsigned max, bool *ret_exact);

/* java.c: one frame of generated code (with what is inlined into it). */
enum sp_unwind_reason sp_java_step(struct sp_walk *w);
/* Whether generated code can return to @pc. */
bool sp_java_return_ok(struct sp_walk *w, uint64_t pc);
/* The same, and the frame pointer that comes with it fits: stale return addresses do not have one.
 */
struct sp_walk_place;
bool sp_java_place_ok(struct sp_walk *w, const struct sp_walk_place *p, uint64_t ret);
/* Whether an anchor leads up the stack into Java code; sets a pc that it left out. */
bool sp_java_anchor_ok(struct sp_walk *w, struct sp_anchor *a);
/* Java caller by an anchor; false where it does not lead up the stack. */
bool sp_java_from_anchor(struct sp_walk *w, const struct sp_anchor *a);

/* top_frame.c: where the return address is while a frame is being built or removed. */
struct sp_walk_place {
	uint64_t ret_slot; /* address of the return address, 0: it is in ret */
	uint64_t ret;
	uint64_t sp; /* the caller's */
	uint64_t fp; /* the caller's frame pointer … */
	bool fp_known;
	bool keeps; /* the registers that C functions keep are still the caller's */
};
bool sp_top_frame_compiled(struct sp_walk *w, const struct sp_blob *b, struct sp_walk_place *ret);
bool sp_top_frame_stub(struct sp_walk *w, const struct sp_blob *b, struct sp_walk_place *ret);
/* Where the return instruction is, if @pc is in a compiled method's epilogue; else 0. */
uint64_t sp_top_frame_return(struct sp_walk *w, const struct sp_blob *b, uint64_t pc);
/* Bytes on top of a compiled frame at a call that has no debug information: saved registers. */
uint32_t sp_top_frame_extra(struct sp_walk *w, const struct sp_blob *b, uint64_t pc);

/* call_site.c: whether a call instruction ends at @ret; *ret_target its direct target, 0 if
 * indirect.
 */
bool sp_call_site_before(const struct sp_mem *mem, uint64_t ret, uint64_t *ret_target);
/* Where a call to @target ends up: behind the PLT entry that it is, or there. */
uint64_t sp_call_through(const struct sp_mem *mem, uint64_t target);
/* Whether a direct target leads to @func: itself, or a PLT entry for it. */
bool sp_call_site_reaches(const struct sp_mem *mem, uint64_t target, uint64_t func);

/* rowless.c: the caller of a function without a row, only where the thread is in it itself. */
bool sp_rowless_step(struct sp_walk *w);
/* Whether native frames since that step have led to the last Java frame, where they now are in Java
 * code. */
bool sp_rowless_arrived(struct sp_walk *w);
/* Whether they did not, after a step that ended with @why. */
bool sp_rowless_refuted(const struct sp_walk *w, enum sp_unwind_reason why);
/* Back to before that step. */
void sp_rowless_undo(struct sp_walk *w);
/* Appends the mark for native frames that are not known; two in a row are one. */
void sp_rowless_gap(struct sp_walk *w);
/* Without an anchor: on to the native method that frame pointers lead to, behind a gap. */
bool sp_rowless_by_links(struct sp_walk *w);

/* blocked.c: finds the caller of a native function with an unknown CFA register. */
bool sp_blocked_step(struct sp_walk *w, const struct sp_cfi_row *row, uint64_t func);

#endif
