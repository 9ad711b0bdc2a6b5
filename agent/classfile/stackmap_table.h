/* StackMapTable (JVMS 4.7.4): what the verifier expects in each local variable and on the operand
 * stack at every target of a jump. Written anew with every frame in full, because what was said by
 * difference to the frame before cannot be kept where a variable is added. */
#ifndef SP_AGENT_CLASSFILE_STACKMAP_TABLE_H
#define SP_AGENT_CLASSFILE_STACKMAP_TABLE_H

#include "constant_pool.h"

struct sp_stackmap_table_job {
	struct sp_constant_pool *pool;
	struct sp_class_text descriptor; /* of the method */
	uint32_t this_class;		 /* index of the class */
	bool is_static, is_init;
	uint32_t max_locals, max_stack; /* of the method as it was */
	const uint32_t *moved;		/* new place of each of its bytes, and of its end */
	uint32_t code_len;		/* as it was */
	bool time;			/* one more variable, a long, behind all the others */
	uint32_t handler; /* where a handler begins that knows no other variable; 0: none */
};

/* Writes @out, a whole table without its name and length, from @in (empty: there was none).
 * Returns 0, -EBADMSG, -ENOMEM, or -E2BIG where the constant pool is full. */
int sp_stackmap_table_rewrite(
	const struct sp_stackmap_table_job *job, struct sp_class_bytes in, struct sp_buf *out);

#endif
