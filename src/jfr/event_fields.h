/* Events by named fields: struct sp_jfr_fields_LOST has one union sp_jfr_val for each field of
 * SP_JFR_LOST. What an initialiser leaves out is 0 or a null string, so that a new field cannot
 * shift the others:
 *
 *	sp_jfrw_event(w, SP_JFR_EVENT(LOST, .startTime.u = now, .reason.s = why, .count.u = n));
 */
#ifndef SP_JFR_EVENT_FIELDS_H
#define SP_JFR_EVENT_FIELDS_H

#include "jfr/writer.h"

/* clang-format off */
#define SP_JFR_EVENT_FIELDS(id, ...) struct sp_jfr_fields_##id { union sp_jfr_val __VA_ARGS__; };
/* clang-format on */
#include "jfr/event_fields.def"
#undef SP_JFR_EVENT_FIELDS

/* The values alone, valid until the end of the block. */
#define SP_JFR_VALUES(id, ...) \
	((const union sp_jfr_val *)&(const struct sp_jfr_fields_##id){__VA_ARGS__})

/* Two arguments: the type and the values. */
#define SP_JFR_EVENT(id, ...) SP_JFR_##id, SP_JFR_VALUES(id, __VA_ARGS__)

#endif
