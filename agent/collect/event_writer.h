/* The recording as the collector sees it: a thin layer over the JFR writer that says which event a
 * sample becomes. Context: the collector only. */
#ifndef SP_AGENT_COLLECT_EVENT_WRITER_H
#define SP_AGENT_COLLECT_EVENT_WRITER_H

#include "base/err.h"
#include "capture/engine.h"
#include "dict/dict.h"
#include "jfr/writer.h"
#include "metrics.h"
#include "options/args.h"
#include "spark/spark_identity.h"
#include "spark/task_table.h"
#include "unwind/modules.h"

struct sp_event_writer;

/* @fd and @dict are borrowed until sp_event_writer_close(). @engine and @notes (a line each,
 * borrowed as well) are written as settings of each chunk, @properties (borrowed, sp_capture's) as
 * events.
 * Returns 0 or -errno with a sentence. */
int sp_event_writer_open(struct sp_event_writer **ret, const struct sp_args *args, int fd,
	struct sp_dict *dict, const char *engine, uint64_t interval_ns, const char *notes,
	const struct sp_buf *properties, size_t memory, struct sp_err *err);

/* Borrowed until _close: for other writers of this room, which share its dictionary and its lock.
 */
struct sp_jfrw *sp_event_writer_jfrw(struct sp_event_writer *r);

/* Who is recorded, as far as known by now: written, and again in each chunk. */
void sp_event_writer_identity(struct sp_event_writer *r, const struct sp_spark_identity *id);

/* A running thread was seen. */
void sp_event_writer_cpu(
	struct sp_event_writer *r, uint64_t time_ns, uint32_t thread, uint32_t stack);

/* A thread was in @stack for @span_ns from @time_ns on, @samples looks. */
void sp_event_writer_wall(struct sp_event_writer *r, uint64_t time_ns, uint32_t thread,
	uint32_t stack, enum sp_state state, uint64_t span_ns, uint32_t samples);

/* Any other event; see sp_jfrw_event. */
void sp_event_writer_event(
	struct sp_event_writer *r, enum sp_jfr_type_id type, const union sp_jfr_val *vals);

void sp_event_writer_metrics(struct sp_event_writer *r, const struct sp_metrics *m);

/* Of a part of a second, at the end: what adds up, not rates. */
void sp_event_writer_last_metrics(struct sp_event_writer *r, const struct sp_metrics *m);

/* Of them only the CPU limit. */
void sp_event_writer_throttled(struct sp_event_writer *r, const struct sp_metrics *m);

/* Native frames of this chunk lie in @m: where its symbols can be found. */
void sp_event_writer_module(struct sp_event_writer *r, const struct sp_module *m);

/* A task attempt ran on @thread. */
void sp_event_writer_task(struct sp_event_writer *r, const struct sp_task *t, uint32_t thread);
/* One that goes on, as far as it has come: for a dump. It is recorded again when it ends, and
 * readers of ours take the longer one. */
void sp_event_writer_open_task(struct sp_event_writer *r, const struct sp_task *t, uint32_t thread);

void sp_event_writer_stage(struct sp_event_writer *r, const struct sp_stage_about *about);
void sp_event_writer_plan(struct sp_event_writer *r, int64_t sql, const char *pipelines);

/* From where classes, a line each, came. */
void sp_event_writer_source(struct sp_event_writer *r, const char *location, const char *classes);

void sp_event_writer_counts(struct sp_event_writer *r, const struct sp_counts *counts);

/* The dictionary is nearly full: the next flush begins a new chunk. */
bool sp_event_writer_full(const struct sp_event_writer *r);

/* Makes all events durable in the file. Returns 0; 1 where a chunk was completed and the dictionary
 * reset: every id is void; or -errno. */
int sp_event_writer_flush(struct sp_event_writer *r, struct sp_err *err);

/* The same, and goes on in another file: @fd is borrowed as the first one was, which is complete
 * then. Returns 1 or -errno. */
int sp_event_writer_switch(struct sp_event_writer *r, int fd, struct sp_err *err);

/* Of the file in hand. */
uint64_t sp_event_writer_bytes(const struct sp_event_writer *r);

/* Final flush with the counts of the whole recording. Frees @r in any case. */
int sp_event_writer_close(
	struct sp_event_writer *r, const struct sp_counts *counts, struct sp_err *err);

#endif
