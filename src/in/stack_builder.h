/* Building stacks out of printed names. Inside of src/in. */
#ifndef SP_IN_STACK_H
#define SP_IN_STACK_H

#include "prof/profile.h"

#include <stdbool.h>

struct sp_in_stack {
	struct sp_dict *dict;	     /* borrowed */
	struct sp_frame_ref *frames; /* owned; leaf first if the caller adds so */
	uint32_t count;
	bool truncated, failed;
};

int sp_in_stack_init(struct sp_in_stack *s, struct sp_dict *dict);
void sp_in_stack_done(struct sp_in_stack *s);
void sp_in_stack_clear(struct sp_in_stack *s);

/* Adds a frame as it is printed: "java/lang/Thread.run_[j]", "do_futex_[k]", "std::sort". */
void sp_in_stack_printed(struct sp_in_stack *s, const char *name, size_t len);

/* Adds a frame of which more is known. */
void sp_in_stack_native(struct sp_in_stack *s, const char *module, const char *name, size_t len,
	enum sp_frame_type type);
void sp_in_stack_add(struct sp_in_stack *s, uint32_t method, int32_t line, enum sp_frame_type type);

void sp_in_stack_reverse(struct sp_in_stack *s);

/* The stack's id; 0 when out of memory. */
uint32_t sp_in_stack_id(struct sp_in_stack *s);

/* A method as printed: Java where it looks so ("pkg/Class.method"). 0 when out of memory. */
uint32_t sp_in_method(struct sp_dict *d, const char *name, size_t len, bool java);

/* "[name tid=N]" or "[tid=N]": the thread's id of the dictionary, 0 if it is no thread. */
uint32_t sp_in_thread(struct sp_dict *d, const char *text, size_t len);

#endif
