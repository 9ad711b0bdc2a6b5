/* From what a user writes to processes: 1234, driver, executor, executor:3, executors,
 * application_17_0001, application_17_0001/3, part of a main class name; tried in this order. */
#ifndef SP_LAUNCHER_DISCOVER_TARGET_H
#define SP_LAUNCHER_DISCOVER_TARGET_H

#include "base/err.h"
#include "jvm.h"

/* The processes that a call is about, each once, in the order of the words. */
struct sp_targets {
	struct sp_jvm *list; /* owned */
	size_t n;
};

void sp_targets_done(struct sp_targets *t);

#define SP_AUTO_TARGETS __attribute__((cleanup(sp_targets_done)))

/* Finds what @words name. Nothing is sent to any process.
 * Owner:    sp_targets_done frees it; on failure there is nothing to free.
 * Returns:  0 (a pid may name what is no JVM: sp_jvm.attach says so); -EINVAL where a word for one
 *           target fits several: the sentence lists them (exit 2);
 *           -ESRCH where nothing fits (exit 3); -errno. @err has the sentence. */
int sp_target_resolve(int procfd, const char *const *words, size_t n_words, struct sp_targets *ret,
	struct sp_err *err);

/* The same over a given list of JVMs, for one word: the steps behind the pid. Appends to @ret. */
int sp_target_match(const struct sp_jvm *all, size_t n, const char *word, struct sp_targets *ret,
	struct sp_err *err);

/* Several targets must not write to one file: every pattern of @paths has to differ from target to
 * target (%p or {{EXECUTOR_ID}}); stdout cannot.
 * Returns 0, or -EINVAL with a sentence (exit 2). */
int sp_target_check_outputs(
	const struct sp_targets *t, const char *const *paths, size_t n_paths, struct sp_err *err);

#endif
