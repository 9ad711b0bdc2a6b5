/* Areas: what kind of work a stack does, and the colour that reports give it. The built-in table
 * knows Spark and what runs under it; a user's file comes before it. Shared by all reports.
 *
 * The file: a line "[name of the area] #rrggbb" (the colour may be left out), then patterns, one a
 * line, as -I has them, over full names with slashes, such as com/acme/etl with a slash and a star
 * behind it. '#' at the start of a line is a comment. */
#ifndef SP_PROF_SPARK_AREA_H
#define SP_PROF_SPARK_AREA_H

#include <stdbool.h>

#include "base/err.h"
#include "dict/dict.h"
#include "prof/model/profile.h"

#define SP_AREAS 64

struct sp_area {
	const char *name;
	const char *colour; /* "#rrggbb" */
};

struct sp_areas;

/* @file: NULL for the built-in table alone. Returns 0; -EINVAL with a sentence that names the line;
 * -errno. */
__attribute__((warn_unused_result)) int sp_areas_new(
	struct sp_areas **ret, const char *file, struct sp_err *err);
void sp_areas_free(struct sp_areas *a);

/* Prepares for the frames of @p: from where classes came, where a recording has it (what is on
 * Spark's own class path is not your code, nor are the connectors of --packages), and room to look
 * up each frame once. Forgets what was learnt of another profile. @p and its methods stay as they
 * are until the next call or the end of @a. Returns 0 or -ENOMEM. */
int sp_areas_learn(struct sp_areas *a, const struct sp_profile *p);

/* Whether work of the area @inner below work of @area is part of that: a spill compresses. */
bool sp_area_covers(const struct sp_areas *a, unsigned area, unsigned inner);

/* Areas by number, from 0 to the count. */
unsigned sp_areas_count(const struct sp_areas *a);
const struct sp_area *sp_areas_get(const struct sp_areas *a, unsigned area);

/* The area that a frame belongs to by itself, or -1: frames of the JDK and of the C library do what
 * their callers want. @name: full, with slashes ("org/apache/spark/…"), or a function. */
int sp_area_of_frame(const struct sp_areas *a, const char *name, enum sp_frame_type type);

/* The same of a frame of @d; the class of an allocated object has none. */
int sp_area_of_ref(struct sp_areas *a, const struct sp_dict *d, const struct sp_frame_ref *f);

/* Whether a Python frame serialises: pickle, Arrow. */
bool sp_area_is_pickle(const char *name);

/* What @area becomes where the thread's state is @state: a worker that waits as it reads or writes
 * what is serialised waits for its JVM. */
unsigned sp_area_in_state(const struct sp_areas *a, unsigned area, const char *state);

/* The area of a stack without a frame that has one: "kernel", "JVM" or "other". @java: it has a
 * frame of Java. */
unsigned sp_area_unclear(const struct sp_areas *a, enum sp_frame_type leaf, bool java);

/* The area of a stack: of the frame nearest to the leaf that has one, or of one below it that
 * covers it; else "kernel" if the leaf is
 * there, else "JVM" or "other". @d is the dictionary of @stack. */
unsigned sp_area_of_stack(struct sp_areas *a, const struct sp_dict *d,
	const struct sp_frame_ref *frames, uint32_t count);

#endif
