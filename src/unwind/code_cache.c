/* CodeCache by address: CodeHeap's segment map leads to the block, the block to the CodeBlob. */
#include "unwind/code_cache.h"

#include <errno.h>
#include <string.h>

#define SEGMENT_FREE 0xff
#define HOPS_MAX     100000
#define NAME_MAX_    32

static const struct sp_heap *heap_of(const struct sp_hotspot *h, uint64_t pc)
{
	for (uint32_t i = 0; i < h->heap_count; i++) {
		struct sp_heap *heap = (struct sp_heap *)&h->heaps[i];

		if (pc < heap->low || pc >= heap->end)
			continue;
		if (pc >= heap->committed)
			sp_layout_committed(h, heap);
		return heap;
	}
	return NULL;
}

/* Each byte of the segment map is the distance, in segments, to (or towards) the block's start. */
static int block_of(const struct sp_hotspot *h, uint64_t pc, uint64_t *ret)
{
	const struct sp_heap *heap = heap_of(h, pc);
	uint64_t seg;
	uint8_t dist, used;

	if (!heap)
		return -ENOENT;
	seg = (pc - heap->low) >> heap->log2_segment;
	for (int hops = 0; hops < HOPS_MAX; hops++) {
		if (!sp_mem_u8(h->mem, heap->segmap + seg, &dist))
			return -EFAULT;
		if (dist == SEGMENT_FREE || dist > seg)
			return -ENOENT;
		if (dist == 0)
			break;
		seg -= dist;
	}
	*ret = heap->low + (seg << heap->log2_segment);
	if (!sp_mem_u8(h->mem, *ret + h->f.block_used, &used))
		return -EFAULT;
	return used ? 0 : -ENOENT;
}

static bool starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static uint8_t kind_of(const char *name, uint32_t frame_size)
{
	if (!strcmp(name, "nmethod"))
		return SP_BLOB_NMETHOD;
	if (!strcmp(name, "native nmethod"))
		return SP_BLOB_NATIVE_NMETHOD;
	if (!strcmp(name, "Interpreter"))
		return SP_BLOB_INTERPRETER;
	if (starts(name, "I2C/C2I"))
		return SP_BLOB_ADAPTER;
	if (starts(name, "vtable") || starts(name, "itable") || starts(name, "MethodHandles"))
		return SP_BLOB_LEAF;
	if (starts(name, "StubRoutines") || frame_size == 0)
		return SP_BLOB_STUB_ROUTINES;
	return SP_BLOB_RUNTIME;
}

/* Where code lies: addresses to JDK 22, offsets from the blob since (JDK-8329332). */
static bool read_range(const struct sp_hotspot *h, struct sp_blob *b)
{
	uint32_t code, data;

	if (h->f.blob_code_begin != SP_NO_FIELD)
		return sp_mem_u64(h->mem, b->addr + h->f.blob_code_begin, &b->code_begin) &&
		       sp_mem_u64(h->mem, b->addr + h->f.blob_code_end, &b->code_end);
	if (!sp_mem_u32(h->mem, b->addr + h->f.blob_code_offset, &code) ||
		!sp_mem_u32(h->mem, b->addr + h->f.blob_data_offset, &data))
		return false;
	b->code_begin = b->addr + code;
	b->code_end = b->addr + data;
	return true;
}

static bool read_handler(const struct sp_hotspot *h, const struct sp_blob *b, uint32_t as_address,
	uint32_t as_offset, uint64_t *ret)
{
	uint32_t off;

	*ret = 0;
	if (as_address != SP_NO_FIELD)
		return sp_mem_u64(h->mem, b->addr + as_address, ret);
	if (as_offset == SP_NO_FIELD)
		return true;
	if (!sp_mem_u32(h->mem, b->addr + as_offset, &off))
		return false;
	if (off != 0xffffffff)
		*ret = b->addr + off;
	return true;
}

static bool read_nmethod(const struct sp_hotspot *h, struct sp_blob *b)
{
	const struct sp_fields *f = &h->f;
	uint32_t orig;
	uint16_t entry;

	if (!sp_mem_u64(h->mem, b->addr + f->nm_method, &b->method) ||
		!sp_mem_u32(h->mem, b->addr + f->nm_compile_id, &b->compile_id) ||
		!sp_mem_u8(h->mem, b->addr + f->nm_comp_level, &b->comp_level) ||
		!sp_mem_u32(h->mem, b->addr + f->nm_orig_pc, &orig) ||
		!read_handler(h, b, f->nm_deopt_begin, f->nm_deopt_offset, &b->deopt) ||
		!read_handler(h, b, f->nm_deopt_mh_begin, f->nm_deopt_mh_offset, &b->deopt_mh))
		return false;
	b->orig_pc_offset = (int32_t)orig;
	if (f->nm_verified_entry_ptr != SP_NO_FIELD)
		return sp_mem_u64(h->mem, b->addr + f->nm_verified_entry_ptr, &b->verified_entry);
	if (!sp_mem_u16(h->mem, b->addr + f->nm_verified_entry_off, &entry))
		return false;
	b->verified_entry = b->code_begin + entry;
	return true;
}

