/* HotSpot's description of itself (the tables that its serviceability agent reads): a row per field
 * with type name, field name and offset or address. We keep those that the unwinder uses. */
#include "unwind/layout.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

#define ROWS_MAX   20000
#define STRIDE_MAX 256

enum need {
	ALWAYS,
	OPTIONAL,
};

struct want {
	const char *type, *field;
	size_t at; /* in struct sp_fields */
	bool is_static;
	enum need need;
};

#define FIELD(type, field, member)                                             \
	{                                                                      \
		type, field, offsetof(struct sp_fields, member), false, ALWAYS \
	}
#define MAYBE(type, field, member)                                               \
	{                                                                        \
		type, field, offsetof(struct sp_fields, member), false, OPTIONAL \
	}
#define STATIC(type, field, member)                                           \
	{                                                                     \
		type, field, offsetof(struct sp_fields, member), true, ALWAYS \
	}
#define MAYBE_S(type, field, member)                                            \
	{                                                                       \
		type, field, offsetof(struct sp_fields, member), true, OPTIONAL \
	}

static const struct want wants[] = {
	STATIC("CodeCache", "_heaps", code_heaps),
	STATIC("StubRoutines", "_call_stub_return_address", call_stub_return),
	STATIC("AbstractInterpreter", "_code", interpreter),
	MAYBE_S("ThreadsSMRSupport", "_java_thread_list", thread_list),
	MAYBE_S("Threads", "_thread_list", thread_first), /* to 11 */
	MAYBE_S("Abstract_VM_Version", "_vm_major_version", vm_version),
	MAYBE("GenericGrowableArray", "_len", array_len), /* to 15 */
	MAYBE("GrowableArrayBase", "_len", array_len),
	FIELD("GrowableArray<int>", "_data", array_data),
	FIELD("CodeHeap", "_memory", heap_memory),
	FIELD("CodeHeap", "_segmap", heap_segmap),
	FIELD("CodeHeap", "_log2_segment_size", heap_log2),
	FIELD("VirtualSpace", "_low_boundary", space_low_boundary),
	FIELD("VirtualSpace", "_high_boundary", space_high_boundary),
	FIELD("VirtualSpace", "_low", space_low),
	FIELD("VirtualSpace", "_high", space_high),
	FIELD("HeapBlock::Header", "_used", block_used),
	FIELD("CodeBlob", "_name", blob_name),
	FIELD("CodeBlob", "_size", blob_size),
	FIELD("CodeBlob", "_frame_size", blob_frame_size),
	FIELD("CodeBlob", "_frame_complete_offset", blob_frame_complete),
	MAYBE("CodeBlob", "_code_begin", blob_code_begin),
	MAYBE("CodeBlob", "_code_end", blob_code_end),
	MAYBE("CodeBlob", "_code_offset", blob_code_offset),
	MAYBE("CodeBlob", "_data_offset", blob_data_offset),
	MAYBE("CodeBlob", "_mutable_data", blob_mutable_data),
	MAYBE("CodeBlob", "_relocation_size", blob_relocation_size),
	MAYBE("CompiledMethod", "_method", nm_method),
	MAYBE("nmethod", "_method", nm_method),
	FIELD("nmethod", "_compile_id", nm_compile_id),
	FIELD("nmethod", "_comp_level", nm_comp_level),
	FIELD("nmethod", "_entry_bci", nm_entry_bci),
	FIELD("nmethod", "_orig_pc_offset", nm_orig_pc),
	MAYBE("nmethod", "_state", nm_state),
	MAYBE("nmethod", "_verified_entry_point", nm_verified_entry_ptr),
	MAYBE("nmethod", "_verified_entry_offset", nm_verified_entry_off),
	MAYBE("CompiledMethod", "_scopes_data_begin", nm_scopes_data_begin),
	FIELD("nmethod", "_scopes_pcs_offset", nm_scopes_pcs_offset),
	MAYBE("nmethod", "_metadata_offset", nm_metadata_offset),
	MAYBE("nmethod", "_dependencies_offset", nm_dependencies_offset),
	MAYBE("nmethod", "_handler_table_offset", nm_handler_table_offset),
	MAYBE("nmethod", "_immutable_data", nm_immutable_data),
	MAYBE("nmethod", "_immutable_data_size", nm_immutable_size),
	MAYBE("nmethod", "_scopes_data_offset", nm_scopes_data_offset),
	MAYBE("CompiledMethod", "_deopt_handler_begin", nm_deopt_begin),
	MAYBE("CompiledMethod", "_deopt_mh_handler_begin", nm_deopt_mh_begin),
	MAYBE("nmethod", "_deopt_handler_offset", nm_deopt_offset),
	MAYBE("nmethod", "_deopt_mh_handler_offset", nm_deopt_mh_offset),
	FIELD("Method", "_constMethod", method_const),
	FIELD("Method", "_access_flags", method_access),
	FIELD("Method", "_code", method_code),
	FIELD("ConstMethod", "_constants", cm_constants),
	FIELD("ConstMethod", "_code_size", cm_code_size),
	FIELD("ConstMethod", "_name_index", cm_name),
	FIELD("ConstMethod", "_signature_index", cm_sig),
	FIELD("ConstMethod", "_constMethod_size", cm_size),
	FIELD("ConstMethod", "_method_idnum", cm_idnum),
	MAYBE("ConstMethod", "_flags", cm_flags),
	MAYBE("ConstMethod", "_flags._flags", cm_flags),
	FIELD("ConstantPool", "_pool_holder", pool_holder),
	FIELD("ConstantPool", "_length", pool_length),
	FIELD("Klass", "_name", klass_name),
	FIELD("InstanceKlass", "_methods", klass_methods),
	MAYBE("Symbol", "_hash_and_refcount", sym_hash), /* from 12 */
	MAYBE("Symbol", "_identity_hash", sym_hash),
	MAYBE("Symbol", "_refcount", sym_refcount),
	FIELD("Symbol", "_length", sym_length),
	FIELD("Symbol", "_body", sym_body),
	MAYBE("Klass", "_super", klass_super),
	MAYBE("InstanceKlass", "_constants", klass_constants),
	MAYBE("InstanceKlass", "_fieldinfo_stream", klass_fieldinfo),	 /* from 21 */
	MAYBE_S("MetaspaceObj", "_shared_metaspace_base", archive_from), /* from 12 */
	MAYBE_S("MetaspaceObj", "_shared_metaspace_top", archive_to),
	MAYBE_S("CompressedOops", "_narrow_oop._base", narrow_oop_base),
	MAYBE_S("CompressedOops", "_base", narrow_oop_base), /* from 25 */
	MAYBE_S("CompressedOops", "_narrow_oop._shift", narrow_oop_shift),
	MAYBE_S("CompressedOops", "_shift", narrow_oop_shift),
	MAYBE_S("Universe", "_narrow_klass._base", narrow_klass_base), /* to 16 */
	MAYBE_S("Universe", "_narrow_klass._shift", narrow_klass_shift),
	MAYBE_S("CompressedKlassPointers", "_narrow_klass._base", narrow_klass_base),
	MAYBE_S("CompressedKlassPointers", "_base", narrow_klass_base),
	MAYBE_S("CompressedKlassPointers", "_narrow_klass._shift", narrow_klass_shift),
	MAYBE_S("CompressedKlassPointers", "_shift", narrow_klass_shift),
	MAYBE("CompilerThread", "_env", compiler_env),
	MAYBE("ciEnv", "_task", env_task),
	MAYBE("CompileTask", "_method", task_method),
	FIELD("JavaFrameAnchor", "_last_Java_sp", anchor_sp),
	FIELD("JavaFrameAnchor", "_last_Java_pc", anchor_pc),
	FIELD("JavaFrameAnchor", "_last_Java_fp", anchor_fp),
	FIELD("JavaThread", "_anchor", thread_anchor),
	FIELD("JavaCallWrapper", "_anchor", wrapper_anchor),
	MAYBE("JavaThread", "_osthread", thread_osthread),
	MAYBE("Thread", "_osthread", thread_osthread),
	MAYBE("JavaThread", "_stack_base", thread_stack_base),
	MAYBE("JavaThread", "_stack_size", thread_stack_size),
	MAYBE("OSThread", "_thread_id", os_thread_id),
	MAYBE("OSThread", "_pthread_id", os_pthread_id),
	MAYBE("JavaThread", "_next", thread_next),
	MAYBE("ThreadsList", "_length", list_length),
	MAYBE("ThreadsList", "_threads", list_threads),
	FIELD("StubQueue", "_stub_buffer", queue_buffer),
	FIELD("StubQueue", "_queue_end", queue_end),
	FIELD("InterpreterCodelet", "_size", codelet_size),
	FIELD("InterpreterCodelet", "_description", codelet_description),
};

