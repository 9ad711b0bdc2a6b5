/* Sampled objects that may still be alive: a bounded reservoir of weak references. When it is full,
 * some are let go at random and the others weigh more, and so does what comes later: the estimate
 * of live bytes stays unbiased however long the recording is. The collector adds and writes, the
 * JVM's side looks who died; neither waits for the other's work: the lock is never held across a
 * call of the JVM. */
#ifndef SP_AGENT_HOOKS_LIVE_OBJECTS_H
#define SP_AGENT_HOOKS_LIVE_OBJECTS_H

#include "dict/dict.h"

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#define SP_LIVE_MAX 16384u

struct sp_live_objects;

struct sp_live_object {
	void *weak;		/* jweak */
	uint32_t stack, thread; /* ids of the dictionary that comes with it */
	uint32_t class_id;	/* string */
	uint64_t factor;	/* what sp_live_objects_admit() said */
	uint64_t size, weight;	/* bytes; those it represents */
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	uint64_t collections;	/* when it was born */
};

/* @memory: bytes for its own dictionary. Returns 0 or -errno. */
__attribute__((warn_unused_result)) int sp_live_objects_new(
	struct sp_live_objects **ret, size_t memory);
void sp_live_objects_free(struct sp_live_objects *l);

/* Whether the object at hand should be kept: how many it represents, 0 for no. Lock-free, any
 * thread. */
uint64_t sp_live_objects_admit(struct sp_live_objects *l);

/* The collector: keeps @o, with ids of @dict; or, where it was lost on the way, only lets the
 * weak reference go. Ownership of the weak reference passes in both cases. */
void sp_live_objects_add(
	struct sp_live_objects *l, struct sp_dict *dict, const struct sp_live_object *o);
void sp_live_objects_drop(struct sp_live_objects *l, void *weak);

/* The JVM's side: forgets the dead. */
void sp_live_objects_tick(struct sp_live_objects *l, JNIEnv *env);

/* The JVM's side, last: gives all references back. */
void sp_live_objects_release(struct sp_live_objects *l, JNIEnv *env);

/* The collector: calls @fn for each object that was alive at the last tick, with ids of @dict.
 * Returns how many; *ret_lost those for which the dictionary was full. */
typedef void sp_live_objects_each_fn(void *ctx, const struct sp_live_object *o);
uint64_t sp_live_objects_each(struct sp_live_objects *l, struct sp_dict *dict,
	sp_live_objects_each_fn *fn, void *ctx, uint64_t *ret_lost);

#endif
