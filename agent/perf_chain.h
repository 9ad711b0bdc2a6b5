/* Kernel call chains beside signals. Where perf signals a thread, its handler copies the user's
 * side; the kernel's own frames, and how often the event came while the thread could not take a
 * signal, are in a page of the thread that the kernel writes. The collector joins the two by time.
 * Pages are mapped and retired by whoever holds the threads' lock, read and unmapped by the
 * collector alone. */
#ifndef SP_AGENT_PERF_CHAIN_H
#define SP_AGENT_PERF_CHAIN_H

#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_chain {
	struct perf_event_mmap_page *page;
	struct sp_chain *next; /* of those that are retired */
};

struct sp_chains {
	_Atomic(struct sp_chain *) retired;
	_Atomic uint32_t mapped;
	uint32_t most; /* pages at a time */
};

/* Makes @attr write what sp_chain_next() reads. */
void sp_chains_attr(struct perf_event_attr *attr);

/* How many fit into @memory. */
void sp_chains_init(struct sp_chains *x, size_t memory);
/* Unmaps what was retired. Context: the collector. */
void sp_chains_sweep(struct sp_chains *x);

/* A page for the event @fd; NULL: there is no room, or the kernel gives none. It belongs to @x. */
struct sp_chain *sp_chain_map(struct sp_chains *x, int fd);
/* It may still be read until the next sweep. NULL is fine. */
void sp_chain_retire(struct sp_chains *x, struct sp_chain *chain);

/* The next event of the thread that came until @until_ns: its kernel frames, leaf first, at most
 * @max of them. Returns false where there is none. Context: the collector. */
bool sp_chain_next(struct sp_chain *chain, uint64_t until_ns, uint64_t *ret, uint32_t max,
	uint32_t *ret_count);

/* Copies the kernel's addresses of a record's call chain, without the marks between them. */
uint32_t sp_chain_kernel(const uint64_t *ips, uint64_t n, uint64_t *ret, uint32_t max);

#endif
