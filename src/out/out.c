/* The table of formats, and the line that every report has: see out.h. */
#include "out/out.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "out/html.h"
#include "out/number.h"
#include "out/svg.h"

const struct sp_out_format sp_out_formats[] = {
	{"collapsed", "collapsed folded", sp_out_collapsed},
	{"text", "txt text", sp_out_text},
	{"html", "html htm", sp_out_html},
	{"svg", "svg", sp_out_svg},
};
const size_t sp_out_format_count = SP_COUNT(sp_out_formats);

const struct sp_out_format *sp_out_by_name(const char *name)
{
	for (size_t i = 0; i < sp_out_format_count; i++)
		if (strcmp(sp_out_formats[i].name, name) == 0)
			return &sp_out_formats[i];
	return NULL;
}

/* Is @word one of the words in @list? Case does not matter. */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; *p; p += strspn(p, " ")) {
		size_t len = strcspn(p, " ");

		if (len == n && strncasecmp(p, word, n) == 0)
			return true;
		p += len;
	}
	return false;
}

const struct sp_out_format *sp_out_by_path(const char *path)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');

	if (!dot || (slash && dot < slash))
		return NULL;
	for (size_t i = 0; i < sp_out_format_count; i++)
		if (has_word(sp_out_formats[i].extensions, dot + 1))
			return &sp_out_formats[i];
	return NULL;
}

void sp_out_summary(const struct sp_profile *p, struct sp_buf *out)
{
	char n[SP_NUMBER_SIZE];

	sp_buf_addf(out, "%s samples, ", sp_number(p->samples, n));
	sp_buf_addf(out, "%s lost", sp_number(p->lost_total, n));
	for (unsigned i = 0; i < p->lost_count; i++) {
		sp_buf_adds(out, i == 0 ? " (" : ", ");
		sp_buf_adds(out, sp_dict_get_string(p->dict, p->lost[i].text_id, NULL));
		sp_buf_addf(out, " %s", sp_number(p->lost[i].count, n));
	}
	sp_buf_adds(out, p->lost_count ? ")" : "");
	sp_buf_addf(out, ", %s truncated", sp_number(p->truncated, n));
	sp_buf_addf(out, ", %s unknown", sp_number(p->unknown, n));
}
