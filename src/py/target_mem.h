/* Memory of another process, as the Python reader sees it: a callback, so that tests can give it
 * recorded, damaged or changing memory. */
#ifndef SP_PY_TARGET_MEM_H
#define SP_PY_TARGET_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sp_pyspan {
	uint64_t addr;
	void *to;
	size_t len;
};

/* Reads @n spans in their order, as quickly after one another as it can.
 * Returns: how many were read whole; it stops at the first that cannot be. -errno where nothing of
 * this process can be read: -ESRCH (it has ended), -EPERM. */
typedef int sp_pymem_read_fn(void *ctx, const struct sp_pyspan *spans, size_t n);

struct sp_pymem {
	sp_pymem_read_fn *read;
	void *ctx;
};

/* A running process, by process_vm_readv(2): it is not stopped and does not notice. With @has_file
 * by /proc/PID/mem, which asks for permission only when it is opened: so it may come from a process
 * who has it. With @no_call only so: a filter may end who makes the call (base/filtered.h). */
struct sp_pymem_process {
	pid_t pid;
	bool no_call;
	bool has_file;
	int file; /* owned */
};
sp_pymem_read_fn sp_pymem_process; /* ctx: struct sp_pymem_process */

/* Opens its file: where a filter denies the call only. Returns 0 or -errno. */
int sp_pymem_open(struct sp_pymem_process *p);
void sp_pymem_close(struct sp_pymem_process *p);

/* All of them, or nothing counts. Returns true if every span was read. */
bool sp_pymem_all(const struct sp_pymem *m, const struct sp_pyspan *spans, size_t n);
bool sp_pymem_get(const struct sp_pymem *m, uint64_t addr, void *to, size_t len);

/* A word; 0 where it cannot be read. */
uint64_t sp_pymem_word(const struct sp_pymem *m, uint64_t addr);

static inline uint64_t sp_pyword(const void *from)
{
	uint64_t v;

	__builtin_memcpy(&v, from, sizeof(v));
	return v;
}

#endif
