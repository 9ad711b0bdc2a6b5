/* Kernel call chains beside signals. Where perf signals a thread, its handler copies the user's
 * side; the kernel's own frames, and how often the event came while the thread could not take a
 * signal, are in pages of the thread that the kernel writes. The collector empties them all the
 * time, and joins the two by time when the signal has come. Context: the collector, but for
 * sp_chain_retire. */
#ifndef SP_AGENT_CAPTURE_PERF_CHAIN_H
#define SP_AGENT_CAPTURE_PERF_CHAIN_H

#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_chain {
	struct perf_event_mmap_page *page;
	struct sp_chain *next;
	_Atomic(struct sp_chain *) *place; /* its owner's pointer; it may be gone from there */
	uint64_t used_ns;		   /* by a sample */
	_Atomic bool gone;
	uint64_t since_ns;	/* the first event; 0: none was read */
	uint64_t *words;	/* owned: of each event its time, count of frames, frames */
	uint32_t at, len, room; /* words: read, written, there are */
	uint32_t last;		/* the latest event that was read or had frames: those of others */
	uint32_t more;		/* events for which there was no room … */
	uint64_t more_ns, more_end_ns; /* … the first of them that was not read, and the last */
};

struct sp_chains {
	struct sp_chain *all;
	uint32_t mapped, most;
	bool refused;  /* the kernel gives no more pages */
	uint64_t lost; /* events that the kernel found no room for; the reader takes them away */
};

/* Makes @attr write what is read here. */
void sp_chains_attr(struct perf_event_attr *attr);

/* How many fit into @memory. */
void sp_chains_init(struct sp_chains *x, size_t memory);
/* Reads what the kernel wrote, and unmaps what was retired. */
void sp_chains_drain(struct sp_chains *x);

/* Whether there is room for one more. If not, who has not been sampled for a second before @now_ns
 * gives its pages up, and the next drain makes room. */
bool sp_chains_room(struct sp_chains *x, uint64_t now_ns);

/* Puts pages for the event @fd into @place, unless the kernel gives none. They belong to @x. */
void sp_chain_map(struct sp_chains *x, int fd, _Atomic(struct sp_chain *) *place, uint64_t now_ns);
/* It may still be read until the next drain. NULL is fine. Context: any thread. */
void sp_chain_retire(struct sp_chain *chain);

/* The next event of the thread that came until @until_ns: its kernel frames, leaf first, at most
 * @max of them. Returns false where there is none. Context: the collector. */
bool sp_chain_next(struct sp_chain *chain, uint64_t until_ns, uint64_t *ret, uint32_t max,
	uint32_t *ret_count);

/* Whether the kernel writes down each event of @chain, counted lost where it has no room, by the
 * time
 * @time_ns: a signal without an event of its own then is one that an earlier one was counted for.
 */
static inline bool sp_chain_has(const struct sp_chain *chain, uint64_t time_ns)
{
	return chain->since_ns && chain->since_ns <= time_ns;
}

/* Reads what the kernel wrote for @chain. */
void sp_chain_read(struct sp_chains *x, struct sp_chain *chain);

/* Copies the kernel's addresses of a record's call chain, without the marks between them. */
uint32_t sp_chain_kernel(const uint64_t *ips, uint64_t n, uint64_t *ret, uint32_t max);

#endif
