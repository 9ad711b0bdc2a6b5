/* The unwinder: a function from a snapshot (registers and stack bytes) and the code map to frames.
 * It follows native code by CFI and Java code by HotSpot's own tables, and reads everything but the
 * snapshot's stack bytes through sp_mem. It ends for any bytes: the stack pointer strictly grows.
 * Context: the collector only. */
#ifndef SP_UNWIND_UNWIND_H
#define SP_UNWIND_UNWIND_H

#include "dict/dict.h" /* enum sp_frame_type */
#include "unwind/hotspot.h"
#include "unwind/mem.h"
#include "unwind/modules.h"
#include "unwind/snapshot.h"

#define SP_UNWIND_DEPTH 2048

enum sp_frame_kind {
	SP_FRAME_KIND_JAVA,   /* @method, @const_method, @bci */
	SP_FRAME_KIND_NATIVE, /* @module, @offset */
	SP_FRAME_KIND_STUB, /* generated code that is no Java method: @blob, see sp_unwind_stub_name
			     */
	SP_FRAME_KIND_CLASS, /* no frame: a class, @method is its name (char *, of this process) */
	SP_FRAME_KIND_UNKNOWN, /* where unwinding broke, or code that changed since the sample */
};

enum sp_frame_flags {
	SP_FRAMEFLAG_NATIVE_METHOD = 1, /* Java kind: a native method (wrapper or interpreted) */
	SP_FRAMEFLAG_VTHREAD_END = 2,	/* last frame of a mounted virtual thread: what follows is
					   its carrier */
	SP_FRAMEFLAG_IN_HEAP = 8,	/* with VTHREAD_END: older frames of the virtual thread
					   are still in the heap and were not read */
	SP_FRAMEFLAG_GAP = 16,		/* unknown kind: native frames that cannot be followed, one
					   or more; older ones follow if any were found */
	SP_FRAMEFLAG_GUESSED = 4,	/* pc is exact but caller was found by a fallback */
	SP_FRAMEFLAG_NO_JAVA = 32,	/* unknown kind: replaces a stack without a Java frame where
					 * native frames are not wanted */
};

struct sp_frame {
	uint8_t kind, flags;
	uint8_t type; /* enum sp_frame_type */
	uint8_t spare;
	int32_t bci;	       /* Java: bytecode index, -1 unknown */
	uint64_t pc;	       /* exact for the top frame, else the return address */
	uint64_t method;       /* Java: Method*; stub: the CodeBlob's _name (char *) */
	uint64_t const_method; /* stub: end of the blob's code */
	uint64_t offset; /* native: pc as the module's file numbers it (caller frames: pc - 1) */
	uint64_t code;	 /* compiled Java: identifies this very piece of code; stub: begin of the
			    blob's code; else 0 */
	uint32_t module; /* native: sp_module.id or SP_NO_MODULE */
};

enum sp_unwind_status {
	SP_UNWIND_COMPLETE,  /* reached the thread's entry */
	SP_UNWIND_TRUNCATED, /* stack bytes ran out at stop_sp: give more and try again */
	SP_UNWIND_DEPTH_CAP, /* @max frames were not enough */
	SP_UNWIND_BROKEN,    /* an unknown frame: see reason */
};

enum sp_unwind_reason {
	SP_WHY_NONE,
	SP_WHY_NO_STACK,     /* sp is not in the snapshot's stack */
	SP_WHY_NO_MODULE,    /* pc is in no known code */
	SP_WHY_NO_CFI,	     /* native code without an unwind row */
	SP_WHY_BAD_CFI,	     /* malformed table or expression */
	SP_WHY_REGISTER,     /* a register that the caller's frame depends on is not known */
	SP_WHY_NO_PROGRESS,  /* sp did not grow */
	SP_WHY_NO_BLOB,	     /* pc in the code cache but in no blob (freed or being made) */
	SP_WHY_NO_PCDESC,    /* return address that the compiled method does not know */
	SP_WHY_SCOPE,	     /* malformed debug information */
	SP_WHY_METHOD,	     /* a Method* that is none */
	SP_WHY_INTERPRETER,  /* an interpreter frame that makes no sense */
	SP_WHY_STUB,	     /* a stub with a frame that is not understood */
	SP_WHY_MEMORY,	     /* a needed read faulted */
	SP_WHY_CODE_CHANGED, /* code was replaced after the sample */
	SP_WHY_COUNT
};

/* What frames were interned as, beside them in the memory of their thread: the unwinder says which
 * are still those frames, whoever interns whether what they were interned into still is. */
struct sp_kept_refs {
	uint64_t names; /* state of those who gave the names, all 0: nothing is kept */
	uint32_t dict, modules;
	uint32_t frames; /* how many, from the oldest on: a hook's own were left out */
};

struct sp_unwind_result {
	enum sp_unwind_status status;
	enum sp_unwind_reason reason;
	uint32_t count;		   /* frames written */
	uint32_t java_count;	   /* of them Java, inlined ones included */
	uint64_t stop_pc, stop_sp; /* where it ended */
	uint32_t unknown;	   /* frames of kind unknown in between */
	uint32_t marked;	 /* index of the native frame that sp_unwinder_mark() asked for, or
				  * UINT32_MAX */
	uint32_t gaps;		 /* frames that are gaps, not counted as unknown */
	uint32_t anchors;	 /* times the JavaFrameAnchor was needed */
	uint64_t continuation;	 /* of the virtual thread on the stack: its object; 0: none */
	struct sp_kept_refs was; /* of the last @same of @refs */
	struct sp_kept_refs *kept; /* to be set once all of them are right; NULL: none are kept */
	struct sp_frame_ref *refs; /* one for each frame; borrowed to the next call */
	uint32_t same;
};

struct sp_unwinder;

/* @hotspot may be NULL (no JVM, or not understood). All are borrowed for life. @cap: bytes for the
 * caches in all (0: 2 MB). Returns 0 or -ENOMEM. */
__attribute__((warn_unused_result)) int sp_unwinder_new(struct sp_unwinder **ret,
	const struct sp_mem *mem, struct sp_modules *modules, struct sp_hotspot *hotspot,
	size_t cap);
void sp_unwinder_free(struct sp_unwinder *u);
size_t sp_unwinder_bytes(const struct sp_unwinder *u);

/* Starts a batch: all snapshots until the next call were taken before this one, so code that is
 * found unchanged once need not be looked at again. Without any call each snapshot is looked at
 * alone. */
void sp_unwinder_batch(struct sp_unwinder *u);

/* The next snapshots are asked which native frame holds the stack address @address; 0: none. */
void sp_unwinder_mark(struct sp_unwinder *u, uint64_t address);

/* Unwinds one snapshot into @frames, leaf first. Always sets *ret and never fails as a call: what
 * it could not do is in the status. Frames found before a break are kept. */
void sp_unwind(struct sp_unwinder *u, const struct sp_snapshot *snap, struct sp_frame *frames,
	uint32_t max, struct sp_unwind_result *ret);

const char *sp_unwind_reason_text(enum sp_unwind_reason reason);
const char *sp_unwind_status_text(enum sp_unwind_status status);

/* Name of a stub frame: of the routine where the JVM reported it ("jbyte_arraycopy"), else of the
 * blob ("StubRoutines (2)", "Interpreter", …). Returns @buf. */
const char *sp_unwind_stub_name(
	const struct sp_unwinder *u, const struct sp_frame *f, char *buf, size_t size);

#endif
