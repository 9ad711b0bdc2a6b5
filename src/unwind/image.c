/* ELF as it lies in memory (gABI chapters 4 and 5): no file is opened. */
#include "unwind/image.h"

#include "unwind/arch.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define PHDRS_MAX   64
#define DYN_MAX	    256
#define SYMBOLS_MAX 2000000u

static bool is_elf(const Elf64_Ehdr *eh)
{
	return !memcmp(eh->e_ident, ELFMAG, SELFMAG) && eh->e_ident[EI_CLASS] == ELFCLASS64 &&
	       eh->e_machine == SP_ARCH_MACHINE && eh->e_phentsize == sizeof(Elf64_Phdr) &&
	       eh->e_phnum > 0 && eh->e_phnum <= PHDRS_MAX;
}

/* The dynamic linker relocates the pointers in place, except in images it may not write (vdso). */
static uint64_t dyn_ptr(const struct sp_module *mod, uint64_t value)
{
	return value < mod->start ? value + mod->base : value;
}

/* DT_GNU_HASH has no symbol count: it is one more than the end of the longest chain. */
static uint64_t gnu_hash_count(const struct sp_mem *mem, uint64_t hash)
{
	uint32_t head[4], last = 0, word;
	uint64_t buckets, chains;

	if (sp_mem_read(mem, hash, head, sizeof(head)) < 0 || head[0] > SYMBOLS_MAX ||
		head[2] > SYMBOLS_MAX)
		return 0;
	buckets = hash + 16 + 8ull * head[2];
	chains = buckets + 4ull * head[0];
	for (uint32_t i = 0; i < head[0]; i++) {
		if (!sp_mem_u32(mem, buckets + 4ull * i, &word))
			return 0;
		if (word > last)
			last = word;
	}
	if (last < head[1])
		return head[1];
	for (; last < SYMBOLS_MAX; last++) {
		if (!sp_mem_u32(mem, chains + 4ull * (last - head[1]), &word))
			return 0;
		if (word & 1)
			break;
	}
	return last + 1;
}

static void read_dynamic(const struct sp_mem *mem, struct sp_module *mod, uint64_t addr)
{
	uint64_t gnu = 0, sysv = 0;
	uint32_t count;
	Elf64_Dyn d;

	for (int i = 0; i < DYN_MAX; i++) {
		if (sp_mem_read(mem, addr + sizeof(d) * (unsigned)i, &d, sizeof(d)) < 0 ||
			d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_SYMTAB)
			mod->dynsym = dyn_ptr(mod, d.d_un.d_ptr);
		else if (d.d_tag == DT_STRTAB)
			mod->dynstr = dyn_ptr(mod, d.d_un.d_ptr);
		else if (d.d_tag == DT_STRSZ)
			mod->dynstr_len = d.d_un.d_val;
		else if (d.d_tag == DT_GNU_HASH)
			gnu = dyn_ptr(mod, d.d_un.d_ptr);
		else if (d.d_tag == DT_HASH)
			sysv = dyn_ptr(mod, d.d_un.d_ptr);
	}
	if (sysv && sp_mem_u32(mem, sysv + 4, &count) && count <= SYMBOLS_MAX)
		mod->dynsym_count = count;
	else if (gnu)
		mod->dynsym_count = gnu_hash_count(mem, gnu);
	mod->gnu_hash = gnu;
}

static void read_notes(const struct sp_mem *mem, struct sp_module *mod, uint64_t addr, uint64_t len)
{
	uint64_t pos = 0;

	while (pos + sizeof(Elf64_Nhdr) <= len && pos < 65536) {
		Elf64_Nhdr n;
		char name[4];
		uint64_t desc;

		if (sp_mem_read(mem, addr + pos, &n, sizeof(n)) < 0)
			return;
		desc = pos + sizeof(n) + ((n.n_namesz + 3ull) & ~3ull);
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
			n.n_descsz <= SP_BUILD_ID_MAX && desc + n.n_descsz <= len &&
			sp_mem_read(mem, addr + pos + sizeof(n), name, 4) == 0 &&
			!memcmp(name, "GNU", 4) &&
			sp_mem_read(mem, addr + desc, mod->build_id, n.n_descsz) == 0) {
			mod->build_id_len = (uint8_t)n.n_descsz;
			return;
		}
		pos = desc + ((n.n_descsz + 3ull) & ~3ull);
	}
}

/* The program headers of the image that starts at @start. Returns how many, or 0. */
static int read_headers(const struct sp_mem *mem, uint64_t start, Elf64_Phdr ph[PHDRS_MAX])
{
	Elf64_Ehdr eh;

	if (sp_mem_read(mem, start, &eh, sizeof(eh)) < 0 || !is_elf(&eh) ||
		sp_mem_read(mem, start + eh.e_phoff, ph, eh.e_phnum * sizeof(ph[0])) < 0)
		return 0;
	return eh.e_phnum;
}

