/* See elf_symbols.h. ELF as gABI chapters 4 and 5 have it, 64 bits. Nothing in a file is believed:
 * what does not lie in it cannot be read. */
#include "py/elf_symbols.h"

#include "base/cleanup.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BLOCK = 16384,	      /* bytes of a table that are read at once */
	SECTIONS_MAX = 1024,  /* and more are not looked at */
	SEGMENTS_MAX = 64,    /* the same */
	SYMBOLS_MAX = 1 << 20 /* of a table */
};
#define NAMES_MAX (64ull << 20) /* bytes of a table of names */

/* Where a name lies in a table of names: at its own place, or as the end of others. */
struct name {
	const char *text;
	uint32_t at[4];
	size_t count;
};

static bool read_at(int fd, uint64_t offset, void *to, size_t n)
{
	return offset <= INT64_MAX && pread(fd, to, n, (off_t)offset) == (ssize_t)n;
}

/* The places of @name in @n bytes that lie @from bytes behind the table's beginning. */
static void find_in(struct name *name, const char *block, size_t n, uint64_t from)
{
	size_t len = strlen(name->text) + 1;
	const char *p = block;

	while (name->count < SP_COUNT(name->at) &&
		(p = memmem(p, (size_t)(block + n - p), name->text, len))) {
		name->at[name->count++] = (uint32_t)(from + (uint64_t)(p - block));
		p += len;
	}
}

/* Both names in the table of names @s; blocks overlap by a name. */
static bool find_names(int fd, const Elf64_Shdr *s, struct name *a, struct name *b)
{
	enum { OVERLAP = 16 };
	char block[BLOCK];
	uint64_t done = 0;

	a->count = b->count = 0;
	while (done < s->sh_size && s->sh_size <= NAMES_MAX) {
		size_t n = s->sh_size - done < BLOCK ? (size_t)(s->sh_size - done) : BLOCK;

		if (!read_at(fd, s->sh_offset + done, block, n))
			return false;
		find_in(a, block, n, done);
		find_in(b, block, n, done);
		if (done + n == s->sh_size)
			break;
		done += n - OVERLAP;
	}
	return true;
}

static bool has_name(const Elf64_Sym *sym, const struct name *name)
{
	for (size_t i = 0; i < name->count; i++)
		if (sym->st_name == name->at[i])
			return sym->st_value != 0;
	return false;
}

static void take_symbol(const Elf64_Sym *sym, const struct name *runtime,
	const struct name *version, const char *how, struct sp_pyelf *ret)
{
	if (!ret->runtime && has_name(sym, runtime)) {
		ret->runtime = sym->st_value;
		ret->how = how;
	}
	if (!ret->version && has_name(sym, version))
		ret->version = sym->st_value;
}

static void ask_table(
	int fd, const Elf64_Shdr *table, const Elf64_Shdr *names, struct sp_pyelf *ret)
{
	struct name runtime = {.text = "_PyRuntime"}, version = {.text = "Py_Version"};
	const char *how = table->sh_type == SHT_DYNSYM ? ".dynsym" : ".symtab";
	uint64_t count = table->sh_size / sizeof(Elf64_Sym);
	Elf64_Sym block[BLOCK / sizeof(Elf64_Sym)];

	if (count > SYMBOLS_MAX || !find_names(fd, names, &runtime, &version))
		return;
	for (uint64_t i = 0; i < count && !(ret->runtime && ret->version);) {
		size_t n = count - i < SP_COUNT(block) ? (size_t)(count - i) : SP_COUNT(block);

		if (!(runtime.count || version.count) ||
			!read_at(fd, table->sh_offset + i * sizeof(*block), block,
				n * sizeof(*block)))
			return;
		for (size_t k = 0; k < n; k++)
			take_symbol(&block[k], &runtime, &version, how, ret);
		i += n;
	}
}

static bool is_called(int fd, const Elf64_Shdr *names, const Elf64_Shdr *s, const char *name)
{
	char text[16];
	size_t n = strlen(name) + 1;

	return names->sh_size >= n && s->sh_name <= names->sh_size - n &&
	       read_at(fd, names->sh_offset + s->sh_name, text, n) && memcmp(text, name, n) == 0;
}

static int ask_sections(int fd, const Elf64_Ehdr *e, struct sp_pyelf *ret)
{
	size_t n = e->e_shnum < SECTIONS_MAX ? e->e_shnum : SECTIONS_MAX;
	SP_AUTO_FREE Elf64_Shdr *s = malloc((n + 1) * sizeof(*s));

	if (!s || e->e_shentsize != sizeof(*s) || !read_at(fd, e->e_shoff, s, n * sizeof(*s)))
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		if (s[i].sh_type == SHT_DYNSYM || s[i].sh_type == SHT_SYMTAB) {
			if (s[i].sh_link < n && !(ret->runtime && ret->version))
				ask_table(fd, &s[i], &s[s[i].sh_link], ret);
		} else if (!ret->runtime && e->e_shstrndx < n &&
			   is_called(fd, &s[e->e_shstrndx], &s[i], ".PyRuntime")) {
			ret->runtime = s[i].sh_addr;
			ret->how = ".PyRuntime";
		}
	}
	return 0;
}

/* Where the file's addresses begin: those of its first segment. */
static uint64_t first_address(int fd, const Elf64_Ehdr *e)
{
	Elf64_Phdr p;

	for (uint64_t i = 0; i < e->e_phnum && i < SEGMENTS_MAX; i++)
		if (e->e_phentsize == sizeof(p) &&
			read_at(fd, e->e_phoff + i * sizeof(p), &p, sizeof(p)) &&
			p.p_type == PT_LOAD)
			return p.p_vaddr - p.p_offset;
	return 0;
}

int sp_pyelf_read(int fd, struct sp_pyelf *ret)
{
	Elf64_Ehdr e;

	memset(ret, 0, sizeof(*ret));
	ret->how = "";
	if (!read_at(fd, 0, &e, sizeof(e)) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
		e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_ident[EI_DATA] != ELFDATA2LSB)
		return -EBADMSG;
	ret->first = first_address(fd, &e);
	return ask_sections(fd, &e, ret);
}
