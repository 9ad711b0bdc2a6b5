/* Keeps snapshots of an oracle run and writes them, with all memory that unwinding them reads, as a
 * corpus file: see tests/unit/corpus.h for the format. */
#ifndef SP_TEST_RECORDER_H
#define SP_TEST_RECORDER_H

#include "unwind/mem.h"
#include "unwind/snapshot.h"
#include "unwind/unwind.h"

/* Keeps a copy of a snapshot and of what it unwound to. */
void sp_recorder_keep(
	const struct sp_snapshot *snap, const struct sp_frame *frames, uint32_t count);
int sp_recorder_kept(void);

/* Unwinds the kept snapshots once more with cold caches through a memory that logs what is read,
 * and writes those that still give the same frames to @path. Returns their number or -errno. */
int sp_recorder_write(const char *path, const struct sp_mem *mem);

#endif
