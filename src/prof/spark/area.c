/* Areas: see area.h. */
#include "prof/spark/area.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "prof/model/frame_name.h"
#include "prof/model/glob.h"
#include "prof/spark/area_table.h"
#include "prof/spark/class_origin.h"

struct sp_areas {
	struct sp_area areas[SP_AREAS];
	unsigned count, own; /* own: areas of the user's file, first */
	struct {
		char *pattern; /* owned */
		unsigned area;
	} * patterns;
	size_t pattern_count;
	char *names[SP_AREAS];		  /* owned: names and colours of the file's areas */
	struct sp_buf text;		  /* a frame's name */
	struct sp_class_origins *origins; /* owned; NULL: not known */
	const struct sp_dict *dict;	  /* borrowed: of the profile it learnt from; NULL: none */
	uint32_t methods;		  /* of @dict then */
	uint8_t *known; /* owned: areas of frames of @dict by method and type; 0: not asked yet */
};

static int bad_line(const char *file, unsigned line, const char *what, struct sp_err *err)
{
	return sp_err_set(err, -EINVAL,
		"--areas: %s, line %u: %s; write [name] #rrggbb, then a pattern a line", file, line,
		what);
}

/* "[name] #rrggbb" */
static int add_area(struct sp_areas *a, char *line, const char **what)
{
	char *end = strchr(line, ']'), *colour;

	*what = "no ']'";
	if (!end || end == line + 1)
		return -EINVAL;
	*what = "too many areas";
	if (a->own == SP_AREAS - SP_AREA_BUILTINS)
		return -EINVAL;
	*end = '\0';
	colour = end + 1 + strspn(end + 1, " \t");
	*what = "not a colour";
	if (*colour && (strlen(colour) != 7 || colour[0] != '#' ||
			       strspn(colour + 1, "0123456789abcdefABCDEF") != 6))
		return -EINVAL;
	if (asprintf(&a->names[a->own], "%s%c%s", line + 1, 0, *colour ? colour : "#1b9e77") < 0) {
		a->names[a->own] = NULL;
		return -ENOMEM;
	}
	a->areas[a->own].name = a->names[a->own];
	a->areas[a->own].colour = a->names[a->own] + strlen(a->names[a->own]) + 1;
	a->own++;
	return 0;
}

static int add_pattern(struct sp_areas *a, const char *line, const char **what)
{
	*what = "a pattern before the first [name]";
	if (sp_grow_one(&a->patterns, a->pattern_count, sizeof(*a->patterns)) < 0)
		return -ENOMEM;
	if (a->own == 0)
		return -EINVAL;
	a->patterns[a->pattern_count].pattern = strdup(line);
	a->patterns[a->pattern_count].area = a->own - 1;
	return a->patterns[a->pattern_count++].pattern ? 0 : -ENOMEM;
}

static int read_file(struct sp_areas *a, const char *file, struct sp_err *err)
{
	SP_AUTO_FCLOSE FILE *f = fopen(file, "re");
	SP_AUTO_FREE char *line = NULL;
	const char *what = "";
	size_t cap = 0;
	ssize_t n;
	int r = 0;

	if (!f)
		return sp_err_set(err, -errno, "--areas: %s: %s", file, strerror(errno));
	for (unsigned number = 1; r == 0 && (n = getline(&line, &cap, f)) >= 0; number++) {
		while (n && isspace((unsigned char)line[n - 1]))
			line[--n] = '\0';
		if (line[0] == '[')
			r = add_area(a, line, &what);
		else if (line[0] && line[0] != '#')
			r = add_pattern(a, line, &what);
		if (r == -EINVAL)
			return bad_line(file, number, what, err);
	}
	return r < 0 ? sp_err_set(err, r, "out of memory") : 0;
}

int sp_areas_new(struct sp_areas **ret, const char *file, struct sp_err *err)
{
	struct sp_areas *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return sp_err_set(err, -ENOMEM, "out of memory");
	sp_buf_init(&a->text);
	r = file ? read_file(a, file, err) : 0;
	if (r < 0) {
		sp_areas_free(a);
		return r;
	}
	memcpy(a->areas + a->own, sp_area_builtins, sizeof(sp_area_builtins));
	a->count = a->own + SP_AREA_BUILTINS;
	*ret = a;
	return 0;
}

