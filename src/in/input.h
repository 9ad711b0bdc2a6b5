/* Inputs of reports: JFR recordings, collapsed text, pprof, `perf script` text, and gzipped forms
 * of these, recognised by their contents. One reader each. Launcher side. */
#ifndef SP_IN_INPUT_H
#define SP_IN_INPUT_H

#include "base/err.h"
#include "prof/load/load.h"

enum sp_input_kind {
	SP_INPUT_UNKNOWN,
	SP_INPUT_JFR,
	SP_INPUT_COLLAPSED,
	SP_INPUT_PPROF,
	SP_INPUT_PERF,
};

/* Unpacks @fd if it is gzipped, and returns its format. A pipe is copied first.
 * Owner:   *ret_fd belongs to the caller: a regular file at its start (@fd's own, duplicated, or an
 *          unnamed temporary one).
 * Returns: 0; -EBADMSG with a sentence if it is none of ours or the packing is damaged at its
 *          start; another -errno. *ret_note (may be NULL): set where the packing is damaged later
 *          on; everything before is there. */
__attribute__((warn_unused_result)) int sp_input_open(int fd, int *ret_fd,
	enum sp_input_kind *ret_kind, struct sp_err *ret_note, struct sp_err *err);

/* Reads an input into a new profile, as sp_load does. Filters that the kind has nothing for (times
 * in collapsed text) leave it whole, with a note in the profile. */
__attribute__((warn_unused_result)) int sp_input_read(int fd, enum sp_input_kind kind,
	const struct sp_load_opts *opts, struct sp_symbols *symbols, struct sp_profile **ret,
	struct sp_err *err);

/* The readers. They add to @p and return 0; -EBADMSG with a sentence that names the first damaged
 * place, after everything readable was added; or another -errno. */
int sp_input_collapsed(
	int fd, struct sp_profile *p, const struct sp_load_opts *opts, struct sp_err *err);
int sp_input_pprof(
	int fd, struct sp_profile *p, const struct sp_load_opts *opts, struct sp_err *err);
int sp_input_perf(
	int fd, struct sp_profile *p, const struct sp_load_opts *opts, struct sp_err *err);

#endif
