/* Reading one ELF file with libelf, distrusting it: see symtab_read.h. libelf is used with plain
 * reads, not mapped: a file that shrinks while it is read gives an error, not SIGBUS. */
#include "elf/symtab_read.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/symtab_table.h"
#include "elf/xz.h"

#define SECTIONS_MAX 70000

/* libelf allocates by the section count before it looks whether the file can hold so many. */
static int check_header(const Elf64_Ehdr *h, uint64_t size, const Elf64_Shdr *first)
{
	uint64_t n = h->e_shnum;

	if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
		h->e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	if (h->e_shoff == 0)
		return 0;
	if (n == 0 && first)
		n = first->sh_size; /* gABI: section 0 holds the count when there are too many */
	if (h->e_shoff > size || n > SECTIONS_MAX || n * sizeof(Elf64_Shdr) > size - h->e_shoff)
		return -EBADMSG;
	return 0;
}

static int finish_init(struct sp_elf *im, Elf *e, uint64_t size, struct sp_err *err)
{
	if (!e || elf_kind(e) != ELF_K_ELF) {
		elf_end(e);
		return sp_err_set(err, -ENOEXEC, "not an ELF file");
	}
	im->elf = e;
	im->size = size;
	return 0;
}

int sp_elf_init_fd(struct sp_elf *im, int fd, struct sp_err *err)
{
	struct stat st;
	Elf64_Ehdr h;
	Elf64_Shdr first;
	bool have_first;

	if (fstat(fd, &st) < 0)
		return sp_err_set(err, -errno, "%s", strerror(errno));
	if (pread(fd, &h, sizeof(h), 0) != sizeof(h))
		return sp_err_set(err, -ENOEXEC, "too short for an ELF file");
	have_first = h.e_shoff <= (uint64_t)st.st_size &&
		     pread(fd, &first, sizeof(first), (off_t)h.e_shoff) == sizeof(first);
	if (check_header(&h, (uint64_t)st.st_size, have_first ? &first : NULL) < 0)
		return sp_err_set(err, -ENOEXEC, "not a whole 64-bit little-endian ELF file");
	elf_version(EV_CURRENT);
	return finish_init(im, elf_begin(fd, ELF_C_READ, NULL), (uint64_t)st.st_size, err);
}

int sp_elf_init_memory(struct sp_elf *im, void *mem, size_t len, struct sp_err *err)
{
	Elf64_Ehdr h;
	Elf64_Shdr first;
	bool have_first;

	if (len < sizeof(h))
		return sp_err_set(err, -ENOEXEC, "too short for an ELF file");
	memcpy(&h, mem, sizeof(h));
	have_first = h.e_shoff <= len && len - h.e_shoff >= sizeof(first);
	if (have_first)
		memcpy(&first, (char *)mem + h.e_shoff, sizeof(first));
	if (check_header(&h, len, have_first ? &first : NULL) < 0)
		return sp_err_set(err, -ENOEXEC, "not a whole 64-bit little-endian ELF file");
	elf_version(EV_CURRENT);
	return finish_init(im, elf_memory(mem, len), len, err);
}

void sp_elf_done(struct sp_elf *im)
{
	if (im->elf)
		elf_end(im->elf);
	im->elf = NULL;
}

/* The contents of a section, decompressed where it says so; all sizes checked before anything is
 * allocated. Returns 0, or a code as sp_elf_symbols has them. */
static int section_data(struct sp_elf *im, Elf_Scn *scn, Elf_Data **ret, struct sp_err *err)
{
	GElf_Shdr sh;
	GElf_Chdr ch;

	if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
		return -ENOENT;
	if (sh.sh_offset > im->size || sh.sh_size > im->size - sh.sh_offset)
		return sp_err_set(err, -EBADMSG, "a section reaches past the end of the file");
	if (sh.sh_size > SP_ELF_SECTION_MAX)
		return sp_err_set(err, -EFBIG, "a section of %llu MB is more than is read",
			(unsigned long long)sh.sh_size >> 20);
	if (sh.sh_flags & SHF_COMPRESSED) {
		if (!gelf_getchdr(scn, &ch))
			return sp_err_set(err, -EBADMSG, "a compressed section is damaged");
		if (ch.ch_type != ELFCOMPRESS_ZLIB)
			return sp_err_set(err, -ENOTSUP,
				"symbols are compressed with %s, which this build cannot read",
				ch.ch_type == 2 ? "zstd" : "an unknown method");
		if (ch.ch_size > SP_ELF_SECTION_MAX)
			return sp_err_set(err, -EFBIG, "a compressed section is too large");
		if (elf_compress(scn, 0, 0) < 0)
			return sp_err_set(err, -EBADMSG, "a compressed section is damaged");
	}
	*ret = elf_getdata(scn, NULL);
	if (!*ret || !(*ret)->d_buf || (*ret)->d_size == 0)
		return sp_err_set(err, -EBADMSG, "a section cannot be read");
	return 0;
}

