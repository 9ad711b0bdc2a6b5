/* The one place of the launcher that talks to a person. Everything goes to stderr, one line each,
 * so that stdout carries nothing but what was asked for. */
#ifndef SP_LAUNCHER_CLI_MESSAGE_H
#define SP_LAUNCHER_CLI_MESSAGE_H

#include <stdbool.h>

/* -q: warnings and notes are dropped from now on; errors are not. */
void sp_message_set_quiet(bool quiet);

/* "sparkprof: <text>": what failed, on what, what to try. A command calls it once per failure. */
void sp_message_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* "sparkprof: <text>": a fallback and its remedy. The same sentence is said once per run. */
void sp_message_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A line without a name before it: progress in words, where an output lies. */
void sp_message_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
