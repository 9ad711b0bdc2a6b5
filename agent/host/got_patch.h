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
	const char *not_in; /* leaves alone libraries with file names that begin so; NULL: none */
};

/* Waits until all libraries that are listed now are loaded, and returns their epoch. Not for who
 * holds a lock that a library's constructor may want. */
uint64_t sp_got_patch_settle(void);

/* Every library but this one and the loader. @settled: of sp_got_patch_settle(), 0 from who cannot
 * wait. Where libraries came since, tables that the loader may be at work on are not touched.
 * Returns entries changed, and in @ret_left how many wait for another time. */
size_t sp_got_patch_apply(
	const struct sp_got_hook *hooks, size_t count, uint64_t settled, size_t *ret_left);

/* Entries that hold a hook get the real function back; read-only tables are so again. */
size_t sp_got_patch_restore(const struct sp_got_hook *hooks, size_t count);

/* Changes whenever a library is loaded. Never 0. Cheap. */
uint64_t sp_got_patch_epoch(void);

#endif
