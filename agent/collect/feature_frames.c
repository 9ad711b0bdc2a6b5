/* See feature_frames.h. */
#include "feature_frames.h"

#include "base/clock.h"
#include "vm/hotspot_counters.h"
#include "vm/vm_statics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COLLECTORS 4
#define COMPILERS  8 /* threads of compilers that are remembered */

/* The JVM's own counts. */
struct counts {
	uint64_t time_ns, collections, unloaded;
};

struct sp_feature_frames {
	const struct sp_hotspot *h;
	bool vtable, comptask;
	bool moves_always; /* objects move beside the application, or collections are not counted */
	const volatile uint64_t *collections[COLLECTORS], *unloaded;
	struct counts before, now; /* at the begin of the last batch, of this one */
	struct {
		uint32_t tid;
		uint64_t env;
	} compilers[COMPILERS];
	uint32_t next;
	uint64_t env; /* of the sample in hand */
	char name[SP_CLASS_NAME];
};

static bool flag(const char *name)
{
	uint64_t at = sp_vm_statics_flag(name);

	return at && *(const volatile bool *)at;
}

int sp_feature_frames_new(
	struct sp_feature_frames **ret, const struct sp_args *args, const struct sp_hotspot *h)
{
	struct sp_feature_frames *x;
	char name[] = "sun.gc.collector.0.invocations";

	*ret = NULL;
	if (!h || (!args->vtable && !args->comptask))
		return 0;
	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->h = h;
	x->vtable = args->vtable;
	x->comptask = args->comptask;
	for (int i = 0; i < COLLECTORS; i++) {
		name[17] = (char)('0' + i);
		x->collections[i] = sp_hotspot_counters_find(name);
	}
	x->unloaded = sp_hotspot_counters_find("java.cls.unloadedClasses");
	x->moves_always = flag("UseZGC") || flag("UseShenandoahGC") || !x->collections[0];
	sp_feature_frames_batch(x);
	*ret = x;
	return 0;
}

void sp_feature_frames_free(struct sp_feature_frames *x)
{
	free(x);
}

static struct counts count(const struct sp_feature_frames *x)
{
	struct counts c = {.time_ns = sp_clock_mono_ns()};

	for (int i = 0; i < COLLECTORS; i++)
		c.collections += x->collections[i] ? *x->collections[i] : 0;
	c.unloaded = x->unloaded ? *x->unloaded : 0;
	return c;
}

void sp_feature_frames_batch(struct sp_feature_frames *x)
{
	if (!x)
		return;
	x->before = x->now;
	x->now = count(x);
}

/* A compiler's thread describes each task at the same place of its stack: where it was last is
 * where a task was that has ended since. */
static uint64_t env_of(struct sp_feature_frames *x, const struct sp_tinfo *t)
{
	uint64_t env = sp_extra_compiler_env(x->h, t->java_thread);
	uint32_t i = 0;

	while (i < COMPILERS && x->compilers[i].tid != t->tid)
		i++;
	if (!env)
		return i < COMPILERS ? x->compilers[i].env : 0;
	if (i == COMPILERS)
		i = x->next++ % COMPILERS;
	x->compilers[i].tid = t->tid;
	x->compilers[i].env = env;
	return env;
}

uint64_t sp_feature_frames_mark(struct sp_feature_frames *x, const struct sp_raw_sample *sample)
{
	static const char compiler[] = " CompilerThre"; /* of C1's, C2's and JVMCI's threads */
	const struct sp_tinfo *t = sample->thread;

	if (!x || !x->comptask)
		return 0;
	x->env = t && memmem(t->name, sizeof(t->name), compiler, strlen(compiler)) ? env_of(x, t)
										   : 0;
	return x->env;
}

static void put(struct sp_frame *frames, uint32_t *count_, uint32_t at, const struct sp_frame *f)
{
	memmove(frames + at + 1, frames + at, (*count_ - at) * sizeof(*frames));
	frames[at] = *f;
	++*count_;
}

void sp_feature_frames_receiver(struct sp_feature_frames *x, const struct sp_raw_sample *sample,
	struct sp_frame *frames, uint32_t *count_, uint32_t max)
{
	struct sp_frame f = {.kind = SP_FRAME_KIND_CLASS,
		.type = SP_FRAME_INLINED,
		.bci = -1,
		.module = SP_NO_MODULE};
	struct counts now;
	int r;

	if (!x || !x->vtable || !*count_ || *count_ >= max)
		return;
	r = sp_extra_receiver(x->h, &sample->snap, frames, !x->moves_always, x->name);
	now = count(x);
	if (r < 0 || sample->snap.time_ns < x->before.time_ns ||
		now.unloaded != x->before.unloaded ||
		(r == SP_RECEIVER_OBJECT && now.collections != x->before.collections))
		return;
	f.method = (uintptr_t)x->name;
	put(frames, count_, 0, &f);
}

void sp_feature_frames_compiled(struct sp_feature_frames *x, const struct sp_raw_sample *sample,
	struct sp_frame *frames, uint32_t *count_, uint32_t max, uint32_t marked)
{
	struct sp_frame f;

	if (!x || !x->comptask || !marked || marked >= *count_ || *count_ >= max)
		return;
	if (sp_extra_compiled(x->h, &sample->snap, x->env, &f))
		put(frames, count_, marked - 1, &f);
}
