#include "corpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define FILE_MAX (64u << 20)

static int block_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct corpus *c = ctx;
	uint8_t *to = buf;

	while (len) {
		uint64_t index = addr / CORPUS_BLOCK, off = addr % CORPUS_BLOCK,
			 n = CORPUS_BLOCK - off;
		uint32_t lo = 0, hi = c->block_count;

		while (lo < hi) {
			uint32_t mid = lo + (hi - lo) / 2;

			if (c->blocks[mid].index < index)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (lo == c->block_count || c->blocks[lo].index != index)
			return -EFAULT;
		if (n > len)
			n = len;
		memcpy(to, c->blocks[lo].bytes + off, n);
		to += n;
		addr += n;
		len -= n;
	}
	return 0;
}

static uint8_t *inflate_file(const char *path, size_t *ret_len)
{
	gzFile f = gzopen(path, "rb");
	uint8_t *bytes = NULL;
	size_t len = 0, room = 0;
	int n = 0;

	if (!f)
		return NULL;
	do {
		if (len == room) {
			room = room ? room * 2 : 1u << 20;
			bytes = realloc(bytes, room);
		}
		n = gzread(f, bytes + len, (unsigned)(room - len));
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && len < FILE_MAX);
	gzclose(f);
	*ret_len = len;
	return bytes;
}

struct reader {
	const uint8_t *at, *end;
	bool failed;
};

static const void *take(struct reader *r, size_t n)
{
	const void *p = r->at;

	if (r->failed || n > (size_t)(r->end - r->at)) {
		r->failed = true;
		return NULL;
	}
	r->at += n;
	return p;
}

static uint32_t take_u32(struct reader *r)
{
	const void *p = take(r, 4);
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, 4);
	return v;
}

static void take_case(struct reader *r, struct corpus_case *c)
{
	struct corpus_head h = {{0}};
	const void *p = take(r, sizeof(h));

	if (!p)
		return;
	memcpy(&h, p, sizeof(h));
	memcpy(c->snap.regs, h.regs, sizeof(h.regs));
	c->snap.anchor = (struct sp_anchor){h.anchor[0], h.anchor[1], h.anchor[2]};
	c->snap.known = h.known;
	c->snap.time_ns = 1;
	c->snap.stack_addr = h.stack_addr;
	c->snap.stack_end = h.stack_end;
	c->snap.stack_len = h.stack_len;
	c->snap.stack = take(r, h.stack_len);
	c->status = h.status;
	c->count = h.count;
	c->frames = calloc(h.count + 1, sizeof(*c->frames));
	c->names = calloc(h.count + 1, sizeof(*c->names));
	for (uint32_t i = 0; i < h.count && !r->failed; i++) {
		c->frames[i] = take(r, sizeof(struct corpus_frame));
		c->names[i] = take(r, c->frames[i] ? c->frames[i]->name_len : 0);
		take(r, -(uintptr_t)r->at % 8); /* frames stay aligned */
	}
}

struct corpus *corpus_load(const char *path)
{
	struct corpus *c = calloc(1, sizeof(*c));
	struct reader r;
	const void *magic;

	c->bytes = inflate_file(path, &c->len);
	r = (struct reader){c->bytes, c->bytes + c->len, !c->bytes};
	magic = take(&r, 8);
	if (!magic || memcmp(magic, CORPUS_MAGIC, 8) != 0) {
		corpus_free(c);
		return NULL;
	}
	c->maps_len = take_u32(&r);
	c->maps = take(&r, c->maps_len);
	c->block_count = take_u32(&r);
	c->blocks = malloc((size_t)c->block_count * sizeof(*c->blocks) + 1);
	magic = take(&r, (size_t)c->block_count * sizeof(*c->blocks));
	if (magic)
		memcpy(c->blocks, magic, (size_t)c->block_count * sizeof(*c->blocks));
	c->case_count = r.failed ? 0 : take_u32(&r);
	c->cases = calloc(c->case_count + 1u, sizeof(*c->cases));
	take(&r, -(uintptr_t)r.at % 8);
	for (uint32_t i = 0; i < c->case_count; i++)
		take_case(&r, &c->cases[i]);
	c->mem = (struct sp_mem){block_read, c, NULL, NULL};
	if (r.failed) {
		corpus_free(c);
		return NULL;
	}
	return c;
}

void corpus_free(struct corpus *c)
{
	for (uint32_t i = 0; c && i < c->case_count; i++) {
		free(c->cases[i].frames);
		free(c->cases[i].names);
	}
	if (c) {
		free(c->cases);
		free(c->blocks);
		free(c->bytes);
	}
	free(c);
}
