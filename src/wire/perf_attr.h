/* What a perf event that writes into a ring of sparkprof's looks like. The agent reads the records
 * and opens the events itself where it may; else the launcher opens them and passes the
 * descriptors: so both must mean the same. Pure functions, any thread. */
#ifndef SP_WIRE_PERF_ATTR_H
#define SP_WIRE_PERF_ATTR_H

#include <linux/perf_event.h>
#include <stdint.h>

#define SP_PERF_WINDOW_MAX (60u << 10) /* of user stack; a record must stay below 64 KiB */
#define SP_PERF_REGS	   0xff01ffull /* of asm/perf_regs.h: all 17 but segments and flags */

/* Bytes of user stack in a record that shall hold @depth: of the sizes there are the smallest that
 * does, or the largest up to @most. */
uint32_t sp_perf_attr_window(uint64_t depth, uint64_t most);

/* A time-driven event on CPU time, every @interval_ns, kernel included. */
void sp_perf_attr_clock(struct perf_event_attr *ret, uint64_t interval_ns);

/* Makes @attr write records of TID, TIME, CPU, kernel CALLCHAIN, REGS_USER and @window bytes of
 * STACK_USER. */
void sp_perf_attr_ring(struct perf_event_attr *attr, uint32_t window);

/* An event that counts nothing and owns a ring. */
void sp_perf_attr_owner(struct perf_event_attr *ret);

/* perf_event_open(2) with close-on-exec. Returns a descriptor or -errno. */
__attribute__((warn_unused_result)) int sp_perf_attr_open(
	struct perf_event_attr *attr, int32_t tid, int cpu);

#endif
