/* The kernel's ring buffers of perf events: one per CPU, each owned by a dummy event that other
 * events write into by PERF_EVENT_IOC_SET_OUTPUT. */
#ifndef SP_AGENT_CAPTURE_PERF_RING_H
#define SP_AGENT_CAPTURE_PERF_RING_H

#include "base/err.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_perf_ring {
	int fd, cpu;
	struct perf_event_mmap_page *page;
};

struct sp_perf_rings {
	struct sp_perf_ring *ring;
	uint32_t count;
	size_t bytes;	  /* data of one ring, a power of two */
	uint8_t *scratch; /* 64 KiB: a record that wraps is put together here */
};

/* Opens a ring on each online CPU, together at most @memory bytes, smaller where the kernel allows
 * less locked memory. Returns 0 or -errno with a sentence; then nothing is open. */
__attribute__((warn_unused_result)) int sp_perf_rings_open(
	struct sp_perf_rings *r, size_t memory, struct sp_err *err);
/* The same over events that another process opened; they pass to @r, or are closed. */
int sp_perf_rings_adopt(
	struct sp_perf_rings *r, const int *fds, uint32_t n, size_t memory, struct sp_err *err);
void sp_perf_rings_close(struct sp_perf_rings *r);

/* Is one of them more than a quarter full? */
bool sp_perf_rings_filling(const struct sp_perf_rings *r);

/* Calls @fn with each record and gives its space back. The record is borrowed during the call. */
void sp_perf_rings_drain(struct sp_perf_rings *r,
	void (*fn)(void *ctx, const struct perf_event_header *h), void *ctx);

/* The same, but the records stay. */
void sp_perf_rings_peek(struct sp_perf_rings *r,
	void (*fn)(void *ctx, const struct perf_event_header *h), void *ctx);

#endif
