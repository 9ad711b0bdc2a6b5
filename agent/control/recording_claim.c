/* Recordings of other builds in the same process: see recording_claim.h. The neighbour's symbol is
 * looked up in its mapped dynamic table (gABI "Dynamic Section"), not by dlopen/dlsym: those may
 * allocate, and a thread that allocates leaves a malloc arena behind in the host. */
#include "recording_claim.h"
#include "base/build_id.h"
#include "base/clock.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

static const char magic[8] = "sprkown1";

__attribute__((visibility("default"))) struct sparkprof_owner sparkprof_owner = {
	.magic = "sprkown1", .size = sizeof(struct sparkprof_owner)};

struct tables {
	const ElfW(Sym) * sym;
	const char *str;
	const uint32_t *gnu_hash;
};

/* glibc has relocated the addresses in a mapped dynamic section; other loaders leave offsets. */
static const void *at(const struct dl_phdr_info *lib, ElfW(Addr) a)
{
	return (const void *)(a < lib->dlpi_addr ? a + lib->dlpi_addr : a);
}

static bool find_tables(const struct dl_phdr_info *lib, struct tables *ret)
{
	const ElfW(Dyn) *d = NULL;

	memset(ret, 0, sizeof(*ret));
	for (int i = 0; i < lib->dlpi_phnum; i++)
		if (lib->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const void *)(lib->dlpi_addr + lib->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			ret->sym = at(lib, d->d_un.d_ptr);
		else if (d->d_tag == DT_STRTAB)
			ret->str = at(lib, d->d_un.d_ptr);
		else if (d->d_tag == DT_GNU_HASH)
			ret->gnu_hash = at(lib, d->d_un.d_ptr);
	}
	return ret->sym && ret->str && ret->gnu_hash;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	while (*name)
		h = h * 33 + (uint8_t)*name++;
	return h;
}

static const void *find_symbol(const struct dl_phdr_info *lib, const char *name)
{
	struct tables t;
	const uint32_t *buckets, *chain;
	uint32_t n, first, h = gnu_hash(name);

	if (!find_tables(lib, &t) || t.gnu_hash[0] == 0)
		return NULL;
	n = t.gnu_hash[0];
	first = t.gnu_hash[1];
	buckets = t.gnu_hash + 4 + t.gnu_hash[2] * (sizeof(ElfW(Addr)) / 4);
	chain = buckets + n;
	for (uint32_t i = buckets[h % n]; i >= first; i++) {
		uint32_t c = chain[i - first];

		if ((c | 1) == (h | 1) && strcmp(t.str + t.sym[i].st_name, name) == 0 &&
			t.sym[i].st_shndx != SHN_UNDEF)
			return (const void *)(lib->dlpi_addr + t.sym[i].st_value);
		if (c & 1)
			break;
	}
	return NULL;
}

struct search {
	bool found;
	uint64_t since_ns;
	char *who;
	unsigned len;
};

/* By what it has, not by its name: a library may have been given another one. */
static int look_at_library(struct dl_phdr_info *lib, size_t size, void *ctx)
{
	struct search *s = ctx;
	const struct sparkprof_owner *o;

	o = find_symbol(lib, "sparkprof_owner");
	if (!o || o == &sparkprof_owner || memcmp(o->magic, magic, sizeof(magic)) != 0 ||
		o->size < sizeof(*o) || !__atomic_load_n(&o->claimed, __ATOMIC_SEQ_CST))
		return 0;
	s->found = true;
	s->since_ns = o->since_ns;
	snprintf(s->who, s->len, "%.*s", (int)sizeof(o->who) - 1, o->who);
	return 1;
}

struct copy {
	char build[SP_BUILD_ID_HEX + 1];
	const char *symbol;
	const void *found;
};

/* The dynamic loader lists libraries in the order in which they were mapped. */
static int look_for_copy(struct dl_phdr_info *lib, size_t size, void *ctx)
{
	struct copy *c = ctx;
	char build[SP_BUILD_ID_HEX + 1];
	const void *owner;

	owner = find_symbol(lib, "sparkprof_owner");
	if (!owner)
		return 0;
	if (owner == &sparkprof_owner)
		return 1;
	sp_build_id((const void *)lib->dlpi_addr, build);
	if (strcmp(build, c->build) != 0)
		return 0;
	c->found = find_symbol(lib, c->symbol);
	return 1;
}

extern const char __ehdr_start[] __attribute__((visibility("hidden"))); /* by the linker */

const void *sp_recording_claim_first_copy(const char *symbol)
{
	struct copy c = {.symbol = symbol};

	sp_build_id(__ehdr_start, c.build);
	dl_iterate_phdr(look_for_copy, &c);
	return c.found;
}

bool sp_recording_claim_other(uint64_t *ret_since_ns, char *ret_who, unsigned len)
{
	struct search s = {.who = ret_who, .len = len};

	dl_iterate_phdr(look_at_library, &s);
	if (s.found)
		*ret_since_ns = s.since_ns;
	return s.found;
}

bool sp_recording_claim_claim(const char *who, uint64_t *ret_since_ns, char *ret_who, unsigned len)
{
	snprintf(sparkprof_owner.who, sizeof(sparkprof_owner.who), "%s", who);
	sparkprof_owner.since_ns = sp_clock_wall_ns();
	__atomic_store_n(&sparkprof_owner.claimed, 1, __ATOMIC_SEQ_CST);
	if (!sp_recording_claim_other(ret_since_ns, ret_who, len))
		return true;
	sp_recording_claim_release();
	return false;
}

void sp_recording_claim_release(void)
{
	__atomic_store_n(&sparkprof_owner.claimed, 0, __ATOMIC_SEQ_CST);
}
