/* Where a Python's file says that its state is: files made here, whole and cut, and this program.
 */
#include "py/elf_symbols.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAMES	"\0other_PyRuntime\0Py_Version\0"
#define SHNAMES "\0.PyRuntime\0"

struct file {
	Elf64_Ehdr e;
	Elf64_Phdr p[2];
	Elf64_Shdr s[5];
	char names[sizeof(NAMES)], shnames[sizeof(SHNAMES)];
	Elf64_Sym syms[3];
};

/* Symbols 1 and 2 are what is looked for: the first as the end of a longer name. */
static struct file make(uint32_t type)
{
	struct file f = {.e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
				 .e_phoff = offsetof(struct file, p),
				 .e_phentsize = sizeof(Elf64_Phdr),
				 .e_phnum = 2,
				 .e_shoff = offsetof(struct file, s),
				 .e_shentsize = sizeof(Elf64_Shdr),
				 .e_shnum = 5,
				 .e_shstrndx = 2},
		.p = {{.p_type = PT_NOTE},
			{.p_type = PT_LOAD, .p_vaddr = 0x3000, .p_offset = 0x1000}},
		.names = NAMES,
		.shnames = SHNAMES,
		.syms = {{0}, {.st_name = 6, .st_value = 0x5000},
			{.st_name = 17, .st_value = 0x6000}}};

	f.s[1] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct file, names),
		.sh_size = sizeof(f.names)};
	f.s[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct file, shnames),
		.sh_size = sizeof(f.shnames)};
	f.s[3] = (Elf64_Shdr){.sh_type = type,
		.sh_link = 1,
		.sh_offset = offsetof(struct file, syms),
		.sh_size = sizeof(f.syms)};
	f.s[4] = (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_name = 1, .sh_addr = 0x7000};
	return f;
}

static int look(const struct file *f, size_t len, struct sp_pyelf *ret)
{
	int fd = memfd_create("elf", MFD_CLOEXEC), r;

	cr_assert_eq(write(fd, f, len), (ssize_t)len);
	r = sp_pyelf_read(fd, ret);
	close(fd);
	return r;
}

Test(py_elf, both_symbols_of_either_table)
{
	static const uint32_t types[] = {SHT_DYNSYM, SHT_SYMTAB};

	for (int i = 0; i < 2; i++) {
		struct file f = make(types[i]);
		struct sp_pyelf got;

		cr_assert_eq(look(&f, sizeof(f), &got), 0);
		cr_assert_eq(got.runtime, 0x5000);
		cr_assert_eq(got.version, 0x6000);
		cr_assert_eq(got.first, 0x2000);
		cr_assert_str_eq(got.how, i ? ".symtab" : ".dynsym");
	}
}

Test(py_elf, the_section_where_no_symbol_says_it)
{
	struct file f = make(SHT_NULL);
	struct sp_pyelf got;

	cr_assert_eq(look(&f, sizeof(f), &got), 0);
	cr_assert_eq(got.runtime, 0x7000);
	cr_assert_str_eq(got.how, ".PyRuntime");
	cr_assert_eq(got.version, 0);
}

Test(py_elf, a_symbol_that_is_only_asked_for_is_none)
{
	struct file f = make(SHT_DYNSYM);
	struct sp_pyelf got;

	f.syms[1].st_value = 0;
	cr_assert_eq(look(&f, sizeof(f), &got), 0);
	cr_assert_eq(got.runtime, 0x7000);
}

/* Cut anywhere, and with any one byte wrong, it says nothing or what it said. */
Test(py_elf, damaged_files)
{
	struct file whole = make(SHT_DYNSYM);
	struct sp_pyelf got;

	for (size_t n = 0; n < sizeof(whole); n++)
		if (look(&whole, n, &got) == 0)
			cr_assert(
				got.runtime == 0 || got.runtime == 0x5000 || got.runtime == 0x7000);
	for (size_t i = 0; i < sizeof(whole); i++) {
		struct file f = whole;

		((uint8_t *)&f)[i] ^= 0xff;
		look(&f, sizeof(f), &got);
	}
}

/* A table of names is read in pieces: a name may lie across two of them. */
Test(py_elf, names_behind_many_others)
{
	enum { MANY = 40000 };
	static struct {
		struct file f;
		char names[MANY + 32];
	} x;

	for (size_t before = 16350; before < 16400; before++) {
		int fd = memfd_create("elf", MFD_CLOEXEC);
		struct sp_pyelf got;

		x.f = make(SHT_DYNSYM);
		memset(x.names, 'x', MANY);
		memcpy(x.names + before, "_PyRuntime", 11);
		x.f.s[1].sh_offset = sizeof(x.f);
		x.f.s[1].sh_size = MANY;
		x.f.syms[1].st_name = (uint32_t)before;
		cr_assert_eq(write(fd, &x, sizeof(x)), (ssize_t)sizeof(x));
		cr_assert_eq(sp_pyelf_read(fd, &got), 0);
		cr_assert_eq(got.runtime, 0x5000, "at %zu", before);
		close(fd);
	}
}

Test(py_elf, what_is_no_elf)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct sp_pyelf got;

	cr_assert_eq(sp_pyelf_read(fd, &got), 0);
	cr_assert(got.runtime == 0 && got.version == 0);
	close(fd);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	cr_assert_eq(sp_pyelf_read(fd, &got), -EBADMSG);
	close(fd);
}
