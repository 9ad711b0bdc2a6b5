/* The table of formats, and the line that every report has: see out.h. */
#include "out/out.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "out/html.h"
#include "out/number.h"
#include "out/svg.h"

const struct sp_out_format sp_out_formats[SP_FORMAT_COUNT] = {
	[SP_FORMAT_TEXT] = {"text", "txt text", sp_out_text},
	[SP_FORMAT_HTML] = {"html", "html htm", sp_out_html},
	[SP_FORMAT_SVG] = {"svg", "svg", sp_out_svg, .one_event = true},
	[SP_FORMAT_COLLAPSED] = {"collapsed", "collapsed folded", sp_out_collapsed,
		.one_event = true},
	[SP_FORMAT_JFR] = {"jfr", "jfr", NULL},
	[SP_FORMAT_PPROF] = {"pprof", "pb.gz pb pprof", sp_out_pprof},
	[SP_FORMAT_OTLP] = {"otlp", "otlp", sp_out_otlp},
	[SP_FORMAT_SPEEDSCOPE] = {"speedscope", "speedscope.json", sp_out_speedscope},
	[SP_FORMAT_CSV] = {"csv", "csv", sp_out_csv},
	[SP_FORMAT_JSON] = {"json", "json", sp_out_json},
	[SP_FORMAT_MARKDOWN] = {"md", "md markdown", sp_out_markdown},
};

const struct sp_out_format *sp_out_by_name(const char *name)
{
	for (size_t i = 0; i < SP_FORMAT_COUNT; i++)
		if (strcmp(sp_out_formats[i].name, name) == 0)
			return &sp_out_formats[i];
	return NULL;
}

bool sp_out_has_extension(const struct sp_out_format *f, const char *word)
{
	for (const char *p = f->extensions; *p; p += strspn(p, " ")) {
		size_t len = strcspn(p, " ");

		if (strlen(word) == len && memcmp(word, p, len) == 0)
			return true;
		p += len;
	}
	return false;
}

/* Length of the longest word of @list that @base ends in, behind a dot that has a name before it.
 * Case does not matter. */
static size_t ends_in(const char *list, const char *base)
{
	size_t n = strlen(base), longest = 0;

	for (const char *p = list; *p; p += strspn(p, " ")) {
		size_t len = strcspn(p, " ");

		if (n > len + 1 && base[n - len - 1] == '.' &&
			strncasecmp(base + n - len, p, len) == 0 && len > longest)
			longest = len;
		p += len;
	}
	return longest;
}

const struct sp_out_format *sp_out_by_path(const char *path)
{
	const char *base = sp_path_base(path);
	const struct sp_out_format *best = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < SP_FORMAT_COUNT; i++) {
		size_t n = ends_in(sp_out_formats[i].extensions, base);

		if (n > longest) {
			longest = n;
			best = &sp_out_formats[i];
		}
	}
	return best;
}

void sp_out_summary(const struct sp_profile *p, struct sp_buf *out)
{
	char n[SP_NUMBER_SIZE];

	sp_buf_addf(out, "%s sample%s, ", sp_number(p->samples, n), p->samples == 1 ? "" : "s");
	sp_buf_addf(out, "%s lost", sp_number(p->lost_total, n));
	for (unsigned i = 0; i < p->lost_count; i++) {
		sp_buf_adds(out, i == 0 ? " (" : ", ");
		sp_buf_adds(out, sp_dict_get_string(p->dict, p->lost[i].text_id, NULL));
		sp_buf_addf(out, " %s", sp_number(p->lost[i].count, n));
	}
	sp_buf_adds(out, p->lost_count ? ")" : "");
	sp_buf_addf(out, ", %s truncated", sp_number(p->truncated, n));
	sp_buf_addf(out, ", %s unknown", sp_number(p->unknown, n));
	if (p->outside)
		sp_buf_addf(out, "; %s %s left out", sp_number(p->outside, n),
			p->idle == SP_IDLE_DRIVER ? "of idle threads" : "outside of tasks");
}
