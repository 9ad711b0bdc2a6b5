/* The unwinder as a function: recorded snapshots give the frames they gave; damaged ones end. */
#include "unwind/unwind.h"
#include "corpus.h"
#include "unwind/arch.h"
#include "unwind/method_names.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 2048

struct world {
	struct corpus *c;
	struct sp_mem mem;
	struct sp_modules *modules;
	struct sp_hotspot *hotspot;
	struct sp_unwinder *u;
	struct sp_method_names *names;
};

static struct world world_open(struct corpus *c, const struct sp_mem *mem)
{
	struct world w = {.c = c, .mem = *mem};
	struct sp_err err = {""};

	cr_assert_eq(sp_modules_new(&w.modules, mem), 0);
	cr_assert(sp_modules_parse(w.modules, c->maps, c->maps_len) >= 0);
	if (sp_hotspot_new(&w.hotspot, mem, w.modules, &err) < 0)
		w.hotspot = NULL;
	cr_assert_eq(sp_unwinder_new(&w.u, mem, w.modules, w.hotspot, 0), 0);
	if (w.hotspot)
		cr_assert_eq(sp_method_names_new(&w.names, mem, w.hotspot, 0), 0);
	return w;
}

static void world_close(struct world *w)
{
	sp_method_names_free(w->names);
	sp_unwinder_free(w->u);
	sp_hotspot_free(w->hotspot);
	sp_modules_free(w->modules);
}

/* Calls @fn for every corpus file; at least one must be there. */
static void each_corpus(void (*fn)(struct corpus *c, const char *name))
{
	const char *data = getenv("SP_DATA");
	char path[4096];
	struct dirent *e;
	int count = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/unwind", data ? data : "tests/data");
	d = opendir(path);
	cr_assert(d, "no %s", path);
	while ((e = readdir(d))) {
		struct corpus *c;

		if (!strstr(e->d_name, ".corpus"))
			continue;
		snprintf(path, sizeof(path), "%s/unwind/%s", data ? data : "tests/data", e->d_name);
		c = corpus_load(path);
		cr_assert(c, "%s cannot be read", path);
		cr_assert(c->case_count > 0);
		fn(c, e->d_name);
		corpus_free(c);
		count++;
	}
	closedir(d);
	cr_assert(count > 0, "no corpus files");
}

static void same_frame(const struct world *w, const struct corpus_case *k, uint32_t i,
	const struct sp_frame *f, const char *name)
{
	const struct corpus_frame *want = k->frames[i];
	char text[1024] = "";
	struct sp_name *n;

	cr_assert(f->pc == want->pc && f->kind == want->kind && f->type == want->type &&
			  f->method == want->method && f->bci == want->bci &&
			  f->offset == want->offset,
		"%s: frame %u differs: pc %lx, not %lx", name, i, (long)f->pc, (long)want->pc);
	if (f->kind == SP_FRAME_KIND_JAVA && sp_method_names_get(w->names, f, &n) == 0)
		snprintf(text, sizeof(text), "%s.%s:%d", n->class_name, n->name,
			sp_method_names_line(w->names, f));
	cr_assert(strlen(text) == want->name_len && !memcmp(text, k->names[i], want->name_len),
		"%s: frame %u is called %s, not %.*s", name, i, text, want->name_len, k->names[i]);
}

static uint64_t reads;

static int counting_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	reads++;
	return sp_mem_read(ctx, addr, buf, len);
}

/* With cold caches, with warm ones, and with warm ones in one batch: the same frames, for less. */
static void replay(struct corpus *c, const char *name)
{
	static struct sp_frame frames[DEPTH];
	struct sp_mem counting = {.read = counting_read, .ctx = &c->mem};
	struct world w = world_open(c, &counting);
	uint64_t taken[4] = {0};

	cr_assert(w.hotspot, "%s: no HotSpot", name);
	for (int round = 0; round < 4; round++) {
		reads = 0;
		if (round == 2)
			sp_unwinder_batch(w.u);
		for (uint32_t i = 0; i < c->case_count; i++) {
			const struct corpus_case *k = &c->cases[i];
			struct sp_unwind_result r;

			sp_unwind(w.u, &k->snap, frames, DEPTH, &r);
			cr_assert_eq(r.status, k->status, "%s case %u: %s (%s)", name, i,
				sp_unwind_status_text(r.status), sp_unwind_reason_text(r.reason));
			cr_assert_eq(r.count, k->count);
			for (uint32_t n = 0; n < r.count; n++)
				same_frame(&w, k, n, &frames[n], name);
		}
		taken[round] = reads;
	}
	cr_assert(taken[1] < taken[0] / 2 && taken[3] < taken[1] / 10 * 9,
		"%s: %lu reads, then %lu, in a batch %lu", name, taken[0], taken[1], taken[3]);
	world_close(&w);
}

