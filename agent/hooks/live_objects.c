/* See live_objects.h. */
#include "live_objects.h"

#include "base/clock.h"
#include "base/grow.h"
#include "dict_copy.h"
#include "sig/rate_limit.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct sp_live_objects {
	pthread_mutex_t lock;
	struct sp_live_object *objects; /* SP_LIVE_MAX */
	struct sp_live_object *moved;	/* scratch, SP_LIVE_MAX */
	uint32_t count;
	uint32_t room;		/* how many there were when it was last too many */
	uint32_t version;	/* changes when objects change their places */
	_Atomic uint32_t shift; /* one in 1 << shift is kept */
	void **trash;		/* references to give back */
	uint32_t trash_count;
	size_t trash_cap;
	struct sp_dict *dict; /* stacks of what is here: they outlive chunks. The collector's */
	size_t dict_cap;
	struct sp_dict_copy copy;
	void **looked; /* the JVM side's scratch, SP_LIVE_MAX */
};

int sp_live_objects_new(struct sp_live_objects **ret, size_t memory)
{
	struct sp_live_objects *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	pthread_mutex_init(&l->lock, NULL);
	l->dict_cap = memory;
	l->objects = calloc(SP_LIVE_MAX, sizeof(*l->objects));
	l->moved = calloc(SP_LIVE_MAX, sizeof(*l->moved));
	l->looked = calloc(SP_LIVE_MAX, sizeof(*l->looked));
	if (!l->objects || !l->moved || !l->looked || sp_dict_new(&l->dict, memory) < 0 ||
		sp_dict_copy_init(&l->copy) < 0) {
		sp_live_objects_free(l);
		return -ENOMEM;
	}
	*ret = l;
	return 0;
}

void sp_live_objects_free(struct sp_live_objects *l)
{
	if (!l)
		return;
	sp_dict_free(l->dict);
	sp_dict_copy_done(&l->copy);
	free(l->objects);
	free(l->moved);
	free(l->looked);
	free(l->trash);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

uint64_t sp_live_objects_admit(struct sp_live_objects *l)
{
	uint32_t shift = atomic_load_explicit(&l->shift, memory_order_relaxed);

	return sp_rate_limit_random() & ((1ull << shift) - 1) ? 0 : 1ull << shift;
}

/* Under the lock. A reference that cannot even be noted would be lost for ever: then it stays where
 * it is, which costs the JVM one word. */
static void discard(struct sp_live_objects *l, void *weak)
{
	if (sp_grow(&l->trash, &l->trash_cap, l->trash_count, sizeof(*l->trash), 1024) < 0)
		return;
	l->trash[l->trash_count++] = weak;
}

/* Under the lock: one in @level stays of what weighs less than that; heavier ones are few and stay
 * as they are, so that no weight outgrows the others. */
static void thin_to(struct sp_live_objects *l, uint64_t level)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		struct sp_live_object *o = &l->objects[i];

		if (o->factor < level && sp_rate_limit_random() % level >= o->factor) {
			discard(l, o->weak);
			continue;
		}
		if (o->factor < level) {
			o->weight = o->weight / o->factor * level;
			o->factor = level;
		}
		l->objects[kept++] = *o;
	}
	l->count = kept;
}

/* Under the lock: lets at least a quarter go. */
static void thin(struct sp_live_objects *l)
{
	uint32_t before = l->count;

	l->room = before;
	l->version++;
	do
		thin_to(l, 1ull << atomic_fetch_add(&l->shift, 1) << 1);
	while (l->count > before / 4 * 3 && atomic_load(&l->shift) < SP_LIMIT_SHIFT_MAX);
}

/* The object with ids of our own dictionary; false where that is full. */
static bool adopt(struct sp_live_objects *l, struct sp_dict *from, const struct sp_live_object *o,
	struct sp_live_object *ret)
{
	*ret = *o;
	ret->stack = sp_dict_copy_stack(&l->copy, l->dict, from, o->stack);
	ret->thread = sp_dict_copy_thread(l->dict, from, o->thread);
	ret->class_id = sp_dict_copy_string(l->dict, from, o->class_id);
	return ret->stack && ret->thread;
}

/* A new dictionary with the stacks that are needed. Under the lock. Returns false, with nothing
 * changed, where they fill most of it. */
static bool renew_dict(struct sp_live_objects *l)
{
	struct sp_dict *old = l->dict;
	uint32_t i = 0;

	if (sp_dict_new(&l->dict, l->dict_cap) < 0) {
		l->dict = old;
		return false;
	}
	while (i < l->count && adopt(l, old, &l->objects[i], &l->moved[i]))
		i++;
	if (i < l->count || sp_dict_used(l->dict) > l->dict_cap / 4 * 3) {
		sp_dict_free(l->dict);
		l->dict = old;
		return false;
	}
	memcpy(l->objects, l->moved, l->count * sizeof(*l->objects));
	sp_dict_free(old);
	return true;
}

