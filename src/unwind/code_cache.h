/* Generated code by address: the CodeBlob that covers a pc, what kind of frame it makes, and the
 * Java methods (inlined ones too) that a pc in compiled code represents. */
#ifndef SP_UNWIND_CODE_CACHE_H
#define SP_UNWIND_CODE_CACHE_H

#include "unwind/layout.h"

enum sp_blob_kind {
	SP_BLOB_NMETHOD,
	SP_BLOB_NATIVE_NMETHOD,
	SP_BLOB_INTERPRETER,
	SP_BLOB_STUB_ROUTINES, /* hand-written: no frame size */
	SP_BLOB_ADAPTER,       /* between interpreted and compiled callers */
	SP_BLOB_LEAF,	       /* vtable stubs, method handle adapters: no frame of their own */
	SP_BLOB_RUNTIME,       /* a stub with a frame size */
};

struct sp_blob {
	uint64_t addr; /* CodeBlob* */
	uint64_t code_begin, code_end;
	uint64_t name; /* char * */
	uint64_t verified_entry;
	uint64_t method;	  /* nmethods */
	uint64_t deopt, deopt_mh; /* addresses of deoptimisation handlers, 0: none */
	int32_t orig_pc_offset;
	int32_t frame_complete; /* relative to code_begin, -1: never */
	uint32_t frame_size;	/* bytes, return address included */
	uint32_t compile_id;
	uint8_t kind;
	uint8_t comp_level;
	bool continuation; /* Continuation.enterSpecial: below it is the carrier of a virtual thread
			    */
};

/* Finds the blob that covers @pc. Returns 0; -ENOENT where there is none or it is free;
 * -EFAULT. */
__attribute__((warn_unused_result)) int sp_code_cache_find(
	const struct sp_hotspot *h, uint64_t pc, struct sp_blob *ret);

/* Whether @b, found before, is still the same code. */
bool sp_code_cache_same(const struct sp_hotspot *h, const struct sp_blob *b);

struct sp_scope {
	uint64_t method;       /* Method* */
	uint64_t const_method; /* 0: the method makes no sense */
	int32_t bci;
};

#define SP_SCOPES_MAX 64

/* The methods at @pc of a compiled method, innermost first. @top: @pc is where the thread is
 * and not a return address. Returns their number, *ret_exact: whether @pc is a known return
 * address; -ENOENT without debug information there; -EBADMSG. */
int sp_code_cache_scopes(const struct sp_hotspot *h, const struct sp_blob *b, uint64_t pc, bool top,
	struct sp_scope *ret, unsigned max, bool *ret_exact);

/* At @pc of an epilogue whose return is at @end. Debug information is looked for behind a pc (as
 * AsyncGetCallTrace does), but what lies behind the return is of other code, often of something
 * inlined. Returns whether that is all there is; then *ret is the compiled method itself, of which
 * all that was inlined has ended, with a bci of -1 where none is known. */
bool sp_code_cache_returning(const struct sp_hotspot *h, const struct sp_blob *b, uint64_t pc,
	uint64_t end, struct sp_scope *ret);

/* Whether @method is a Method with readable bytecodes. @ret_const: its ConstMethod. */
bool sp_code_cache_method(const struct sp_hotspot *h, uint64_t method, uint64_t *ret_const);

/* The same for a method of compiled code that is there. */
bool sp_code_cache_method_in(
	const struct sp_hotspot *h, const struct sp_blob *b, uint64_t method, uint64_t *ret_const);

/* Bytecode index of the bytecode pointer @bcp in @const_method, or -1. */
int32_t sp_code_cache_bci(const struct sp_hotspot *h, uint64_t const_method, uint64_t bcp);

#endif