/* Ways.java, in C2's epilogues, where AsyncGetCallTrace says nothing or takes the debug information
 * of what is inlined behind the return. */
Test(unwind, in_an_epilogue_all_that_was_inlined_has_ended)
{
	static struct sp_frame frames[DEPTH];
	const char *data = getenv("SP_DATA");
	char path[4096];
	struct corpus *c;
	struct world w;

	snprintf(path, sizeof(path), "%s/unwind/jdk11.returns", data ? data : "tests/data");
	c = corpus_load(path);
	cr_assert(c && c->case_count >= 5);
	w = world_open(c, &c->mem);
	for (uint32_t i = 0; i < c->case_count; i++) {
		const struct corpus_case *k = &c->cases[i];
		struct sp_unwind_result r;

		sp_unwind(w.u, &k->snap, frames, DEPTH, &r);
		cr_assert(r.status == SP_UNWIND_COMPLETE && r.count == k->count);
		for (uint32_t n = 0; n < r.count; n++)
			same_frame(&w, k, n, &frames[n], path);
		cr_assert(frames[0].type == SP_FRAME_C2 && frames[0].bci == -1, "case %u", i);
	}
	world_close(&w);
	corpus_free(c);
}

Test(unwind, recorded_snapshots_give_their_frames)
{
	each_corpus(replay);
}

static uint32_t mark_of(const struct sp_frame *f)
{
	return (uint32_t)((f->pc ^ f->method * 31) * 0x9e3779b97f4a7c15ull >> 32) | 1;
}

/* As whoever interns frames does: what was left for a frame must be found at that frame again.
 * Sometimes the dictionary is full, and nothing is left. Returns how many were found. */
static uint32_t intern(const struct sp_unwind_result *r, const struct sp_frame *frames, bool full)
{
	uint32_t same = r->kept && r->was.dict ? r->same : 0;

	same = same < r->was.frames ? same : r->was.frames;
	cr_assert(same <= r->count);
	for (uint32_t i = r->count - same; i < r->count; i++)
		cr_assert_eq(r->refs[i].method, mark_of(&frames[i]), "frame %u", i);
	if (!r->kept || full)
		return same;
	for (uint32_t i = 0; i < r->count - same; i++)
		r->refs[i].method = mark_of(&frames[i]);
	*r->kept = (struct sp_kept_refs){.dict = 1, .frames = r->count};
	return same;
}

/* One snapshot after another as if of one thread, each as it is and with one word changed: what was
 * remembered of the last must not show. */
static void remember(struct corpus *c, const char *name, uint32_t known)
{
	static struct sp_frame fresh[DEPTH], frames[DEPTH];
	struct sp_mem counting = {.read = counting_read, .ctx = &c->mem};
	struct world w = world_open(c, &counting), alone = world_open(c, &counting);
	uint64_t taken[2] = {0}, found = 0;

	for (uint32_t i = 0; i < c->case_count; i++) {
		struct sp_snapshot s = c->cases[i].snap;
		uint8_t *stack = malloc(s.stack_len + 1);

		memcpy(stack, s.stack, s.stack_len);
		s.stack = stack;
		s.tid = 7;
		s.known &= known;
		for (uint32_t round = 0; round < 24; round++) {
			struct sp_snapshot other;
			struct sp_unwind_result a, b;
			uint32_t at =
				round < 4 ? 0
					  : (i * 7919 + round * 104729) % (s.stack_len / 8 + 1) * 8;

			/* Who copies a stack may say that it ends before the thread's block. */
			s.stack_end = c->cases[i].snap.stack_end - round % 2 * 16;
			s.anchor = c->cases[round % 7 ? i : 0].snap.anchor;
			s.time_ns = 1000 * (1 + i * 24ull + round);
			other = s;
			other.tid = 0; /* nothing is remembered of it */
			if (round >= 4 && at + 8 <= s.stack_len)
				stack[at] ^= (uint8_t)(round % 3 ? 8 : 0);
			reads = 0;
			sp_unwind(alone.u, &other, fresh, DEPTH, &a);
			taken[0] += reads;
			reads = 0;
			sp_unwind(w.u, &s, frames, DEPTH, &b);
			taken[1] += reads;
			cr_assert_eq(a.count, b.count, "%s case %u round %u: %u frames, not %u",
				name, i, round, b.count, a.count);
			cr_assert(a.status == b.status && a.reason == b.reason &&
				  a.java_count == b.java_count && a.unknown == b.unknown &&
				  a.stop_pc == b.stop_pc && a.stop_sp == b.stop_sp &&
				  a.continuation == b.continuation);
			cr_assert_eq(memcmp(fresh, frames, a.count * sizeof(*frames)), 0,
				"%s case %u round %u: other frames", name, i, round);
			found += intern(&b, frames, round % 5 == 0);
			stack[at < s.stack_len ? at : 0] =
				s.stack_len ? c->cases[i].snap.stack[at < s.stack_len ? at : 0] : 0;
		}
		free(stack);
	}
	cr_assert(found > 0);
	cr_assert(taken[1] < taken[0] / 10 * 9, "%s: %lu reads instead of %lu", name, taken[1],
		taken[0]);
	world_close(&alone);
	world_close(&w);
}

