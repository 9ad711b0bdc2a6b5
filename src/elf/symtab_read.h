/* Inside of src/elf: one ELF file or image read with libelf. Everything in it is taken as damaged
 * or hostile until checked: offsets, sizes, counts and links. */
#ifndef SP_ELF_SYMTAB_READ_H
#define SP_ELF_SYMTAB_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "elf/symtab.h"

struct sp_elf {
	void *elf;     /* Elf * */
	uint64_t size; /* of the file or memory */
};

struct sp_debuglink {
	char name[256]; /* a file name without '/' */
	uint32_t crc;
};

/* @fd and @mem are borrowed until sp_elf_done. @mem may be written to by libelf.
 * Returns: 0; -ENOEXEC if it is not a 64-bit little-endian ELF file; else -errno. */
int sp_elf_init_fd(struct sp_elf *im, int fd, struct sp_err *err);
int sp_elf_init_memory(struct sp_elf *im, void *mem, size_t len, struct sp_err *err);
void sp_elf_done(struct sp_elf *im);

/* Hex digits of the build id, "" where there is none. */
void sp_elf_build_id(struct sp_elf *im, char ret_hex[2 * SP_ELF_BUILD_ID_MAX + 1]);

/* -ENOENT: none, or not well-formed. */
int sp_elf_debuglink(struct sp_elf *im, struct sp_debuglink *ret);

/* Adds the functions of .symtab (@dynamic false) or .dynsym to @t.
 * Returns: 0; -ENOENT: no such table or no function in it; -EFBIG: above SP_ELF_SECTION_MAX;
 *          -ENOTSUP: compressed with a method that this libelf lacks; -EBADMSG: damaged. */
int sp_elf_symbols(struct sp_elf *im, bool dynamic, struct sp_symtab *t, struct sp_err *err);

/* Notes the PT_LOAD segments in @t. */
void sp_elf_segments(struct sp_elf *im, struct sp_symtab *t);

/* Decompresses .gnu_debugdata, itself an ELF file, into @ret. Returns as sp_elf_symbols. */
int sp_elf_debugdata(struct sp_elf *im, struct sp_buf *ret, struct sp_err *err);

#endif