static Elf_Scn *find_section(struct sp_elf *im, uint32_t type, const char *name)
{
	Elf_Scn *scn = NULL;
	size_t strings;

	if (name && elf_getshdrstrndx(im->elf, &strings) < 0)
		return NULL;
	for (int i = 0; i < SECTIONS_MAX && (scn = elf_nextscn(im->elf, scn)); i++) {
		GElf_Shdr sh;
		const char *s;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type)
			continue;
		if (!name)
			return scn;
		s = elf_strptr(im->elf, strings, sh.sh_name);
		if (s && strcmp(s, name) == 0)
			return scn;
	}
	return NULL;
}

static bool note_build_id(Elf_Data *data, char *ret_hex)
{
	size_t at = 0, name, desc;
	GElf_Nhdr nh;

	while (at < data->d_size && (at = gelf_getnote(data, at, &nh, &name, &desc)) > 0) {
		const unsigned char *id = (unsigned char *)data->d_buf + desc;

		if (nh.n_type != NT_GNU_BUILD_ID || nh.n_namesz != 4 ||
			memcmp((char *)data->d_buf + name, "GNU", 4) != 0)
			continue;
		for (size_t i = 0; i < nh.n_descsz && i < SP_ELF_BUILD_ID_MAX; i++)
			snprintf(ret_hex + 2 * i, 3, "%02x", id[i]);
		return nh.n_descsz > 0;
	}
	return false;
}

void sp_elf_build_id(struct sp_elf *im, char ret_hex[2 * SP_ELF_BUILD_ID_MAX + 1])
{
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	size_t n;

	ret_hex[0] = 0;
	for (int i = 0; i < SECTIONS_MAX && (scn = elf_nextscn(im->elf, scn)); i++) {
		GElf_Shdr sh;

		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_NOTE &&
			section_data(im, scn, &data, NULL) == 0 && note_build_id(data, ret_hex))
			return;
	}
	/* no section headers: sstrip, or an image that was cut */
	for (size_t i = 0; elf_getphdrnum(im->elf, &n) == 0 && i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(im->elf, (int)i, &ph) || ph.p_type != PT_NOTE ||
			ph.p_offset > im->size || ph.p_filesz > im->size - ph.p_offset ||
			ph.p_filesz > SP_ELF_SECTION_MAX)
			continue;
		data = elf_getdata_rawchunk(im->elf, (int64_t)ph.p_offset, ph.p_filesz, ELF_T_NHDR);
		if (data && note_build_id(data, ret_hex))
			return;
	}
}

int sp_elf_debuglink(struct sp_elf *im, struct sp_debuglink *ret)
{
	Elf_Scn *scn = find_section(im, SHT_PROGBITS, ".gnu_debuglink");
	Elf_Data *data;
	size_t n, at;

	if (!scn || section_data(im, scn, &data, NULL) < 0)
		return -ENOENT;
	n = strnlen(data->d_buf, data->d_size);
	at = (n + 4) & ~(size_t)3; /* the CRC follows the name, its terminator and padding */
	if (n == 0 || n >= sizeof(ret->name) || at + 4 > data->d_size ||
		memchr(data->d_buf, '/', n))
		return -ENOENT;
	memcpy(ret->name, data->d_buf, n);
	ret->name[n] = 0;
	memcpy(&ret->crc, (char *)data->d_buf + at, 4);
	return 0;
}

