/* pprof's profile.proto. Read twice: strings, functions and locations first, since samples may
 * be before them; then the samples. Each kind of value that is no plain count is an event, and
 * the count before it is its number of samples. */
#include "in/input.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "in/proto.h"
#include "in/stack_builder.h"

#define FILE_MAX (1ull << 31)

enum {
	F_SAMPLE_TYPE = 1,
	F_SAMPLE = 2,
	F_MAPPING = 3,
	F_LOCATION = 4,
	F_FUNCTION = 5,
	F_STRING = 6,
	F_TIME = 9,
	F_DURATION = 10,
	F_PERIOD_TYPE = 11,
	F_PERIOD = 12,
};

struct text {
	const char *s;
	size_t len;
};

/* Messages by their id: functions, mappings and locations. */
struct table {
	struct entry {
		uint64_t id;
		struct sp_proto message;
		uint32_t method; /* functions: in the dictionary; 0: not yet */
	} * list;
	size_t count, cap;
};

struct value_type {
	struct text type, unit;
	int event; /* index, -1: only a count */
	int count; /* which value counts its samples; -1: none */
};

struct reading {
	struct sp_profile *p;
	const struct sp_load_opts *opts;
	struct sp_stack_builder stack;
	struct text *strings;
	size_t string_count, string_cap;
	struct table functions, locations, mappings;
	struct value_type types[SP_PROFILE_EVENTS];
	size_t type_count;
	uint64_t period;
};

