/* Debug information of compiled methods: PcDesc (pc to scope) and ScopeDesc (method, bci, and the
 * scope that it is inlined into), in HotSpot's compressed stream. */
#include "unwind/code_cache.h"

#include "unwind/bytes.h"

#include <errno.h>

#define PCDESC_SIZE 16
#define PCS_MAX	    (1u << 22)

struct debug_info {
	uint64_t pcs, pcs_end;
	uint64_t scopes;
	uint64_t metadata;
};

static bool locate_17(const struct sp_hotspot *h, uint64_t nm, struct debug_info *ret)
{
	uint32_t pcs, deps, metadata;

	if (!sp_mem_u64(h->mem, nm + h->f.nm_scopes_data_begin, &ret->scopes) ||
		!sp_mem_u32(h->mem, nm + h->f.nm_scopes_pcs_offset, &pcs) ||
		!sp_mem_u32(h->mem, nm + h->f.nm_dependencies_offset, &deps) ||
		!sp_mem_u32(h->mem, nm + h->f.nm_metadata_offset, &metadata))
		return false;
	ret->pcs = nm + pcs;
	ret->pcs_end = nm + deps;
	ret->metadata = nm + metadata;
	return true;
}

/* Since 23 (JDK-8329433) debug information lies outside of the code cache; since 25 so does mutable
 * data: relocations, then metadata. */
static bool locate_25(const struct sp_hotspot *h, uint64_t nm, struct debug_info *ret)
{
	uint64_t data, mutable_data;
	uint32_t pcs, scopes, relocation;

	if (!sp_mem_u64(h->mem, nm + h->f.nm_immutable_data, &data) ||
		!sp_mem_u32(h->mem, nm + h->f.nm_scopes_pcs_offset, &pcs) ||
		!sp_mem_u32(h->mem, nm + h->f.nm_scopes_data_offset, &scopes))
		return false;
	ret->pcs = data + pcs;
	ret->pcs_end = ret->scopes = data + scopes;
	if (h->f.blob_mutable_data == SP_NO_FIELD) {
		if (!sp_mem_u32(h->mem, nm + h->f.nm_metadata_offset, &relocation))
			return false;
		ret->metadata = nm + relocation;
		return true;
	}
	if (!sp_mem_u64(h->mem, nm + h->f.blob_mutable_data, &mutable_data) ||
		!sp_mem_u32(h->mem, nm + h->f.blob_relocation_size, &relocation))
		return false;
	ret->metadata = mutable_data + relocation;
	return true;
}

static bool locate(const struct sp_hotspot *h, uint64_t nm, struct debug_info *ret)
{
	if (h->f.nm_immutable_data != SP_NO_FIELD)
		return locate_25(h, nm, ret);
	return locate_17(h, nm, ret);
}

/* The first PcDesc at or after @off. The table ends with sentinels at both sides. */
static int find_desc(
	const struct sp_hotspot *h, const struct debug_info *d, int32_t off, int32_t *ret)
{
	uint64_t lo = 0, hi, n;
	int32_t pc;

	if (d->pcs_end <= d->pcs || d->pcs_end - d->pcs > PCS_MAX)
		return -EBADMSG;
	hi = n = (d->pcs_end - d->pcs) / PCDESC_SIZE;
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (sp_mem_read(h->mem, d->pcs + mid * PCDESC_SIZE, &pc, 4) < 0)
			return -EFAULT;
		if (pc < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == n || sp_mem_read(h->mem, d->pcs + lo * PCDESC_SIZE, ret, 8) < 0)
		return -ENOENT;
	return ret[1] <= 0 ? -ENOENT : 0;
}

/* The chain of scopes from @at on, innermost first. Returns their number or -EBADMSG. */
static int read_scopes(const struct sp_hotspot *h, const struct sp_blob *b,
	const struct debug_info *d, uint32_t at, struct sp_scope *ret, unsigned max)
{
	bool no_zero = h->version >= 20;
	unsigned n = 0;

	do {
		struct sp_bytes bytes;
		uint32_t sender, index;

		sp_bytes_init(&bytes, h->mem, d->scopes + at, d->scopes + at + 15);
		sender = sp_bytes_unsigned5(&bytes, no_zero);
		index = sp_bytes_unsigned5(&bytes, no_zero);
		ret[n].bci = (int32_t)sp_bytes_unsigned5(&bytes, no_zero) - 1;
		if (bytes.failed || index == 0 || index > 100000 || (sender && sender >= at) ||
			!sp_mem_u64(h->mem, d->metadata + 8ull * (index - 1), &ret[n].method))
			return -EBADMSG;
		if (!sp_code_cache_method_in(h, b, ret[n].method, &ret[n].const_method))
			ret[n].const_method = 0;
		n++;
		at = sender;
	} while (at && n < max);
	return (int)n;
}

int sp_code_cache_scopes(const struct sp_hotspot *h, const struct sp_blob *b, uint64_t pc, bool top,
	struct sp_scope *ret, unsigned max, bool *ret_exact)
{
	int32_t desc[2] = {0, 0};
	int32_t off = (int32_t)(pc - b->code_begin);
	struct debug_info d;
	int r;

	if (!locate(h, b->addr, &d))
		return -EFAULT;
	r = find_desc(h, &d, off + top, desc);
	if (r < 0)
		return r;
	*ret_exact = desc[0] == off;
	return read_scopes(h, b, &d, (uint32_t)desc[1], ret, max);
}

bool sp_code_cache_returning(const struct sp_hotspot *h, const struct sp_blob *b, uint64_t pc,
	uint64_t end, struct sp_scope *ret)
{
	struct sp_scope scopes[SP_SCOPES_MAX];
	int32_t desc[2] = {0, 0};
	int32_t off = (int32_t)(pc - b->code_begin);
	struct debug_info d;
	int n = 0;

	if (!locate(h, b->addr, &d) || find_desc(h, &d, off + 1, desc) < 0 ||
		desc[0] <= (int32_t)(end - b->code_begin))
		return false;
	if (find_desc(h, &d, off, desc) == 0 && desc[0] == off)
		n = read_scopes(h, b, &d, (uint32_t)desc[1], scopes, SP_SCOPES_MAX);
	*ret = (struct sp_scope){.method = b->method, .bci = -1};
	if (n > 0 && scopes[n - 1].method == b->method)
		*ret = scopes[n - 1];
	return ret->const_method || sp_code_cache_method_in(h, b, b->method, &ret->const_method);
}
