/* Bounded reading of protocol buffers: past the end everything reads as 0 and @bad says so. Inside
 * of src/in. */
#ifndef SP_IN_PROTO_H
#define SP_IN_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_proto {
	const uint8_t *p, *end;
	bool bad;
};

/* One field of a message. */
struct sp_proto_field {
	uint32_t number;
	uint8_t wire;	       /* 0 number, 1 eight bytes, 2 bytes, 5 four bytes */
	uint64_t value;	       /* wire 0, 1 and 5 */
	struct sp_proto bytes; /* wire 2 */
};

/* The next field. Returns false at the end, and where the message is damaged: then m->bad. */
bool sp_proto_next(struct sp_proto *m, struct sp_proto_field *ret);

/* A number of a repeated field, packed or not: call until it returns false. */
bool sp_proto_number(struct sp_proto_field *f, uint64_t *ret);

#endif