static int by_id(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static struct entry *find_entry(const struct table *t, uint64_t id)
{
	struct entry key = {.id = id};

	return t->count ? bsearch(&key, t->list, t->count, sizeof(key), by_id) : NULL;
}

static int add_entry(struct table *t, struct sp_proto message)
{
	struct sp_proto m = message;
	struct sp_proto_field f;
	struct entry e = {.message = message};

	if (sp_grow(&t->list, &t->cap, t->count, sizeof(*t->list), 256) < 0)
		return -ENOMEM;
	while (sp_proto_next(&m, &f))
		if (f.number == 1 && f.wire == 0)
			e.id = f.value;
	t->list[t->count++] = e;
	return 0;
}

static int add_string(struct reading *r, const struct sp_proto *bytes)
{
	if (sp_grow(&r->strings, &r->string_cap, r->string_count, sizeof(*r->strings), 256) < 0)
		return -ENOMEM;
	r->strings[r->string_count++] =
		(struct text){(const char *)bytes->p, (size_t)(bytes->end - bytes->p)};
	return 0;
}

static struct text string_at(const struct reading *r, uint64_t i)
{
	return i < r->string_count ? r->strings[i] : (struct text){"", 0};
}

static bool equals(struct text t, const char *s)
{
	return t.len == strlen(s) && memcmp(t.s, s, t.len) == 0;
}

/* The strings that two numbered fields of a small message name. */
static void two_strings(struct reading *r, struct sp_proto m, struct text *one, struct text *two)
{
	struct sp_proto_field f;

	*one = *two = (struct text){"", 0};
	while (sp_proto_next(&m, &f)) {
		if (f.wire == 0 && f.number == 1)
			*one = string_at(r, f.value);
		else if (f.wire == 0 && f.number == 2)
			*two = string_at(r, f.value);
	}
}

static int first_pass(struct reading *r, struct sp_proto m)
{
	struct sp_proto_field f;
	int n = 0;

	while (n == 0 && sp_proto_next(&m, &f)) {
		if (f.wire == 2 && f.number == F_STRING)
			n = add_string(r, &f.bytes);
		else if (f.wire == 2 && f.number == F_FUNCTION)
			n = add_entry(&r->functions, f.bytes);
		else if (f.wire == 2 && f.number == F_LOCATION)
			n = add_entry(&r->locations, f.bytes);
		else if (f.wire == 2 && f.number == F_MAPPING)
			n = add_entry(&r->mappings, f.bytes);
		else if (f.wire == 0 && f.number == F_PERIOD)
			r->period = f.value;
		else if (f.wire == 0 && f.number == F_TIME)
			r->p->start_ns = f.value;
		else if (f.wire == 0 && f.number == F_DURATION)
			r->p->duration_ns = f.value;
	}
	if (r->functions.count)
		qsort(r->functions.list, r->functions.count, sizeof(struct entry), by_id);
	if (r->locations.count)
		qsort(r->locations.list, r->locations.count, sizeof(struct entry), by_id);
	if (r->mappings.count)
		qsort(r->mappings.list, r->mappings.count, sizeof(struct entry), by_id);
	return n;
}

static bool event_wanted(const struct reading *r, const char *name)
{
	for (size_t i = 0; i < r->opts->event_count; i++)
		if (strcmp(r->opts->events[i], name) == 0)
			return true;
	return r->opts->event_count == 0;
}

/* Makes an event of the value type at @i. */
static int add_event(struct reading *r, size_t i)
{
	struct value_type *t = &r->types[i];
	enum sp_unit unit = equals(t->unit, "nanoseconds") ? SP_UNIT_NS
			    : equals(t->unit, "bytes")	   ? SP_UNIT_BYTES
							   : SP_UNIT_COUNT;
	SP_AUTO_FREE char *name = strndup(t->type.s, t->type.len);
	int event;

	if (!name)
		return -ENOMEM;
	if (!event_wanted(r, name))
		return 0;
	event = sp_profile_event(r->p, name, unit, unit == SP_UNIT_NS ? r->period : 0, false);
	if (event < 0)
		return event;
	t->event = event;
	return 0;
}

static int read_types(struct reading *r, struct sp_proto m)
{
	struct sp_proto_field f;
	int n = 0, last_count = -1;

	while (sp_proto_next(&m, &f) && r->type_count < SP_PROFILE_EVENTS) {
		struct value_type *t = &r->types[r->type_count];

		if (f.wire != 2 || f.number != F_SAMPLE_TYPE)
			continue;
		two_strings(r, f.bytes, &t->type, &t->unit);
		t->event = -1;
		t->count = last_count;
		last_count = equals(t->unit, "count") ? (int)r->type_count : -1;
		r->type_count++;
	}
	for (size_t i = 0; i < r->type_count && n == 0; i++) {
		bool counts_next = i + 1 < r->type_count && r->types[i + 1].count == (int)i &&
				   !equals(r->types[i + 1].unit, "count");

		if (equals(r->types[i].unit, "count"))
			r->types[i].count = -1;
		if (!counts_next)
			n = add_event(r, i);
	}
	return n;
}

/* The method of a function, made when first met. */
static uint32_t method_of(struct reading *r, uint64_t id)
{
	struct entry *e = find_entry(&r->functions, id);
	struct sp_proto_field f;
	struct sp_proto m;
	struct text name = {"[unknown]", 9};

	if (!e)
		return sp_stack_builder_method(r->p->dict, name.s, name.len, false);
	if (e->method)
		return e->method;
	m = e->message;
	while (sp_proto_next(&m, &f))
		if (f.number == 2 && f.wire == 0)
			name = string_at(r, f.value);
	return e->method = sp_stack_builder_method(r->p->dict, name.s, name.len, false);
}

/* The name of the file behind a mapping, for locations without a function. */
static struct text module_of(struct reading *r, uint64_t id)
{
	struct entry *e = find_entry(&r->mappings, id);
	struct text name = {"", 0};
	struct sp_proto_field f;
	struct sp_proto m = e ? e->message : (struct sp_proto){0};

	while (e && sp_proto_next(&m, &f))
		if (f.number == 5 && f.wire == 0)
			name = string_at(r, f.value);
	return name;
}

static void add_line(struct reading *r, struct sp_proto m)
{
	struct sp_proto_field f;
	uint64_t function = 0, line = 0;
	uint32_t method;
	const struct sp_method *x;

	while (sp_proto_next(&m, &f)) {
		if (f.wire == 0 && f.number == 1)
			function = f.value;
		else if (f.wire == 0 && f.number == 2)
			line = f.value;
	}
	method = method_of(r, function);
	x = sp_dict_get_method(r->p->dict, method);
	sp_stack_builder_add(&r->stack, method, line && line <= INT32_MAX ? (int32_t)line : -1,
		x && !x->native ? SP_FRAME_C2 : SP_FRAME_NATIVE);
}

static void add_location(struct reading *r, uint64_t id)
{
	struct entry *e = find_entry(&r->locations, id);
	struct sp_proto m = e ? e->message : (struct sp_proto){0};
	struct sp_proto_field f;
	uint64_t mapping = 0;
	bool any = false;

	while (e && sp_proto_next(&m, &f)) {
		if (f.wire == 2 && f.number == 4) { /* inlined first: leaf first, as here */
			add_line(r, f.bytes);
			any = true;
		} else if (f.wire == 0 && f.number == 2) {
			mapping = f.value;
		}
	}
	if (!any) {
		struct text module = module_of(r, mapping);
		SP_AUTO_FREE char *name = strndup(module.s, module.len);

		sp_stack_builder_native(&r->stack, name ? name : "", "", 0, SP_FRAME_NATIVE);
	}
}

/* Labels that this profile has a place for: thread, and state. */
static void take_label(struct reading *r, struct sp_proto m, struct sp_sample *s)
{
	struct sp_proto_field f;
	struct text key = {"", 0}, value = {"", 0};
	struct sp_thread t = {0};

	while (sp_proto_next(&m, &f)) {
		if (f.wire == 0 && f.number == 1)
			key = string_at(r, f.value);
		else if (f.wire == 0 && f.number == 2)
			value = string_at(r, f.value);
	}
	if (!value.len)
		return;
	if (equals(key, "state")) {
		s->state = sp_dict_string(r->p->dict, value.s, value.len);
	} else if (equals(key, "thread")) {
		s->thread = sp_stack_builder_thread(r->p->dict, value.s, value.len);
		if (s->thread)
			return;
		t.name_id = sp_dict_string(r->p->dict, value.s, value.len);
		s->thread = t.name_id ? sp_dict_thread(r->p->dict, &t) : 0;
	}
}

static bool sample_wanted(const struct reading *r, const struct sp_sample *s)
{
	const struct sp_dict *d = r->p->dict;
	const struct sp_thread *t = sp_dict_get_thread(d, s->thread);
	const char *state = sp_dict_get_string(d, s->state, NULL);

	if (r->opts->thread &&
		fnmatch(r->opts->thread, t ? sp_dict_get_string(d, t->name_id, NULL) : "", 0) != 0)
		return false;
	return !r->opts->states || (state[0] && strstr(r->opts->states, state));
}

static int add_values(struct reading *r, struct sp_sample *s, const uint64_t *values, size_t n)
{
	for (size_t i = 0; i < r->type_count && i < n; i++) {
		const struct value_type *t = &r->types[i];
		int e;

		if (t->event < 0 || (int64_t)values[i] <= 0)
			continue;
		s->event = (uint32_t)t->event;
		s->weight = values[i];
		s->count = t->count >= 0 ? values[t->count]
			   : r->period && equals(t->unit, "nanoseconds")
				   ? (values[i] + r->period / 2) / r->period
			   : equals(t->unit, "count") ? values[i]
						      : 1;
		if (s->count == 0 && t->count < 0)
			s->count = 1; /* nobody counts: it is there */
		e = sp_profile_add(r->p, s);
		if (e < 0)
			return e;
	}
	return 0;
}

static int add_sample(struct reading *r, struct sp_proto m)
{
	uint64_t values[SP_PROFILE_EVENTS] = {0}, v;
	struct sp_sample s = {0};
	struct sp_proto_field f;
	size_t n = 0;

	sp_stack_builder_clear(&r->stack);
	while (sp_proto_next(&m, &f)) {
		if (f.number == 1)
			while (sp_proto_number(&f, &v))
				add_location(r, v);
		else if (f.number == 2)
			while (n < SP_PROFILE_EVENTS && sp_proto_number(&f, &v))
				values[n++] = v;
		else if (f.number == 3 && f.wire == 2)
			take_label(r, f.bytes, &s);
	}
	if (!sample_wanted(r, &s))
		return 0;
	s.stack = sp_stack_builder_id(&r->stack);
	return s.stack ? add_values(r, &s, values, n) : -ENOMEM;
}

static void reading_done(struct reading *r)
{
	free(r->strings);
	free(r->functions.list);
	free(r->locations.list);
	free(r->mappings.list);
	sp_stack_builder_done(&r->stack);
}

int sp_input_pprof(
	int fd, struct sp_profile *p, const struct sp_load_opts *opts, struct sp_err *err)
{
	__attribute__((cleanup(reading_done))) struct reading r = {.p = p, .opts = opts};
	SP_AUTO_BUF struct sp_buf all;
	struct sp_proto whole, m;
	struct sp_proto_field f;
	int n;

	sp_buf_init(&all);
	n = sp_buf_read_fd(&all, fd, FILE_MAX);
	if (n == 0)
		n = sp_stack_builder_init(&r.stack, p->dict);
	whole = m = (struct sp_proto){
		.p = (const uint8_t *)all.data, .end = (const uint8_t *)all.data + all.len};
	if (n == 0)
		n = first_pass(&r, whole);
	if (n == 0)
		n = read_types(&r, whole);
	while (n == 0 && sp_proto_next(&m, &f))
		if (f.number == F_SAMPLE && f.wire == 2)
			n = add_sample(&r, f.bytes);
	if (n < 0)
		return sp_err_set(err, n, "cannot be read: %s", strerror(-n));
	while (sp_proto_next(&whole, &f))
		all.len = (size_t)(whole.p - (const uint8_t *)all.data);
	if (whole.bad)
		return sp_err_set(
			err, -EBADMSG, "the profile cannot be read behind offset %zu", all.len);
	return 0;
}
