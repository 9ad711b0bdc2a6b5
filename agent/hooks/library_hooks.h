/* Functions in the place of others in all libraries of the process (host/got_patch.h), also in
 * those that are loaded later: who calls dlopen finds the new library patched when it returns.
 * Where the caller's own search path may count (DT_RPATH, DT_RUNPATH, $ORIGIN), dlopen must see
 * that it is the caller who calls: such a library is patched at the collector's next look instead.
 */
#ifndef SP_AGENT_HOOKS_LIBRARY_HOOKS_H
#define SP_AGENT_HOOKS_LIBRARY_HOOKS_H

#include "host/got_patch.h"

#define SP_LIBRARY_HOOKS_MAX 32u

/* Puts @hooks, of which a copy is kept, into every library. Returns entries changed, 0 also where
 * there are too many. Context: any agent thread. */
size_t sp_library_hooks_add(const struct sp_got_hook *hooks, size_t count);

/* Takes them out again. A thread may be in one: their code stays. Context: as above. */
void sp_library_hooks_remove(const struct sp_got_hook *hooks, size_t count);

/* Looks for libraries that were loaded unseen. Cheap. Context: the collector, once a tick. */
void sp_library_hooks_look(void);

/* How often a library was patched when it was loaded, since the process began. Any thread. */
uint64_t sp_library_hooks_loads(void);

#endif
