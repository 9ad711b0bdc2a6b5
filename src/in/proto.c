/* Protocol buffers: see proto.h. */
#include "in/proto.h"

#include <string.h>

static uint64_t varint(struct sp_proto *m)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (m->p == m->end)
			break;
		v |= (uint64_t)(*m->p & 0x7f) << shift;
		if (!(*m->p++ & 0x80))
			return v;
	}
	m->bad = true;
	m->p = m->end;
	return 0;
}

static const uint8_t *take_bytes(struct sp_proto *m, uint64_t n)
{
	const uint8_t *p = m->p;

	if (n > (uint64_t)(m->end - m->p)) {
		m->bad = true;
		m->p = m->end;
		return NULL;
	}
	m->p += n;
	return p;
}

bool sp_proto_next(struct sp_proto *m, struct sp_proto_field *ret)
{
	uint64_t key, n;
	const uint8_t *p;

	if (m->p == m->end || m->bad)
		return false;
	key = varint(m);
	*ret = (struct sp_proto_field){.number = (uint32_t)(key >> 3), .wire = key & 7};
	switch (ret->wire) {
	case 0:
		ret->value = varint(m);
		break;
	case 1:
	case 5:
		p = take_bytes(m, ret->wire == 1 ? 8 : 4);
		for (int i = ret->wire == 1 ? 8 : 4; p && i-- > 0;)
			ret->value = ret->value << 8 | p[i];
		break;
	case 2:
		n = varint(m);
		p = take_bytes(m, n);
		if (p)
			ret->bytes = (struct sp_proto){.p = p, .end = p + n};
		break;
	default:
		m->bad = true;
	}
	if (key >> 3 == 0 || key >> 3 > UINT32_MAX)
		m->bad = true;
	return !m->bad;
}

bool sp_proto_number(struct sp_proto_field *f, uint64_t *ret)
{
	if (f->wire == 2) {
		if (f->bytes.p == f->bytes.end)
			return false;
		*ret = varint(&f->bytes);
		return !f->bytes.bad;
	}
	if (f->wire != 0)
		return false;
	*ret = f->value;
	f->wire = 7; /* read */
	return true;
}
