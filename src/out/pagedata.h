/* What the report page is drawn from: the profile as columns of varints, before deflate and base64.
 * src/page/decode.js is the other half; change both together, and SP_PAGE_VERSION.
 *
 *   "SPPG" version section*   section: id, length in bytes, contents; unknown ids are skipped
 *
 * What the first picture needs comes before the rest, the tree and the samples, which the
 * page has as a piece of its own.
 *
 * A number is a varint (7 bits a byte, low ones first, the top bit says that more follow); a signed
 * one is zigzag. A column is its numbers one after the other. Indices count from 0.
 *
 * 1 meta: JSON. Title, target, runtime, start and length, bucket, events, states, areas, what was
 *   lost, names of stages; what samples have (rows, states, areas; none of a task: "unlabelled");
 * "folded" where labels are stages, not tasks (coarsen.h); "times" of stages with their slowest
 * tasks (their "label" is as in 8); "diff" where events 0 and 1 are the sides of a comparison.
 *
 * 2 strings: count, column of lengths in bytes, the bytes (UTF-8).
 *
 * 3 threads: count, columns: name (string), tid; then what they weigh in all events together, with
 *   one more in front for samples of no thread.
 *
 * 4 nodes: the prefix tree of all stacks in pre-order without its root. Count, columns: levels to
 * go up from the node before (0: its child), name (string), type (enum sp_frame_type), line
 * (signed, difference to the node before of that name; 0 unknown), area + 1 (0: the same as its
 * caller's).
 *
 * 5 stacks: count, column: node of the leaf (the root is 0; signed, difference to the one before).
 *   The most frequent stacks come first.
 *
 * 6 samples: once per event. Event, rows, groups, then columns: per group thread + 1 (0 unknown;
 *   difference to the group before) and its rows; per row bucket (difference to the row before in
 *   the group), buckets beyond that one it covers, stack, state + 1 (0 unknown), label (0 none;
 *   signed, difference to the row before in the group), value. Value times the event's quantum is
 *   the weight; quanta are shared out so that sums are right to one quantum. A comparison counts
 *   samples ("counted" in the meta data), as its other formats do, unless weights were asked for.
 *
 * 7 series: once per kind. Kind (enum sp_series_kind), count, columns: milliseconds since the start
 *   (signed, difference), value (signed, difference).
 *
 * 8 labels: of each task of the profile (tasks.h). Count, columns: executor, stage, task (string +
 * 1; 0 none), flags (1: it began and 2: it ended within the recording, 4: a helping thread's).
 * Label n of a sample is the nth of these.
 *
 * 9 spans: when tasks ran. Count, columns: label, start in milliseconds (signed, difference),
 * length in microseconds.
 *
 * 10 waits: time by class (time_class.h), by stack and state; only where tasks ran. Kinds
 * of stacks, then for each kind a column: the class in each state, the first of an unknown
 * state; then a column: the kind of each of the stacks of 5. "waits" in the meta data names the
 * classes.
 *
 * 11 picture: the graph that the page opens with (first_paint.h), of the first event with rows; not
 * in a comparison. Event, how many frames that threads start with one stack has at most, nodes as
 * in 4, column: values of the root and of the nodes, with what they call. */
#ifndef SP_OUT_PAGEDATA_H
#define SP_OUT_PAGEDATA_H

#include "base/buf.h"
#include "out/diff.h"
#include "out/out.h"

#define SP_PAGE_VERSION 4

/* Appends the columns of @p as @opts filters it. @diff: NULL; or @p holds both sides of this
 * comparison as its events 0 and 1. *ret_rest: where the rest begins. Returns 0 or -ENOMEM. */
int sp_pagedata(const struct sp_profile *p, const struct sp_diff *diff,
	const struct sp_out_opts *opts, struct sp_buf *out, size_t *ret_rest);

#endif
