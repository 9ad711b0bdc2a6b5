/* The sorted table of functions: filling, putting in order, searching. No ELF in here. */
#include "elf/symtab_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* How far back a search looks for a symbol that encloses others (hand-written assembly). */
#define NESTED_MAX 16

int sp_symtab_new(struct sp_symtab **ret)
{
	struct sp_symtab *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	sp_buf_init(&t->names);
	sp_buf_init(&t->origin);
	*ret = t;
	return 0;
}

void sp_symtab_free(struct sp_symtab *t)
{
	if (!t)
		return;
	free(t->entries);
	free(t->ranks);
	free(t->limits);
	sp_buf_done(&t->names);
	sp_buf_done(&t->origin);
	free(t);
}

/* Resizes one array, leaving it as it was on failure. */
static bool resize(void *array, size_t n, size_t size)
{
	void *p = reallocarray(*(void **)array, n, size);

	if (p)
		*(void **)array = p;
	return p;
}

static int grow(struct sp_symtab *t)
{
	size_t cap = t->cap ? t->cap * 2 : 1024;

	if (!resize(&t->entries, cap, sizeof(*t->entries)) ||
		!resize(&t->ranks, cap, sizeof(*t->ranks)) ||
		!resize(&t->limits, cap, sizeof(*t->limits)))
		return -ENOMEM;
	t->cap = cap;
	return 0;
}

int sp_symtab_add(struct sp_symtab *t, uint64_t addr, uint64_t size, uint64_t limit,
	const char *name, size_t name_len, unsigned rank)
{
	struct sp_symtab_entry e = {addr, size > UINT32_MAX ? UINT32_MAX : (uint32_t)size, 0};

	if (t->names.len + name_len + 1 > UINT32_MAX || (t->count == t->cap && grow(t) < 0)) {
		t->failed = true;
		return -ENOMEM;
	}
	e.name = (uint32_t)t->names.len;
	sp_buf_add(&t->names, name, name_len);
	sp_buf_addc(&t->names, 0);
	if (t->names.failed) {
		t->failed = true;
		return -ENOMEM;
	}
	t->entries[t->count] = e;
	t->ranks[t->count] = (uint8_t)(rank > 255 ? 255 : rank);
	t->limits[t->count++] = limit;
	return 0;
}

/* By address, then rank, then name, so that the outcome does not depend on the sort. */
static int compare(const void *a, const void *b, void *arg)
{
	const struct sp_symtab *t = arg;
	size_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct sp_symtab_entry *x = &t->entries[i], *y = &t->entries[j];

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (t->ranks[i] != t->ranks[j])
		return t->ranks[i] < t->ranks[j] ? -1 : 1;
	return strcmp(t->names.data + x->name, t->names.data + y->name);
}

/* Gives symbols without a size theirs: up to the next symbol or their limit. */
static uint32_t open_size(uint64_t addr, uint64_t limit, uint64_t next)
{
	uint64_t end = next;

	if (limit > addr && limit < end)
		end = limit;
	return end - addr > UINT32_MAX ? UINT32_MAX : (uint32_t)(end - addr);
}

int sp_symtab_finish(struct sp_symtab *t)
{
	SP_AUTO_FREE uint32_t *order = calloc(t->count + 1, sizeof(*order));
	struct sp_symtab_entry *sorted = calloc(t->count + 1, sizeof(*sorted));
	size_t n = 0;

	if (!order || !sorted || t->count > UINT32_MAX || t->failed || t->origin.failed) {
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < t->count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, t->count, sizeof(*order), compare, t);
	for (size_t i = 0; i < t->count; i++) {
		struct sp_symtab_entry e = t->entries[order[i]];
		size_t next = i + 1;

		if (n > 0 && sorted[n - 1].addr == e.addr)
			continue;
		while (next < t->count && t->entries[order[next]].addr == e.addr)
			next++;
		if (e.size == 0)
			e.size = open_size(e.addr, t->limits[order[i]],
				next < t->count ? t->entries[order[next]].addr : UINT64_MAX);
		sorted[n++] = e;
	}
	free(t->entries);
	t->entries = sorted;
	t->count = t->cap = n;
	free(sp_steal_ptr(t->ranks));
	free(sp_steal_ptr(t->limits));
	return 0;
}

int sp_symtab_find(const struct sp_symtab *t, uint64_t pc, const char **ret_name)
{
	size_t lo = 0, hi = t->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->entries[mid].addr <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t back = 0; back < NESTED_MAX && back < lo; back++) {
		const struct sp_symtab_entry *e = &t->entries[lo - 1 - back];

		if (pc - e->addr < e->size) {
			*ret_name = t->names.data + e->name;
			return 0;
		}
	}
	return -ENOENT;
}

int sp_symtab_address(const struct sp_symtab *t, uint64_t file_offset, uint64_t *ret_addr)
{
	for (unsigned i = 0; i < t->segment_count; i++) {
		if (file_offset - t->segments[i].offset < t->segments[i].size) {
			*ret_addr = file_offset - t->segments[i].offset + t->segments[i].addr;
			return 0;
		}
	}
	return -ENOENT;
}

size_t sp_symtab_count(const struct sp_symtab *t)
{
	return t->count;
}

size_t sp_symtab_bytes(const struct sp_symtab *t)
{
	return sizeof(*t) + t->cap * sizeof(*t->entries) + t->names.cap + t->origin.cap;
}

bool sp_symtab_get(const struct sp_symtab *t, size_t n, uint64_t *ret_addr, const char **ret_name)
{
	if (n >= t->count)
		return false;
	*ret_addr = t->entries[n].addr;
	*ret_name = t->names.data + t->entries[n].name;
	return true;
}

const char *sp_symtab_origin(const struct sp_symtab *t)
{
	return sp_buf_str((struct sp_buf *)&t->origin);
}

const char *sp_symtab_build_id(const struct sp_symtab *t)
{
	return t->build_id;
}
