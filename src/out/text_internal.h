/* What the parts of the text report share. Inside of src/out. */
#ifndef SP_OUT_TEXT_INTERNAL_H
#define SP_OUT_TEXT_INTERNAL_H

#include "out/hot_methods.h"
#include "out/out.h"

struct sp_text {
	const struct sp_profile *p;
	const struct sp_out_opts *o;
	struct sp_sink *sink;
	size_t width;
};

const char *sp_text_string(const struct sp_text *t, uint32_t id);

/* The words in @b. Where memory ran out the report fails, rather than lack them. */
const char *sp_text_words(const struct sp_text *t, struct sp_buf *b);

/* @code: of the terminal's colours. */
void sp_text_paint(const struct sp_text *t, const char *code, const char *s);
void sp_text_heading(const struct sp_text *t, const char *s);

/* "12.3 %" in seven columns, painted by how hot it is. */
void sp_text_percent(const struct sp_text *t, double p);

/* A name in what is left of the line behind @used columns, and the end of the line. */
void sp_text_name(const struct sp_text *t, const char *name, size_t used);

/* Findings, first of all; nothing where no task ran. Returns 0 or -ENOMEM. */
int sp_text_findings(const struct sp_text *t);

/* What a driver worked on; nothing where @t is of no driver. Returns 0 or -ENOMEM. */
int sp_text_phases(const struct sp_text *t, const struct sp_view *v);

/* The table of stages; nothing where no task ran. Returns 0 or -ENOMEM. */
int sp_text_stages(const struct sp_text *t, const struct sp_view *v);

/* Operators of queries; nothing where no frame shows one. Returns 0 or -ENOMEM. */
int sp_text_operators(const struct sp_text *t, const struct sp_view *v);

/* What is "other", where that is more than 3 %. Returns 0 or -ENOMEM. */
int sp_text_other(const struct sp_text *t, const struct sp_view *v);

/* The table of executors; nothing where there are no two of them. Returns 0 or -ENOMEM. */
int sp_text_executors(const struct sp_text *t, const struct sp_view *v);

/* Who held the monitors that were waited for; nothing where that is unknown. */
void sp_text_holders(const struct sp_text *t, const struct sp_view *v);

/* Self time by line, where --lines or --source asks for it. Returns 0 or -ENOMEM. */
int sp_text_lines(const struct sp_text *t, const struct sp_view *v);

/* The stacks as a tree. Returns 0 or -ENOMEM. */
int sp_text_tree(const struct sp_text *t, const struct sp_view *v);

/* The heaviest stacks, t->o->traces of them. */
void sp_text_traces(
	const struct sp_text *t, const struct sp_view *v, const struct sp_hot_methods *hot);

/* The table of threads. Returns 0 or -ENOMEM. */
int sp_text_threads(const struct sp_text *t, const struct sp_view *v);

#endif
