/* Sampled objects that may still be alive: a bounded reservoir of weak references. When it is full,
 * some are let go at random and the others weigh more, and so does what comes later: the estimate
 * of live bytes stays unbiased however long the recording is. The collector adds and writes, the
 * JVM's side looks who died; neither waits for the other's work: the lock is never held across a
 * call of the JVM. */
#ifndef SP_AGENT_LIVE_H
#define SP_AGENT_LIVE_H

#include "prof/dict.h"
#include "record.h"

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#define SP_LIVE_MAX 16384u

struct sp_live;

struct sp_live_object {
	void *weak;		/* jweak */
	uint32_t stack, thread; /* ids of the dictionary that comes with it */
	uint32_t class_id;	/* string */
	uint64_t factor;	/* what sp_live_admit() said */
	uint64_t size, weight;	/* bytes; those it stands for */
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	uint64_t collections;	/* when it was born */
};

/* @memory: bytes for its own dictionary. Returns 0 or -errno. */
int sp_live_new(struct sp_live **ret, size_t memory);
void sp_live_free(struct sp_live *l);

/* Whether the object at hand should be kept: how many it stands for, 0 for no. Lock-free, any
 * thread. */
uint64_t sp_live_admit(struct sp_live *l);

/* The collector: keeps @o, whose ids are of @dict; or, where it was lost on the way, only lets the
 * weak reference go. Ownership of the weak reference passes in both cases. */
void sp_live_add(struct sp_live *l, struct sp_dict *dict, const struct sp_live_object *o);
void sp_live_drop(struct sp_live *l, void *weak);

/* The JVM's side: forgets the dead. */
void sp_live_tick(struct sp_live *l, JNIEnv *env);

/* The JVM's side, last: gives all references back. */
void sp_live_release(struct sp_live *l, JNIEnv *env);

/* The collector: an event for each object that was alive at the last tick; at the @end of the
 * recording with its age, else as of a dump. Returns how many were written; *ret_lost those for
 * which the dictionary was full. */
uint64_t sp_live_write(struct sp_live *l, struct sp_record *r, struct sp_dict *dict,
	uint64_t collections, bool end, uint64_t *ret_lost);

#endif
