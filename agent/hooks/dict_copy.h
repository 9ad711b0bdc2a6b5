/* Carries stacks and threads from one dictionary to another, for what must outlive a chunk.
 * Context: the collector only. */
#ifndef SP_AGENT_HOOKS_DICT_COPY_H
#define SP_AGENT_HOOKS_DICT_COPY_H

#include "dict/dict.h"

struct sp_dict_copy {
	struct sp_frame_ref *frames; /* scratch, SP_DICT_MAX_FRAMES of them */
};

/* Returns 0 or -ENOMEM. */
__attribute__((warn_unused_result)) int sp_dict_copy_init(struct sp_dict_copy *c);
void sp_dict_copy_done(struct sp_dict_copy *c);

/* The same entry in @to. Returns its id, 0 where @to is full or @id is none. */
uint32_t sp_dict_copy_string(struct sp_dict *to, const struct sp_dict *from, uint32_t id);
uint32_t sp_dict_copy_thread(struct sp_dict *to, const struct sp_dict *from, uint32_t id);
uint32_t sp_dict_copy_stack(
	struct sp_dict_copy *c, struct sp_dict *to, struct sp_dict *from, uint32_t id);

#endif
