/* The collector: one native thread, with all signals blocked, that takes samples from the engines,
 * unwinds and interns them and writes the recording. It never enters the JVM. */
#ifndef SP_AGENT_COLLECT_COLLECTOR_H
#define SP_AGENT_COLLECT_COLLECTOR_H

#include "capture/engine.h"
#include "host/counts.h"
#include "recording_input.h"

struct sp_collector;

/* Prepares unwinding and recording. @capture and @input are borrowed for life, @capture gets its
 * collector; @out_fd stays the caller's until it runs. Returns 0 or -errno with a sentence. */
int sp_collector_new(struct sp_collector **ret, struct sp_capture *capture,
	struct sp_recording_input *input, int out_fd, struct sp_err *err);
void sp_collector_free(struct sp_collector *c);

/* What the JVM's side needs to know; NULL where HotSpot was not understood. */
struct sp_hotspot *sp_collector_hotspot(struct sp_collector *c);

/* Starts the thread, @engine running; @wall_ns: and the wall clock beside, 0 none. */
int sp_collector_start(struct sp_collector *c, const struct sp_engine *engine, uint64_t wall_ns,
	struct sp_err *err);

/* Stops engines, drains what was taken, completes the recording and ends the thread. May be called
 * again: the first one does it. Context: any thread but the collector. */
int sp_collector_finish(struct sp_collector *c, struct sp_err *err);

/* Flushes now and waits for it. */
int sp_collector_flush(struct sp_collector *c, struct sp_err *err);

/* A new descriptor of the file in hand, the caller's; -errno. */
int sp_collector_dup(struct sp_collector *c);

/* Closes the file, after sp_collector_finish(). */
void sp_collector_close(struct sp_collector *c);

/* Flushes soon; does not wait. */
void sp_collector_nudge(struct sp_collector *c);

void sp_collector_counts(const struct sp_collector *c, struct sp_counts *ret);

#endif
