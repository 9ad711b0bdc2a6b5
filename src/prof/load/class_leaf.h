/* Stacks with the class of an allocated object or a lock on top, as a frame. Inside of src/prof. */
#ifndef SP_PROF_LOAD_CLASS_LEAF_H
#define SP_PROF_LOAD_CLASS_LEAF_H

#include "prof/load/load_event.h"

/* @class_name: string id of the class as the JVM spells it ("[Ljava/lang/String;").
 * Returns the id of @stack with that class ("java.lang.String[]") as its leaf; 0 when out of
 * memory. */
uint32_t sp_class_leaf_stack(
	struct sp_loading *l, uint32_t stack, uint32_t class_name, enum sp_frame_type type);
void sp_class_leaf_free(struct sp_loading *l);

#endif
