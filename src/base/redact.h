/* Values that look secret, taken out of command lines and properties before they are shown.
 * What takes their place is what Spark writes: "*********(redacted)".
 *
 * A value is taken out
 *  - behind a name that looks secret: Spark's own words (secret, password, token, access key) and
 *    passwd, passphrase, passcode, pass and pwd, credential, authorization, API, account, private,
 *    encryption and signing keys, signatures; written -Dname=value, --name=value, --name value,
 *    --name:value, name=value, name: value, ?name=value&…, ;name=value;…, name="two words",
 *    name={…}, (name=value), and as JSON, "name": "value";
 *  - between the colon and the @ of a URL (scheme://user:password@host), between the slash and the
 *    @ of Oracle's (jdbc:oracle:thin:user/password@host);
 *  - behind "Bearer" and "Basic";
 *  - by its own form: key ids and secret keys of AWS, API keys, tokens and client secrets of
 *    Google, keys and client secrets of Azure, tokens of GitHub, GitLab, Slack, Databricks and
 *    Hugging Face, JSON web tokens, private keys in PEM.
 *
 * What stays: true and false; a number behind a name in the plural (--max-tokens 512); paths of
 * credential providers and key tabs, for they are no secrets themselves. In a whole line a value
 * ends at a blank, unless it is quoted: words that are known one by one are better given one by
 * one. Context: any thread, never a signal handler. No global state. Time: linear. */
#ifndef SP_BASE_REDACT_H
#define SP_BASE_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define SP_REDACTED "*********(redacted)"

/* Does a property of this name hold a secret? */
bool sp_redact_is_secret(const char *name, size_t n);

/* What the word before says of the next one. */
enum sp_redact_next {
	SP_REDACT_PLAIN,   /* nothing; also at the start */
	SP_REDACT_SECRET,  /* it is the value of --password */
	SP_REDACT_SECRETS, /* … of --tokens, which may be a number */
	SP_REDACT_NAMED,   /* it is, if there is "=" or ":" between them */
};

/* Appends one word of a command line. *@next is read, and set for the next call. */
void sp_redact_word(const char *word, size_t n, enum sp_redact_next *next, struct sp_buf *out);

/* Appends a command line. Blanks separate its words. */
void sp_redact_line(const char *line, size_t n, struct sp_buf *out);

/* Appends the value of the property @name. */
void sp_redact_property(
	const char *name, size_t name_len, const char *value, size_t len, struct sp_buf *out);

/* The line in @text of @size bytes, cut where it grows beyond. Without memory it becomes empty. */
void sp_redact_in_place(char *text, size_t size);

#endif
