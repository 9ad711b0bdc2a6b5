/* Puts names to the native frames that the agent could only write as module and address. */
#ifndef SP_PROF_RESOLVE_H
#define SP_PROF_RESOLVE_H

#include <stdint.h>

#include "prof/profile.h"

/* Finds the function at @addr of @module, an address as the module's ELF file has it. @build_id is
 * hex, "" unknown. Returns 0 with *ret_name borrowed until the next call; a negative errno: no
 * name.
 */
typedef int sp_resolve_fn(
	void *ctx, const char *module, const char *build_id, uint64_t addr, const char **ret_name);

/* Asks @find for each unresolved method of @p once and replaces it in all stacks; rows that become
 * equal are merged. Totals stay. What has no name stays as it was.
 * Returns: how many methods got a name, or -ENOMEM: then @p is as it was. */
int sp_profile_resolve(struct sp_profile *p, sp_resolve_fn *find, void *ctx);

#endif
