/* The named fields of events (event_fields.def) are those of their types (types.c), in order. */
#include "base/cleanup.h"
#include "base/buf.h"
#include "jfr/event_fields.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct {
	unsigned id;
	size_t size;
	const char *fields; /* "startTime, duration" */
} events[] = {
#define SP_JFR_EVENT_FIELDS(id, ...) {SP_JFR_##id, sizeof(struct sp_jfr_fields_##id), #__VA_ARGS__},
#include "jfr/event_fields.def"
#undef SP_JFR_EVENT_FIELDS
};

/* Appends the names of the fields; those of a nested struct behind its own. Returns how many. */
static size_t add_fields(struct sp_buf *b, const struct sp_jfr_field *f, const char *within)
{
	size_t n = 0;

	for (; f->name; f++) {
		const struct sp_jfr_type *t = sp_jfr_type(f->type);

		if (t->fields && !(f->flags & SP_JFR_POOL)) {
			n += add_fields(b, t->fields, f->name);
			continue;
		}
		sp_buf_addf(
			b, "%s%s%s%s", b->len ? ", " : "", within, within[0] ? "_" : "", f->name);
		n++;
	}
	return n;
}

Test(jfr_fields, each_event_has_the_fields_of_its_type_in_order)
{
	bool seen[SP_JFR_TYPE_IDS] = {false};

	for (size_t i = 0; i < SP_COUNT(events); i++) {
		const struct sp_jfr_type *t = sp_jfr_type(events[i].id);
		SP_AUTO_BUF struct sp_buf names;
		size_t n;

		sp_buf_init(&names);
		cr_assert(t && t->kind == SP_JFR_KIND_EVENT, "type %u", events[i].id);
		n = add_fields(&names, t->fields, "");
		cr_expect_str_eq(sp_buf_str(&names), events[i].fields, "%s", t->name);
		cr_expect_eq(events[i].size, n * sizeof(union sp_jfr_val), "%s", t->name);
		seen[events[i].id] = true;
	}
	for (unsigned id = SP_JFR_EVENT_FIRST; id < SP_JFR_TYPE_IDS; id++)
		cr_expect(seen[id] || !sp_jfr_type(id), "%s has no names", sp_jfr_type(id)->name);
}

/* Written with the values of the other. */
Test(jfr_fields, twins_have_the_same_fields)
{
	static const unsigned twins[][2] = {{SP_JFR_LIVE, SP_JFR_LIVE_SO_FAR},
		{SP_JFR_THREAD_PARK, SP_JFR_IDLE_PARK}, {SP_JFR_THREAD_START, SP_JFR_THREAD_END}};

	for (size_t i = 0; i < SP_COUNT(twins); i++) {
		const struct sp_jfr_field *a = sp_jfr_type(twins[i][0])->fields,
					  *b = sp_jfr_type(twins[i][1])->fields;

		for (; a->name && b->name; a++, b++) {
			cr_expect_str_eq(a->name, b->name);
			cr_expect_eq(a->type, b->type);
		}
		cr_expect(!a->name && !b->name);
	}
}
