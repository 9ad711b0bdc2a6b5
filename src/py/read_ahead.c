/* See read_ahead.h. */
#include "py/read_ahead.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

static bool is_call(const struct sp_pyahead_span *at, const struct sp_pyspan *spans, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (at[i].addr != spans[i].addr || at[i].len != spans[i].len)
			return false;
	return true;
}

/* Keeps what a call asks for, once: who tries again need not be read twice the next time. */
static void note(struct sp_pyahead_look *l, const struct sp_pyspan *spans, size_t n)
{
	for (size_t i = 0; i < l->count; i += l->spans[i].calls_for)
		if (l->spans[i].calls_for == n && is_call(l->spans + i, spans, n))
			return;
	l->full |= l->count + n > SP_PYAHEAD_SPANS;
	for (size_t i = 0; i < n && !l->full; i++) {
		if (sp_grow(&l->spans, &l->cap, l->count, sizeof(*l->spans), 64) < 0) {
			l->full = true;
			return;
		}
		l->spans[l->count++] = (struct sp_pyahead_span){.addr = spans[i].addr,
			.len = (uint32_t)spans[i].len,
			.calls_for = i ? 0 : (uint32_t)n};
	}
}

static void take(const struct sp_pyspan *spans, const struct sp_pyahead_span *from, size_t n,
	const uint8_t *room)
{
	for (size_t i = 0; i < n; i++)
		memcpy(spans[i].to, room + from[i].at, from[i].len);
}

/* Whether a call asks for many things of one kind, as code objects are: any of them may be as old
 * as what was read ahead, whatever else is read anew. */
static bool is_list(const struct sp_pyspan *spans, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (spans[i].len != spans[0].len)
			return false;
	return n > 1;
}

/* How many spans at the end of both are the same. */
static size_t same_end(
	const struct sp_pyahead_span *s, size_t count, const struct sp_pyspan *spans, size_t n)
{
	size_t k = 0;

	while (k < count && k < n && s[count - 1 - k].addr == spans[n - 1 - k].addr &&
		s[count - 1 - k].len == spans[n - 1 - k].len)
		k++;
	return k;
}

/* How many of the first spans are left to be read from the process. Earlier calls than the one that
 * is found are passed for good. */
static size_t answer(struct sp_pyahead *a, const struct sp_pyspan *spans, size_t n)
{
	size_t i = a->next, least = is_list(spans, n) ? 1 : n;

	for (size_t count; i < a->last.count; i += count) {
		const struct sp_pyahead_span *s = a->last.spans + i;
		size_t same;

		count = s->calls_for;
		if (i + count > a->got)
			break;
		same = least < n || count == n ? same_end(s, count, spans, n) : 0;
		if (same < least)
			continue;
		take(spans + n - same, s + count - same, same, a->room);
		a->next = i + count;
		return n - same;
	}
	return n;
}

int sp_pyahead_read(void *ctx, const struct sp_pyspan *spans, size_t n)
{
	struct sp_pyahead *a = ctx;
	size_t left;
	int got;

	if (!a->room || !n)
		return a->from.read(a->from.ctx, spans, n);
	note(&a->now, spans, n);
	left = answer(a, spans, n);
	if (left == 0)
		return (int)n;
	/* What is copied now is not to be compared with what was read before it. */
	if (left > 1 && !is_list(spans, n))
		a->next = a->last.count;
	got = a->from.read(a->from.ctx, spans, left);
	return got == (int)left ? (int)n : got;
}

/* Whether @s can be a part of the read before it: a place costs more than bytes, and a page is
 * there as a whole. What lies behind is read behind it; what was read already is to be read again.
 */
static bool is_near(const struct sp_pyahead_span *s, const struct sp_pyspan *before)
{
	enum { PAGE = 4096, NEAR = 1024 };
	uint64_t end = s->addr + s->len;

	return s->len && s->addr >= before->addr + before->len && end - before->addr <= NEAR &&
	       before->addr / PAGE == (end - 1) / PAGE;
}

/* The reads of the last look, neighbours in one; *ret_last: for each, which of its spans is the
 * last. Returns how many. */
static size_t plan(struct sp_pyahead *a, uint8_t *room, struct sp_pyspan *reads, size_t *ret_last)
{
	size_t n = 0, at = 0;

	for (size_t i = 0; !a->last.full && i < a->last.count; i++) {
		struct sp_pyahead_span *s = a->last.spans + i;
		struct sp_pyspan *r = n ? reads + n - 1 : NULL;

		bool near = r && is_near(s, r);

		at += near ? (size_t)(s->addr - r->addr - r->len) : 0;
		if (at > SP_PYAHEAD_BYTES || s->len > SP_PYAHEAD_BYTES - at)
			break;
		s->at = (uint32_t)at;
		if (near)
			r->len = (size_t)(s->addr + s->len - r->addr);
		else
			reads[n++] = (struct sp_pyspan){s->addr, room + at, s->len};
		ret_last[n - 1] = i;
		at += s->len;
	}
	return n;
}

void sp_pyahead_begin(struct sp_pyahead *a, uint8_t *room)
{
	struct sp_pyspan reads[SP_PYAHEAD_SPANS];
	size_t last[SP_PYAHEAD_SPANS], n;
	struct sp_pyahead_look was = a->last;
	int got;

	a->last = a->now;
	a->now = was;
	a->now.count = 0;
	a->now.full = false;
	a->room = room;
	a->next = a->got = 0;
	n = plan(a, room, reads, last);
	got = n ? a->from.read(a->from.ctx, reads, n) : 0;
	a->got = got > 0 ? last[got - 1] + 1 : 0;
}

void sp_pyahead_end(struct sp_pyahead *a)
{
	a->room = NULL;
}

void sp_pyahead_done(struct sp_pyahead *a)
{
	free(a->last.spans);
	free(a->now.spans);
	memset(a, 0, sizeof(*a));
}
