/* Text that is not ours (names of threads, classes and files, command lines) on its way out. Two
 * rules, used by everything that writes:
 *
 *  - for people (text, collapsed, csv, messages, tables on a terminal): what a terminal or a reader
 *    could be misled by becomes one other character. That is: controls (C0, DEL, C1), marks that
 *    change the direction of text (U+061C, U+200E, U+200F, U+202A–202E, U+2066–2069), line and
 *    paragraph separators (U+2028, U+2029), and bytes that are not UTF-8.
 *  - for programs (json, speedscope, the page's data): nothing is lost. The same characters are
 *    written as \u escapes; only bytes that are not UTF-8 become U+FFFD, since JSON has no way for
 *    them.
 * Context: any thread, never a signal handler. */
#ifndef SP_BASE_SAFE_TEXT_H
#define SP_BASE_SAFE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The code point at @s, of at most @n bytes (n > 0). Returns its length in bytes; 0 where there is
 * none (RFC 3629: no overlong forms, no surrogates). */
size_t sp_safe_decode(const char *s, size_t n, uint32_t *ret);

/* Could @c mislead a terminal or a reader? */
bool sp_safe_is_unsafe(uint32_t c);

/* Appends @s for people, in reports: unsafe characters become blanks, each byte that is not UTF-8
 * U+FFFD. */
void sp_safe_people(const char *s, size_t n, struct sp_buf *out);

/* The same in messages and tables of the launcher: both become '?'. */
void sp_safe_terminal(const char *s, size_t n, struct sp_buf *out);

/* Appends @s for programs, as a string of JSON with its quotes. */
void sp_safe_json(const char *s, size_t n, struct sp_buf *out);

#endif
