#include "recorder.h"

#include "unwind/method_names.h"

#include "../../unit/corpus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define KEPT_MAX   256
#define DEPTH	   2048
#define BLOCKS_MAX (1u << 16)

struct kept {
	struct sp_snapshot snap;
	struct sp_frame *frames;
	uint32_t count;
};

static struct kept kept[KEPT_MAX];
static int kept_count;

void sp_recorder_keep(const struct sp_snapshot *snap, const struct sp_frame *frames, uint32_t count)
{
	struct kept *k = &kept[kept_count];
	uint8_t *stack;

	if (kept_count == KEPT_MAX)
		return;
	stack = malloc(snap->stack_len + 1u);
	memcpy(stack, snap->stack, snap->stack_len);
	k->snap = *snap;
	k->snap.stack = stack;
	k->frames = malloc(count * sizeof(*frames) + 1);
	memcpy(k->frames, frames, count * sizeof(*frames));
	k->count = count;
	kept_count++;
}

int sp_recorder_kept(void)
{
	return kept_count;
}

struct logger {
	const struct sp_mem *mem;
	struct corpus_block *blocks;
	uint32_t count;
	bool *used; /* hash of indexes */
	uint64_t *keys;
};

static void note(struct logger *l, uint64_t index)
{
	uint32_t h = (uint32_t)((index * 0x9e3779b97f4a7c15ull) >> 40) % (2 * BLOCKS_MAX);

	while (l->used[h] && l->keys[h] != index)
		h = (h + 1) % (2 * BLOCKS_MAX);
	if (l->used[h] || l->count == BLOCKS_MAX)
		return;
	if (sp_mem_read(l->mem, index * CORPUS_BLOCK, l->blocks[l->count].bytes, CORPUS_BLOCK) < 0)
		return;
	l->used[h] = true;
	l->keys[h] = index;
	l->blocks[l->count++].index = index;
}

static int logged_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct logger *l = ctx;
	int r = sp_mem_read(l->mem, addr, buf, len);

	/* with neighbours, so that a later unwinder may read a little more */
	for (uint64_t i = addr / CORPUS_BLOCK - 1;
		r == 0 && i <= (addr + len - 1) / CORPUS_BLOCK + 1; i++)
		note(l, i);
	return r;
}

static void note_symbols(struct logger *l, const struct sp_module *mod)
{
	for (uint64_t i = 0; mod && i < mod->dynsym_count * 24; i += CORPUS_BLOCK)
		note(l, (mod->dynsym + i) / CORPUS_BLOCK);
	for (uint64_t i = 0; mod && i < mod->dynstr_len; i += CORPUS_BLOCK)
		note(l, (mod->dynstr + i) / CORPUS_BLOCK);
}

static int by_index(const void *a, const void *b)
{
	const struct corpus_block *x = a, *y = b;

	return x->index < y->index ? -1 : x->index > y->index;
}

static char *read_maps(size_t *ret_len)
{
	char *text = malloc(4u << 20), *out = text;
	FILE *f = fopen("/proc/self/maps", "re");
	char line[4096];

	while (f && fgets(line, sizeof(line), f)) /* only what can be a module */
		if ((strstr(line, ".so") || strstr(line, "[vdso]") || strstr(line, "/bin/")) &&
			out - text < (4 << 20) - 4096)
			out = stpcpy(out, line);
	if (f)
		fclose(f);
	*ret_len = (size_t)(out - text);
	return text;
}

static bool same_frames(const struct kept *k, const struct sp_frame *frames, uint32_t count)
{
	if (count != k->count)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (frames[i].kind != k->frames[i].kind || frames[i].pc != k->frames[i].pc ||
			frames[i].method != k->frames[i].method ||
			frames[i].bci != k->frames[i].bci)
			return false;
	return true;
}

struct output {
	gzFile f;
	size_t at;
};

static void put(struct output *o, const void *p, size_t n)
{
	if (n)
		gzwrite(o->f, p, (unsigned)n);
	o->at += n;
}

static void put_u32(struct output *o, uint32_t v)
{
	put(o, &v, 4);
}

