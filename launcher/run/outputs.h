/* What the -f of a call mean for one target: where the recording lies while it grows, and what is
 * made of it at the end.
 *
 * The recording is a JFR file that is valid at every instant. It is the user's own x.jfr where one
 * was asked for, else OUT.jfr beside the first other output until all outputs are whole, so that a
 * killed run loses nothing. With stdout as the only output it has no name; and for -o jfr on stdout
 * there is none: whole chunks go straight out. */
#ifndef SP_LAUNCHER_RUN_OUTPUTS_H
#define SP_LAUNCHER_RUN_OUTPUTS_H

#include "base/buf.h"
#include "base/err.h"
#include "cli/options.h"
#include "discover/jvm.h"
#include "out/place.h"
#include "prof/model/profile.h"

#include <stdbool.h>

struct sp_output {
	char *path; /* owned: patterns replaced, absolute; "-" is stdout */
	enum sp_format format;
};

struct sp_outputs {
	struct sp_output list[SP_CALL_MAX_OUTPUTS];
	size_t n;
	int fd;		       /* the recording; owned, -1: none yet */
	char *recording;       /* owned: its path; NULL: it has no name, or not ours to touch */
	struct sp_place place; /* where @recording is: what removes and renames it */
	char *copy;	       /* owned: the name beside it of what becomes the recording at
				* sp_outputs_settle; NULL: none */
	bool keep;	       /* the recording is one of the outputs */
	bool stream;	       /* chunks go to stdout; there is nothing to finish */
};

void sp_outputs_init(struct sp_outputs *o);

/* Names the outputs of @call for @target; nothing is created. Returns 0; -EINVAL for a name that
 * cannot be had; with a sentence. */
int sp_outputs_name(struct sp_outputs *o, const struct sp_call *call, const struct sp_jvm *target,
	struct sp_err *err);

/* The outputs as text that the agent keeps for a later `stop`, and back. Returns 0, -EINVAL for
 * text that sp_outputs_text did not make, or -ENOMEM. */
int sp_outputs_text(const struct sp_outputs *o, struct sp_buf *ret);
int sp_outputs_parse(struct sp_outputs *o, const char *text);

/* Can there be files of these names? Asked before the target is touched; creates nothing. */
int sp_outputs_check(const struct sp_outputs *o, struct sp_err *err);

/* Creates the recording: o->fd, o->stream. An earlier file of that name is replaced, not written
 * over: a reader that has it open keeps what it sees. Returns 0 or -errno with a sentence. */
int sp_outputs_record(struct sp_outputs *o, struct sp_err *err);

/* The same for a recording that goes on: a copy of the one that is there, under another name until
 * _settle gives it the recording's. Until then the old file is as it was, and it is valid at every
 * moment. Returns 0; -EINVAL where there is none to go on with; -errno; with a sentence. */
int sp_outputs_reopen(struct sp_outputs *o, struct sp_err *err);
int sp_outputs_settle(struct sp_outputs *o, struct sp_err *err); /* nothing to do after _record */

/* Takes @fd (in every case) as the recording that an earlier launcher made for these outputs. */
void sp_outputs_adopt(struct sp_outputs *o, int fd);

/* Reads the recording as reports would show it; of one that goes on what was flushed, and of any
 * the last @last_ns alone, where that is not 0. Returns 0, and *ret_profile belongs to the caller;
 * or -errno with a sentence. */
__attribute__((warn_unused_result)) int sp_outputs_load(struct sp_outputs *o,
	const struct sp_call *call, const struct sp_jvm *target, uint64_t last_ns,
	struct sp_profile **ret_profile, struct sp_err *err);

/* Writes every output from the recording, each under a temporary name and then renamed. With
 * @complete the recording itself is named (symbols) or, if no output, removed; without it (dump) it
 * is left alone. Says where things lie. Returns 0, or -errno with a sentence that names the file;
 * the recording then stays. */
int sp_outputs_write(struct sp_outputs *o, const struct sp_call *call, const struct sp_jvm *target,
	bool complete, struct sp_err *err);

/* Puts into @p what reports say of where it comes from: target, Spark, host, our command line. */
void sp_outputs_describe(struct sp_profile *p, const struct sp_jvm *target);

/* Removes the file that _record made, by whatever name it was reached. */
void sp_outputs_remove(struct sp_outputs *o);

/* Removes the recording of a run that never started. */
void sp_outputs_discard(struct sp_outputs *o);

void sp_outputs_done(struct sp_outputs *o);

#endif
