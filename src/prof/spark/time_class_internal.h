/* What a stack says of its thread's time before the state is known. Inside of src/prof:
 * time_class.c looks at stacks and judges, time_class_rows.c keeps what was seen. */
#ifndef SP_PROF_SPARK_TIME_CLASS_INTERNAL_H
#define SP_PROF_SPARK_TIME_CLASS_INTERNAL_H

#include "base/buf.h"
#include "prof/spark/time_class.h"

/* What a stack says whatever the thread's state. */
struct sp_stack_roles {
	bool looked;
	uint8_t tells;
	uint8_t call;	/* role of the first frames: FILES, SOCKETS, BLOCKS or NEUTRAL */
	uint8_t worker; /* of the nearest frame that works itself: SERIAL, CODEC, from OWNER on */
	uint8_t owner;	/* the same from OWNER on */
	bool java;	/* has a Java method */
	bool native;	/* its first Java method is a native one, or calls such code */
	bool python;	/* has a function of Python … */
	bool pickles;	/* … and the nearest to the leaf serialises */
	bool launches;	/* a task, outside of its run time */
	bool inits;	/* initialises a class, and runs no Java for it */
	bool asks;	/* the driver */
	bool broadcast; /* waits for one */
	bool open;	/* its call is on an open file */
	bool stops;	/* held at a safepoint */
	bool finishes;	/* makes files of what a shuffle wrote */
};

/* @text: for names, overwritten. @roles: what methods are, as far as it is known, by number; NULL:
 * nothing is kept. */
struct sp_stack_roles sp_time_class_look(const struct sp_dict *d, const struct sp_frame_ref *frames,
	uint32_t count, struct sp_buf *text, uint8_t *roles, size_t role_count);

enum sp_time_class sp_time_class_judge_clock(const struct sp_stack_roles *t, const char *state);

/* Whether the thread is in a call that blocks, also where it was woken and has no core yet. */
bool sp_time_class_is_blocking(const struct sp_stack_roles *t);

enum sp_time_class sp_time_class_judge(const struct sp_stack_roles *t, const char *state);

#endif
