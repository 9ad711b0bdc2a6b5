/* Names of native functions from the symbol table (.symtab) of a module's file. A recording that no
 * launcher finishes, and that is opened on another machine when the modules are gone, must have the
 * names in it. Tables are read when a frame of their module is first met, and kept.
 * Context: one thread at a time. Reads files; takes about four bytes for each function. */
#ifndef SP_AGENT_HOST_ELF_SYMTAB_H
#define SP_AGENT_HOST_ELF_SYMTAB_H

#include "unwind/modules.h"

struct sp_elf_symtab;

__attribute__((warn_unused_result)) int sp_elf_symtab_new(struct sp_elf_symtab **ret);
void sp_elf_symtab_free(struct sp_elf_symtab *t);

/* The function that covers @offset, an address as the file's symbols have it. Returns 0 with its
 * name, cut to fit, or -ENOENT: the file is gone, another one (by its build id), stripped or
 * changed since the first look, or no function covers it. Then @ret may have been written to. */
__attribute__((warn_unused_result)) int sp_elf_symtab_find(struct sp_elf_symtab *t,
	const struct sp_module *m, uint64_t offset, char *ret, size_t size);

/* Calls @fn with the name and address, as the file has it, of each function and variable of @m's
 * file, in .symtab and .dynsym. Returns 0, or -ENOENT where the file is gone, another one or has
 * neither, or -ENOMEM. */
int sp_elf_symtab_each(const struct sp_module *m,
	void (*fn)(void *ctx, const char *name, uint64_t offset), void *ctx);

#endif
