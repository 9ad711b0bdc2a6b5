/* What hooks report (sig/hook_capture.h) becomes events of the recording. Context: the collector
 * only. */
#ifndef SP_AGENT_COLLECT_HOOK_EVENTS_H
#define SP_AGENT_COLLECT_HOOK_EVENTS_H

#include "event_writer.h"
#include "hooks/live_objects.h"
#include "hooks/nativemem.h"
#include "sig/handler.h"

#include <stdatomic.h>

/* Where each caller of malloc was last seen, for what no sample has reported of it at the end. */
struct sp_callers {
	struct {
		uint32_t stack, thread, epoch;
	} last[SP_NATIVEMEM_SITES];
};

/* What a record needs to become an event. All is borrowed. */
struct sp_hook_events {
	const struct sp_args *args;
	struct sp_dict *dict;
	struct sp_event_writer *record;
	struct sp_live_objects *live; /* NULL: none are kept */
	struct sp_callers *callers;
	uint32_t epoch;	 /* of the dictionary */
	uint32_t holder; /* of a monitor: the thread's id, 0 not known */
};

/* The sample in a record of the ring: borrows its stack. */
void sp_hook_events_sample(const struct sp_sig_record *rec, struct sp_raw_sample *ret);

/* The name of the virtual thread that @rec is of: name_len bytes. */
const char *sp_hook_events_name(const struct sp_sig_record *rec);

/* Frames that the hook of such a record has put on top: enum sp_trim. */
uint8_t sp_hook_events_trim(uint32_t kind);

/* Writes @rec, of @thread in @stack (both 0 for a kind without a stack). Returns false where its
 * class did not fit into the dictionary. */
bool sp_hook_events_write(struct sp_hook_events *rs, const struct sp_sig_record *rec,
	uint32_t thread, uint32_t stack);

/* Last of all: bytes of callers that no sample has reported, with their last stack of this @epoch.
 */
void sp_hook_events_rest(
	const struct sp_callers *callers, struct sp_event_writer *r, uint32_t epoch);

/* An event for each live object, at the @end or for a dump. *ret_lost: those for which there was no
 * room. Returns how many were written. */
uint64_t sp_hook_events_live(struct sp_live_objects *live, struct sp_event_writer *r,
	struct sp_dict *dict, bool end, uint64_t *ret_lost);

/* @rec will not be written: gives back what it holds. */
void sp_hook_events_drop(struct sp_hook_events *rs, const struct sp_sig_record *rec);

#endif
