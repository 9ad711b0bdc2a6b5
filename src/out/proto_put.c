/* Protobuf's wire format: see proto_put.h. */
#include "out/proto_put.h"

#include <string.h>

void sp_proto_put_varint(struct sp_buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		sp_buf_addc(b, (char)(v | 0x80));
	sp_buf_addc(b, (char)v);
}

void sp_proto_put_number(struct sp_buf *b, uint32_t field, uint64_t v)
{
	sp_proto_put_varint(b, field << 3);
	sp_proto_put_varint(b, v);
}

void sp_proto_put_fixed64(struct sp_buf *b, uint32_t field, uint64_t v)
{
	sp_proto_put_varint(b, field << 3 | 1);
	for (unsigned i = 0; i < 8; i++)
		sp_buf_addc(b, (char)(v >> 8 * i));
}

void sp_proto_put_bytes(struct sp_buf *b, uint32_t field, const void *data, size_t n)
{
	sp_proto_put_varint(b, field << 3 | 2);
	sp_proto_put_varint(b, n);
	sp_buf_add(b, data, n);
}

void sp_proto_put_text(struct sp_buf *b, uint32_t field, const char *s)
{
	sp_proto_put_bytes(b, field, s, strlen(s));
}

const char *sp_proto_unit(enum sp_unit unit)
{
	return unit == SP_UNIT_NS ? "nanoseconds" : unit == SP_UNIT_BYTES ? "bytes" : "count";
}
