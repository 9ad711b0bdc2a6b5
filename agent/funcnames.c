/* See funcnames.h. ELF as gABI chapters 4 and 5 have it; 64 bits only, as the agent is. Nothing in
 * a file is believed: every offset is checked against its size. */
#include "funcnames.h"

#include "base/cleanup.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define TABLES	  64u
#define MOST_SYMS (1u << 22)

struct table {
	uint32_t module; /* id */
	const uint8_t *file;
	size_t len;
	const Elf64_Sym *syms;
	const char *names;
	size_t names_len;
	uint32_t *order; /* indices of functions by address; NULL: nothing to be had */
	size_t count;
};

struct sp_funcnames {
	struct table tables[TABLES];
	uint32_t used;
};

int sp_funcnames_new(struct sp_funcnames **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void close_table(struct table *t)
{
	if (t->order)
		munmap(t->order, t->count * sizeof(*t->order));
	if (t->file)
		munmap((void *)t->file, t->len);
	t->order = NULL;
	t->file = NULL;
	t->count = 0;
}

void sp_funcnames_free(struct sp_funcnames *t)
{
	for (uint32_t i = 0; t && i < t->used; i++)
		close_table(&t->tables[i]);
	free(t);
}

/* @n items of @size at @offset, or NULL where they do not lie in the file. */
static const void *at(const struct table *t, uint64_t offset, uint64_t n, uint64_t size)
{
	if (n && size > t->len / n)
		return NULL;
	if (offset > t->len || n * size > t->len - offset || offset % 8)
		return NULL;
	return t->file + offset;
}

static int map_file(struct table *t, const char *path)
{
	SP_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
		st.st_size < (off_t)sizeof(Elf64_Ehdr))
		return -ENOENT;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return -ENOENT;
	t->file = p;
	t->len = (size_t)st.st_size;
	return 0;
}

/* The build id of the file is that of the module, or neither has one. */
static bool same_build(const struct table *t, const Elf64_Shdr *s, const struct sp_module *m)
{
	const uint8_t *p = at(t, s->sh_offset & ~7ull, 1, s->sh_size + (s->sh_offset & 7));
	Elf64_Nhdr n;

	if (!p || s->sh_size < sizeof(n) + 4)
		return false;
	p = t->file + s->sh_offset;
	memcpy(&n, p, sizeof(n));
	return n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz == m->build_id_len &&
	       n.n_descsz <= s->sh_size - sizeof(n) - 4 && memcmp(p + sizeof(n), "GNU", 4) == 0 &&
	       memcmp(p + sizeof(n) + 4, m->build_id, m->build_id_len) == 0;
}

static int find_sections(struct table *t, const struct sp_module *m, size_t *ret_syms)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)t->file;
	const Elf64_Shdr *s, *link;
	bool same = m->build_id_len == 0;

	if (memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_ident[EI_CLASS] != ELFCLASS64 ||
		e->e_shentsize != sizeof(*s))
		return -ENOENT;
	s = at(t, e->e_shoff, e->e_shnum, sizeof(*s));
	for (uint16_t i = 0; s && i < e->e_shnum; i++) {
		if (s[i].sh_type == SHT_NOTE)
			same |= same_build(t, &s[i], m);
		if (s[i].sh_type != SHT_SYMTAB || s[i].sh_link >= e->e_shnum)
			continue;
		link = &s[s[i].sh_link];
		*ret_syms = s[i].sh_size / sizeof(Elf64_Sym);
		t->syms = at(t, s[i].sh_offset, *ret_syms, sizeof(Elf64_Sym));
		t->names_len = link->sh_size;
		t->names = link->sh_offset <= t->len && link->sh_size <= t->len - link->sh_offset
				   ? (const char *)t->file + link->sh_offset
				   : NULL;
	}
	return same && t->syms && t->names && *ret_syms <= MOST_SYMS ? 0 : -ENOENT;
}

static int by_address(const void *a, const void *b, void *ctx)
{
	const Elf64_Sym *syms = ctx, *x = &syms[*(const uint32_t *)a],
			*y = &syms[*(const uint32_t *)b];

	return x->st_value < y->st_value ? -1 : x->st_value > y->st_value;
}

static bool is_function(const Elf64_Sym *s)
{
	return ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF && s->st_value;
}

static void sort(struct table *t, size_t syms)
{
	size_t n = 0;
	void *p;

	for (size_t i = 0; i < syms; i++)
		n += is_function(&t->syms[i]);
	p = n ? mmap(NULL, n * sizeof(*t->order), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
	      : MAP_FAILED;
	if (p == MAP_FAILED)
		return;
	t->order = p;
	for (size_t i = 0; i < syms && t->count < n; i++)
		if (is_function(&t->syms[i]))
			t->order[t->count++] = (uint32_t)i;
	qsort_r(t->order, t->count, sizeof(*t->order), by_address, (void *)t->syms);
}

static struct table *open_table(struct sp_funcnames *f, const struct sp_module *m)
{
	struct table *t = &f->tables[f->used];
	size_t syms = 0;

	if (f->used == TABLES)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->module = m->id;
	f->used++;
	if (map_file(t, m->path) == 0 && find_sections(t, m, &syms) == 0)
		sort(t, syms);
	if (!t->order)
		close_table(t);
	return t;
}

static struct table *table_of(struct sp_funcnames *f, const struct sp_module *m)
{
	for (uint32_t i = 0; i < f->used; i++)
		if (f->tables[i].module == m->id)
			return &f->tables[i];
	return open_table(f, m);
}

int sp_funcnames_find(
	struct sp_funcnames *f, const struct sp_module *m, uint64_t offset, char *ret, size_t size)
{
	struct table *t = table_of(f, m);
	size_t low = 0, high = t ? t->count : 0;
	const Elf64_Sym *s;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->syms[t->order[mid]].st_value <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return -ENOENT;
	s = &t->syms[t->order[low - 1]];
	if (offset - s->st_value >= s->st_size || s->st_name >= t->names_len ||
		!t->names[s->st_name])
		return -ENOENT;
	snprintf(ret, size, "%.*s",
		(int)(t->names_len - s->st_name < size ? t->names_len - s->st_name : size),
		t->names + s->st_name);
	return 0;
}