static void remember_samples(struct corpus *c, const char *name)
{
	remember(c, name, SP_REG_ALL);
}

Test(unwind, what_is_remembered_of_a_stack_does_not_show)
{
	each_corpus(remember_samples);
}

/* As hooks leave them: those in native code with a Java caller below are what ways are kept of. */
static void remember_hooks(struct corpus *c, const char *name)
{
	remember(c, name, SP_ARCH_SAVED | SP_KNOWN(SP_ARCH_SP) | SP_KNOWN(SP_ARCH_PC));
}

Test(unwind, ways_that_are_remembered_do_not_show)
{
	each_corpus(remember_hooks);
}

/* As the wall clock sees threads that stand: below native frames, the JVM's note of the last Java
 * frame helps. */
static void remember_blocked(struct corpus *c, const char *name)
{
	remember(c, name, SP_KNOWN(SP_ARCH_SP) | SP_KNOWN(SP_ARCH_PC));
}

Test(unwind, what_is_remembered_of_blocked_threads_does_not_show)
{
	each_corpus(remember_blocked);
}

static void check_bounds(const struct sp_unwind_result *r, uint32_t max)
{
	cr_assert(r->count <= max);
	cr_assert(r->status <= SP_UNWIND_BROKEN && r->reason < SP_WHY_COUNT);
}

/* A snapshot that ends early is truncated where the bytes end, and its frames are the first ones of
 * the whole. */
static void cut(struct corpus *c, const char *name)
{
	static struct sp_frame frames[DEPTH];
	struct world w = world_open(c, &c->mem);

	for (uint32_t i = 0; i < c->case_count; i++) {
		const struct corpus_case *k = &c->cases[i];

		for (uint32_t len = 136; len < k->snap.stack_len; len += 8 * (1 + len / 256)) {
			struct sp_snapshot s = k->snap;
			struct sp_unwind_result r;
			uint8_t *copy = malloc(len); /* so that reads past the end are seen */

			memcpy(copy, s.stack, len);
			s.stack = copy;
			s.stack_len = len;
			sp_unwind(w.u, &s, frames, DEPTH, &r);
			check_bounds(&r, DEPTH);
			if (r.status == SP_UNWIND_TRUNCATED)
				cr_assert(r.stop_sp >= s.stack_addr && r.stop_sp <= s.stack_end,
					"%s case %u length %u", name, i, len);
			free(copy);
		}
	}
	world_close(&w);
}

Test(unwind, cut_stacks_are_truncated_not_wrong)
{
	each_corpus(cut);
}

static uint64_t seed = 0x243f6a8885a308d3;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void damage(const struct corpus *c, struct sp_snapshot *s, uint8_t *stack)
{
	static const uint64_t evil[] = {
		0, 1, 8, 0x7fffffffffff, 0x800000000000, ~0ull, ~7ull, 0x1000};
	unsigned n = 1 + rnd() % 8;

	while (n--) {
		uint64_t v = evil[rnd() % 8];

		if (rnd() % 3 == 0)
			v = c->blocks[rnd() % c->block_count].index * CORPUS_BLOCK + rnd() % 64;
		else if (rnd() % 3 == 0)
			v = s->stack_addr + rnd() % (s->stack_len + 64);
		if (rnd() % 4 == 0) {
			s->regs[rnd() % SP_REG_COUNT] = v;
		} else if (rnd() % 8 == 0) {
			s->known &= (uint32_t)rnd();
		} else if (s->stack_len >= 8) {
			uint64_t at = rnd() % (s->stack_len - 7);

			memcpy(stack + (rnd() % 2 ? at & ~7ull : at), &v, 8);
		}
	}
	if (rnd() % 16 == 0)
		s->stack_end = rnd();
	if (rnd() % 16 == 0)
		s->anchor = (struct sp_anchor){s->stack_addr + rnd() % 4096, rnd(), 0};
}

static unsigned rounds(unsigned normal)
{
	const char *more = getenv("SP_FUZZ_ROUNDS");

	return more ? (unsigned)atoi(more) : normal;
}

