/* -o, which may hold more than a format: see parser.h. async-profiler's words are known here: what
 * it calls its formats, how long the lists of its text are, and with commas how stacks look. */
#include "parser.h"

#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* flat=20: that part of the text alone. */
static int set_part(struct sp_parser *p, const char *spelled, const char *word, const char *value)
{
	unsigned *to = strcmp(word, "flat") == 0 ? &p->call->flat : &p->call->traces;
	uint64_t n = UINT32_MAX;

	if (value && (sp_count_parse(value, &n) < 0 || n < 1 || n >= UINT32_MAX))
		return sp_err_set(p->err, -EINVAL, "%s: '%s=%s': how many? write %s=20", spelled,
			word, value, word);
	p->call->text_parts = true;
	*to = (unsigned)n;
	p->format_is = SP_FORMAT_TEXT;
	return 1;
}

/* total, title=…: an option that says how stacks look, without its dashes. */
static int take_style(struct sp_parser *p, const char *spelled, const char *word, const char *value)
{
	const struct sp_option *o = sp_option_find(word, strlen(word));
	char shown[SP_PARSER_SPELLED];

	if (!o || (o->state == SP_OPTION_BUILT && !(o->actions & SP_OPTION_SHAPES) &&
			  strcmp(word, "threads") != 0))
		return -ENOENT;
	snprintf(shown, sizeof(shown), "%s %s", spelled, o->name);
	if (value && !sp_option_takes_value(o))
		return sp_err_set(p->err, -EINVAL, "%s: takes no value", shown);
	return sp_parser_take(p, o, shown, value);
}

/* Returns 1 for a format, 0 for a style, or -EINVAL. */
static int take_word(struct sp_parser *p, const char *spelled, char *word)
{
	char *value = strchr(word, '=');
	int r;

	if (value)
		*value++ = '\0';
	if (strcmp(word, "flat") == 0 || strcmp(word, "traces") == 0)
		return set_part(p, spelled, word, value);
	if (!value && sp_output_format_parse(word, &p->format_is, NULL) == 0) {
		p->call->text_parts = false;
		return 1;
	}
	r = take_style(p, spelled, word, value);
	if (r != -ENOENT)
		return r;
	return sp_err_prefix(
		p->err, sp_output_format_parse(word, &p->format_is, p->err), "%s", spelled);
}

int sp_parser_set_format(struct sp_parser *p, const char *spelled, const char *text)
{
	struct sp_call *call = p->call;
	char *at = call->words + call->words_len;
	size_t len = strlen(text) + 1;
	int r = 0;

	if (call->words_len + len > sizeof(call->words))
		return sp_err_set(p->err, -EINVAL, "%s: '%.20s…' is too long", spelled, text);
	memcpy(at, text, len);
	call->words_len += len;
	for (char *next = at; next && r >= 0; at = next) {
		next = strchr(at, ',');
		if (next)
			*next++ = '\0';
		r = take_word(p, spelled, at);
		if (r > 0) {
			p->format.text = text;
			snprintf(p->format.spelled, sizeof(p->format.spelled), "%s", spelled);
		}
	}
	return r < 0 ? r : 0;
}
