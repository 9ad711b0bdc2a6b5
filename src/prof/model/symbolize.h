/* Puts names to the native frames that the agent could only write as module and address. */
#ifndef SP_PROF_MODEL_SYMBOLIZE_H
#define SP_PROF_MODEL_SYMBOLIZE_H

#include <stdint.h>

#include "prof/model/profile.h"

/* Finds the function at @addr of @module, an address as the module's ELF file has it. @build_id is
 * hex, "" unknown. Returns 0 with *ret_name borrowed until the next call; a negative errno: no
 * name.
 */
typedef int sp_symbolize_fn(
	void *ctx, const char *module, const char *build_id, uint64_t addr, const char **ret_name);

/* Asks @find for each unresolved method of @p once and replaces it in all stacks; rows that become
 * equal are merged. Totals stay. What has no name stays as it was.
 * Returns: how many methods got a name, or -ENOMEM: then @p is as it was. */
int sp_profile_symbolize(struct sp_profile *p, sp_symbolize_fn *find, void *ctx);

/* What became of a dictionary's methods and stacks: with it, profiles that share the dictionary and
 * are resolved one after the other ask for each once. All zero at first. */
struct sp_symbolized {
	uint32_t *methods, *stacks; /* owned, by id; of stacks 0: not looked at */
	size_t method_count, method_cap, stack_cap;
	size_t named; /* methods that got a name */
};
void sp_symbolized_done(struct sp_symbolized *r);

/* The same with it. Returns 0 or -ENOMEM. */
int sp_profile_symbolize_more(
	struct sp_profile *p, struct sp_symbolized *r, sp_symbolize_fn *find, void *ctx);

#endif
