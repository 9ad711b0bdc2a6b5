/* Spark's pods, found by the labels that Spark sets. */
#ifndef SP_LAUNCHER_VIA_PODS_H
#define SP_LAUNCHER_VIA_PODS_H

#include "via_place.h"

/* Asks the user's kubectl for them; where @call has target words, only those pods that are meant.
 * Pods of executors that Spark has given up, that are ending or do not run yet are left out, the
 * last ones with a warning.
 * Owner:   *ret_text, which the places point into, and *ret_list are the caller's.
 * Returns  0; -ESRCH where there is none; -EIO where kubectl fails; -errno; with a sentence. */
int sp_via_pods_find(const struct sp_call *call, char **ret_text, struct sp_via_place **ret_list,
	size_t *ret_n, struct sp_err *err);

#endif
