/* See rare_stacks.h. */
#include "prof/model/rare_stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hash.h"

#define DEEPEST 32 /* outermost frames that a cut stack keeps at most */

struct rare {
	struct sp_profile *p;
	float *shares; /* by stack: of its events, added up; 0: not used or whole */
	size_t count;  /* of stacks in the dictionary, and 1 */
	uint32_t leaf; /* method */
};

static uint32_t sum_shares(struct rare *x)
{
	const struct sp_profile *p = x->p;
	uint32_t used = 0;

	for (size_t i = 0; i < p->row_count; i++) {
		const struct sp_sample *s = &p->rows[i];
		double all = (double)p->events[s->event].weight + 1;

		if (!s->stack || s->stack >= x->count)
			continue;
		used += x->shares[s->stack] == 0;
		x->shares[s->stack] += (float)(((double)s->weight + 1e-3) / all);
	}
	return used;
}

static int heaviest_first(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return x > y ? -1 : x < y;
}

/* The @whole heaviest stay as they are: their share becomes 0. Returns the share of the others in
 * all events together, or -ENOMEM. */
static double keep_heaviest(struct rare *x, size_t whole)
{
	SP_AUTO_FREE float *sorted = malloc(x->count * sizeof(*sorted));
	double left = 0, all = 0;
	size_t ties = whole;
	float least;

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, x->shares, x->count * sizeof(*sorted));
	qsort(sorted, x->count, sizeof(*sorted), heaviest_first);
	least = sorted[whole - 1];
	for (size_t i = 0; sorted[i] > least; i++)
		ties--;
	for (size_t i = 1; i < x->count; i++) {
		float share = x->shares[i];

		all += share;
		if (share > least || (share == least && ties && ties--))
			x->shares[i] = 0;
		left += x->shares[i];
	}
	return left / all;
}

/* The outermost frames of a stack, without lines; returns how many. */
static uint32_t cut_stack(
	struct rare *x, uint32_t stack, uint32_t depth, struct sp_frame_ref ret[DEEPEST + 1])
{
	const struct sp_stack *s = sp_dict_get_stack(x->p->dict, stack);
	uint32_t n = s->count < depth ? s->count : depth;

	memset(ret, 0, (DEEPEST + 1) * sizeof(*ret));
	ret[0] = (struct sp_frame_ref){.method = x->leaf, .bci = -1, .type = SP_FRAME_NATIVE};
	for (uint32_t i = 0; i < n; i++) {
		const struct sp_frame_ref *f = &s->frames[s->count - n + i];

		ret[i + 1].method = f->method;
		ret[i + 1].bci = -1;
		ret[i + 1].type = f->type;
	}
	return n + 1;
}

/* Whether at most @most different ones are left at that depth. Hashes represent them: one in 2^32
 * that is taken for another makes the estimate, not the report, wrong. */
static int fits_at_depth(struct rare *x, uint32_t depth, size_t most)
{
	size_t slots = 1, found = 0;
	SP_AUTO_FREE uint64_t *seen = NULL;
	struct sp_frame_ref frames[DEEPEST + 1];

	while (slots < most * 2)
		slots *= 2;
	seen = calloc(slots, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	for (uint32_t i = 1; i < x->count && found <= most; i++) {
		uint64_t h;
		size_t at;

		if (x->shares[i] == 0)
			continue;
		h = sp_hash_bytes(frames, cut_stack(x, i, depth, frames) * sizeof(*frames)) | 1;
		for (at = h >> 16 & (slots - 1); seen[at] && seen[at] != h;)
			at = (at + 1) & (slots - 1);
		found += !seen[at];
		seen[at] = h;
	}
	return found <= most;
}

static int replace(struct rare *x, uint32_t depth)
{
	SP_AUTO_FREE uint32_t *map = malloc(x->count * sizeof(*map));
	struct sp_frame_ref frames[DEEPEST + 1];

	if (!map)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->count; i++) {
		map[i] = i;
		if (x->shares[i] == 0)
			continue;
		map[i] = sp_dict_stack(x->p->dict, frames, cut_stack(x, i, depth, frames), false);
		if (!map[i])
			return -ENOMEM;
	}
	sp_profile_replace_stacks(x->p, map, x->count);
	return 0;
}

static uint32_t leaf_method(struct sp_dict *d)
{
	struct sp_method m = {.native = SP_NATIVE_FINAL};

	m.name_id = sp_dict_string(d, SP_RARE_STACKS, strlen(SP_RARE_STACKS));
	return m.name_id ? sp_dict_method(d, &m) : 0;
}

static int fold(struct rare *x, uint32_t used, size_t most)
{
	double share = keep_heaviest(x, most / 2);
	uint32_t depth = DEEPEST;
	char text[300];
	int r = 0;

	if (share < 0 || !(x->leaf = leaf_method(x->p->dict)))
		return -ENOMEM;
	while (depth && (r = fits_at_depth(x, depth, most / 2)) == 0)
		depth /= 2;
	r = r < 0 ? r : replace(x, depth);
	if (r < 0)
		return r;
	snprintf(text, sizeof(text),
		"too many different stacks (%u): the rarest (%.2g %% of the whole) keep only their "
		"%u outermost frames, under " SP_RARE_STACKS,
		used, share * 100, depth);
	sp_profile_note(x->p, text);
	return 0;
}

int sp_profile_fold_rare(struct sp_profile *p, size_t most)
{
	struct rare x = {.p = p, .count = (size_t)sp_dict_stacks(p->dict) + 1};
	SP_AUTO_FREE float *shares = NULL;
	uint32_t used;

	if (x.count <= most || p->row_count <= most)
		return 0;
	x.shares = shares = calloc(x.count, sizeof(*shares));
	if (!shares)
		return -ENOMEM;
	used = sum_shares(&x);
	return used > most ? fold(&x, used, most) : 0;
}
