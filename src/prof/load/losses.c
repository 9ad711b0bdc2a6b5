/* See losses.h. */
#include "prof/load/losses.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/saturate.h"

#define RECENT 32u	  /* rows that may grow: a recording has fewer counters */
#define MOST   (1u << 16) /* of a file that is not what it seems */

void sp_losses_done(struct sp_losses *l)
{
	free(l->rows);
	*l = (struct sp_losses){0};
}

static struct sp_loss_note *add(struct sp_losses *l)
{
	if (sp_grow(&l->rows, &l->cap, l->count, sizeof(*l->rows), RECENT) < 0)
		return NULL;
	return &l->rows[l->count++];
}

static bool same_counter(const struct sp_loss_note *a, const struct sp_loss_note *b)
{
	return a->kind == b->kind && strcmp(a->reason, b->reason) == 0;
}

int sp_losses_keep(struct sp_losses *l, enum sp_loss_kind kind, const char *reason, uint64_t since,
	uint64_t count)
{
	struct sp_loss_note row = {.kind = (uint8_t)kind, .since = since, .count = count}, *at;

	snprintf(row.reason, sizeof(row.reason), "%s", reason);
	for (size_t i = l->count; i > 0 && l->count - i < RECENT; i--) {
		at = &l->rows[i - 1];
		if (at->since != since || !same_counter(at, &row))
			continue;
		at->count = count > at->count ? count : at->count;
		return 0;
	}
	if (l->count >= MOST)
		return 0;
	at = add(l);
	if (!at)
		return -ENOMEM;
	*at = row;
	return 0;
}

int sp_losses_join(struct sp_losses *l, const struct sp_losses *other)
{
	for (size_t i = 0; i < other->count; i++) {
		struct sp_loss_note *at = add(l);

		if (!at)
			return -ENOMEM;
		*at = other->rows[i];
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct sp_loss_note *x = a, *y = b;
	int by_reason = strcmp(x->reason, y->reason);

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (by_reason)
		return by_reason;
	if (x->since != y->since)
		return x->since < y->since ? -1 : 1;
	return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

static int largest_first(const void *a, const void *b)
{
	const struct sp_loss_note *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->reason, y->reason);
}

void sp_losses_settle(struct sp_losses *l)
{
	uint64_t since = 0;
	size_t n = 0;

	if (!l->count)
		return;
	qsort(l->rows, l->count, sizeof(*l->rows), compare);
	for (size_t i = 0; i < l->count; i++) {
		struct sp_loss_note row = l->rows[i];

		if (n && same_counter(&l->rows[n - 1], &row)) {
			if (row.since != since) /* the largest of them comes first */
				l->rows[n - 1].count =
					sp_saturate_add(l->rows[n - 1].count, row.count);
		} else {
			l->rows[n++] = row;
		}
		since = row.since;
	}
	l->count = n;
	qsort(l->rows, n, sizeof(*l->rows), largest_first);
}
