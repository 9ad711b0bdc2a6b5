/* From a sample to a stack in the dictionary: the unwinder with all it needs of this process, and
 * the interning of its frames.
 * Context: the collector only, but for sp_sample_stack_hotspot(). */
#ifndef SP_AGENT_COLLECT_SAMPLE_STACK_H
#define SP_AGENT_COLLECT_SAMPLE_STACK_H

#include "base/err.h"
#include "capture/engine.h"
#include "intern.h"

struct sp_sample_stack;

/* @dict is borrowed for life. @memory: bytes that it may take in all. Where HotSpot is not
 * understood, only native frames are found, and @c's say gets the reason. Returns 0 or -errno. */
int sp_sample_stack_new(struct sp_sample_stack **ret, struct sp_capture *c, struct sp_dict *dict,
	size_t memory, struct sp_err *err);
void sp_sample_stack_free(struct sp_sample_stack *s);

/* NULL where HotSpot was not understood. Borrowed for life. Any thread. */
struct sp_hotspot *sp_sample_stack_hotspot(struct sp_sample_stack *s);
struct sp_intern *sp_sample_stack_intern(struct sp_sample_stack *s);

/* Before each batch of samples: forgets what was read of memory, and looks for new libraries. */
void sp_sample_stack_refresh(struct sp_sample_stack *s);

/* Has the JVM unloaded no class for a while, by its own count? Then methods stay what they are for
 * some time. */
bool sp_sample_stack_settled(struct sp_sample_stack *s, uint64_t now_ns);

struct sp_stack_facts {
	bool cut;      /* frames are missing below */
	bool too_deep; /* … because there are more than are kept */
	bool unknown;
	uint64_t continuation; /* of the virtual thread that owns the stack; 0: none */
};

/* The sample's stack; 0 when the dictionary is full. */
uint32_t sp_sample_stack_take(
	struct sp_sample_stack *s, const struct sp_raw_sample *sample, struct sp_stack_facts *ret);

/* The stack of the frames that the JVM gave for @rec; 0 when the dictionary is full. */
uint32_t sp_sample_stack_given(
	struct sp_sample_stack *s, const struct sp_sig_record *rec, struct sp_stack_facts *ret);

#endif
