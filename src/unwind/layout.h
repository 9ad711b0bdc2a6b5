/* The inside of struct sp_hotspot: offsets as the JVM's own tables give them. For the unwinder's
 * sources only. An offset that this JVM does not have is SP_NO_FIELD. */
#ifndef SP_UNWIND_LAYOUT_H
#define SP_UNWIND_LAYOUT_H

#include "unwind/hotspot.h"
#include "unwind/stubs.h"

#define SP_NO_FIELD  0xffffffffu
#define SP_HEAPS_MAX 8
#define SP_CODELETS  512
#define SP_UNLOADS   64

struct sp_heap {
	uint64_t heap;	   /* CodeHeap* */
	uint64_t low, end; /* reserved range */
	uint64_t segmap;   /* its lowest address */
	uint32_t log2_segment;
	uint64_t committed; /* end of what was committed at the last look */
};

/* A part of the interpreter. */
struct sp_codelet {
	uint64_t start, end;
	uint64_t enter; /* method entries: address of "push rbp; mov rbp, rsp", 0 if none */
	bool entry;	/* a method entry */
};

struct sp_fields {
	/* static fields: addresses */
	uint64_t code_heaps, code_low, code_high, call_stub_return, thread_list, interpreter;
	uint64_t thread_first; /* up to JDK 11: threads are chained */
	uint64_t vm_version;
	uint64_t archive_from, archive_to;
	uint64_t narrow_oop_base, narrow_oop_shift, narrow_klass_base, narrow_klass_shift;
	/* offsets */
	uint32_t array_len, array_data;
	uint32_t heap_memory, heap_segmap, heap_log2;
	uint32_t space_low_boundary, space_high_boundary, space_low, space_high;
	uint32_t block_used;
	uint32_t blob_name, blob_size, blob_frame_size, blob_frame_complete;
	uint32_t blob_code_begin, blob_code_end;     /* to 22: addresses */
	uint32_t blob_code_offset, blob_data_offset; /* from 23: relative to the blob */
	uint32_t blob_mutable_data, blob_relocation_size;
	uint32_t nm_method, nm_compile_id, nm_comp_level, nm_entry_bci, nm_orig_pc, nm_state;
	uint32_t nm_verified_entry_ptr, nm_verified_entry_off;
	uint32_t nm_scopes_data_begin; /* to 22: address */
	uint32_t nm_scopes_pcs_offset, nm_metadata_offset, nm_dependencies_offset;
	uint32_t nm_immutable_data, nm_scopes_data_offset, nm_immutable_size;
	uint32_t nm_handler_table_offset;
	uint32_t nm_deopt_begin, nm_deopt_mh_begin;   /* addresses */
	uint32_t nm_deopt_offset, nm_deopt_mh_offset; /* relative to the blob */
	uint32_t method_const, method_access, method_code;
	uint32_t cm_constants, cm_code_size, cm_name, cm_sig, cm_flags, cm_size, cm_idnum;
	uint32_t pool_holder, pool_length;
	uint32_t klass_name, klass_methods, klass_super, klass_constants, klass_fieldinfo;
	uint32_t sym_hash, sym_refcount, sym_length, sym_body;
	uint32_t anchor_sp, anchor_pc, anchor_fp, thread_anchor, wrapper_anchor;
	uint32_t thread_osthread, thread_stack_base, thread_stack_size;
	uint32_t os_thread_id, os_pthread_id;
	uint32_t list_length, list_threads, thread_next;
	uint32_t queue_buffer, queue_end, codelet_size, codelet_description;
	uint32_t compiler_env, env_task, task_method;
	/* sizes of types */
	uint32_t sizeof_heap_block, sizeof_const_method, sizeof_pool, sizeof_codelet;
};

#define SP_VTHREAD_CLASSES 4

/* vthread.c: what it has learnt of virtual threads' objects. */
struct sp_vthreads {
	uint64_t klass[SP_VTHREAD_CLASSES];		   /* 0: not met yet */
	uint32_t target, vthread, name, tid, value, coder; /* offsets of fields; 0: not looked up */
	uint32_t entry_size; /* of a ContinuationEntry; 0: none was seen */
	uint32_t way;	     /* how references are written, from 1; 0: not known yet */
	bool narrow_klass;   /* class pointers are */
	bool unknown;	     /* classes of another shape */
};

/* A method of compiled code, as it was found. Code keeps its methods alive, so this holds as long
 * as the code is there. */
struct sp_code_method {
	uint64_t code, method, const_method; /* code: CodeBlob*, 0: a free place */
	uint32_t compile_id;
};

#define SP_CODE_METHODS 512 /* a power of two */

struct sp_hotspot {
	const struct sp_mem *mem;
	struct sp_code_method *code_methods; /* SP_CODE_METHODS of them, by a hash */
	struct sp_fields f;
	int version;
	uint64_t code_low, code_high; /* of all heaps, reserved */
	uint64_t call_stub_return;
	struct sp_heap heaps[SP_HEAPS_MAX];
	uint32_t heap_count;
	struct sp_codelet codelets[SP_CODELETS];
	uint32_t codelet_count;
	uint64_t interp_low, interp_high;
	struct sp_vthreads vthreads;
	/* code that went away, newest overwrite oldest; written by any thread */
	struct {
		uint64_t addr, time_ns;
	} unloads[SP_UNLOADS];
	uint32_t unload_next;
	struct sp_stubs *stubs; /* NULL: not kept */
};

/* vmstructs.c: fills @f from libjvm's tables. Returns as sp_hotspot_new. */
__attribute__((warn_unused_result)) int sp_vmstructs_read(struct sp_fields *f,
	const struct sp_mem *mem, const struct sp_modules *modules, struct sp_err *err);

/* Reads code heaps and interpreter parts again (heaps never move, so once is enough). */
int sp_layout_heaps(struct sp_hotspot *h, struct sp_err *err);
/* Looks how much of a heap is committed; it only grows. */
void sp_layout_committed(const struct sp_hotspot *h, struct sp_heap *heap);
void sp_layout_codelets(struct sp_hotspot *h);

#endif