static void put_align(struct output *o)
{
	static const char zero[8];

	put(o, zero, -o->at % 8);
}

static void put_case(struct output *o, const struct kept *k, struct sp_method_names *names)
{
	const struct sp_snapshot *s = &k->snap;
	struct corpus_head h = {.stack_addr = s->stack_addr,
		.stack_end = s->stack_end,
		.known = s->known,
		.stack_len = s->stack_len & ~7u,
		.status = SP_UNWIND_COMPLETE,
		.count = k->count,
		.anchor = {s->anchor.last_java_sp, s->anchor.last_java_fp, s->anchor.last_java_pc}};

	memcpy(h.regs, s->regs, sizeof(h.regs));
	put(o, &h, sizeof(h));
	put(o, s->stack, h.stack_len);
	for (uint32_t i = 0; i < k->count; i++) {
		const struct sp_frame *f = &k->frames[i];
		struct corpus_frame c = {f->pc, f->method, f->offset, f->bci, f->kind, f->type, 0};
		char text[1024] = "";
		struct sp_name *n;

		if (f->kind == SP_FRAME_KIND_JAVA && sp_method_names_get(names, f, &n) == 0)
			snprintf(text, sizeof(text), "%s.%s:%d", n->class_name, n->name,
				sp_method_names_line(names, f));
		c.name_len = (uint16_t)strlen(text);
		put(o, &c, sizeof(c));
		put(o, text, c.name_len);
		put_align(o);
	}
}

int sp_recorder_write(const char *path, const struct sp_mem *mem)
{
	struct logger l = {.mem = mem};
	struct sp_mem logged = {logged_read, &l, NULL, NULL};
	static struct sp_frame frames[DEPTH];
	struct sp_modules *modules = NULL;
	struct sp_hotspot *hotspot = NULL;
	struct sp_unwinder *u = NULL;
	struct sp_method_names *names = NULL;
	struct output o = {NULL, 0};
	bool good[KEPT_MAX] = {false};
	size_t maps_len;
	char *maps = read_maps(&maps_len);
	uint32_t n = 0;

	l.blocks = calloc(BLOCKS_MAX, sizeof(*l.blocks));
	l.used = calloc(2 * BLOCKS_MAX, sizeof(*l.used));
	l.keys = calloc(2 * BLOCKS_MAX, sizeof(*l.keys));
	if (sp_modules_new(&modules, &logged) < 0)
		return -ENOMEM;
	sp_modules_parse(modules, maps, maps_len);
	note_symbols(&l, sp_modules_by_name(modules, "libjvm.so"));
	if (sp_hotspot_new(&hotspot, &logged, modules, NULL) < 0 ||
		sp_unwinder_new(&u, &logged, modules, hotspot, 0) < 0 ||
		sp_method_names_new(&names, &logged, hotspot, 0) < 0)
		return -ENOTSUP;
	for (int i = 0; i < kept_count; i++) {
		struct sp_unwind_result r;
		struct sp_name *name;

		sp_unwind(u, &kept[i].snap, frames, DEPTH, &r);
		good[i] = r.status == SP_UNWIND_COMPLETE && same_frames(&kept[i], frames, r.count);
		n += good[i];
		for (uint32_t k = 0; k < r.count && good[i]; k++) {
			sp_method_names_get(names, &frames[k], &name);
			sp_method_names_line(names, &frames[k]);
		}
	}
	qsort(l.blocks, l.count, sizeof(*l.blocks), by_index);
	o.f = gzopen(path, "wb9");
	if (!o.f)
		return -errno;
	put(&o, CORPUS_MAGIC, 8);
	put_u32(&o, (uint32_t)maps_len);
	put(&o, maps, maps_len);
	put_u32(&o, l.count);
	put(&o, l.blocks, l.count * sizeof(*l.blocks));
	put_u32(&o, n);
	put_align(&o);
	for (int i = 0; i < kept_count; i++)
		if (good[i])
			put_case(&o, &kept[i], names);
	gzclose(o.f);
	return (int)n;
}