/* Stacks of the dead have filled the dictionary, or there are too many of the living: then fewer of
 * these, as when the places are used up. Under the lock. */
static void make_room(struct sp_live_objects *l)
{
	while (!renew_dict(l) && l->count > 1)
		thin(l);
}

void sp_live_objects_add(
	struct sp_live_objects *l, struct sp_dict *dict, const struct sp_live_object *o)
{
	struct sp_live_object mine;
	bool fits;

	pthread_mutex_lock(&l->lock);
	if (l->count == SP_LIVE_MAX)
		thin(l);
	fits = adopt(l, dict, o, &mine);
	if (!fits) {
		make_room(l);
		fits = adopt(l, dict, o, &mine);
	}
	if (fits)
		l->objects[l->count++] = mine;
	else
		discard(l, o->weak);
	pthread_mutex_unlock(&l->lock);
}

void sp_live_objects_drop(struct sp_live_objects *l, void *weak)
{
	pthread_mutex_lock(&l->lock);
	discard(l, weak);
	pthread_mutex_unlock(&l->lock);
}

/* Takes the trash out of the lock and gives it back. */
static void empty_trash(struct sp_live_objects *l, JNIEnv *env)
{
	void **trash;
	uint32_t n;

	pthread_mutex_lock(&l->lock);
	trash = l->trash;
	n = l->trash_count;
	l->trash = NULL;
	l->trash_count = 0;
	l->trash_cap = 0;
	pthread_mutex_unlock(&l->lock);
	for (uint32_t i = 0; i < n; i++)
		(*env)->DeleteWeakGlobalRef(env, trash[i]);
	free(trash);
}

/* Under the lock: what was found dead goes, unless places changed meanwhile: then next time. */
static void bury(struct sp_live_objects *l, uint32_t n, uint32_t version)
{
	uint32_t kept = 0;

	if (l->version != version)
		return;
	for (uint32_t i = 0; i < l->count; i++) {
		if (i < n && !l->looked[i])
			discard(l, l->objects[i].weak);
		else
			l->objects[kept++] = l->objects[i];
	}
	l->version += kept != l->count;
	l->count = kept;
	/* Room again: later objects may weigh less. Those that are here keep their weights. */
	if (l->count < l->room / 4 && atomic_load(&l->shift))
		atomic_fetch_sub(&l->shift, 1);
}

void sp_live_objects_tick(struct sp_live_objects *l, JNIEnv *env)
{
	uint32_t n, version;

	pthread_mutex_lock(&l->lock);
	n = l->count;
	version = l->version;
	for (uint32_t i = 0; i < n; i++)
		l->looked[i] = l->objects[i].weak;
	pthread_mutex_unlock(&l->lock);
	/* Only this thread gives references back: what we have looked at is still one. */
	for (uint32_t i = 0; i < n; i++)
		if ((*env)->IsSameObject(env, l->looked[i], NULL))
			l->looked[i] = NULL;
	pthread_mutex_lock(&l->lock);
	bury(l, n, version);
	pthread_mutex_unlock(&l->lock);
	empty_trash(l, env);
}

void sp_live_objects_release(struct sp_live_objects *l, JNIEnv *env)
{
	pthread_mutex_lock(&l->lock);
	for (uint32_t i = 0; i < l->count; i++)
		discard(l, l->objects[i].weak);
	l->count = 0;
	pthread_mutex_unlock(&l->lock);
	empty_trash(l, env);
}

uint64_t sp_live_objects_each(struct sp_live_objects *l, struct sp_dict *dict,
	sp_live_objects_each_fn *fn, void *ctx, uint64_t *ret_lost)
{
	uint64_t count = 0, lost = 0;

	pthread_mutex_lock(&l->lock);
	for (uint32_t i = 0; i < l->count; i++) {
		struct sp_live_object o = l->objects[i];

		o.class_id = sp_dict_copy_string(dict, l->dict, o.class_id);
		o.thread = sp_dict_copy_thread(dict, l->dict, o.thread);
		o.stack = sp_dict_copy_stack(&l->copy, dict, l->dict, o.stack);
		if (!o.thread || !o.stack) {
			lost++;
			continue;
		}
		fn(ctx, &o);
		count++;
	}
	pthread_mutex_unlock(&l->lock);
	*ret_lost = lost;
	return count;
}
