/* One option by its word, for the files of this room. */
#ifndef SP_AGENT_OPTIONS_ARGS_INTERNAL_H
#define SP_AGENT_OPTIONS_ARGS_INTERNAL_H

#include "args.h"

/* Sets the field of @word, which is in the table, within its bounds. Returns 0 or -EINVAL. */
int sp_args_put_number(struct sp_args *a, const char *word, uint64_t n, struct sp_err *err);
int sp_args_put_text(struct sp_args *a, const char *word, const char *value, struct sp_err *err);

/* Takes @word as it is written, with its @value or NULL. Returns 0, -EINVAL, or -ENOENT: it is not
 * in the table. */
int sp_args_put_word(struct sp_args *a, const char *word, const char *value, struct sp_err *err);

/* Everything at once. */
void sp_args_set_all(struct sp_args *a);

/* Said in the recording: words of async-profiler's that have another effect here. */
void sp_args_note(struct sp_args *a, const char *word, const char *value);

/* The field of @word. */
const void *sp_args_at(const struct sp_args *a, const char *word);

/* Once all are set: what follows from them, and whether they agree. Returns 0 or -EINVAL. */
int sp_args_settle(struct sp_args *a, struct sp_err *err);

/* Whether the words that have a choice are one of it. Returns 0 or -EINVAL. */
int sp_args_check(const struct sp_args *a, struct sp_err *err);

#endif
