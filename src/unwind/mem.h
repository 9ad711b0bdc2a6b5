/* Memory of the profiled process, read through one function pointer, so that the unwinder never
 * dereferences a foreign pointer: live memory may be unmapped at any moment, a test replays
 * recorded ranges, and a recorder logs every range that an unwind needed.
 * Context: one thread at a time (the collector), never a signal handler. */
#ifndef SP_UNWIND_MEM_H
#define SP_UNWIND_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies @len bytes at @addr to @buf, all or nothing. Returns 0 or -EFAULT. */
typedef int sp_mem_read_fn(void *ctx, uint64_t addr, void *buf, size_t len);

struct sp_mem {
	sp_mem_read_fn *read;
	void *ctx;
	void (*forget)(void *ctx); /* makes the next reads fresh; NULL where nothing is kept */
	/* says that [from, to) will stay readable as long as the process lives; may be NULL */
	void (*stable)(void *ctx, uint64_t from, uint64_t to);
};

static inline int sp_mem_read(const struct sp_mem *m, uint64_t addr, void *buf, size_t len)
{
	return m->read(m->ctx, addr, buf, len);
}

static inline bool sp_mem_u64(const struct sp_mem *m, uint64_t addr, uint64_t *ret)
{
	return m->read(m->ctx, addr, ret, 8) == 0;
}

static inline bool sp_mem_u32(const struct sp_mem *m, uint64_t addr, uint32_t *ret)
{
	return m->read(m->ctx, addr, ret, 4) == 0;
}

static inline bool sp_mem_u16(const struct sp_mem *m, uint64_t addr, uint16_t *ret)
{
	return m->read(m->ctx, addr, ret, 2) == 0;
}

static inline bool sp_mem_u8(const struct sp_mem *m, uint64_t addr, uint8_t *ret)
{
	return m->read(m->ctx, addr, ret, 1) == 0;
}

/* Reads a C string of at most @size - 1 bytes; longer ones are cut. Returns 0 or -EFAULT. */
int sp_mem_str(const struct sp_mem *m, uint64_t addr, char *buf, size_t size);

/* The process's own memory by process_vm_readv (else pread of /proc/self/mem, where it fails
 * or a seccomp filter is, base/filtered.h), in lines that are kept until sp_mem_live_refresh(). */
struct sp_mem_live;

/* How live memory is read. SP_MEM_GUARDED: by @guard, which the agent gives for processes where
 * neither system call is allowed. */
enum sp_mem_how { SP_MEM_PROCESS_VM, SP_MEM_PROC_FD, SP_MEM_GUARDED };

/* @cache: bytes for kept lines (0: 256 KiB). @guard: may be NULL; then, where nothing works,
 * -EPERM. Owner: the caller owns *ret; sp_mem_live_free() closes and frees. Returns 0 or -errno. */
__attribute__((warn_unused_result)) int sp_mem_live_new(
	struct sp_mem_live **ret, size_t cache, const struct sp_mem *guard);
void sp_mem_live_free(struct sp_mem_live *l);

/* Borrowed until sp_mem_live_free(). */
const struct sp_mem *sp_mem_live_mem(const struct sp_mem_live *l);

/* Forgets the kept lines: call once per batch of snapshots, before the first of them. Lines are at
 * most as old as the last call. */
void sp_mem_live_refresh(struct sp_mem_live *l);

struct sp_mem_stats {
	uint64_t reads, hits, faults; /* requests, served from kept lines, refused by the kernel */
	size_t bytes;		      /* held */
	enum sp_mem_how how;
};
void sp_mem_live_stats(const struct sp_mem_live *l, struct sp_mem_stats *ret);

#endif
