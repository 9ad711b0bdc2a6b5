/* Words of Spark: shorter, or without what differs from run to run of one program: numbers, ids,
 * directories. */
#ifndef SP_PROF_SPARK_LOOSE_WORDS_H
#define SP_PROF_SPARK_LOOSE_WORDS_H

#include <stdbool.h>

#include "base/buf.h"

/* Appends "collect at again.py:" for "collect at /home/me/again.py:35"; of a call from Python from
 * an unknown site the call alone. */
void sp_loose_words(const char *s, struct sp_buf *out);

/* What Spark knows of a call from Python, where it does not know the file: the JDK's reflection.
 * Returns where " at …" begins at the end of @s, NULL: it is not one. */
const char *sp_words_from_python(const char *s);

/* Whether a call site is one of Spark's own threads, in which adaptive execution and broadcasts run
 * stages: that is no call. */
bool sp_words_of_pool(const char *s);

/* Appends "collect at load.py:12" for "collect at /home/me/jobs/load.py:12": of a call site the
 * file's own name is enough. A call from Python from an unknown site is the call alone. */
void sp_short_words(const char *s, struct sp_buf *out);

#endif