static const struct {
	const char *type;
	size_t at;
} sizes[] = {
	{"HeapBlock", offsetof(struct sp_fields, sizeof_heap_block)},
	{"ConstMethod", offsetof(struct sp_fields, sizeof_const_method)},
	{"ConstantPool", offsetof(struct sp_fields, sizeof_pool)},
	{"InterpreterCodelet", offsetof(struct sp_fields, sizeof_codelet)},
};

struct table {
	const struct sp_mem *mem;
	const struct sp_modules *modules;
	const struct sp_module *libjvm;
	uint64_t rows;
	uint64_t stride;
};

/* The tables announce their own layout: gHotSpotVM…EntryFieldOffset and …ArrayStride. */
static bool table_value(const struct table *t, const char *symbol, uint64_t *ret)
{
	uint64_t addr = sp_modules_symbol(t->modules, t->libjvm, symbol);

	return addr && sp_mem_u64(t->mem, addr, ret);
}

static bool table_open(struct table *t, const char *rows, const char *stride)
{
	return table_value(t, rows, &t->rows) && table_value(t, stride, &t->stride) && t->rows &&
	       t->stride >= 8 && t->stride <= STRIDE_MAX;
}

static void set32(struct sp_fields *f, size_t at, uint32_t v)
{
	memcpy((char *)f + at, &v, 4);
}

