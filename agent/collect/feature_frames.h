/* -F vtable,comptask: puts frames that say more into a stack that was unwound
 * (unwind/extra_frames.h), and knows what may have changed since a sample.
 * Context: the collector only. */
#ifndef SP_AGENT_COLLECT_FEATURE_FRAMES_H
#define SP_AGENT_COLLECT_FEATURE_FRAMES_H

#include "capture/engine.h"
#include "unwind/extra_frames.h"

struct sp_feature_frames;

/* *ret is NULL where @args asks for none. Returns 0 or -ENOMEM. */
int sp_feature_frames_new(
	struct sp_feature_frames **ret, const struct sp_args *args, const struct sp_hotspot *h);
void sp_feature_frames_free(struct sp_feature_frames *x);

/* All below: @x may be NULL. */

/* Before each batch of samples. */
void sp_feature_frames_batch(struct sp_feature_frames *x);

/* Before @sample is unwound: what the unwinder is asked for (sp_unwinder_mark()). */
uint64_t sp_feature_frames_mark(struct sp_feature_frames *x, const struct sp_raw_sample *sample);

/* The class of the receiver on top of @frames, of which there are *count and room for @max. */
void sp_feature_frames_receiver(struct sp_feature_frames *x, const struct sp_raw_sample *sample,
	struct sp_frame *frames, uint32_t *count, uint32_t max);

/* The method that is compiled, above the compiler's entry: the frame above @marked. */
void sp_feature_frames_compiled(struct sp_feature_frames *x, const struct sp_raw_sample *sample,
	struct sp_frame *frames, uint32_t *count, uint32_t max, uint32_t marked);

#endif
