/* The files that report and diff read: found, opened, and merged into one profile. */
#ifndef SP_LAUNCHER_REPORT_REPORT_INPUTS_H
#define SP_LAUNCHER_REPORT_REPORT_INPUTS_H

#include "cli/options.h"
#include "prof/model/profile.h"

struct sp_input_file;

struct sp_report_inputs {
	char **paths; /* owned; directories replaced by what is in them */
	size_t n, cap;
	uint64_t bytes;		     /* of all */
	struct sp_input_file *known; /* a hash table of those that were added */
	size_t n_known, known_cap;
	size_t sidecars; /* paths that may be read with another */
};

/* Adds a file, or every recording in a directory (in the order of their names; where there are JFR
 * files, these only, with a warning about the others). A directory with nothing but one directory
 * of recordings is taken as that one. Returns 0, or -errno with a sentence that names it. */
int sp_report_inputs_add(struct sp_report_inputs *in, const char *path, struct sp_err *err);
void sp_report_inputs_done(struct sp_report_inputs *in);

/* Reads all of them with the filters of @call into one profile, several at once where this machine
 * has the cores for it. What is damaged is said on stderr, and what could be read of it is there.
 * Owner:   *ret belongs to the caller.
 * Returns: 0; -errno with a sentence where nothing could be read. */
__attribute__((warn_unused_result)) int sp_report_inputs_load(const struct sp_report_inputs *in,
	const struct sp_call *call, struct sp_profile **ret, struct sp_err *err);

#endif
