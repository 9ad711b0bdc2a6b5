/* Time in a profile. Rows lie in buckets of equal length that count from profile.origin_ns. Nobody
 * knows a recording's length before its end, so buckets start small and double whenever there would
 * be more than SP_TIMELINE_BUCKETS of them: at the end a bucket is at most 1/2,000 of the recording
 * (or SP_TIMELINE_FINEST_NS, for short ones), in one pass and bounded memory. */
#ifndef SP_PROF_MODEL_TIMELINE_H
#define SP_PROF_MODEL_TIMELINE_H

#include "prof/model/profile.h"

#define SP_TIMELINE_BUCKETS   4096
#define SP_TIMELINE_FINEST_NS 1000000ull

/* As sp_profile_add, for a sample that covers @span_ns from @start_ns (since 1970) on; 0: for
 * that instant. Its bucket and span are set here. A profile has times for all its rows or for none.
 */
int sp_profile_add_at(
	struct sp_profile *p, const struct sp_sample *s, uint64_t start_ns, uint64_t span_ns);

/* The same for up to SP_PROFILE_BATCH at once. */
struct sp_timed {
	uint64_t start_ns, span_ns;
};
int sp_profile_add_many_at(struct sp_profile *p, const struct sp_sample *s,
	const struct sp_timed *times, size_t count);

/* Before the first sample, where it is known which time they will cover: the buckets are then what
 * they should be at the end, 1/2,000 of it, or @least_ns where that is more. */
void sp_profile_expect(struct sp_profile *p, uint64_t start_ns, uint64_t end_ns, uint64_t least_ns);

/* Doubles the length of buckets @times times. */
void sp_profile_widen(struct sp_profile *p, unsigned times);

/* Adds @value to the last point of a series, where that is of the same time; else as below. */
int sp_profile_point_more(
	struct sp_profile *p, enum sp_series_kind kind, uint64_t time_ns, uint64_t value);

/* Adds a point to a series. Returns 0 or -ENOMEM. */
int sp_profile_point(
	struct sp_profile *p, enum sp_series_kind kind, uint64_t time_ns, uint64_t value);

#endif
