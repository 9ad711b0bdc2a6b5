/* Recorded snapshots for replay without a JVM. A file is one process: its maps, every range of
 * memory that unwinding its snapshots needs, and the snapshots with the frames that came out when
 * they were recorded (checked against AsyncGetCallTrace by the recorder,
 * tests/jvm/native/oracle.c).
 *
 * Layout, little endian, compressed as one gzip stream:
 *   "SPUNW001"
 *   u32 length, maps text
 *   u32 count, blocks: u64 address / 64, 64 bytes; sorted by address
 *   u32 count, cases: struct corpus_head, stack bytes, frames: struct corpus_frame, name */
#ifndef SP_TEST_CORPUS_H
#define SP_TEST_CORPUS_H

#include "unwind/mem.h"
#include "unwind/snapshot.h"
#include "unwind/unwind.h"

#define CORPUS_MAGIC "SPUNW001"
#define CORPUS_BLOCK 64u

struct corpus_block {
	uint64_t index;
	uint8_t bytes[CORPUS_BLOCK];
};

struct corpus_head {
	uint64_t regs[SP_REG_COUNT];
	uint64_t anchor[3];
	uint64_t stack_addr, stack_end;
	uint32_t known, stack_len, status, count;
};

struct corpus_frame {
	uint64_t pc, method, offset;
	int32_t bci;
	uint8_t kind, type;
	uint16_t name_len; /* "class.name:line" of Java frames follows */
};

struct corpus_case {
	struct sp_snapshot snap;
	uint32_t status, count;
	const struct corpus_frame **frames; /* borrowed from the file's bytes */
	const char **names;		    /* not terminated */
};

struct corpus {
	uint8_t *bytes;
	size_t len;
	const char *maps;
	uint32_t maps_len;
	struct corpus_block *blocks;
	uint32_t block_count;
	struct corpus_case *cases;
	uint32_t case_count;
	struct sp_mem mem; /* reads the blocks */
};

/* Loads FILE. Returns NULL where it is no corpus. Owned by the caller. */
struct corpus *corpus_load(const char *path);
void corpus_free(struct corpus *c);

#endif
