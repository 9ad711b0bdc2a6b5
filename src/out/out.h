/* The report formats: one writer each, found by name or by the extension of a file name. */
#ifndef SP_OUT_OUT_H
#define SP_OUT_OUT_H

#include <stdbool.h>
#include <stddef.h>

#include "out/sink.h"
#include "prof/model/profile.h"
#include "prof/view/view.h"

struct sp_out_opts {
	struct sp_view_opts view;
	bool colour;	    /* the caller knows: a terminal, and NO_COLOR is not set */
	bool utf8;	    /* bars and dots beyond ASCII */
	unsigned width;	    /* columns of text; 0: 80 */
	bool parts;	    /* text: only the two lists below, where they are not 0 */
	unsigned methods;   /* text: how many hot methods; 0: 20 */
	unsigned traces;    /* text with @parts: how many of the heaviest stacks */
	double minwidth;    /* html, svg: percent; narrower frames are left out; 0: none for that */
	bool reverse;	    /* html, svg: callers above callees */
	bool inverted;	    /* html, svg: roots at the top; with @reverse, at the bottom */
	const char *source; /* --source: a directory of code; NULL: none */
};

/* Writes a whole report. Reads @p only. Errors of the sink are sticky and asked for by its owner.
 * Returns: 0 or -ENOMEM. */
typedef int sp_out_fn(
	const struct sp_profile *p, const struct sp_out_opts *opts, struct sp_sink *sink);

enum sp_format {
	SP_FORMAT_TEXT,
	SP_FORMAT_HTML,
	SP_FORMAT_SVG,
	SP_FORMAT_COLLAPSED,
	SP_FORMAT_JFR,
	SP_FORMAT_PPROF,
	SP_FORMAT_OTLP,
	SP_FORMAT_SPEEDSCOPE,
	SP_FORMAT_CSV,
	SP_FORMAT_JSON,
	SP_FORMAT_MARKDOWN,
	SP_FORMAT_COUNT,
};

struct sp_out_format {
	const char *name;	/* of -o */
	const char *extensions; /* of -f, without dots, separated by blanks */
	sp_out_fn *write;	/* NULL: a recording, which is not made of a profile */
	bool one_event;		/* has room for one */
};

extern const struct sp_out_format sp_out_formats[SP_FORMAT_COUNT];

/* NULL: there is none of that name, or for that path's extension. */
const struct sp_out_format *sp_out_by_name(const char *name);
const struct sp_out_format *sp_out_by_path(const char *path);

/* Whether @word is one of the format's extensions. */
bool sp_out_has_extension(const struct sp_out_format *f, const char *word);

/* Appends one line without newline: "12,345 samples, 12 lost (ring full 10, late 2), 3 truncated,
 * 1 unknown". Every report says it, in its own form or, for formats that have no place for it, by
 * the launcher on stderr. */
void sp_out_summary(const struct sp_profile *p, struct sp_buf *out);

sp_out_fn sp_out_collapsed;
sp_out_fn sp_out_csv;
sp_out_fn sp_out_json;
sp_out_fn sp_out_markdown;
sp_out_fn sp_out_otlp;
sp_out_fn sp_out_pprof;
sp_out_fn sp_out_speedscope;
sp_out_fn sp_out_text;

#endif