/* The segment with the file's first page, which the image starts with. */
static const Elf64_Phdr *first_load(const Elf64_Phdr *ph, int count)
{
	for (int i = 0; i < count; i++)
		if (ph[i].p_type == PT_LOAD && (ph[i].p_offset & ~0xfffull) == 0)
			return &ph[i];
	return NULL;
}

bool sp_image_starts_with_code(const struct sp_mem *mem, uint64_t start)
{
	Elf64_Phdr ph[PHDRS_MAX];
	const Elf64_Phdr *first = first_load(ph, read_headers(mem, start, ph));

	return first && first->p_flags & PF_X;
}

int sp_image_read(const struct sp_mem *mem, struct sp_module *mod)
{
	Elf64_Phdr ph[PHDRS_MAX];
	int count = read_headers(mem, mod->start, ph);
	const Elf64_Phdr *first = first_load(ph, count);

	if (!first)
		return -ENOEXEC;
	mod->base = mod->start - (first->p_vaddr & ~0xfffull);
	for (int i = 0; i < count; i++) {
		uint64_t addr = mod->base + ph[i].p_vaddr;

		if (ph[i].p_type == PT_GNU_EH_FRAME) {
			mod->eh_frame_hdr = addr;
			mod->eh_frame_hdr_len = ph[i].p_memsz;
		} else if (ph[i].p_type == PT_DYNAMIC) {
			read_dynamic(mem, mod, addr);
		} else if (ph[i].p_type == PT_NOTE && !mod->build_id_len) {
			read_notes(mem, mod, addr, ph[i].p_memsz);
		}
	}
	return 0;
}

static bool symbol_at(
	const struct sp_mem *mem, const struct sp_module *mod, uint64_t i, Elf64_Sym *ret)
{
	return sp_mem_read(mem, mod->dynsym + i * sizeof(*ret), ret, sizeof(*ret)) == 0 &&
	       ret->st_shndx != SHN_UNDEF && ret->st_value && ret->st_name < mod->dynstr_len;
}

/* The symbol's address if number @i is called @name, else 0. */
static uint64_t symbol_if(
	const struct sp_mem *mem, const struct sp_module *mod, uint64_t i, const char *name)
{
	size_t len = strlen(name) + 1;
	char got[128];
	Elf64_Sym s;

	if (len > sizeof(got) || !symbol_at(mem, mod, i, &s) ||
		sp_mem_read(mem, mod->dynstr + s.st_name, got, len) < 0 ||
		memcmp(got, name, len) != 0)
		return 0;
	return mod->base + s.st_value;
}

/* DT_GNU_HASH: header, bloom filter, buckets, then a chain of hashes per bucket. */
static uint64_t symbol_by_hash(
	const struct sp_mem *mem, const struct sp_module *mod, const char *name)
{
	uint32_t head[4], hash = 5381, i, chain;
	uint64_t buckets, chains, found;

	for (const char *p = name; *p; p++)
		hash = hash * 33 + (uint8_t)*p;
	if (sp_mem_read(mem, mod->gnu_hash, head, sizeof(head)) < 0 || !head[0] ||
		head[2] > SYMBOLS_MAX)
		return 0;
	buckets = mod->gnu_hash + 16 + 8ull * head[2];
	chains = buckets + 4ull * head[0];
	if (!sp_mem_u32(mem, buckets + 4ull * (hash % head[0]), &i) || i < head[1])
		return 0;
	for (; i < SYMBOLS_MAX; i++) {
		if (!sp_mem_u32(mem, chains + 4ull * (i - head[1]), &chain))
			return 0;
		if ((chain | 1) == (hash | 1)) {
			found = symbol_if(mem, mod, i, name);
			if (found)
				return found;
		}
		if (chain & 1)
			return 0;
	}
	return 0;
}

uint64_t sp_image_symbol(const struct sp_mem *mem, const struct sp_module *mod, const char *name)
{
	uint64_t found = 0;

	if (!mod->dynsym || !mod->dynstr)
		return 0;
	if (mod->gnu_hash)
		return symbol_by_hash(mem, mod, name);
	for (uint64_t i = 1; i < mod->dynsym_count && !found; i++)
		found = symbol_if(mem, mod, i, name);
	return found;
}

int sp_image_name(
	const struct sp_mem *mem, const struct sp_module *mod, uint64_t pc, char *buf, size_t size)
{
	uint64_t rel = pc - mod->base;
	Elf64_Sym s;

	if (!mod->dynsym || !mod->dynstr)
		return -ENOENT;
	for (uint64_t i = 1; i < mod->dynsym_count; i++)
		if (symbol_at(mem, mod, i, &s) && ELF64_ST_TYPE(s.st_info) == STT_FUNC &&
			rel >= s.st_value && rel < s.st_value + s.st_size)
			return sp_mem_str(mem, mod->dynstr + s.st_name, buf, size) < 0 ? -ENOENT
										       : 0;
	return -ENOENT;
}
