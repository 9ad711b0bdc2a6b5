/* See object.h. */
#include "py/object.h"

#include "base/cleanup.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	ENTRIES_MAX = 1 << 16, /* of a dictionary */
	KEY_MAX = 64,	       /* bytes of a key that is looked for */
	HEAD = 80,	       /* bytes that every string object has or that lie behind it */
};

bool sp_pytype_is(struct sp_pyheap *h, const uint8_t *head, const char *name, uint64_t *known)
{
	uint64_t type = sp_pyword(head + h->layout.ob_type), text;
	char found[16] = "";
	size_t n = strlen(name) + 1;

	if (!type)
		return false;
	if (*known)
		return type == *known;
	text = sp_pymem_word(&h->mem, type + h->layout.tp_name);
	if (n > sizeof(found) || !text || !sp_pymem_get(&h->mem, text, found, n) ||
		memcmp(found, name, n) != 0)
		return false;
	*known = type;
	return true;
}

static void add_utf8(struct sp_buf *b, uint32_t c)
{
	char text[4];

	if (c < 0x20 || c == 0x7f || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
		sp_buf_addc(b, '?');
	} else {
		sp_buf_add(b, text, sp_utf8_put(text, c));
	}
}

/* Where the characters of a compact string lie, how wide and how many they are. */
static bool string_shape(const struct sp_pylayout *l, const uint8_t *head, size_t *ret_at,
	unsigned *ret_width, uint64_t *ret_length)
{
	uint32_t state;
	unsigned width;

	memcpy(&state, head + l->str_state, sizeof(state));
	width = state >> l->str_kind_shift & 7;
	*ret_length = sp_pyword(head + l->str_length);
	*ret_width = width;
	*ret_at = state >> l->str_ascii_bit & 1 ? l->str_ascii : l->str_compact;
	return (state >> l->str_compact_bit & 1) && (width == 1 || width == 2 || width == 4);
}

int sp_pystr(struct sp_pyheap *h, uint64_t addr, struct sp_buf *ret)
{
	uint8_t head[HEAD], text[SP_PY_TEXT_MAX * 4];
	uint64_t length;
	unsigned width;
	size_t at;

	if (!addr || !sp_pymem_get(&h->mem, addr, head, h->layout.str_ascii) ||
		!sp_pytype_is(h, head, "str", &h->str_type) ||
		!string_shape(&h->layout, head, &at, &width, &length))
		return -EBADMSG;
	length = length > SP_PY_TEXT_MAX ? SP_PY_TEXT_MAX : length;
	if (length && !sp_pymem_get(&h->mem, addr + at, text, length * width))
		return -EBADMSG;
	for (uint64_t i = 0; i < length; i++) {
		uint32_t c = 0;

		memcpy(&c, text + i * width, width);
		add_utf8(ret, c);
	}
	return ret->failed ? -ENOMEM : 0;
}

int sp_pyint(struct sp_pyheap *h, uint64_t addr, int64_t *ret)
{
	const struct sp_pylayout *l = &h->layout;
	uint8_t b[24]; /* from the number of digits to the second one: what lies around changes */
	uint64_t tag, digits, v = 0;
	bool negative;
	size_t at = (size_t)l->long_digits - l->long_tag;

	if (!addr || at + 8 > sizeof(b) || !sp_pymem_get(&h->mem, addr + l->long_tag, b, at + 8))
		return -EBADMSG;
	tag = sp_pyword(b);
	if (h->layout.minor >= 12) { /* number of digits above three bits, the sign in them */
		digits = tag >> 3;
		negative = (tag & 3) == 2;
	} else {
		negative = (int64_t)tag < 0;
		digits = negative ? -tag : tag;
	}
	if (digits > 2)
		return -EBADMSG;
	for (uint64_t i = 0; i < digits; i++) { /* of thirty bits */
		uint32_t d;

		memcpy(&d, b + at + 4 * i, sizeof(d));
		if (d >> 30)
			return -EBADMSG;
		v |= (uint64_t)d << 30 * i;
	}
	*ret = negative ? -(int64_t)v : (int64_t)v;
	return 0;
}

/* The entries of a table of keys. */
struct keys {
	uint64_t addr, entries;
	uint64_t count;
	size_t step, key; /* bytes of an entry; its key's place. The value is behind the key */
};

static int read_keys(struct sp_pyheap *h, uint64_t addr, struct keys *ret)
{
	const struct sp_pylayout *l = &h->layout;
	uint8_t head[48];
	uint64_t index_bytes;
	bool general = true;

	if (!addr || !sp_pymem_get(&h->mem, addr, head, sizeof(head)))
		return -EBADMSG;
	if (l->minor >= 11) { /* dk_log2_index_bytes, dk_kind */
		if (head[9] > 24)
			return -EBADMSG;
		index_bytes = 1ull << head[9];
		general = head[10] == 0;
	} else {
		uint64_t size = sp_pyword(head + 8);

		if (size > ENTRIES_MAX * 2 || (size & (size - 1)) != 0)
			return -EBADMSG;
		index_bytes = size * (size <= 0xff ? 1 : size <= 0xffff ? 2 : 4);
	}
	ret->addr = addr;
	ret->count = sp_pyword(head + l->dk_nentries);
	ret->entries = addr + l->dk_indices + index_bytes;
	ret->step = general ? 24 : 16;
	ret->key = general ? 8 : 0;
	return ret->count > ENTRIES_MAX ? -EBADMSG : 0;
}

