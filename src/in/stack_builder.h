/* Building stacks out of printed names. Inside of src/in. */
#ifndef SP_IN_STACK_BUILDER_H
#define SP_IN_STACK_BUILDER_H

#include "prof/model/profile.h"

#include <stdbool.h>

struct sp_stack_builder {
	struct sp_dict *dict;	     /* borrowed */
	struct sp_frame_ref *frames; /* owned; leaf first if the caller adds so */
	uint32_t count;
	bool truncated, failed;
};

__attribute__((warn_unused_result)) int sp_stack_builder_init(
	struct sp_stack_builder *s, struct sp_dict *dict);
void sp_stack_builder_done(struct sp_stack_builder *s);
void sp_stack_builder_clear(struct sp_stack_builder *s);

/* Adds a frame as it is printed: "java/lang/Thread.run_[j]", "do_futex_[k]", "std::sort". */
void sp_stack_builder_printed(struct sp_stack_builder *s, const char *name, size_t len);

/* Adds a frame of which more is known. */
void sp_stack_builder_native(struct sp_stack_builder *s, const char *module, const char *name,
	size_t len, enum sp_frame_type type);
void sp_stack_builder_add(
	struct sp_stack_builder *s, uint32_t method, int32_t line, enum sp_frame_type type);

void sp_stack_builder_reverse(struct sp_stack_builder *s);

/* The stack's id; 0 when out of memory. */
uint32_t sp_stack_builder_id(struct sp_stack_builder *s);

/* A method as printed: Java where it looks so ("pkg/Class.method"). 0 when out of memory. */
uint32_t sp_stack_builder_method(struct sp_dict *d, const char *name, size_t len, bool java);

/* "[name tid=N]" or "[tid=N]": the thread's id of the dictionary, 0 if it is no thread. */
uint32_t sp_stack_builder_thread(struct sp_dict *d, const char *text, size_t len);

#endif
