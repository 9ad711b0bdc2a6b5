/* Native memory that was allocated and not freed within a recording. Inside of src/prof. */
#ifndef SP_PROF_LOAD_LEAKS_H
#define SP_PROF_LOAD_LEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_leak {
	uint64_t address, time_ns;
	bool freed;
};

struct sp_leaks {
	struct sp_leak *list; /* owned; by time, then address */
	size_t count, cap;
	uint32_t *index; /* owned: hash of addresses → number + 1 of their last allocation */
	size_t index_size;
};

/* Reads all allocations and frees of a recording, in their order. Returns 0 or -ENOMEM; a damaged
 * file gives those before. */
int sp_leaks_read(struct sp_leaks *l, int fd);
void sp_leaks_done(struct sp_leaks *l);

/* Was what was allocated at @time_ns at @address never freed? */
bool sp_leaks_has(const struct sp_leaks *l, uint64_t time_ns, uint64_t address);

#endif
