/* Processes that began of late, without a look at all threads that may have started one: the kernel
 * gives out their numbers in turn, and says which was the last. */
#ifndef SP_PYSAMPLE_PY_NEWCOMERS_H
#define SP_PYSAMPLE_PY_NEWCOMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sp_pynewcomers {
	pid_t last, before; /* as of the last two looks; 0: not yet */
	uint64_t all_due_ns;
};

struct sp_pynewcomer {
	pid_t pid, parent;
};

enum { SP_PYNEWCOMERS_MAX = 64 };

/* Fills @ret with the processes that began since the look before the last one, oldest first: one
 * that was only being made at the last look comes again. Returns how many; -EAGAIN where everything
 * has to be searched: at first, every ten seconds, where too many began, and where the kernel does
 * not say. */
int sp_pynewcomers_look(
	struct sp_pynewcomers *n, uint64_t now_ns, struct sp_pynewcomer ret[SP_PYNEWCOMERS_MAX]);

#endif
