/* Inside of src/out: writing protobuf messages, for pprof and OTLP. */
#ifndef SP_OUT_PROTO_PUT_H
#define SP_OUT_PROTO_PUT_H

#include <stdint.h>

#include "base/buf.h"
#include "prof/model/profile.h"

void sp_proto_put_varint(struct sp_buf *b, uint64_t v);
void sp_proto_put_number(struct sp_buf *b, uint32_t field, uint64_t v);
void sp_proto_put_fixed64(struct sp_buf *b, uint32_t field, uint64_t v);

/* Bytes, a text or a message. */
void sp_proto_put_bytes(struct sp_buf *b, uint32_t field, const void *data, size_t n);
void sp_proto_put_text(struct sp_buf *b, uint32_t field, const char *s);

/* "nanoseconds", "bytes" or "count". */
const char *sp_proto_unit(enum sp_unit unit);

#endif
