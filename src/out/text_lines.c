/* The hottest lines in the text report, with their code where --source has it. See text_internal.h.
 */
#include "out/text_internal.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/safe_text.h"
#include "out/line_table.h"
#include "out/number.h"
#include "out/source_code.h"

enum { METHODS = 5, LINES = 5 };

static void free_code(struct sp_source_code **s)
{
	sp_source_code_close(*s);
}

/* "   12.3 %     42  total += price(row);" */
static void write_line(const struct sp_text *t, const struct sp_view *v,
	const struct sp_line_method *m, const struct sp_line_weight *l, struct sp_source_code *code)
{
	SP_AUTO_BUF struct sp_buf text = {0}, safe = {0};

	sp_source_code_line(code, t->p->dict, &m->frame, l->line, &text);
	sp_safe_terminal(sp_buf_str(&text), text.len, &safe);
	sp_sink_puts(t->sink, "    ");
	sp_text_percent(t, sp_percent(l->weight, v->weight));
	sp_sink_printf(t->sink, "  %6d  ", l->line);
	sp_text_name(t, sp_text_words(t, &safe), 21);
}

int sp_text_lines(const struct sp_text *t, const struct sp_view *v)
{
	static const struct sp_style style = {.dotted = true};
	__attribute__((cleanup(sp_line_table_done))) struct sp_line_table lines = {0};
	__attribute__((cleanup(free_code))) struct sp_source_code *code = NULL;
	int r;

	if (!t->o->view.name_lines && !t->o->source)
		return 0;
	r = sp_line_table_init(
		&lines, t->p, (unsigned)(v->event - t->p->events), v->row_stacks, &style);
	if (r == 0 && t->o->source)
		r = sp_source_code_open(&code, t->o->source);
	if (r < 0 || !lines.count)
		return r;
	sp_text_heading(t, "Hot lines, by self time");
	for (size_t i = 0; i < lines.count && i < METHODS; i++) {
		const struct sp_line_method *m = &lines.methods[i];

		sp_sink_puts(t->sink, "  ");
		sp_text_percent(t, sp_percent(m->weight, v->weight));
		sp_sink_puts(t->sink, "  ");
		sp_text_name(t, m->name, 11);
		for (size_t k = 0; k < m->count && k < LINES; k++)
			write_line(t, v, m, &m->lines[k], code);
		if (m->count > LINES)
			sp_sink_printf(
				t->sink, "                %zu other lines\n", m->count - LINES);
	}
	return 0;
}
