/* One method's code: see rewrite.h, whose inside this is. */
#ifndef SP_AGENT_REWRITE_CODE_H
#define SP_AGENT_REWRITE_CODE_H

#include "rewrite.h"

/* The class around it. */
struct sp_rewrite_class {
	struct sp_classpool *pool;
	uint32_t version, this_class;
	uint32_t entered, left, clock; /* indices of the methods that are called */
};

struct sp_rewrite_method {
	struct sp_text name, descriptor;
	bool is_static;
	struct sp_rewrite_want want;
};

/* Writes the Code attribute @in (behind its length) to @out, length first, with what is wanted of
 * it. Attributes of code that the JVM does not use are left away.
 * Returns 0, -EFBIG where it grew beyond what a method can be, -EBADMSG, -E2BIG or -ENOMEM; then
 * @out has something behind its end. */
int sp_rewrite_code(const struct sp_rewrite_class *c, const struct sp_rewrite_method *m,
	struct sp_bytes in, struct sp_buf *out);

#endif
