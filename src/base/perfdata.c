/* HotSpot's performance data: see perfdata.h. */
#include "base/perfdata.h"

#include <errno.h>
#include <string.h>

/* Offsets of the head and of an entry, in bytes. */
enum {
	HEAD_ORDER = 4,
	HEAD_MAJOR = 5,
	HEAD_ACCESSIBLE = 7,
	HEAD_USED = 8,
	HEAD_FIRST = 24,
	HEAD_ENTRIES = 28,

	ENTRY_LENGTH = 0,
	ENTRY_NAME = 4,
	ENTRY_VECTOR = 8,
	ENTRY_TYPE = 12,
	ENTRY_DATA = 16,
	ENTRY_SIZE = 20,
};

static uint32_t u32(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

size_t sp_perfdata_used(const void *head)
{
	static const unsigned char magic[4] = {0xca, 0xfe, 0xc0, 0xc0};
	const unsigned char *h = head;

	if (memcmp(h, magic, sizeof(magic)) != 0 || h[HEAD_MAJOR] != 2 || h[HEAD_ORDER] != 1)
		return 0;
	return u32(h + HEAD_USED);
}

bool sp_perfdata_is_ready(const void *head)
{
	return ((const unsigned char *)head)[HEAD_ACCESSIBLE] == 1;
}

/* @e has @len bytes, at least ENTRY_SIZE. False: of another type, or not whole. */
static bool read_entry(const unsigned char *e, size_t len, struct sp_perfdata_entry *ret)
{
	uint32_t name = u32(e + ENTRY_NAME), data = u32(e + ENTRY_DATA), n = u32(e + ENTRY_VECTOR);
	size_t size = e[ENTRY_TYPE] == 'J' && n == 0 ? 8 : n;

	if ((e[ENTRY_TYPE] != 'B' && size != 8) || name >= len || data > len || size > len - data)
		return false;
	if (!memchr(e + name, '\0', len - name))
		return false;
	*ret = (struct sp_perfdata_entry){(const char *)e + name, (char)e[ENTRY_TYPE], n, e + data};
	return true;
}

int sp_perfdata_each(const void *bytes, size_t len,
	void (*fn)(void *ctx, const struct sp_perfdata_entry *e), void *ctx)
{
	const unsigned char *data = bytes;
	struct sp_perfdata_entry entry;
	uint32_t at, entries;
	size_t used;

	if (len < SP_PERFDATA_HEAD)
		return -EINVAL;
	used = sp_perfdata_used(data);
	if (!used)
		return -EINVAL;
	len = used < len ? used : len;
	at = u32(data + HEAD_FIRST);
	for (entries = u32(data + HEAD_ENTRIES); entries; entries--) {
		uint32_t n;

		if (at > len || len - at < ENTRY_SIZE)
			return -EINVAL;
		n = u32(data + at + ENTRY_LENGTH);
		if (n < ENTRY_SIZE || n > len - at)
			return -EINVAL;
		if (read_entry(data + at, n, &entry))
			fn(ctx, &entry);
		at += n;
	}
	return 0;
}
