/* Names of native functions from the symbol table (.symtab) of a module's file. A recording that no
 * launcher finishes, and that is opened on another machine when the modules are gone, must have the
 * names in it. Tables are read when a frame of their module is first met, and kept.
 * Context: the collector only. Reads files; takes about four bytes for each function. */
#ifndef SP_AGENT_COLLECT_ELF_SYMTAB_H
#define SP_AGENT_COLLECT_ELF_SYMTAB_H

#include "unwind/modules.h"

struct sp_elf_symtab;

int sp_elf_symtab_new(struct sp_elf_symtab **ret);
void sp_elf_symtab_free(struct sp_elf_symtab *t);

/* The function that covers @offset, an address as the file's symbols have it. Returns 0 with its
 * name, cut to fit, or -ENOENT: the file is gone, another one (by its build id), stripped or
 * changed since the first look, or no function covers it. Then @ret may have been written to. */
int sp_elf_symtab_find(struct sp_elf_symtab *t, const struct sp_module *m, uint64_t offset,
	char *ret, size_t size);

#endif
