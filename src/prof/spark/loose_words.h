/* Words of Spark without what differs from run to run of one program: numbers, ids, directories. */
#ifndef SP_PROF_SPARK_LOOSE_WORDS_H
#define SP_PROF_SPARK_LOOSE_WORDS_H

#include "base/buf.h"

/* Appends "collect at again.py:" for "collect at /home/me/again.py:35". */
void sp_loose_words(const char *s, struct sp_buf *out);

#endif
