/* One event of a profile as a report shows it: filtered, named, and equal stacks merged. Writers
 * build a view and walk it; the profile itself is not changed. */
#ifndef SP_PROF_VIEW_VIEW_H
#define SP_PROF_VIEW_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "prof/model/profile.h"
#include "prof/model/split_by.h"
#include "prof/model/frame_name.h"
#include "prof/model/profile.h"
#include "prof/spark/area.h"

struct sp_view_opts {
	const char *event; /* NULL: the first one that has samples */
	struct sp_style style;
	bool threads;		/* -t: the thread as first frame */
	enum sp_by by;		/* what is put below the stack (thread: as -t) */
	struct sp_areas *areas; /* for SP_BY_AREA; borrowed; NULL: the built-in table */
	bool split;		/* stacks of two threads, states or tasks stay two */
	bool lines;		/* frames of two lines stay two */
	bool name_lines;	/* --lines: with lines, these are part of the names: "a/B.c:12" */
	bool split_types;	/* frames of one name and two types stay two (coloured formats) */
	bool total;		/* --total: values are weights, not samples */
	bool mark_truncated;	/* "[truncated]" below the frames of a stack that was cut */
	unsigned depth;		/* frames to keep, counted from the leaf; 0: all */
	const char *state;	/* only samples in this state; NULL: all */
	const char *const *include, *const *exclude; /* -I, -X: patterns, see glob.h */
	size_t include_count, exclude_count;
};

struct sp_view_frame {
	const char *name;	 /* borrowed from the view */
	enum sp_frame_type type; /* with split_types; else always SP_FRAME_NATIVE */
	uint32_t line;		 /* with lines; 0: unknown */
	bool java;		 /* with split_types: a method of Java, also a native one */
};

struct sp_view_stack {
	const uint32_t *frames; /* root first: numbers for sp_view_get_frame; borrowed */
	uint32_t count;
	bool truncated;
	uint64_t samples, weight, value; /* value: what --total chose of the two */
	uint32_t thread, state, task;	 /* with split: as a row of the profile; else 0 */
};

/* The share of one thread, one state, or what was waited for that one thread held. */
struct sp_view_share {
	uint32_t id; /* dictionary id of the thread, or string id of the state or holder; 0 unknown
		      */
	uint64_t samples, weight;
};

struct sp_view {
	const struct sp_profile *profile; /* borrowed */
	const struct sp_event *event;	  /* borrowed; NULL: the profile has no such event */
	struct sp_view_stack *stacks;	  /* owned; in the order in which they were met */
	size_t stack_count;
	struct sp_view_share *threads, *states, *holders; /* owned; heaviest first */
	size_t thread_count, state_count, holder_count;
	uint64_t samples, weight, value; /* sums over stacks */
	uint64_t filtered;		 /* samples that -I, -X or the state left out */
	uint32_t *row_stacks;  /* owned: of each row of the profile, its stack + 1; 0: none */
	struct sp_dict *names; /* owned: frames as strings and methods */
	uint32_t *frames;      /* owned: what stacks[].frames point into */
	size_t frames_len, frames_cap;
};

/* A frame is matched by -I and -X without its suffix: in its full form with slashes, in the dotted
 * one, or as it is shown; a thread (only with -t) by its name. A stack is kept if no exclude
 * matches one of its frames, and an include does (or there are none). Owner:   *ret belongs to the
 * caller: sp_view_free; it must go before @p. Returns: 0 (also without any sample) or -ENOMEM. */
__attribute__((warn_unused_result)) int sp_view_new(
	const struct sp_profile *p, const struct sp_view_opts *opts, struct sp_view **ret);
void sp_view_free(struct sp_view *v);

struct sp_view_frame sp_view_get_frame(const struct sp_view *v, uint32_t frame);
uint32_t sp_view_frames(const struct sp_view *v); /* numbers go from 1 to this */

#endif