static bool read_frame(const struct sp_hotspot *h, struct sp_blob *b)
{
	uint32_t words, complete;

	if (!sp_mem_u32(h->mem, b->addr + h->f.blob_frame_size, &words))
		return false;
	b->frame_size = words > 100000 ? 0 : words * 8;
	if (h->f.blob_code_begin == SP_NO_FIELD) { /* int16_t since 23 */
		uint16_t c;

		if (!sp_mem_u16(h->mem, b->addr + h->f.blob_frame_complete, &c))
			return false;
		b->frame_complete = (int16_t)c;
		return true;
	}
	if (!sp_mem_u32(h->mem, b->addr + h->f.blob_frame_complete, &complete))
		return false;
	b->frame_complete = (int32_t)complete;
	return true;
}

/* Whether a native method's name is that of the continuation entry (19 and later). */
static bool enters_continuation(const struct sp_hotspot *h, uint64_t method)
{
	static const char name[] = "enterSpecial";
	const struct sp_fields *f = &h->f;
	uint64_t cm, pool, sym;
	uint16_t index, len;
	char got[sizeof(name) - 1];

	return h->version >= 19 && sp_code_cache_method(h, method, &cm) &&
	       sp_mem_u64(h->mem, cm + f->cm_constants, &pool) &&
	       sp_mem_u16(h->mem, cm + f->cm_name, &index) &&
	       sp_mem_u64(h->mem, pool + f->sizeof_pool + 8ull * index, &sym) &&
	       sp_mem_u16(h->mem, sym + f->sym_length, &len) && len == sizeof(got) &&
	       sp_mem_read(h->mem, sym + f->sym_body, got, sizeof(got)) == 0 &&
	       !memcmp(got, name, sizeof(got));
}

int sp_code_cache_find(const struct sp_hotspot *h, uint64_t pc, struct sp_blob *ret)
{
	char name[NAME_MAX_];
	uint64_t block;
	int r = block_of(h, pc, &block);

	if (r < 0)
		return r;
	memset(ret, 0, sizeof(*ret));
	ret->addr = block + h->f.sizeof_heap_block;
	if (!sp_mem_u64(h->mem, ret->addr + h->f.blob_name, &ret->name) ||
		sp_mem_str(h->mem, ret->name, name, sizeof(name)) < 0 || !read_range(h, ret) ||
		!read_frame(h, ret))
		return -EFAULT;
	if (pc < ret->code_begin || pc >= ret->code_end)
		return -ENOENT;
	ret->kind = kind_of(name, ret->frame_size);
	if (ret->kind <= SP_BLOB_NATIVE_NMETHOD && !read_nmethod(h, ret))
		return -EFAULT;
	if (ret->kind == SP_BLOB_NATIVE_NMETHOD)
		ret->continuation = enters_continuation(h, ret->method);
	return 0;
}

bool sp_code_cache_same(const struct sp_hotspot *h, const struct sp_blob *b)
{
	uint64_t name;
	uint32_t id;
	uint8_t used;

	if (!sp_mem_u8(h->mem, b->addr - h->f.sizeof_heap_block + h->f.block_used, &used) ||
		!used || !sp_mem_u64(h->mem, b->addr + h->f.blob_name, &name) || name != b->name)
		return false;
	if (b->kind > SP_BLOB_NATIVE_NMETHOD)
		return true;
	return sp_mem_u32(h->mem, b->addr + h->f.nm_compile_id, &id) && id == b->compile_id;
}

bool sp_code_cache_method(const struct sp_hotspot *h, uint64_t method, uint64_t *ret_const)
{
	uint64_t cm, pool;

	if (method < 4096 || (method & 7) || !sp_mem_u64(h->mem, method + h->f.method_const, &cm) ||
		cm < 4096 || (cm & 7) || !sp_mem_u64(h->mem, cm + h->f.cm_constants, &pool) ||
		pool < 4096 || (pool & 7))
		return false;
	*ret_const = cm;
	return true;
}

bool sp_code_cache_method_in(
	const struct sp_hotspot *h, const struct sp_blob *b, uint64_t method, uint64_t *ret_const)
{
	uint64_t hash = (method ^ b->addr << 7) * 0x9e3779b97f4a7c15ull;
	struct sp_code_method *m = &h->code_methods[hash >> 40 & (SP_CODE_METHODS - 1)];

	if (m->code != b->addr || m->compile_id != b->compile_id || m->method != method) {
		struct sp_code_method now = {b->addr, method, 0, b->compile_id};

		if (!sp_code_cache_method(h, method, &now.const_method))
			return false;
		*m = now;
	}
	*ret_const = m->const_method;
	return true;
}

int32_t sp_code_cache_bci(const struct sp_hotspot *h, uint64_t const_method, uint64_t bcp)
{
	uint64_t codes = const_method + h->f.sizeof_const_method;
	uint16_t size;

	if (!sp_mem_u16(h->mem, const_method + h->f.cm_code_size, &size) || bcp < codes ||
		bcp - codes >= size)
		return -1;
	return (int32_t)(bcp - codes);
}
