/* Inside of src/out: what pprof and OTLP number alike: strings, functions and locations, and how a
 * task's place is written as text. An id is written once, when it is new. */
#ifndef SP_OUT_PROTO_NAMES_H
#define SP_OUT_PROTO_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "dict/dict.h"
#include "prof/view/view.h"

struct sp_proto_names {
	struct sp_dict *strings;   /* owned: ids are positions in the string table */
	struct sp_dict *functions; /* owned: its methods are functions, its threads locations */
	uint32_t functions_written, locations_written;
};

/* Returns 0 or -ENOMEM; sp_proto_names_done is called in both cases. */
__attribute__((nonnull, warn_unused_result)) int sp_proto_names_init(struct sp_proto_names *n);
__attribute__((nonnull)) void sp_proto_names_done(struct sp_proto_names *n);

/* Position in the string table: 0 is "", as both formats want it. */
__attribute__((nonnull)) uint32_t sp_proto_string(struct sp_proto_names *n, const char *s);

/* The id of the function with that name; *ret_string is the name's, 0 where memory ran out.
 * *ret_new: it is to be written now. */
__attribute__((nonnull)) uint32_t sp_proto_function(
	struct sp_proto_names *n, const char *name, uint32_t *ret_string, bool *ret_new);

/* The id of a line of @function; 0 where memory ran out. */
__attribute__((nonnull)) uint32_t sp_proto_location(
	struct sp_proto_names *n, uint32_t function, uint32_t line, bool *ret_new);

/* A message Line as field @field. */
__attribute__((nonnull)) void sp_proto_put_line(
	struct sp_buf *b, uint32_t field, uint32_t function, uint32_t line);

/* What is said of a task, in the order of writing. */
enum sp_proto_label {
	SP_PROTO_APP,
	SP_PROTO_EXECUTOR,
	SP_PROTO_SPAN,
	SP_PROTO_STAGE,
	SP_PROTO_TASK,
	SP_PROTO_SQL,
	SP_PROTO_LABELS,
};

/* Calls @put for each label of task number @task, 0: none. A text may be "". */
typedef void sp_proto_put_label(void *ctx, enum sp_proto_label label, const char *text);
__attribute__((nonnull(1, 3))) void sp_proto_labels_of_task(
	const struct sp_profile *p, uint32_t task, sp_proto_put_label *put, void *ctx);

#endif
