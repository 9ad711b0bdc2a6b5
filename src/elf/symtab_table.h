/* Inside of src/elf: what the readers fill and symtab.h searches. */
#ifndef SP_ELF_SYMTAB_TABLE_H
#define SP_ELF_SYMTAB_TABLE_H

#include "base/buf.h"
#include "elf/symtab.h"

#define SP_SYMTAB_SEGMENTS 16

struct sp_symtab_entry {
	uint64_t addr;
	uint32_t size; /* at least 1; a larger function is cut at 4 GB */
	uint32_t name; /* offset in names */
};

struct sp_symtab {
	struct sp_symtab_entry *entries; /* sorted once finished */
	size_t count, cap;
	uint8_t *ranks;	  /* beside entries, until finished */
	uint64_t *limits; /* beside entries, until finished */
	struct sp_buf names, origin;
	struct {
		uint64_t offset, addr, size;
	} segments[SP_SYMTAB_SEGMENTS];
	unsigned segment_count;
	bool failed; /* memory ran out: sp_symtab_finish says so */
	char build_id[2 * SP_ELF_BUILD_ID_MAX + 1];
};

#endif
