/* See code.h. */
#include "py/code.h"

#include "base/cleanup.h"
#include "py/code_lines.h"

#include <stdlib.h>
#include <string.h>

enum {
	LINES_MAX = 1 << 18, /* bytes of a line table */
	CODES_MAX = 1 << 16, /* kept; then all are forgotten */
};

static void code_free(struct sp_pycode *c)
{
	if (!c)
		return;
	free(c->name);
	free(c->file);
	free(c->lines);
	free(c);
}

void sp_pycodes_done(struct sp_pycodes *c)
{
	for (size_t i = 0; i < c->size; i++)
		code_free(c->slots[i]);
	free(c->slots);
	c->slots = NULL;
	c->size = c->count = c->bytes = 0;
}

void sp_pycodes_trim(struct sp_pycodes *c)
{
	if (c->count >= CODES_MAX)
		sp_pycodes_done(c);
}

static char *read_text(struct sp_pyheap *h, uint64_t addr)
{
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	if (sp_pystr(h, addr, &b) < 0)
		return NULL;
	return strdup(sp_buf_str(&b));
}

static bool read_lines(struct sp_pyheap *h, uint64_t addr, struct sp_pycode *to)
{
	uint64_t n = sp_pymem_word(&h->mem, addr + h->layout.bytes_size);

	if (!addr || n > LINES_MAX)
		return false;
	to->lines = malloc(n + 1);
	to->lines_len = n;
	return to->lines &&
	       (!n || sp_pymem_get(&h->mem, addr + h->layout.bytes_data, to->lines, n));
}

/* What makes it the same code: its type, names, lines. Other words change as it runs. */
static bool same(const struct sp_pylayout *l, const uint8_t *a, const uint8_t *b)
{
	const uint16_t at[] = {l->ob_type, l->co_file, l->co_name, l->co_qualname, l->co_lines};

	for (size_t i = 0; i < SP_COUNT(at); i++)
		if (at[i] && memcmp(a + at[i], b + at[i], 8) != 0)
			return false;
	return memcmp(a + l->co_first, b + l->co_first, 4) == 0;
}

/* Reads it whole. It was this code all along only if it still is afterwards. */
static struct sp_pycode *load(struct sp_pyheap *h, uint64_t addr, const uint8_t *head)
{
	const struct sp_pylayout *l = &h->layout;
	struct sp_pycode *c;
	uint8_t after[SP_PY_CODE_MAX];
	int32_t first;
	bool whole;

	if (!sp_pytype_is(h, head, "code", &h->code_type))
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->addr = addr;
	memcpy(c->head, head, l->co_size);
	memcpy(&first, head + l->co_first, sizeof(first));
	c->first = first;
	c->name = read_text(h, sp_pyword(head + (l->co_qualname ? l->co_qualname : l->co_name)));
	c->file = read_text(h, sp_pyword(head + l->co_file));
	whole = c->name && c->file && read_lines(h, sp_pyword(head + l->co_lines), c) &&
		sp_pymem_get(&h->mem, addr, after, l->co_size) && same(l, head, after);
	if (!whole) {
		code_free(c);
		return NULL;
	}
	return c;
}

static size_t place(const struct sp_pycodes *c, uint64_t addr)
{
	size_t i = (size_t)((addr >> 4) * 0x9e3779b97f4a7c15ull >> 32) & (c->size - 1);

	while (c->slots[i] && c->slots[i]->addr != addr)
		i = (i + 1) & (c->size - 1);
	return i;
}

static bool make_room(struct sp_pycodes *c)
{
	struct sp_pycodes to = {.size = c->size ? c->size * 2 : 256, .count = c->count};

	if (c->count * 2 < c->size)
		return true;
	to.slots = calloc(to.size, sizeof(struct sp_pycode *));
	if (!to.slots)
		return false;
	for (size_t i = 0; i < c->size; i++)
		if (c->slots[i])
			to.slots[place(&to, c->slots[i]->addr)] = c->slots[i];
	free(c->slots);
	c->slots = to.slots;
	c->size = to.size;
	return true;
}

struct sp_pycode *sp_pycodes_get(
	struct sp_pycodes *c, struct sp_pyheap *h, uint64_t addr, const uint8_t *head)
{
	struct sp_pycode *found;
	size_t i;

	if (!make_room(c))
		return NULL;
	i = place(c, addr);
	if (c->slots[i] && same(&h->layout, c->slots[i]->head, head))
		return c->slots[i];
	found = load(h, addr, head);
	if (!found)
		return NULL;
	found->id = ++c->next_id;
	found->bytes =
		sizeof(*found) + strlen(found->name) + strlen(found->file) + found->lines_len;
	c->bytes += found->bytes - (c->slots[i] ? c->slots[i]->bytes : 0);
	c->count += !c->slots[i];
	code_free(c->slots[i]);
	c->slots[i] = found;
	return found;
}

int sp_pycode_line(struct sp_pycode *code, unsigned minor, int64_t offset)
{
	if (!code->line || code->line_of != offset) {
		code->line = sp_pyline(minor, code->lines, code->lines_len, code->first, offset);
		code->line_of = offset;
	}
	return code->line;
}