static void keep_field(struct sp_fields *f, bool *seen, const char *type, const char *field,
	bool is_static, uint64_t offset, uint64_t address)
{
	for (size_t i = 0; i < SP_COUNT(wants); i++) {
		const struct want *w = &wants[i];

		if (w->is_static != is_static || strcmp(w->field, field) || strcmp(w->type, type))
			continue;
		seen[i] = true;
		if (is_static)
			memcpy((char *)f + w->at, &address, 8);
		else
			set32(f, w->at, (uint32_t)offset);
	}
}

static bool column(const struct table *t, const uint8_t *row, uint64_t at, size_t size, void *ret)
{
	if (at > t->stride || size > t->stride - at)
		return false;
	memcpy(ret, row + at, size);
	return true;
}

static int read_structs(struct table *t, struct sp_fields *f, bool *seen)
{
	uint64_t o_type, o_field, o_static, o_offset, o_address;

	if (!table_open(t, "gHotSpotVMStructs", "gHotSpotVMStructEntryArrayStride") ||
		!table_value(t, "gHotSpotVMStructEntryTypeNameOffset", &o_type) ||
		!table_value(t, "gHotSpotVMStructEntryFieldNameOffset", &o_field) ||
		!table_value(t, "gHotSpotVMStructEntryIsStaticOffset", &o_static) ||
		!table_value(t, "gHotSpotVMStructEntryOffsetOffset", &o_offset) ||
		!table_value(t, "gHotSpotVMStructEntryAddressOffset", &o_address))
		return -ENOTSUP;
	for (uint64_t i = 0; i < ROWS_MAX; i++) {
		uint64_t type_at, field_at, offset, address;
		char type[64], field[64];
		uint32_t is_static;
		uint8_t row[STRIDE_MAX];

		if (sp_mem_read(t->mem, t->rows + i * t->stride, row, t->stride) < 0 ||
			!column(t, row, o_type, 8, &type_at) ||
			!column(t, row, o_field, 8, &field_at) ||
			!column(t, row, o_static, 4, &is_static) ||
			!column(t, row, o_offset, 8, &offset) ||
			!column(t, row, o_address, 8, &address))
			return -ENOTSUP;
		if (!type_at)
			return 0;
		if (sp_mem_str(t->mem, type_at, type, sizeof(type)) == 0 &&
			sp_mem_str(t->mem, field_at, field, sizeof(field)) == 0)
			keep_field(f, seen, type, field, is_static != 0, offset, address);
	}
	return -ENOTSUP;
}

