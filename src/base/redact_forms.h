/* Secrets that need no name: they are known by their form, or by the URL around them. */
#ifndef SP_BASE_REDACT_FORMS_H
#define SP_BASE_REDACT_FORMS_H

#include <stdbool.h>
#include <stddef.h>

/* Length of the secret that begins at @at of @s and is known by its form; 0: none. */
size_t sp_redact_form(const char *s, size_t n, size_t at);

/* The password of a URL, where "://" or ":oracle:" is at @s: its length, and in *ret_at where it
 * begins; 0: none. */
size_t sp_redact_user_info(const char *s, size_t n, size_t *ret_at);

/* Does @s begin with the first line of a private key in PEM? */
bool sp_redact_is_pem(const char *s, size_t n);

#endif
