/* Names of kernel functions from /proc/kallsyms. Launcher side. */
#ifndef SP_ELF_KALLSYMS_H
#define SP_ELF_KALLSYMS_H

#include "elf/symtab.h"

/* Reads the code symbols of @path (NULL: /proc/kallsyms) into a table searched by address.
 * Owner:   *ret belongs to the caller: sp_symtab_free.
 * Returns: 0; -EPERM where the kernel shows all addresses as zero (kernel.kptr_restrict), with the
 *          remedy in @err; -ENOENT where it has no such file; else -errno. */
__attribute__((warn_unused_result)) int sp_kallsyms_open(
	const char *path, struct sp_symtab **ret, struct sp_err *err);

#endif
