/* From a sample to a stack in the dictionary: the unwinder with all it needs of this process, and
 * the interning of its frames.
 * Context: the collector only, but for sp_stacks_hotspot(). */
#ifndef SP_AGENT_STACKS_H
#define SP_AGENT_STACKS_H

#include "base/err.h"
#include "engine.h"
#include "intern.h"

struct sp_stacks;

/* @dict is borrowed for life. @memory: bytes that it may take in all. Where HotSpot is not
 * understood, only native frames are found, and @c's say is told why. Returns 0 or -errno. */
int sp_stacks_new(struct sp_stacks **ret, struct sp_capture *c, struct sp_dict *dict, size_t memory,
	struct sp_err *err);
void sp_stacks_free(struct sp_stacks *s);

/* NULL where HotSpot was not understood. Borrowed for life. Any thread. */
struct sp_hotspot *sp_stacks_hotspot(struct sp_stacks *s);
struct sp_intern *sp_stacks_intern(struct sp_stacks *s);

/* Before each batch of samples: forgets what was read of memory, and looks for new libraries. */
void sp_stacks_refresh(struct sp_stacks *s);

struct sp_stack_facts {
	bool cut;      /* frames are missing below */
	bool too_deep; /* … because there are more than are kept */
	bool unknown;
	uint64_t continuation; /* of the virtual thread whose stack it is; 0: none */
};

/* The sample's stack; 0 when the dictionary is full. */
uint32_t sp_stacks_take(
	struct sp_stacks *s, const struct sp_sample *sample, struct sp_stack_facts *ret);

/* The stack of the frames that the JVM gave for @rec; 0 when the dictionary is full. */
uint32_t sp_stacks_given(
	struct sp_stacks *s, const struct sp_sig_record *rec, struct sp_stack_facts *ret);

#endif