static bool key_is(const struct sp_pylayout *l, const uint8_t *object, const char *name, size_t n)
{
	uint64_t length;
	unsigned width;
	size_t at;

	return string_shape(l, object, &at, &width, &length) && at == l->str_ascii && width == 1 &&
	       length == n && memcmp(object + at, name, n) == 0;
}

/* The number of the entry with the key @name, -1: none. Keys are read many at a time. */
static int64_t find_entry(struct sp_pyheap *h, const struct keys *k, const char *name)
{
	enum { AT_ONCE = 128 };
	size_t n = strlen(name), len = h->layout.str_ascii + n;
	SP_AUTO_FREE uint8_t *entries = calloc(k->count + 1, k->step);
	SP_AUTO_FREE uint8_t *objects = calloc(AT_ONCE, HEAD + KEY_MAX);
	struct sp_pyspan spans[AT_ONCE];

	if (!entries || !objects || n >= KEY_MAX ||
		!sp_pymem_get(&h->mem, k->entries, entries, k->count * k->step))
		return -1;
	for (uint64_t i = 0; i < k->count;) {
		uint64_t numbers[AT_ONCE];
		size_t m = 0;
		int got;

		for (; i < k->count && m < AT_ONCE; i++) {
			uint64_t key = sp_pyword(entries + i * k->step + k->key);

			if (!key)
				continue;
			numbers[m] = i;
			spans[m] = (struct sp_pyspan){key, objects + m * (HEAD + KEY_MAX), len};
			m++;
		}
		got = m ? h->mem.read(h->mem.ctx, spans, m) : 0;
		for (int j = 0; j < got; j++)
			if (key_is(&h->layout, spans[j].to, name, n))
				return (int64_t)numbers[j];
		if (got < 0)
			return -1;
		if ((size_t)got < m) /* one that cannot be read: go on behind it */
			i = numbers[got] + 1;
	}
	return -1;
}

int sp_pydict_slot(
	struct sp_pyheap *h, uint64_t dict, const char *key, uint64_t *ret_slot, uint64_t *ret_keys)
{
	uint64_t keys_at = dict ? sp_pymem_word(&h->mem, dict + h->layout.md_keys) : 0;
	uint64_t values = dict ? sp_pymem_word(&h->mem, dict + h->layout.md_values) : 0;
	struct keys k;
	int64_t i;

	if (read_keys(h, keys_at, &k) < 0)
		return -EBADMSG;
	i = find_entry(h, &k, key);
	if (i < 0)
		return -ENOENT;
	*ret_keys = keys_at;
	if (!values)
		*ret_slot = k.entries + (uint64_t)i * k.step + k.key + 8;
	else /* from 3.13 on a word of sizes comes first */
		*ret_slot = values + (h->layout.minor >= 13 ? 8 : 0) + (uint64_t)i * 8;
	return 0;
}

/* Where an instance keeps its attributes: a dictionary, or values beside the keys of its type. */
static bool find_attributes(struct sp_pyheap *h, uint64_t object, uint64_t type, uint64_t *ret_dict,
	uint64_t *ret_values)
{
	const struct sp_pylayout *l = &h->layout;
	uint64_t p, size;

	*ret_dict = *ret_values = 0;
	if (l->minor <= 10) {
		uint64_t at = sp_pymem_word(&h->mem, type + l->tp_dictoffset);

		*ret_dict = at && at < 4096 ? sp_pymem_word(&h->mem, object + at) : 0;
		return *ret_dict != 0;
	}
	if (l->minor == 11) {
		*ret_values = sp_pymem_word(&h->mem, object - 32);
		*ret_dict = sp_pymem_word(&h->mem, object - 24);
		return *ret_values || *ret_dict;
	}
	p = sp_pymem_word(&h->mem, object - 24);
	if (l->minor == 12) {
		*ret_values = p & 1 ? p + 1 : 0;
		*ret_dict = p & 1 ? 0 : p;
		return p != 0;
	}
	*ret_dict = p;
	size = sp_pymem_word(&h->mem, type + l->tp_basicsize);
	if (!p && size >= 16 && size < 4096)
		*ret_values = object + size + 8;
	return *ret_values || *ret_dict;
}

int sp_pyattributes(
	struct sp_pyheap *h, uint64_t object, const char *const *names, size_t n, uint64_t *ret)
{
	uint64_t type = sp_pymem_word(&h->mem, object + h->layout.ob_type), dict, values;
	struct keys k;

	if (!type || !find_attributes(h, object, type, &dict, &values))
		return -EBADMSG;
	if (values && read_keys(h, sp_pymem_word(&h->mem, type + h->layout.ht_keys), &k) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		uint64_t slot = 0, keys;

		if (values) {
			int64_t at = find_entry(h, &k, names[i]);

			slot = at < 0 ? 0 : values + (uint64_t)at * 8;
		} else if (sp_pydict_slot(h, dict, names[i], &slot, &keys) < 0) {
			slot = 0;
		}
		ret[i] = slot ? sp_pymem_word(&h->mem, slot) : 0;
	}
	return 0;
}
