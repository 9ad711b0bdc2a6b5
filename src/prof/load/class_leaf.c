/* Classes on top of stacks: see class_leaf.h. Each pair is built once. */
#include "prof/load/class_leaf.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

struct sp_classed {
	uint32_t stack, name, id; /* id 0: free */
	uint8_t type;
};

/* The element type of an array as Java writes it. */
static const char *primitive(char c)
{
	static const char *const names[] = {['B'] = "byte",
		['C'] = "char",
		['D'] = "double",
		['F'] = "float",
		['I'] = "int",
		['J'] = "long",
		['S'] = "short",
		['Z'] = "boolean"};

	return (unsigned char)c < SP_COUNT(names) ? names[(unsigned char)c] : NULL;
}

static void add_name(struct sp_buf *b, const char *s)
{
	size_t depth = strspn(s, "["), n;
	const char *simple = depth ? primitive(s[depth]) : NULL;

	s += depth;
	n = strlen(s);
	if (depth && *s == 'L' && n > 2) {
		s++;
		n -= 2;
	}
	if (simple)
		sp_buf_adds(b, simple);
	for (size_t i = 0; i < n && !simple; i++)
		sp_buf_addc(b, s[i] == '/' ? '.' : s[i]);
	while (depth--)
		sp_buf_adds(b, "[]");
}

/* A frame that is a class and nothing else. */
static uint32_t class_method(struct sp_dict *d, uint32_t name)
{
	SP_AUTO_BUF struct sp_buf text;
	struct sp_method m = {0};

	sp_buf_init(&text);
	add_name(&text, sp_dict_get_string(d, name, NULL));
	m.class_id = text.failed ? 0 : sp_dict_string(d, sp_buf_str(&text), text.len);
	return m.class_id ? sp_dict_method(d, &m) : 0;
}

static uint32_t build(struct sp_loading *l, const struct sp_classed *key)
{
	struct sp_dict *d = l->p->dict;
	const struct sp_stack *old = sp_dict_get_stack(d, key->stack);
	uint32_t count = old ? old->count : 0;
	SP_AUTO_FREE struct sp_frame_ref *frames = calloc(count + 1ul, sizeof(*frames));

	if (!frames)
		return 0;
	if (count)
		memcpy(frames + 1, old->frames, count * sizeof(*frames));
	frames[0] = (struct sp_frame_ref){class_method(d, key->name), -1, -1, key->type};
	return frames[0].method ? sp_dict_stack(d, frames, count + 1, old && old->truncated) : 0;
}

static struct sp_classed *find(struct sp_loading *l, const struct sp_classed *key)
{
	uint64_t h = ((uint64_t)key->stack << 32 | key->name) * 0x9e3779b97f4a7c15ull + key->type;
	size_t mask = l->classed_size - 1, i = (h >> 20) & mask;

	for (; l->classed[i].id; i = (i + 1) & mask)
		if (l->classed[i].stack == key->stack && l->classed[i].name == key->name &&
			l->classed[i].type == key->type)
			break;
	return &l->classed[i];
}

static bool grow(struct sp_loading *l)
{
	struct sp_classed *old = l->classed;
	size_t n = l->classed_size;

	l->classed_size = n ? n * 2 : 1024;
	l->classed = calloc(l->classed_size, sizeof(*l->classed));
	if (!l->classed) {
		l->classed = old;
		l->classed_size = n;
		return false;
	}
	for (size_t i = 0; i < n; i++)
		if (old[i].id)
			*find(l, &old[i]) = old[i];
	free(old);
	return true;
}

uint32_t sp_class_leaf_stack(
	struct sp_loading *l, uint32_t stack, uint32_t class_name, enum sp_frame_type type)
{
	struct sp_classed key = {.stack = stack, .name = class_name, .type = (uint8_t)type};
	struct sp_classed *at;

	if (l->classed_count * 2 >= l->classed_size && !grow(l))
		return 0;
	at = find(l, &key);
	if (!at->id) {
		key.id = build(l, &key);
		if (!key.id)
			return 0;
		*at = key;
		l->classed_count++;
	}
	return at->id;
}

void sp_class_leaf_free(struct sp_loading *l)
{
	free(l->classed);
}
