/* Writes one snapshot as a corpus case: see tests/unit/corpus.h for the format. */
#ifndef SP_TEST_RECORDER_H
#define SP_TEST_RECORDER_H

#include "unwind/mem.h"
#include "unwind/snapshot.h"

/* Unwinds @snap once more with cold caches through a memory that logs what is read, and writes
 * DIR/NUMBER.case. Returns 0 or -errno. */
int sp_recorder_write(
	const char *dir, uint64_t number, const struct sp_snapshot *snap, const struct sp_mem *mem);

#endif