void sp_elf_segments(struct sp_elf *im, struct sp_symtab *t)
{
	size_t n;

	if (elf_getphdrnum(im->elf, &n) < 0)
		return;
	for (size_t i = 0; i < n && t->segment_count < SP_SYMTAB_SEGMENTS; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(im->elf, (int)i, &ph) || ph.p_type != PT_LOAD)
			continue;
		t->segments[t->segment_count].offset = ph.p_offset;
		t->segments[t->segment_count].addr = ph.p_vaddr;
		t->segments[t->segment_count++].size = ph.p_filesz;
	}
}

/* The end of the executable section that a symbol lies in; 0 if it lies in none. */
static uint64_t code_end(struct sp_elf *im, const GElf_Sym *sym)
{
	Elf_Scn *scn;
	GElf_Shdr sh;

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE)
		return 0;
	scn = elf_getscn(im->elf, sym->st_shndx);
	if (!scn || !gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_EXECINSTR) ||
		sym->st_value - sh.sh_addr >= sh.sh_size)
		return 0;
	return sh.sh_addr + sh.sh_size;
}

/* Lower is better at one address: real functions before labels, exported before local, and names
 * without leading underscores (read) before the aliases that libraries give them (__read). */
static unsigned symbol_rank(const GElf_Sym *sym, const char *name)
{
	unsigned bind = GELF_ST_BIND(sym->st_info);
	unsigned rank = bind == STB_LOCAL ? 8 : 0;

	if (GELF_ST_TYPE(sym->st_info) == STT_NOTYPE)
		rank += 64;
	if (sym->st_size == 0)
		rank += 32;
	if (name[0] == '_')
		rank += name[1] == '_' ? 2 : 1;
	return rank;
}

static int add_symbol(
	struct sp_elf *im, const GElf_Sym *sym, const Elf_Data *names, struct sp_symtab *t)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);
	const char *name;
	uint64_t end;
	size_t len;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	if (sym->st_shndx == SHN_UNDEF || sym->st_name == 0 || sym->st_name >= names->d_size)
		return 0;
	name = (const char *)names->d_buf + sym->st_name;
	len = strnlen(name, names->d_size - sym->st_name);
	if (len == 0 || len == names->d_size - sym->st_name)
		return 0; /* empty, or it runs off the end */
	end = code_end(im, sym);
	if (end == 0 || (type == STT_NOTYPE && name[0] == '$'))
		return 0;
	return sp_symtab_add(
		t, sym->st_value, sym->st_size, end, name, len, symbol_rank(sym, name));
}

int sp_elf_symbols(struct sp_elf *im, bool dynamic, struct sp_symtab *t, struct sp_err *err)
{
	Elf_Scn *scn = find_section(im, dynamic ? SHT_DYNSYM : SHT_SYMTAB, NULL);
	Elf_Data *symbols, *names;
	GElf_Shdr sh;
	GElf_Sym sym;
	size_t before = t->count, n;
	int r;

	if (!scn)
		return -ENOENT;
	r = section_data(im, scn, &symbols, err);
	if (r < 0)
		return r;
	if (!gelf_getshdr(scn, &sh) || !(scn = elf_getscn(im->elf, sh.sh_link)))
		return sp_err_set(err, -EBADMSG, "a symbol table names no string table");
	r = section_data(im, scn, &names, err);
	if (r < 0)
		return r;
	n = symbols->d_size / sizeof(Elf64_Sym);
	for (size_t i = 1; i < n && i < INT32_MAX; i++) {
		if (!gelf_getsym(symbols, (int)i, &sym))
			break;
		if (add_symbol(im, &sym, names, t) < 0)
			return sp_err_set(err, -ENOMEM, "not enough memory for the symbols");
	}
	return t->count > before ? 0 : -ENOENT;
}

int sp_elf_debugdata(struct sp_elf *im, struct sp_buf *ret, struct sp_err *err)
{
	Elf_Scn *scn = find_section(im, SHT_PROGBITS, ".gnu_debugdata");
	Elf_Data *data = NULL;
	int r;

	if (!scn)
		return -ENOENT;
	r = section_data(im, scn, &data, err);
	if (r < 0)
		return r;
	return sp_xz_decode(data->d_buf, data->d_size, SP_ELF_SECTION_MAX, ret, err);
}
