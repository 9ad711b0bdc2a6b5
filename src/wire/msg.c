/* Messages as bytes: see msg.h. Little-endian:
 *     'S' 'P' version type  u32 length   u64 × nums   (u16 length, bytes, 0) × texts */
#include "wire/msg.h"

#include <errno.h>
#include <string.h>

enum { VERSION = 1, HEAD = 8 };

static const struct sp_msg_shape shapes[SP_MSG_TYPES] = {
	[SP_MSG_HELLO] = {SP_HELLO_NUMS, 3, 0},
	[SP_MSG_BUSY] = {1, 1, 0},
	[SP_MSG_LOG] = {0, 1, 0},
	[SP_MSG_ROW] = {2, 2, 0},
	[SP_MSG_START] = {SP_RECORD_NUMS, SP_START_RECORD_TEXT + SP_RECORD_TEXTS, 2},
	[SP_MSG_PROGRESS] = {SP_PROGRESS_NUMS, 1, 0},
	[SP_MSG_STOPPED] = {SP_PROGRESS_NUMS, 2, 1},
	[SP_MSG_FLUSHED] = {SP_PROGRESS_NUMS, 2, 1 + SP_FLUSHED_PIECES},
	[SP_MSG_STATE] = {SP_STATE_RECORD_NUM + SP_RECORD_NUMS,
		SP_STATE_RECORD_TEXT + SP_RECORD_TEXTS, 0},
	[SP_MSG_FAILED] = {1, 1, 0},
	[SP_MSG_PERF_WANTED] = {4, 0, 0},
	[SP_MSG_PERF] = {5, 0, SP_MSG_FDS},
	[SP_MSG_MEMORY_WANTED] = {1, 0, 0},
	[SP_MSG_MEMORY] = {2, 0, 1},
	[SP_MSG_PYTHON_REFUSED] = {1, 0, 0},
	[SP_MSG_OWNERS] = {0, 1, 0},
};

_Static_assert(SP_STATE_RECORD_NUM + SP_RECORD_NUMS <= SP_MSG_NUMS, "STATE does not fit");
_Static_assert(SP_STATE_RECORD_TEXT + SP_RECORD_TEXTS <= SP_MSG_TEXTS, "STATE does not fit");

struct sp_msg_shape sp_msg_shape(unsigned type)
{
	if (type == 0 || type >= SP_MSG_TYPES)
		return (struct sp_msg_shape){0, 0, -1};
	return shapes[type];
}

static void put_number(uint8_t *p, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get_number(const uint8_t *p, int bytes)
{
	uint64_t v = 0;

	for (int i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

int sp_msg_encode(const struct sp_msg *m, void *buf, size_t cap)
{
	struct sp_msg_shape shape = sp_msg_shape(m->type);
	size_t at = HEAD + 8 * (size_t)shape.nums;
	uint8_t *p = buf;

	if (shape.max_fds < 0)
		return -EINVAL;
	if (cap > SP_MSG_MAX)
		cap = SP_MSG_MAX;
	if (at > cap)
		return -EMSGSIZE;
	for (int i = 0; i < shape.nums; i++)
		put_number(p + HEAD + 8 * i, m->num[i], 8);
	for (int i = 0; i < shape.texts; i++) {
		const char *text = m->text[i] ? m->text[i] : "";
		size_t len = strlen(text);

		if (len > UINT16_MAX || at + 3 + len > cap)
			return -EMSGSIZE;
		put_number(p + at, len, 2);
		memcpy(p + at + 2, text, len + 1);
		at += 3 + len;
	}
	memcpy(p, (uint8_t[]){'S', 'P', VERSION, (uint8_t)m->type}, 4);
	put_number(p + 4, at, 4);
	return (int)at;
}

/* One text at *@at; moves *@at behind it. NULL if it does not fit or holds a zero. */
static const char *take_text(const uint8_t *p, size_t n, size_t *at)
{
	const char *text;
	size_t len;

	if (n - *at < 3)
		return NULL;
	len = get_number(p + *at, 2);
	if (n - *at - 3 < len)
		return NULL;
	text = (const char *)p + *at + 2;
	if (strnlen(text, len + 1) != len)
		return NULL;
	*at += 3 + len;
	return text;
}

int sp_msg_decode(const void *buf, size_t n, struct sp_msg *ret)
{
	const uint8_t *p = buf;
	struct sp_msg_shape shape;
	struct sp_msg m = {0};
	size_t at;

	if (n < HEAD || n > SP_MSG_MAX || p[0] != 'S' || p[1] != 'P' || p[2] != VERSION ||
		get_number(p + 4, 4) != n)
		return -EBADMSG;
	shape = sp_msg_shape(p[3]);
	at = HEAD + 8 * (size_t)shape.nums;
	if (shape.max_fds < 0 || at > n)
		return -EBADMSG;
	m.type = p[3];
	for (int i = 0; i < shape.nums; i++)
		m.num[i] = get_number(p + HEAD + 8 * i, 8);
	for (int i = 0; i < shape.texts; i++) {
		m.text[i] = take_text(p, n, &at);
		if (!m.text[i])
			return -EBADMSG;
	}
	if (at != n)
		return -EBADMSG;
	*ret = m;
	return 0;
}
