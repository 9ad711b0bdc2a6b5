/* The few facts that are read from the head of a foreign ELF file before anything is loaded. */
#ifndef SP_LAUNCHER_PROC_ELF_HEADER_H
#define SP_LAUNCHER_PROC_ELF_HEADER_H

#include <stdbool.h>

struct sp_elf_header {
	int bits;	   /* 32 or 64 */
	int machine;	   /* EM_X86_64, EM_AARCH64 … */
	bool native_image; /* has GraalVM's heap section: Java compiled ahead, without a JVM */
};

/* Reads an opened file; all offsets in it are checked and reads are bounded.
 * Returns 0, or -ENOEXEC where it is not a little-endian ELF file. */
__attribute__((warn_unused_result)) int sp_elf_header_read(int fd, struct sp_elf_header *ret);

/* "x86-64", "aarch64", … or "machine 99" in a static table or @buf. */
const char *sp_elf_header_machine(int machine, char buf[32]);

#endif
