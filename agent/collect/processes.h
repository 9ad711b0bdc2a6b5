/* --proc: who else uses this node. Now and then /proc is walked, and those processes become events
 * that had 5 % of a core or have 5 % of the machine's memory. No command lines: they hold other
 * people's secrets. In a container /proc has the container's processes.
 * Context: the collector only. */
#ifndef SP_AGENT_COLLECT_PROCESSES_H
#define SP_AGENT_COLLECT_PROCESSES_H

#include "event_writer.h"

struct sp_processes;

/* Looks for the first time. Returns NULL where memory fails: then none are recorded. */
struct sp_processes *sp_processes_new(uint64_t every_ns);
void sp_processes_free(struct sp_processes *p);

/* Looks again if it is time to, or if @last a second has passed. NULL: nothing is done. */
void sp_processes_tick(struct sp_processes *p, struct sp_event_writer *to, bool last);

#endif
