/* What a Python's own file says of where it keeps its state. The file is read, never mapped: it may
 * be cut short meanwhile, and a page of a mapping that is gone would be SIGBUS for a JVM that looks
 * at its workers. Needs libc only. */
#ifndef SP_PY_ELF_SYMBOLS_H
#define SP_PY_ELF_SYMBOLS_H

#include <stdint.h>

/* Addresses as the file has them; 0: it does not say. */
struct sp_pyelf {
	uint64_t runtime; /* of _PyRuntime */
	uint64_t version; /* of Py_Version */
	uint64_t first;	  /* of the file's first byte */
	const char *how;  /* runtime was found by: ".dynsym", ".symtab", ".PyRuntime" */
};

/* Reads the tables of @fd, a regular file. Returns 0, or -EBADMSG where it is no 64-bit ELF file or
 * is damaged; then @ret may have been written to. */
int sp_pyelf_read(int fd, struct sp_pyelf *ret);

#endif
