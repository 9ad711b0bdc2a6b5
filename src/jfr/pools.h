/* The constants of a recording: writes what the dictionary has that the chunk does not have yet. */
#ifndef SP_JFR_POOLS_H
#define SP_JFR_POOLS_H

#include "dict/dict.h"
#include "jfr/jfr_sink.h"
#include "jfr/types.h"

#define SP_JFR_PENDING 1024u

/* What the current chunk already holds. */
struct sp_jfr_pools {
	struct sp_dict *dict;			    /* borrowed */
	uint32_t strings, methods, stacks, threads; /* written up to this id */
	uint8_t parity;				    /* of the chunk */
	uint8_t started;			    /* the fixed constants are written */
	uint32_t classes, packages, groups;	    /* new since the last time */
	uint32_t pending_count;
	struct {
		uint32_t id;
		uint8_t type;
	} pending[SP_JFR_PENDING]; /* strings that events refer to and that are not yet written */
};

/* The constant's key in the file. Two chunks in a row share none but the fixed ones: the JDK's
 * reader takes a key that it knows from the chunk before for the same constant. */
static inline uint64_t sp_jfr_key(const struct sp_jfr_pools *p, uint32_t id)
{
	return id ? ((uint64_t)id + 1) * 2 + p->parity : 0;
}

/* A new chunk begins: nothing is written yet. */
void sp_jfr_pools_reset(struct sp_jfr_pools *p);

/* An event refers to string @id as a constant of @type (string, class, GC name or cause). Returns
 * 0, or -ENOBUFS when the list is full and must be written first. */
int sp_jfr_pools_refer(struct sp_jfr_pools *p, uint8_t type, uint32_t id);

/* At most so many bytes will sp_jfr_pools_write write. */
uint64_t sp_jfr_pools_bound(struct sp_jfr_pools *p);

/* Writes a checkpoint with everything new. Its size and link are left for the caller to patch with
 * sp_jfr_checkpoint. Returns the number of pools. */
uint32_t sp_jfr_pools_write(struct sp_jfr_pools *p, struct sp_jfr_sink *s);

#endif