void sp_areas_free(struct sp_areas *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->pattern_count; i++)
		free(a->patterns[i].pattern);
	for (unsigned i = 0; i < a->own; i++)
		free(a->names[i]);
	free(a->patterns);
	sp_class_origins_free(a->origins);
	free(a->known);
	sp_buf_done(&a->text);
	free(a);
}

unsigned sp_areas_count(const struct sp_areas *a)
{
	return a->count;
}

const struct sp_area *sp_areas_get(const struct sp_areas *a, unsigned area)
{
	return area < a->count ? &a->areas[area] : NULL;
}

static int area_number(const struct sp_areas *a, int builtin)
{
	return builtin < 0 ? builtin : (int)a->own + builtin;
}

/* The area of the first pattern that matches; SP_AREA_BUILTINS: none does. */
static int look_up(const struct sp_area_pattern *t, const char *name)
{
	for (; t->pattern; t++)
		if (sp_match_glob(t->pattern, name))
			return t->area;
	return SP_AREA_BUILTINS;
}

bool sp_area_is_pickle(const char *name)
{
	return look_up(sp_area_pickles, name) != SP_AREA_BUILTINS;
}

unsigned sp_area_in_state(const struct sp_areas *a, unsigned area, const char *state)
{
	bool waits = state[0] && strcmp(state, "running") != 0 && strcmp(state, "runnable") != 0;

	return waits && area == (unsigned)area_number(a, SP_AREA_PICKLE)
		       ? (unsigned)area_number(a, SP_AREA_FOR_JVM)
		       : area;
}

int sp_area_of_frame(const struct sp_areas *a, const char *name, enum sp_frame_type type)
{
	int area;

	for (size_t i = 0; i < a->pattern_count; i++)
		if (sp_glob(a->patterns[i].pattern, name))
			return (int)a->patterns[i].area;
	if (type == SP_FRAME_PYTHON) {
		return area_number(
			a, sp_area_is_pickle(name) ? SP_AREA_PICKLE : SP_AREA_PYTHON_CODE);
	}
	area = type == SP_FRAME_KERNEL	 ? SP_AREA_BUILTINS
	       : type >= SP_FRAME_NATIVE ? look_up(sp_area_functions, name)
					 : look_up(sp_area_methods, name);
	if (area == SP_AREA_BUILTINS)
		area = type >= SP_FRAME_NATIVE ? SP_AREA_NEUTRAL : SP_AREA_YOURS;
	return area_number(a, area);
}

/* What the jar of a class says. What kind of work a library does its name says better, but for
 * names that only say that it is made for Spark; and a part of a name that Spark's classes have as
 * well says nothing of code of yours. */
static int of_origin(const struct sp_areas *a, enum sp_origin origin, int by_name)
{
	bool nothing_said = by_name == area_number(a, SP_AREA_YOURS);

	switch (origin) {
	case SP_ORIGIN_SPARK:
		return nothing_said ? area_number(a, SP_AREA_SPARK_LIBRARY) : by_name;
	case SP_ORIGIN_LIBRARY:
		return nothing_said || by_name == area_number(a, SP_AREA_SQL) ||
				       by_name == area_number(a, SP_AREA_SPARK)
			       ? area_number(a, SP_AREA_YOUR_LIBRARY)
			       : by_name;
	case SP_ORIGIN_YOURS:
		return by_name == area_number(a, SP_AREA_PYTHON) ||
				       by_name == area_number(a, SP_AREA_CODEGEN)
			       ? area_number(a, SP_AREA_YOURS)
			       : by_name;
	default:
		return by_name;
	}
}

