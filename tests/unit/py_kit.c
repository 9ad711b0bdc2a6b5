/* See py_kit.h. */
#include "py_kit.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

int memory_read(void *ctx, const struct sp_pyspan *spans, size_t n)
{
	struct memory *m = ctx;

	if (m->reads_left == 1)
		return -ESRCH;
	m->reads_left -= m->reads_left > 0;
	for (size_t i = 0; i < n; i++) {
		uint8_t *to = spans[i].to;

		m->bytes += spans[i].len;
		for (size_t k = 0; k < spans[i].len;) {
			uint64_t at = spans[i].addr + k;
			size_t b = 0;

			while (b < m->count && at - m->blocks[b].addr >= BLOCK)
				b++;
			if (b == m->count && k && at % PAGE) { /* a page is there as a whole */
				to[k++] = 0;
				continue;
			}
			if (b == m->count)
				return (int)i;
			for (; k < spans[i].len && spans[i].addr + k - m->blocks[b].addr < BLOCK;
				k++)
				to[k] = m->blocks[b].bytes[spans[i].addr + k - m->blocks[b].addr];
		}
		if (m->torn && m->torn_at >= spans[i].addr &&
			m->torn_at + 8 <= spans[i].addr + spans[i].len && m->torn(i, n))
			memcpy(to + (m->torn_at - spans[i].addr), &m->torn_with, 8);
	}
	return (int)n;
}

struct memory memory_load(unsigned minor)
{
	struct memory m = {0};
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/py/3.%u.memory", getenv("SP_DATA"), minor);
	f = fopen(path, "r");
	cr_assert(f, "%s", path);
	m.blocks = calloc(4096, sizeof(*m.blocks));
	cr_assert_eq(fread(&m, 8, 2, f), 2);
	m.count = fread(m.blocks, sizeof(*m.blocks), 4096, f);
	fclose(f);
	cr_assert_eq(m.minor, minor);
	return m;
}

int memory_begin(struct sp_pyreader *r, struct memory *m)
{
	struct sp_pymem mem = {memory_read, m};

	return sp_pyreader_init(r, &mem, m->runtime, (unsigned)m->minor);
}

struct expected {
	const char *name, *plain; /* from 3.11 on, and before */
	int line;
	unsigned last; /* the last minor version that has it */
};

static const struct expected where[] = {
	{"deep", "deep", 9, 99},
	{"deep", "deep", 11, 99},
	{"deep", "deep", 11, 99},
	{"steps", "steps", 17, 99},
	/* from 3.12 on a comprehension is part of its function */
	{"Outer.method.<locals>.<lambda>.<locals>.<listcomp>", "<listcomp>", 23, 11},
	{"Outer.method.<locals>.<lambda>", "<lambda>", 23, 99},
	{"Outer.method", "method", 24, 99},
	{"<module>", "<module>", 32, 99},
};

void check_main(const struct sp_pystack *s, unsigned minor, size_t skip)
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
		const struct expected *e = &where[i];

		if (minor > e->last)
			continue;
		if (skip) {
			skip--;
			continue;
		}
		cr_assert_lt(n, s->count, "3.%u: frame %zu is missing", minor, n);
		cr_assert_str_eq(s->frames[n].code->name, minor >= 11 ? e->name : e->plain);
		cr_assert_eq(s->frames[n].line, e->line, "3.%u: %s: line %d", minor, e->name,
			s->frames[n].line);
		cr_assert(strstr(s->frames[n].code->file, "where.py"));
		n++;
	}
	cr_assert_eq(n, s->count);
}

void memory_poke(struct memory *m, uint64_t addr, uint64_t word)
{
	for (size_t b = 0; b < m->count; b++)
		if (addr - m->blocks[b].addr < BLOCK)
			memcpy(m->blocks[b].bytes + (addr - m->blocks[b].addr), &word, 8);
}
