/* Heads of foreign ELF files: see elf_header.h. Section names survive strip, symbols do not. */
#include "elf_header.h"

#include "base/cleanup.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MAX_SECTIONS = 512, MAX_NAMES = 64 << 10 };

static bool has_svm_section(int fd, const Elf64_Ehdr *eh)
{
	SP_AUTO_FREE Elf64_Shdr *sh = NULL;
	SP_AUTO_FREE char *names = NULL;
	const Elf64_Shdr *str;
	size_t n = eh->e_shnum;
	ssize_t got;

	if (!n || n > MAX_SECTIONS || eh->e_shentsize != sizeof(*sh) || eh->e_shstrndx >= n)
		return false;
	sh = calloc(n, sizeof(*sh));
	if (!sh || pread(fd, sh, n * sizeof(*sh), (off_t)eh->e_shoff) != (ssize_t)(n * sizeof(*sh)))
		return false;
	str = &sh[eh->e_shstrndx];
	if (!str->sh_size || str->sh_size > MAX_NAMES)
		return false;
	names = calloc(1, str->sh_size + 1);
	got = names ? pread(fd, names, str->sh_size, (off_t)str->sh_offset) : -1;
	for (size_t i = 0; i < n && got > 0; i++) {
		if (sh[i].sh_name < (size_t)got && strncmp(names + sh[i].sh_name, ".svm_", 5) == 0)
			return true;
	}
	return false;
}

int sp_elf_header_read(int fd, struct sp_elf_header *ret)
{
	Elf64_Ehdr eh = {0};

	/* e_machine is at the same place in both classes */
	if (pread(fd, &eh, sizeof(eh), 0) < (ssize_t)sizeof(Elf32_Ehdr) ||
		memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	ret->bits = eh.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	ret->machine = eh.e_machine;
	ret->native_image = ret->bits == 64 && has_svm_section(fd, &eh);
	return 0;
}

const char *sp_elf_header_machine(int machine, char buf[32])
{
	switch (machine) {
	case EM_X86_64:
		return "x86-64";
	case EM_AARCH64:
		return "aarch64";
	case EM_386:
		return "32-bit x86";
	case EM_PPC64:
		return "ppc64";
	case EM_S390:
		return "s390x";
	case EM_RISCV:
		return "riscv";
	default:
		snprintf(buf, 32, "machine %d", machine);
		return buf;
	}
}
