/* See sampler_notes.h. */
#include "sampler_notes.h"

#include <stdio.h>

static void note_opened(const struct sp_pysampling *s, unsigned opened)
{
	char text[160];

	snprintf(text, sizeof(text),
		"%u Python processes were read through the JVM that started them: the kernel "
		"allows "
		"that to nobody else",
		opened);
	sp_pyrecord_note(s->record, text);
}

static void note_stops(const struct sp_pysampling *s, const struct sp_pyptraces *x)
{
	char text[160];

	if (x->count) {
		snprintf(text, sizeof(text),
			"%s stopped Python threads %llu times, for %llu us on average, %llu at "
			"most",
			s->mixed ? "--native" : "--blocking", (unsigned long long)x->count,
			(unsigned long long)(x->all_ns / x->count / 1000),
			(unsigned long long)(x->longest_ns / 1000));
		sp_pyrecord_note(s->record, text);
	}
	if (s->unstopped) {
		snprintf(text, sizeof(text), "%llu Python stacks were read without stopping them",
			(unsigned long long)s->unstopped);
		sp_pyrecord_note(s->record, text);
	}
	if (s->bare) {
		snprintf(text, sizeof(text), "%llu Python stacks lack their native frames",
			(unsigned long long)s->bare);
		sp_pyrecord_note(s->record, text);
	}
}

void sp_pysampling_note(
	const struct sp_pysampling *s, const struct sp_pyptraces *stops, unsigned opened)
{
	if (s->mixed || s->blocking)
		note_stops(s, stops);
	if (opened)
		note_opened(s, opened);
}