static int find_area(struct sp_areas *a, const struct sp_dict *d, const struct sp_frame_ref *f)
{
	static const struct sp_style full;
	const struct sp_method *m = sp_dict_get_method(d, f->method);
	int area;

	if (!m || (!m->native && !m->name_id))
		return SP_AREA_NEUTRAL; /* the class of an object is no work */
	sp_buf_clear(&a->text);
	sp_frame_name(d, f, &full, &a->text);
	area = sp_area_of_frame(a, sp_buf_str(&a->text), (enum sp_frame_type)f->type);
	if (!a->origins || m->native || f->type >= SP_FRAME_NATIVE ||
		(area >= 0 && area < (int)a->own))
		return area;
	return of_origin(
		a, sp_class_origin(a->origins, sp_dict_get_string(d, m->class_id, NULL)), area);
}

/* A frame is looked up once: its name is held against a hundred patterns. */
int sp_area_of_ref(struct sp_areas *a, const struct sp_dict *d, const struct sp_frame_ref *f)
{
	enum { UNSEEN, FIRST = 1 - SP_AREA_NEUTRAL };
	uint8_t *known;

	if (d != a->dict || f->method > a->methods || f->type >= SP_FRAME_TYPES)
		return find_area(a, d, f);
	known = &a->known[(size_t)f->method * SP_FRAME_TYPES + f->type];
	if (*known == UNSEEN)
		*known = (uint8_t)(find_area(a, d, f) + FIRST);
	return *known - FIRST;
}

/* Work that is one thing whatever it is done with: a spill compresses, a commit uses the network,
 * and what a worker of Python sends comes through a socket. A regular expression is a work of its
 * own where a query has it; elsewhere it is its caller's. */
bool sp_area_covers(const struct sp_areas *a, unsigned area, unsigned inner)
{
	int outer = (int)area - (int)a->own, is = (int)inner - (int)a->own;

	if (is == SP_AREA_REGEX)
		return outer != SP_AREA_SQL && outer != SP_AREA_CODEGEN;
	if (outer == SP_AREA_PYTHON)
		return is == SP_AREA_NETWORK;
	return (outer == SP_AREA_SPILL || outer == SP_AREA_STATE || outer == SP_AREA_LISTING ||
		       outer == SP_AREA_CHILD) &&
	       (is == SP_AREA_SHUFFLE || is == SP_AREA_SERIALISATION || is == SP_AREA_COMPRESSION ||
		       is == SP_AREA_NETWORK || is == SP_AREA_STORAGE || is == SP_AREA_SQL ||
		       is == SP_AREA_PARSE || is == SP_AREA_SPARK);
}

int sp_areas_learn(struct sp_areas *a, const struct sp_profile *p)
{
	sp_class_origins_free(a->origins);
	free(a->known);
	a->origins = NULL;
	a->dict = NULL;
	a->methods = sp_dict_methods(p->dict);
	a->known = calloc((size_t)a->methods + 1, SP_FRAME_TYPES);
	if (!a->known)
		return -ENOMEM;
	a->dict = p->dict;
	return p->source_count ? sp_class_origins_new(&a->origins, p) : 0;
}

unsigned sp_area_unclear(const struct sp_areas *a, enum sp_frame_type leaf, bool java)
{
	if (leaf == SP_FRAME_KERNEL)
		return (unsigned)area_number(a, SP_AREA_KERNEL);
	return (unsigned)area_number(a, java ? SP_AREA_OTHER : SP_AREA_JVM);
}

unsigned sp_area_of_stack(struct sp_areas *a, const struct sp_dict *d,
	const struct sp_frame_ref *frames, uint32_t count)
{
	bool java = count == 0;
	int found = -1;

	for (uint32_t i = count; i-- > 0;) { /* callers first */
		int area = sp_area_of_ref(a, d, &frames[i]);

		if (area >= 0 && (found < 0 || !sp_area_covers(a, (unsigned)found, (unsigned)area)))
			found = area;
		java |= frames[i].type < SP_FRAME_NATIVE;
	}
	if (found >= 0)
		return (unsigned)found;
	return sp_area_unclear(
		a, count ? (enum sp_frame_type)frames[0].type : SP_FRAME_NATIVE, java);
}
