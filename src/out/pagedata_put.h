/* Inside of src/out: the profile as pagedata.c has arranged it, and its columns. */
#ifndef SP_OUT_PAGEDATA_PUT_H
#define SP_OUT_PAGEDATA_PUT_H

#include "base/buf.h"
#include "out/diff.h"
#include "out/trie.h"
#include "prof/model/profile.h"
#include "prof/spark/area.h"
#include "prof/spark/time_class.h"

struct sp_page_row {
	uint32_t event, thread, bucket, span, leaf, stack, state, label;
	uint64_t value; /* weight, or samples where these are counted; in quanta from round_values
			   on */
};

/* What a task is called: ids of names; 0: none. */
struct sp_page_label {
	uint32_t executor, stage, task;
};

struct sp_page {
	const struct sp_profile *p; /* borrowed */
	const struct sp_diff *diff; /* borrowed; NULL: no comparison */
	struct sp_areas *areas;	    /* borrowed, unless own_areas */
	bool own_areas;
	struct sp_dict *names; /* owned: names of frames; ids are the tree's frames */
	struct sp_trie trie;
	struct sp_trie picture;	 /* see first_paint.h; empty in a comparison */
	uint32_t starts_deepest; /* how many frames that threads start with one stack has at most */
	struct sp_page_row *rows; /* owned: by event, thread and time */
	size_t row_count;
	uint32_t *threads; /* owned: ids of the dictionary; rows name them by place, + 1 */
	uint32_t thread_count;
	uint64_t event_rows[SP_PROFILE_EVENTS];
	bool stated[SP_PROFILE_EVENTS]; /* samples of the event have states */
	bool unlabelled;		/* a sample is of no task */
	uint64_t *thread_weights;	/* owned: of all events, by thread */
	uint32_t *order, *place;	/* owned: sp_trie_order */
	uint32_t *leaves, *uses;	/* owned: nodes that are leaves, most used first */
	uint32_t *stack_of_node;	/* owned: place in leaves[] by node */
	uint32_t leaf_count;
	struct sp_time_class_of *spent; /* owned; NULL: no task ran */
	uint32_t *profile_stack;	/* owned: a stack of the profile that ends at the node */
	struct sp_page_label *labels;	/* owned: of each task of the profile */
	uint64_t quantum[SP_PROFILE_EVENTS]; /* 0: the event is left out */
	bool counted;			     /* values are samples, not weights: see pagedata.h */
	uint64_t filtered;
	const struct sp_out_opts *o; /* borrowed */
	uint32_t first_bucket, buckets;
	uint64_t start_ns;
};

/* Appends the meta data. @states: string ids that samples have as state, each once. */
void sp_page_meta(const struct sp_page *g, const uint32_t *states, size_t count, struct sp_buf *b);

/* Appends all sections; errors are sticky in @out. Returns where the tree and the samples begin,
 * which the first picture does without. */
size_t sp_page_put(struct sp_page *g, struct sp_buf *out);

#endif
