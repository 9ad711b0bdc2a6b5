/* Carries stacks and threads from one dictionary to another, for what must outlive a chunk.
 * Context: the collector only. */
#ifndef SP_AGENT_DICTCOPY_H
#define SP_AGENT_DICTCOPY_H

#include "prof/dict.h"

struct sp_dictcopy {
	struct sp_frame_ref *frames; /* scratch, SP_DICT_MAX_FRAMES of them */
};

/* Returns 0 or -ENOMEM. */
int sp_dictcopy_init(struct sp_dictcopy *c);
void sp_dictcopy_done(struct sp_dictcopy *c);

/* The same entry in @to. Returns its id, 0 where @to is full or @id is none. */
uint32_t sp_dictcopy_string(struct sp_dict *to, const struct sp_dict *from, uint32_t id);
uint32_t sp_dictcopy_thread(struct sp_dict *to, const struct sp_dict *from, uint32_t id);
uint32_t sp_dictcopy_stack(
	struct sp_dictcopy *c, struct sp_dict *to, struct sp_dict *from, uint32_t id);

#endif
