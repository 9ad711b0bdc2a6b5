/* Buckets of time: see timeline.h. */
#include "prof/model/timeline.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>

/* A start before the origin moves it by at least so much: spans are written at their ends, so the
 * first samples seldom come first. */
#define HEADROOM 64

#define BUCKETS 2000 /* that a recording of known length has */

static void shift_row(void *ctx, struct sp_sample *row)
{
	row->bucket += *(const uint32_t *)ctx;
}

static void join_buckets(void *ctx, struct sp_sample *row)
{
	unsigned times = *(const unsigned *)ctx;
	uint32_t last = (row->bucket + row->span) >> times;

	row->bucket >>= times;
	row->span = last - row->bucket;
}

void sp_profile_widen(struct sp_profile *p, unsigned times)
{
	if (times == 0)
		return;
	sp_profile_rekey(p, join_buckets, &times);
	p->bucket_ns <<= times;
}

/* Moves the origin to @start_ns or before, and widens the buckets until that is near enough. */
static void move_origin(struct sp_profile *p, uint64_t start_ns)
{
	uint64_t shift;
	uint32_t buckets;

	while ((p->origin_ns - start_ns) / p->bucket_ns >= SP_TIMELINE_BUCKETS)
		sp_profile_widen(p, 1);
	shift = (p->origin_ns - start_ns + p->bucket_ns - 1) / p->bucket_ns;
	shift = shift < HEADROOM ? HEADROOM : shift;
	if (shift * p->bucket_ns > p->origin_ns)
		shift = p->origin_ns / p->bucket_ns;
	buckets = (uint32_t)shift;
	sp_profile_rekey(p, shift_row, &buckets);
	p->origin_ns -= shift * p->bucket_ns;
}

/* The last moment of a span: one on a boundary does not touch the bucket behind it. */
static uint64_t end_of(const struct sp_timed *t)
{
	uint64_t end =
		t->span_ns > UINT64_MAX - t->start_ns ? UINT64_MAX : t->start_ns + t->span_ns;

	return end - (end > t->start_ns);
}

/* The bucket of a moment; *near is one that was asked for before, for most are the same: to divide
 * takes longer than the rest of it. */
static uint32_t bucket_of(const struct sp_profile *p, uint64_t time_ns, uint32_t *near)
{
	uint64_t since_ns = time_ns - p->origin_ns;

	if (since_ns - *near * p->bucket_ns >= p->bucket_ns)
		*near = (uint32_t)(since_ns / p->bucket_ns);
	return *near;
}

/* Moves the origin and widens the buckets until they hold that. */
static void make_room_for(struct sp_profile *p, const struct sp_timed *t)
{
	if (p->bucket_ns == 0) {
		p->bucket_ns = SP_TIMELINE_FINEST_NS;
		p->origin_ns = t->start_ns;
	}
	if (t->start_ns < p->origin_ns)
		move_origin(p, t->start_ns);
	while ((end_of(t) - p->origin_ns) / SP_TIMELINE_BUCKETS >= p->bucket_ns)
		sp_profile_widen(p, 1);
}

/* Whether the buckets hold all of them. */
static bool have_room_for(const struct sp_profile *p, const struct sp_timed *times, size_t count)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t end = end_of(&times[i]);

		first = times[i].start_ns < first ? times[i].start_ns : first;
		last = end > last ? end : last;
	}
	return p->bucket_ns && first >= p->origin_ns &&
	       (last - p->origin_ns) / SP_TIMELINE_BUCKETS < p->bucket_ns;
}

int sp_profile_add_many_at(
	struct sp_profile *p, const struct sp_sample *s, const struct sp_timed *times, size_t count)
{
	struct sp_sample timed[SP_PROFILE_BATCH];
	uint32_t near = 0;

	if (!have_room_for(p, times, count))
		for (size_t i = 0; i < count; i++)
			make_room_for(p, &times[i]);
	for (size_t i = 0; i < count; i++) {
		timed[i] = s[i];
		timed[i].span = 0;
		timed[i].bucket = bucket_of(p, times[i].start_ns, &near);
		if (times[i].span_ns)
			timed[i].span = bucket_of(p, end_of(&times[i]), &near) - timed[i].bucket;
	}
	return sp_profile_add_batch(p, timed, count);
}

int sp_profile_add_at(
	struct sp_profile *p, const struct sp_sample *s, uint64_t start_ns, uint64_t span_ns)
{
	return sp_profile_add_many_at(p, s, &(struct sp_timed){start_ns, span_ns}, 1);
}

void sp_profile_expect(struct sp_profile *p, uint64_t start_ns, uint64_t end_ns, uint64_t least_ns)
{
	uint64_t bucket_ns = end_ns > start_ns ? (end_ns - start_ns) / BUCKETS : 0;

	if (start_ns == 0 || bucket_ns == 0)
		return;
	bucket_ns = bucket_ns > least_ns ? bucket_ns : least_ns;
	p->origin_ns = start_ns;
	p->bucket_ns = bucket_ns > SP_TIMELINE_FINEST_NS ? bucket_ns : SP_TIMELINE_FINEST_NS;
}

int sp_profile_point(
	struct sp_profile *p, enum sp_series_kind kind, uint64_t time_ns, uint64_t value)
{
	struct sp_series *s = &p->series[kind];

	if (sp_grow(&s->points, &s->cap, s->count, sizeof(*s->points), 64) < 0)
		return -ENOMEM;
	s->points[s->count++] = (struct sp_point){time_ns, value};
	return 0;
}

int sp_profile_point_more(
	struct sp_profile *p, enum sp_series_kind kind, uint64_t time_ns, uint64_t value)
{
	struct sp_series *s = &p->series[kind];

	if (s->count && s->points[s->count - 1].time_ns == time_ns) {
		s->points[s->count - 1].value += value;
		return 0;
	}
	return sp_profile_point(p, kind, time_ns, value);
}
