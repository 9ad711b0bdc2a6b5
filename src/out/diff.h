/* Two profiles compared: by stack, and by method with a judgement whether chance alone may have
 * made the difference. One writer per format. */
#ifndef SP_OUT_DIFF_H
#define SP_OUT_DIFF_H

#include "out/out.h"
#include "out/tree.h"
#include "prof/spark/match_runs.h"

enum { SP_DIFF_BASE, SP_DIFF_NEW };

struct sp_diff_method {
	const char *name;    /* borrowed from the tree */
	bool java;	     /* else slashes in its name are none of packages */
	uint64_t samples[2]; /* of stacks that hold it, once each */
	uint64_t self[2];    /* samples of stacks that end in it */
	double share[2];     /* of all samples of its side: 0 to 1; with absolute: samples */
	double change;	     /* share[1] - share[0] */
	double noise;	     /* a change up to this is what chance makes of equal programs */
};

/* How much of the event both sides have, of all of it, of a stage, or of a time class. */
struct sp_diff_amount {
	const char *name;		   /* borrowed: "stage 4.0 → 7.0", "shuffle read wait" */
	const char *title;		   /* borrowed: what the stage is called; "" */
	const struct sp_stage_pair *stage; /* borrowed; NULL: not a stage */
	bool there[2];			   /* a stage without a partner is in one of them */
	uint32_t tasks[2];
	uint64_t weight[2];
	double noise; /* a change up to this is what chance makes of equal programs */
};

struct sp_diff_amounts {
	struct sp_diff_amount *list; /* owned; the largest change first */
	size_t count;
};

struct sp_diff {
	const char
		*names[2]; /* borrowed: what the user calls them, for titles; NULL: "base", "new" */
	struct sp_view *views[2]; /* owned; [0] is the base */
	struct sp_tree tree;	  /* both sides; values are samples, or weights with --total */
	struct sp_diff_method *methods; /* owned; by change beyond noise, largest first */
	size_t count;
	struct sp_diff_amount total;
	struct sp_diff_amounts stages, waits; /* of cpu and wall; stages with a match only */
	bool absolute;
	double scale;  /* what base values are multiplied with to compare them: 1 with absolute */
	double sigmas; /* how many standard errors noise is: more methods, more of them by chance */
};

/* Compares the same event of both. Profiles are borrowed until sp_diff_done, and @match, what their
 * stages are to each other (NULL: they are not compared), too.
 * Returns: 0; -ENOENT if they have no event in common; -ENOMEM. */
int sp_diff_init(struct sp_diff *d, const struct sp_profile *base, const struct sp_profile *new,
	const struct sp_run_match *match, const struct sp_view_opts *opts, bool absolute);
void sp_diff_done(struct sp_diff *d);

/* Fills total, stages and waits. Returns 0 or -ENOMEM. */
int sp_diff_count(struct sp_diff *d, const struct sp_run_match *match);

/* The bound in standard errors that chance passes once in twenty tables of @rows. */
double sp_diff_bound(size_t rows);

/* "12.34 s", "3.0 MB" or "1,234", by the event's unit; @sign: "+12.34 s". Returns @buf. */
const char *sp_diff_format(const struct sp_diff *d, double v, bool sign, char *buf, size_t size);

typedef int sp_diff_fn(
	const struct sp_diff *d, const struct sp_out_opts *opts, struct sp_sink *sink);

/* By the name of -o; NULL where the format has no comparison. */
sp_diff_fn *sp_diff_writer(const char *format);

/* "stack base new", one line per stack: what difffolded.pl writes and flamegraph.pl reads. Stacks
 * that vanished have a 0 at the end. */
sp_diff_fn sp_diff_collapsed;
sp_diff_fn sp_diff_text;

/* The tables of total, stages and waits, which text begins with. */
void sp_diff_text_amounts(
	const struct sp_diff *d, const struct sp_out_opts *opts, struct sp_sink *sink);
void sp_diff_json_amounts(const struct sp_diff *d, struct sp_sink *sink);
sp_diff_fn sp_diff_csv;
sp_diff_fn sp_diff_json;

/* The report page with both sides in it, and the flame graph: widths are the mean of both sides, so
 * that what vanished is as visible as what is new; colours say what grew and what shrank. */
sp_diff_fn sp_diff_html;
sp_diff_fn sp_diff_svg;

/* "base.jfr" or "base". */
const char *sp_diff_name(const struct sp_diff *d, unsigned side);

/* The name of the event that is compared. */
const char *sp_diff_event(const struct sp_diff *d);

#endif
