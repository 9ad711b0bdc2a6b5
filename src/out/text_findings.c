/* Findings in the text report, before everything else. See text_internal.h and findings.h. */
#include "out/text_internal.h"

#include <stdio.h>

#include "out/elide.h"
#include "out/findings.h"

#define INDENT 4

static void write_words(const struct sp_text *t, const char *before, const char *words)
{
	SP_AUTO_BUF struct sp_buf text = {0}, wrapped = {0};

	sp_buf_addf(&text, "%s%s.", before, words);
	sp_elide_wrap(sp_text_words(t, &text), INDENT, INDENT, t->width, &wrapped);
	sp_sink_printf(t->sink, "%s\n", sp_text_words(t, &wrapped));
}

static void write_finding(const struct sp_text *t, unsigned number, struct sp_finding *x)
{
	char digits[16];

	snprintf(digits, sizeof(digits), "%2u. ", number);
	sp_text_paint(t, "1", digits);
	write_words(t, "", sp_text_words(t, &x->says));
	sp_sink_printf(t->sink, "%*s", INDENT, "");
	write_words(t, "Try: ", x->advice);
	if (x->next.len) {
		sp_sink_printf(t->sink, "%*s", INDENT, "");
		write_words(t, "See: sparkprof ", sp_text_words(t, &x->next));
	}
}

int sp_text_findings(const struct sp_text *t)
{
	__attribute__((cleanup(sp_findings_done))) struct sp_findings f = {0};
	int r = sp_findings_init(&f, t->p, t->o->view.areas);

	if (r < 0 || f.count == 0)
		return r;
	sp_text_paint(t, "1", "What stands out");
	sp_sink_puts(t->sink, "\n");
	for (unsigned i = 0; i < f.count; i++)
		write_finding(t, i + 1, &f.list[i]);
	sp_sink_puts(t->sink, "\n");
	return 0;
}
