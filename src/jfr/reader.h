/* Reads recordings of sparkprof, async-profiler, Spark's plugin and the JDK: any number of chunks
 * in any order, joined files, chunks cut short by a killed JVM. Everything is decoded by what the
 * chunk says about its own types. Launcher side. Memory: the largest chunk, its constants' places
 * (16 bytes each) and the dictionary; nothing is allocated per event. */
#ifndef SP_JFR_READER_H
#define SP_JFR_READER_H

#include "base/err.h"
#include "dict/dict.h"
#include "jfr/stack_cache.h"
#include "jfr/types.h"

#include <stdbool.h>

enum sp_jfr_value_kind {
	SP_JFR_V_NONE,	/* a struct, an array or null */
	SP_JFR_V_INT,	/* u (signed as the type is); times are in ns */
	SP_JFR_V_FLOAT, /* f */
	SP_JFR_V_TEXT,	/* s, len: also a constant that is a name (a class, a GC cause …) */
};

struct sp_jfr_value {
	const char *name; /* of the field; of a nested struct: of the innermost field */
	uint8_t kind;
	uint64_t u;
	double f;
	const char *s; /* UTF-8, not terminated; "" if kind is not text */
	size_t len;
};

#define SP_JFR_VALUES 48 /* fields beyond are not given */
#define SP_JFR_PICKS  4

/* Borrowed until the visitor returns; ids of the dictionary stay. */
struct sp_jfr_event {
	const char *type;	       /* "jdk.ExecutionSample" */
	int wanted;		       /* what want() said */
	uint64_t start_ns;	       /* since 1970 */
	uint64_t duration_ns;	       /* 0 if the event has none */
	uint32_t thread;	       /* eventThread or sampledThread; 0: none */
	uint8_t state;		       /* enum sp_state */
	uint32_t stack;		       /* 0: none */
	uint64_t picked[SP_JFR_PICKS]; /* see sp_jfr_visitor.fields; 0 where there is none */
	uint32_t count;
	const struct sp_jfr_value *values; /* all other fields, in order */
};

/* The value called @name, or NULL; borrowed like the event. */
const struct sp_jfr_value *sp_jfr_value_of(const struct sp_jfr_event *e, const char *name);

struct sp_jfr_visitor {
	void *ctx;
	/* Called per type and chunk: 0 skips its events (which is fast), more comes back in the
	 * event, and less ends the reading and becomes its result. NULL: all are wanted. */
	int (*want)(void *ctx, const char *type);
	/* Optional: the few fields that events with that answer of want() are read for, NULL-ended,
	 * at most SP_JFR_PICKS; NULL: all. These come as numbers in picked[], classes and other
	 * named constants as string ids of the dictionary, and values[] is empty: much faster. */
	const char *const *(*fields)(void *ctx, int wanted);
	/* Returns 0 to go on, anything else to stop; it becomes sp_jfr_read's result. */
	int (*event)(void *ctx, const struct sp_jfr_event *e);
	/* Wanted events are few: chunks that hold none are not read beyond that. */
	bool rare;
	/* Optional, borrowed: remembers stacks from one chunk to the next (stack_cache.h); for one
	 * dictionary and one reader at a time. */
	struct sp_jfr_stack_cache *known;
};

/* What was in the file. */
struct sp_jfr_stats {
	uint64_t chunks, events, bytes;
	uint64_t skipped;	   /* events not wanted or of undeclared types */
	uint64_t unfinished;	   /* chunks left by a writer that died */
	uint64_t start_ns, end_ns; /* since 1970, of the chunks */
	uint64_t dropped;	   /* references that did not fit into the dictionary */
};

/* Reads all of @fd (a regular file, or anything that can be read to its end) and interns what its
 * wanted events refer to in @dict.
 * Returns: 0; what the visitor returned; -EBADMSG with a sentence that names the first damaged
 * place, after everything readable before and behind it was given; another -errno. @ret (may be
 * NULL) is filled in any case. */
int sp_jfr_read(int fd, struct sp_dict *dict, const struct sp_jfr_visitor *v,
	struct sp_jfr_stats *ret, struct sp_err *err);

/* The same for the chunks from @from to @to, where a chunk starts: for several readers of one file,
 * each with a dictionary of its own. */
int sp_jfr_read_part(int fd, uint64_t from, uint64_t to, struct sp_dict *dict,
	const struct sp_jfr_visitor *v, struct sp_jfr_stats *ret, struct sp_err *err);

/* Where the chunks of @fd start, as far as headers can be followed: at most @max.
 * Returns: how many (0 if it is no regular file); and the time that they cover, 0 where the file
 * does not say it (ends at 0: a writer was killed). */
size_t sp_jfr_chunks(
	int fd, uint64_t *starts, size_t max, uint64_t *ret_start_ns, uint64_t *ret_end_ns);

#endif
