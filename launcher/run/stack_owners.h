/* Who holds the lock that a thread of a JVM waits for: the agent's answer, for `stack`. */
#ifndef SP_LAUNCHER_RUN_STACK_OWNERS_H
#define SP_LAUNCHER_RUN_STACK_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct sp_stack_owner {
	int64_t waiter, owner; /* Java's numbers of threads; owner -1: not known */
	const char *lock;      /* "java.util.concurrent.locks.ReentrantLock$NonfairSync@1b2c" */
	const char *name;      /* of the owner; "" */
};

struct sp_stack_owners {
	char *text;		     /* owned */
	struct sp_stack_owner *list; /* owned; its texts are borrowed from text */
	size_t count;
	bool cut; /* more threads wait */
};

/* Takes the agent's lines apart (agent/vm/lock_owners.h); what is no such line is left out. Returns
 * 0 or -ENOMEM. sp_stack_owners_done in any case. */
__attribute__((warn_unused_result)) int sp_stack_owners_init(
	struct sp_stack_owners *o, const char *text);
void sp_stack_owners_done(struct sp_stack_owners *o);

/* What the thread waits for; NULL: for no lock. */
const struct sp_stack_owner *sp_stack_owners_find(const struct sp_stack_owners *o, uint64_t waiter);

/* The thread that holds a lock, where it was seen: 0: not; its task, -1: none. */
struct sp_stack_holder {
	uint32_t tid;
	int64_t task;
};

/* Appends "    waits for LOCK, held by thread 12 "NAME" of TID 3", and the same as JSON. */
void sp_stack_owner_text(
	struct sp_buf *b, const struct sp_stack_owner *o, struct sp_stack_holder by);
void sp_stack_owner_json(
	struct sp_buf *b, const struct sp_stack_owner *o, struct sp_stack_holder by);

/* What a state of a recording means: "waits for a lock". */
const char *sp_stack_state_words(const char *state);

#endif
