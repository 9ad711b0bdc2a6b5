/* Shares of threads and states: see view_totals.h. */
#include "prof/view/view_totals.h"

#include <stdlib.h>

static int by_weight(const void *a, const void *b)
{
	const struct sp_view_share *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

size_t sp_view_totals_rank(struct sp_view_share *s, size_t n, const struct sp_event *e)
{
	struct sp_rounding round = sp_rounding_of(e);
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i].samples == 0 && s[i].weight == 0)
			continue;
		s[kept] = s[i];
		s[kept++].id = (uint32_t)i;
	}
	qsort(s, kept, sizeof(*s), by_weight);
	for (size_t i = 0; i < kept; i++)
		s[i].samples = sp_round(&round, s[i].samples, s[i].weight);
	return kept;
}

void sp_view_totals_add(
	struct sp_view_share *shares, size_t n, uint32_t id, const struct sp_sample *s)
{
	struct sp_view_share *x = &shares[id < n ? id : 0];

	x->samples += s->count;
	x->weight += s->weight;
}
