/* What hooks report (sig/here.h) becomes events of the recording. Context: the collector only. */
#ifndef SP_AGENT_REPORTS_H
#define SP_AGENT_REPORTS_H

#include "live.h"
#include "nativemem.h"
#include "record.h"
#include "sig/handler.h"

#include <stdatomic.h>

/* Where each caller of malloc was last seen, for what no sample has told of it at the end. */
struct sp_callers {
	struct {
		uint32_t stack, thread, epoch;
	} last[SP_NATIVEMEM_SITES];
};

/* What a record needs to become an event. All is borrowed. */
struct sp_reports {
	const struct sp_args *args;
	struct sp_dict *dict;
	struct sp_record *record;
	struct sp_live *live; /* NULL: none are kept */
	struct sp_callers *callers;
	uint32_t epoch;	 /* of the dictionary */
	uint32_t holder; /* of a monitor: the thread's id, 0 not known */
};

/* The sample in a record of the ring: borrows its stack. */
void sp_reports_sample(const struct sp_sig_record *rec, struct sp_sample *ret);

/* The name of the virtual thread that @rec is of: name_len bytes. */
const char *sp_reports_name(const struct sp_sig_record *rec);

/* Frames that the hook of such a record has put on top: enum sp_trim. */
uint8_t sp_reports_trim(uint32_t kind);

/* Writes @rec, of @thread in @stack (both 0 for a kind without a stack). Returns false where its
 * class did not fit into the dictionary. */
bool sp_reports_write(
	struct sp_reports *rs, const struct sp_sig_record *rec, uint32_t thread, uint32_t stack);

/* Last of all: bytes of callers that no sample has told, with their last stack of this @epoch. */
void sp_reports_rest(const struct sp_callers *callers, struct sp_record *r, uint32_t epoch);

/* An event for each live object, at the @end or for a dump. *ret_lost: those for which there was no
 * room. Returns how many were written. */
uint64_t sp_reports_live(struct sp_live *live, struct sp_record *r, struct sp_dict *dict, bool end,
	uint64_t *ret_lost);

/* @rec will not be written: gives back what it holds. */
void sp_reports_drop(struct sp_reports *rs, const struct sp_sig_record *rec);

#endif
