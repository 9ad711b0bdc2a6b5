/* The tree that the SVG draws: of one view, or of both sides of a comparison. See svg_internal.h.
 */
#include "out/svg_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "out/thread_entry_frames.h"

static int settle(struct sp_svg *d)
{
	sp_trie_sum(&d->trie);
	d->whole = d->trie.nodes[0].total;
	return sp_trie_sort(&d->trie);
}

/* Verdicts on a view's frames, each asked for once. */
struct started {
	const struct sp_view *v;
	struct sp_thread_entry_frames *starts; /* owned */
	uint8_t *known;			       /* owned: 1 no, 2 yes */
	uint32_t *same;			       /* owned: a method is one frame, however it ran */
};

static int started_init(struct started *t, const struct sp_view *v)
{
	t->v = v;
	t->known = calloc(sp_view_frames(v) + 1ul, 1);
	t->same = sp_trie_same_names(v);
	return t->known && t->same ? sp_thread_entry_frames_new(&t->starts) : -ENOMEM;
}

static void started_done(struct started *t)
{
	sp_thread_entry_frames_free(t->starts);
	free(t->known);
	free(t->same);
}

static bool is_start(struct started *t, uint32_t frame)
{
	if (!t->known[frame])
		t->known[frame] =
			sp_thread_entry_frames_has(t->starts, sp_view_get_frame(t->v, frame).name)
				? 2
				: 1;
	return t->known[frame] == 2;
}

/* Adds a stack without what its thread starts with; a root that is no frame ("[stage 7]") stays. */
static int add_stack(struct sp_svg *d, struct started *t, const struct sp_view_stack *s)
{
	uint32_t node = 0, root, end;

	root = s->count && sp_view_get_frame(d->v, s->frames[0]).name[0] == '[';
	for (end = root; end < s->count && is_start(t, s->frames[end]);)
		end++;
	for (uint32_t k = 0; k < s->count - (end - root); k++) {
		uint32_t at = d->reverse ? s->count - (end - root) - 1 - k : k;
		uint32_t frame = s->frames[at < root ? at : at + end - root];

		node = sp_trie_child(&d->trie, node, t->same[frame]);
		if (!node)
			return -ENOMEM;
		sp_trie_vote(&d->trie, node, 0, sp_view_get_frame(d->v, frame).type, s->value);
	}
	d->trie.nodes[node].self += s->value;
	d->starts = end - root > d->starts ? end - root : d->starts;
	return 0;
}

static int build_one(struct sp_svg *d)
{
	__attribute__((cleanup(started_done))) struct started t = {0};
	int r = started_init(&t, d->v);

	for (size_t i = 0; i < d->v->stack_count && r == 0; i++)
		r = add_stack(d, &t, &d->v->stacks[i]);
	return r < 0 ? r : settle(d);
}

/* The stacks of one side: frames are names of the comparison's tree. */
static int add_side(struct sp_svg *d, unsigned side)
{
	const struct sp_tree_node *nodes = d->diff->tree.nodes;
	size_t count = d->diff->tree.count;
	SP_AUTO_FREE uint32_t *map = calloc(count, sizeof(*map));

	if (!map)
		return -ENOMEM;
	for (size_t i = 1; i < count; i++) { /* parents come first */
		map[i] = sp_trie_child(&d->trie, map[nodes[i].parent], nodes[i].name);
		if (!map[i])
			return -ENOMEM;
	}
	d->sides[side] = calloc(d->trie.count, sizeof(*d->sides[side]));
	if (!d->sides[side])
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		double scale = side == SP_DIFF_BASE ? d->diff->scale : 1;

		d->trie.nodes[map[i]].self += (uint64_t)((double)nodes[i].self[side] * scale);
		d->sides[side][map[i]] += nodes[i].total[side];
	}
	return 0;
}

/* Widths are sums of both sides: what vanished is there too. */
static int build_both(struct sp_svg *d)
{
	int r = add_side(d, SP_DIFF_BASE);

	if (r == 0)
		r = add_side(d, SP_DIFF_NEW);
	return r < 0 ? r : settle(d);
}

int sp_svg_build(struct sp_svg *d)
{
	return d->diff ? build_both(d) : build_one(d);
}