static int read_types(struct table *t, struct sp_fields *f)
{
	uint64_t o_name, o_size;

	if (!table_open(t, "gHotSpotVMTypes", "gHotSpotVMTypeEntryArrayStride") ||
		!table_value(t, "gHotSpotVMTypeEntryTypeNameOffset", &o_name) ||
		!table_value(t, "gHotSpotVMTypeEntrySizeOffset", &o_size))
		return -ENOTSUP;
	for (uint64_t i = 0; i < ROWS_MAX; i++) {
		uint64_t row = t->rows + i * t->stride, name_at, size;
		char name[64];

		if (!sp_mem_u64(t->mem, row + o_name, &name_at) ||
			!sp_mem_u64(t->mem, row + o_size, &size))
			return -ENOTSUP;
		if (!name_at)
			return 0;
		if (sp_mem_str(t->mem, name_at, name, sizeof(name)) < 0)
			continue;
		for (size_t k = 0; k < SP_COUNT(sizes); k++)
			if (!strcmp(sizes[k].type, name))
				set32(f, sizes[k].at, (uint32_t)size);
	}
	return -ENOTSUP;
}

/* What has two forms across versions: one of them must be there. */
static const char *missing_pair(const struct sp_fields *f)
{
	if (f->array_len == SP_NO_FIELD)
		return "GrowableArrayBase::_len";
	if (f->blob_code_begin == SP_NO_FIELD && f->blob_code_offset == SP_NO_FIELD)
		return "CodeBlob::_code_begin";
	if (f->nm_method == SP_NO_FIELD)
		return "nmethod::_method";
	if (f->nm_scopes_data_begin == SP_NO_FIELD && f->nm_immutable_data == SP_NO_FIELD)
		return "nmethod::_immutable_data";
	if (f->nm_scopes_data_begin != SP_NO_FIELD && f->nm_metadata_offset == SP_NO_FIELD)
		return "nmethod::_metadata_offset";
	if (f->nm_immutable_data != SP_NO_FIELD && f->blob_mutable_data == SP_NO_FIELD &&
		f->nm_metadata_offset == SP_NO_FIELD)
		return "CodeBlob::_mutable_data";
	if (f->nm_verified_entry_ptr == SP_NO_FIELD && f->nm_verified_entry_off == SP_NO_FIELD)
		return "nmethod::_verified_entry_point";
	if (f->cm_flags == SP_NO_FIELD)
		return "ConstMethod::_flags";
	if (f->sym_hash == SP_NO_FIELD)
		return "Symbol::_hash_and_refcount";
	return NULL;
}

static int check(const struct sp_fields *f, const bool *seen, struct sp_err *err)
{
	const char *pair = missing_pair(f);

	for (size_t i = 0; i < SP_COUNT(wants); i++)
		if (wants[i].need == ALWAYS && !seen[i])
			return sp_err_set(err, -ENOTSUP,
				"this JVM does not describe %s::%s, so Java frames cannot be "
				"unwound",
				wants[i].type, wants[i].field);
	if (pair)
		return sp_err_set(err, -ENOTSUP,
			"this JVM does not describe %s, so Java frames cannot be unwound", pair);
	for (size_t k = 0; k < SP_COUNT(sizes); k++) {
		uint32_t size;

		memcpy(&size, (const char *)f + sizes[k].at, 4);
		if (size == SP_NO_FIELD)
			return sp_err_set(err, -ENOTSUP,
				"this JVM does not give the size of %s, so Java frames cannot be "
				"unwound",
				sizes[k].type);
	}
	return 0;
}

int sp_vmstructs_read(struct sp_fields *f, const struct sp_mem *mem,
	const struct sp_modules *modules, struct sp_err *err)
{
	struct table t = {.mem = mem, .modules = modules};
	bool seen[SP_COUNT(wants)] = {false};

	t.libjvm = sp_modules_by_name(modules, "libjvm.so");
	if (!t.libjvm)
		return sp_err_set(err, -ENOENT, "no libjvm.so is loaded in this process");
	memset(f, 0xff, sizeof(*f));
	f->code_low = f->code_high = f->thread_list = f->thread_first = f->vm_version = 0;
	f->narrow_oop_base = f->narrow_oop_shift = 0;
	f->narrow_klass_base = f->narrow_klass_shift = 0;
	if (read_structs(&t, f, seen) < 0 || read_types(&t, f) < 0)
		return sp_err_set(err, -ENOTSUP,
			"%s has no readable gHotSpotVMStructs tables, so Java frames cannot be "
			"unwound",
			t.libjvm->path);
	return check(f, seen, err);
}