static void damaged(struct corpus *c, const char *name)
{
	static struct sp_frame frames[DEPTH];
	struct world w = world_open(c, &c->mem);

	for (uint32_t i = 0; i < c->case_count; i++)
		for (unsigned n = 0; n < rounds(60); n++) {
			struct sp_snapshot s = c->cases[i].snap;
			uint8_t *stack = malloc(s.stack_len + 1u);
			struct sp_unwind_result r;
			struct sp_name *ret_name;
			uint32_t max = 1 + rnd() % DEPTH;

			memcpy(stack, s.stack, s.stack_len);
			s.stack = stack;
			damage(c, &s, stack);
			sp_unwind(w.u, &s, frames, max, &r);
			check_bounds(&r, max);
			for (uint32_t k = 0; k < r.count && w.names; k++) {
				sp_method_names_get(w.names, &frames[k], &ret_name);
				sp_method_names_line(w.names, &frames[k]);
			}
			free(stack);
		}
	world_close(&w);
}

Test(unwind, damaged_snapshots_end_without_harm)
{
	each_corpus(damaged);
}

/* The process's memory itself may be anything: a JVM that is being torn down, hostile tables. */
static void hostile(struct corpus *c, const char *name)
{
	static struct sp_frame frames[DEPTH];

	for (unsigned n = 0; n < rounds(6); n++) {
		struct world w;

		for (unsigned flips = 0; flips < 1 + n * 20; flips++) {
			struct corpus_block *b = &c->blocks[rnd() % c->block_count];

			b->bytes[rnd() % CORPUS_BLOCK] ^= (uint8_t)(1u << rnd() % 8);
			if (rnd() % 4 == 0) {
				uint64_t v = rnd() >> (rnd() % 64);

				memcpy(b->bytes + rnd() % (CORPUS_BLOCK / 8) * 8, &v, 8);
			}
		}
		w = world_open(c, &c->mem);
		for (uint32_t i = 0; i < c->case_count; i++) {
			struct sp_unwind_result r;
			struct sp_name *ret_name;

			sp_unwind(w.u, &c->cases[i].snap, frames, DEPTH, &r);
			check_bounds(&r, DEPTH);
			for (uint32_t k = 0; k < r.count && w.names; k++) {
				sp_method_names_get(w.names, &frames[k], &ret_name);
				sp_method_names_line(w.names, &frames[k]);
			}
		}
		world_close(&w);
	}
}

Test(unwind, damaged_memory_ends_without_harm)
{
	each_corpus(hostile);
}

static void blocked(struct corpus *c, const char *name)
{
	static struct sp_frame frames[DEPTH];
	struct world w = world_open(c, &c->mem);

	for (uint32_t i = 0; i < c->case_count; i++) {
		struct sp_snapshot s = c->cases[i].snap;
		struct sp_unwind_result r;

		s.known = 1u << SP_REG_RSP | 1u << SP_REG_PC;
		sp_unwind(w.u, &s, frames, DEPTH, &r);
		check_bounds(&r, DEPTH);
		cr_assert(r.count >= 1);
		cr_assert_eq(frames[0].pc, s.regs[SP_REG_PC]);
	}
	world_close(&w);
}

Test(unwind, snapshot_with_sp_and_pc_only_is_accepted)
{
	each_corpus(blocked);
}

Test(unwind, no_room_for_frames_is_the_depth_cap)
{
	struct sp_mem none = {NULL, NULL, NULL, NULL};
	struct sp_modules *m;
	struct sp_unwinder *u;
	struct sp_frame f;
	struct sp_unwind_result r;
	uint64_t stack[32] = {0};
	struct sp_snapshot s = {.known = SP_REG_ALL,
		.stack_addr = 0x10000,
		.stack_end = 0x10100,
		.stack_len = sizeof(stack),
		.stack = (const uint8_t *)stack};

	s.regs[SP_REG_RSP] = 0x10000;
	cr_assert_eq(sp_modules_new(&m, &none), 0);
	cr_assert_eq(sp_unwinder_new(&u, &none, m, NULL, 0), 0);
	sp_unwind(u, &s, &f, 0, &r);
	cr_assert_eq(r.status, SP_UNWIND_DEPTH_CAP);
	sp_unwind(u, &s, &f, 1, &r);
	cr_assert_eq(r.reason, SP_WHY_NO_MODULE);
	s.regs[SP_REG_RSP] = 0x20000;
	sp_unwind(u, &s, &f, 1, &r);
	cr_assert_eq(r.reason, SP_WHY_NO_STACK);
	sp_unwinder_free(u);
	sp_modules_free(m);
}
