/* Which JVMs of several hosts a call is about. */
#ifndef SP_LAUNCHER_VIA_TARGETS_H
#define SP_LAUNCHER_VIA_TARGETS_H

#include "hosts.h"

struct sp_via_target {
	struct sp_via_host *host; /* borrowed, as is */
	const struct sp_jvm *jvm; /* NULL: the host itself, of list without a target */
};

struct sp_via_targets {
	struct sp_via_target *list; /* owned */
	size_t n, cap;
};

/* Finds what the words of @call mean on the hosts that are ready, and what its options choose of
 * that. Returns 0; -EINVAL for a word that cannot be meant so; -ESRCH where nothing fits; -errno;
 * with a sentence. The caller frees the list in every case. */
int sp_via_targets_find(struct sp_via_targets *ret, struct sp_via_hosts *hs,
	const struct sp_call *call, struct sp_err *err);

#endif
