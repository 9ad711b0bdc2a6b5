/* The heaviest stacks, leaf first: -o traces. See text_internal.h. */
#include "out/text_internal.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "out/number.h"

/* "--- 490.0 MB (52.60 %), 31 samples" */
static void write_stack(
	const struct sp_text *t, const struct sp_view *v, const struct sp_view_stack *s)
{
	char n[SP_NUMBER_SIZE], m[SP_NUMBER_SIZE];

	sp_sink_printf(t->sink, "\n--- %s (%.2f %%), %s sample%s\n",
		sp_number_unit(s->weight, v->event->unit, n), sp_percent(s->weight, v->weight),
		sp_number(s->samples, m), s->samples == 1 ? "" : "s");
	for (uint32_t i = 0; i < s->count; i++) {
		sp_sink_printf(t->sink, "  [%2u] ", i);
		sp_text_name(t, sp_view_get_frame(v, s->frames[s->count - 1 - i]).name, 0);
	}
}

void sp_text_traces(
	const struct sp_text *t, const struct sp_view *v, const struct sp_hot_methods *hot)
{
	struct sp_text whole = *t;

	whole.width = SIZE_MAX / 2; /* names are for searching: none is cut */
	for (size_t i = 0; i < v->stack_count && i < t->o->traces; i++)
		write_stack(&whole, v, &v->stacks[hot->stacks[i]]);
}
