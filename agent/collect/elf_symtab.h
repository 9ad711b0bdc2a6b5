/* Names of native functions from the symbol table (.symtab) of a module's file. A recording that no
 * launcher finishes, and that is opened on another machine when the modules are gone, must have the
 * names in it. Tables are read when a frame of their module is first met, and kept.
 * Context: the collector only. Maps files; takes about four bytes for each function. */
#ifndef SP_AGENT_FUNCNAMES_H
#define SP_AGENT_FUNCNAMES_H

#include "unwind/modules.h"

struct sp_funcnames;

int sp_funcnames_new(struct sp_funcnames **ret);
void sp_funcnames_free(struct sp_funcnames *t);

/* The function that covers @offset, an address as the file's symbols have it. Returns 0 with its
 * name, cut to fit, or -ENOENT: the file is gone, another one (by its build id) or stripped, or no
 * function covers it. */
int sp_funcnames_find(
	struct sp_funcnames *t, const struct sp_module *m, uint64_t offset, char *ret, size_t size);

#endif
