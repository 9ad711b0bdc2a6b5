/* See elf_symtab.h. ELF as gABI chapters 4 and 5 have it; 64 bits only, as the agent is. Nothing in
 * a file is believed: every offset is checked against its size. */
#include "elf_symtab.h"

#include "base/cleanup.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TABLES	  64u
#define MOST_SYMS (1u << 19) /* 12 MB, while they are sorted */

/* The file is read, never mapped: it may be cut short meanwhile (strip, cp over it), and a
 * page of a mapping that is gone would be SIGBUS for the host. It is opened again for each look,
 * for the host's descriptors are its own. */
struct table {
	uint32_t module;		 /* id */
	struct stat file;		 /* as it was */
	uint64_t syms, names, names_len; /* offsets in the file */
	uint32_t *order; /* indices of functions by address; NULL: nothing to be had */
	size_t count;
};

struct sp_elf_symtab {
	struct table tables[TABLES];
	uint32_t used;
};

int sp_elf_symtab_new(struct sp_elf_symtab **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void close_table(struct table *t)
{
	free(t->order);
	t->order = NULL;
	t->count = 0;
}

void sp_elf_symtab_free(struct sp_elf_symtab *t)
{
	for (uint32_t i = 0; t && i < t->used; i++)
		close_table(&t->tables[i]);
	free(t);
}

static bool read_at(int fd, uint64_t offset, void *ret, size_t n)
{
	return offset <= INT64_MAX && pread(fd, ret, n, (off_t)offset) == (ssize_t)n;
}

/* @n bytes at @offset in memory of their own, or NULL where they do not lie in the file. */
static void *read_part(int fd, uint64_t len, uint64_t offset, uint64_t n)
{
	void *p = n && offset <= len && n <= len - offset ? malloc(n) : NULL;

	if (p && !read_at(fd, offset, p, n)) {
		free(p);
		return NULL;
	}
	return p;
}

/* The build id of the file is that of the module. */
static bool same_build(int fd, const Elf64_Shdr *s, const struct sp_module *m)
{
	uint8_t text[sizeof(Elf64_Nhdr) + 4 + sizeof(m->build_id)];
	size_t size = sizeof(Elf64_Nhdr) + 4 + m->build_id_len;
	Elf64_Nhdr n;

	if (s->sh_size < size || size > sizeof(text) || !read_at(fd, s->sh_offset, text, size))
		return false;
	memcpy(&n, text, sizeof(n));
	return n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz == m->build_id_len &&
	       memcmp(text + sizeof(n), "GNU", 4) == 0 &&
	       memcmp(text + sizeof(n) + 4, m->build_id, m->build_id_len) == 0;
}

static bool lies_in(const struct table *t, const Elf64_Shdr *s)
{
	uint64_t len = (uint64_t)t->file.st_size;

	return s->sh_offset <= len && s->sh_size <= len - s->sh_offset;
}

static int take_sections(struct table *t, const struct sp_module *m, int fd, const Elf64_Shdr *s,
	uint16_t n, uint32_t type, size_t *ret_syms)
{
	bool same = m->build_id_len == 0;

	for (uint16_t i = 0; i < n; i++) {
		if (s[i].sh_type == SHT_NOTE)
			same |= same_build(fd, &s[i], m);
		if (s[i].sh_type != type || s[i].sh_link >= n || !lies_in(t, &s[i]) ||
			!lies_in(t, &s[s[i].sh_link]))
			continue;
		*ret_syms = s[i].sh_size / sizeof(Elf64_Sym);
		t->syms = s[i].sh_offset;
		t->names = s[s[i].sh_link].sh_offset;
		t->names_len = s[s[i].sh_link].sh_size;
	}
	return same && *ret_syms && *ret_syms <= MOST_SYMS ? 0 : -ENOENT;
}

static int find_sections(
	struct table *t, const struct sp_module *m, int fd, uint32_t type, size_t *ret_syms)
{
	uint64_t len = (uint64_t)t->file.st_size;
	SP_AUTO_FREE Elf64_Shdr *s = NULL;
	Elf64_Ehdr e;

	if (!read_at(fd, 0, &e, sizeof(e)) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
		e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_shentsize != sizeof(*s))
		return -ENOENT;
	s = read_part(fd, len, e.e_shoff, e.e_shnum * sizeof(*s));
	return s ? take_sections(t, m, fd, s, e.e_shnum, type, ret_syms) : -ENOENT;
}

static bool is_function(const Elf64_Sym *s)
{
	return ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF && s->st_value;
}

static int by_address(const void *a, const void *b, void *ctx)
{
	const Elf64_Sym *syms = ctx, *x = &syms[*(const uint32_t *)a],
			*y = &syms[*(const uint32_t *)b];

	return x->st_value < y->st_value ? -1 : x->st_value > y->st_value;
}

static void sort(struct table *t, const Elf64_Sym *all, size_t syms)
{
	size_t n = 0;

	for (size_t i = 0; i < syms; i++)
		n += is_function(&all[i]);
	t->order = n ? malloc(n * sizeof(*t->order)) : NULL;
	for (size_t i = 0; t->order && i < syms; i++)
		if (is_function(&all[i]))
			t->order[t->count++] = (uint32_t)i;
	qsort_r(t->order, t->count, sizeof(*t->order), by_address, (void *)all);
}

static int open_regular(const char *path, struct stat *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && (fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static struct table *open_table(struct sp_elf_symtab *f, const struct sp_module *m)
{
	struct table *t = &f->tables[f->used];
	SP_AUTO_FREE Elf64_Sym *all = NULL;
	SP_AUTO_CLOSE int fd = -1;
	size_t syms = 0;

	if (f->used == TABLES)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->module = m->id;
	f->used++;
	fd = open_regular(m->path, &t->file);
	if (fd >= 0 && find_sections(t, m, fd, SHT_SYMTAB, &syms) == 0)
		all = read_part(fd, (uint64_t)t->file.st_size, t->syms, syms * sizeof(*all));
	if (all)
		sort(t, all, syms);
	return t;
}

static struct table *table_of(struct sp_elf_symtab *f, const struct sp_module *m)
{
	for (uint32_t i = 0; i < f->used; i++)
		if (f->tables[i].module == m->id)
			return &f->tables[i];
	return open_table(f, m);
}

/* The file again; -1 where it is another one by now, or was written to. */
static int reopen(const struct table *t, const char *path)
{
	struct stat now;
	int fd = open_regular(path, &now);

	if (fd >= 0 && (now.st_dev != t->file.st_dev || now.st_ino != t->file.st_ino ||
			       now.st_size != t->file.st_size ||
			       now.st_mtim.tv_sec != t->file.st_mtim.tv_sec ||
			       now.st_mtim.tv_nsec != t->file.st_mtim.tv_nsec)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool read_symbol(const struct table *t, int fd, size_t at, Elf64_Sym *ret)
{
	return read_at(fd, t->syms + t->order[at] * sizeof(*ret), ret, sizeof(*ret));
}

/* The last function that begins at @offset or before. */
static bool search(const struct table *t, int fd, uint64_t offset, Elf64_Sym *ret)
{
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (!read_symbol(t, fd, mid, ret))
			return false;
		if (ret->st_value <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low && read_symbol(t, fd, low - 1, ret);
}

int sp_elf_symtab_find(
	struct sp_elf_symtab *f, const struct sp_module *m, uint64_t offset, char *ret, size_t size)
{
	struct table *t = table_of(f, m);
	SP_AUTO_CLOSE int fd = t && t->count ? reopen(t, m->path) : -1;
	Elf64_Sym s;
	uint64_t n;
	ssize_t got;

	if (fd < 0 || !search(t, fd, offset, &s) || offset - s.st_value >= s.st_size ||
		s.st_name >= t->names_len)
		return -ENOENT;
	n = t->names_len - s.st_name;
	got = pread(fd, ret, n < size - 1 ? n : size - 1, (off_t)(t->names + s.st_name));
	if (got <= 0 || !ret[0])
		return -ENOENT;
	ret[got] = '\0';
	return 0;
}

static bool has_name(const Elf64_Sym *s, const struct table *t)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_OBJECT) && s->st_shndx != SHN_UNDEF &&
	       s->st_value && s->st_name < t->names_len;
}

static int each_of(const struct sp_module *m, int fd, struct table *t, uint32_t type,
	void (*fn)(void *ctx, const char *name, uint64_t offset), void *ctx)
{
	uint64_t len = (uint64_t)t->file.st_size;
	SP_AUTO_FREE Elf64_Sym *all = NULL;
	SP_AUTO_FREE char *names = NULL;
	size_t syms = 0;

	if (find_sections(t, m, fd, type, &syms) < 0)
		return -ENOENT;
	all = read_part(fd, len, t->syms, syms * sizeof(*all));
	names = read_part(fd, len, t->names, t->names_len);
	if (!all || !names)
		return -ENOMEM;
	names[t->names_len - 1] = '\0';
	for (size_t i = 0; i < syms; i++)
		if (has_name(&all[i], t))
			fn(ctx, names + all[i].st_name, all[i].st_value);
	return 0;
}

int sp_elf_symtab_each(const struct sp_module *m,
	void (*fn)(void *ctx, const char *name, uint64_t offset), void *ctx)
{
	struct table t = {.module = m->id};
	SP_AUTO_CLOSE int fd = open_regular(m->path, &t.file);
	int all = fd < 0 ? -ENOENT : each_of(m, fd, &t, SHT_SYMTAB, fn, ctx);
	int exported = fd < 0 ? -ENOENT : each_of(m, fd, &t, SHT_DYNSYM, fn, ctx);

	return all == 0 || exported == 0 ? 0 : all;
}
