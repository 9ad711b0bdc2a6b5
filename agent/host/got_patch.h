/* Calls from one library to another go through a table of addresses in the caller (gABI, "Global
 * Offset Table"). Puts other functions into these tables, in all libraries that are loaded, and
 * takes them out again.
 * Context: any agent thread, one at a time; the loader is locked meanwhile. */
#ifndef SP_AGENT_HOST_GOT_PATCH_H
#define SP_AGENT_HOST_GOT_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function by name: calls of @real become calls of @hook. Entries that lead elsewhere (a library
 * with an allocator of its own) are left alone. */
struct sp_got_hook {
	const char *name;
	void *real, *hook;
};

/* Every library but this one and the loader. Returns entries changed. */
size_t sp_got_patch_apply(const struct sp_got_hook *hooks, size_t count);

/* Entries that hold a hook get the real function back; read-only tables are so again. */
size_t sp_got_patch_restore(const struct sp_got_hook *hooks, size_t count);

/* Changes whenever a library was loaded or unloaded. Cheap. */
uint64_t sp_got_patch_epoch(void);

#endif
