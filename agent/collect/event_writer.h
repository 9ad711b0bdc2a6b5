/* The recording as the collector sees it: a thin layer over the JFR writer that says which event a
 * sample becomes. Context: the collector only. */
#ifndef SP_AGENT_RECORD_H
#define SP_AGENT_RECORD_H

#include "args.h"
#include "base/err.h"
#include "engine.h"
#include "identity.h"
#include "metrics.h"
#include "jfr/writer.h"
#include "prof/dict.h"
#include "tasks.h"
#include "unwind/modules.h"

struct sp_record;

/* @fd and @dict are borrowed until sp_record_close(). @engine and @notes (a line each,
 * borrowed as well) are written as settings of each chunk.
 * Returns 0 or -errno with a sentence. */
int sp_record_open(struct sp_record **ret, const struct sp_args *args, int fd, struct sp_dict *dict,
	const char *engine, uint64_t interval_ns, const char *notes, size_t memory,
	struct sp_err *err);

/* Who is recorded, as far as known by now: written, and again in each chunk. */
void sp_record_identity(struct sp_record *r, const struct sp_identity *id);

/* A running thread was seen. */
void sp_record_cpu(struct sp_record *r, uint64_t time_ns, uint32_t thread, uint32_t stack);

/* A thread was in @stack for @span_ns from @time_ns on, @samples looks. */
void sp_record_wall(struct sp_record *r, uint64_t time_ns, uint32_t thread, uint32_t stack,
	enum sp_state state, uint64_t span_ns, uint32_t samples);

/* Any other event; see sp_jfrw_event. */
void sp_record_event(struct sp_record *r, enum sp_jfr_type_id type, const union sp_jfr_val *vals);

void sp_record_metrics(struct sp_record *r, const struct sp_metrics *m);

/* Native frames of this chunk lie in @m: where its symbols can be found. */
void sp_record_module(struct sp_record *r, const struct sp_module *m);

/* A task attempt ran on @thread. */
void sp_record_task(struct sp_record *r, const struct sp_task *t, uint32_t thread);

void sp_record_stage(struct sp_record *r, const struct sp_stage_about *about);

void sp_record_counts(struct sp_record *r, const struct sp_counts *counts);

/* The dictionary is nearly full: the next flush begins a new chunk. */
bool sp_record_full(const struct sp_record *r);

/* Makes all events durable in the file. Returns 0; 1 where a chunk was completed and the dictionary
 * reset: every id is void; or -errno. */
int sp_record_flush(struct sp_record *r, struct sp_err *err);

/* The same, and goes on in another file: @fd is borrowed as the first one was, which is complete
 * then. Returns 1 or -errno. */
int sp_record_switch(struct sp_record *r, int fd, struct sp_err *err);

/* Of the file in hand. */
uint64_t sp_record_bytes(const struct sp_record *r);

/* Final flush with the counts of the whole recording. Frees @r in any case. */
int sp_record_close(struct sp_record *r, const struct sp_counts *counts, struct sp_err *err);

#endif
