/* One method's code: internal to class_instrument.h. */
#ifndef SP_AGENT_CLASSFILE_BYTECODE_INSTRUMENT_H
#define SP_AGENT_CLASSFILE_BYTECODE_INSTRUMENT_H

#include "class_instrument.h"

/* The class around it. */
struct sp_class_instrument_class {
	struct sp_constant_pool *pool;
	uint32_t version, this_class;
	uint32_t entered, left, clock; /* indices of the methods that are called */
};

struct sp_bytecode_instrument_method {
	struct sp_class_text name, descriptor;
	bool is_static;
	struct sp_class_instrument_want want;
};

/* Writes the Code attribute @in (behind its length) to @out, length first, with what is wanted of
 * it. Attributes of code that the JVM does not use are left away.
 * Returns 0, -EFBIG where it grew beyond what a method can be, -EBADMSG, -E2BIG or -ENOMEM; then
 * @out has something behind its end. */
int sp_bytecode_instrument(const struct sp_class_instrument_class *c,
	const struct sp_bytecode_instrument_method *m, struct sp_class_bytes in,
	struct sp_buf *out);

#endif
