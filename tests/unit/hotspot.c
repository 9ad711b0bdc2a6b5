/* The JVM's description of itself: what is missing is named. And single steps through its code. */
#include "corpus.h"
#include "unwind/unwind_internal.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct corpus *open_17(void)
{
	const char *data = getenv("SP_DATA");
	char path[4096];
	struct corpus *c;

	snprintf(path, sizeof(path), "%s/unwind/jdk17.corpus", data ? data : "tests/data");
	c = corpus_load(path);
	cr_assert(c);
	return c;
}

/* Changes every occurrence of @from in the recorded memory, as another JVM would have it. */
static int rename_all(struct corpus *c, const char *from, const char *to)
{
	size_t len = strlen(from);
	uint8_t *all = (uint8_t *)c->blocks;
	int count = 0;

	for (uint32_t i = 0; i + 1 < c->block_count; i++) {
		uint8_t two[2 * CORPUS_BLOCK];

		if (c->blocks[i].index + 1 != c->blocks[i + 1].index)
			continue;
		memcpy(two, c->blocks[i].bytes, CORPUS_BLOCK);
		memcpy(two + CORPUS_BLOCK, c->blocks[i + 1].bytes, CORPUS_BLOCK);
		for (unsigned k = 0; k < CORPUS_BLOCK; k++)
			if (!memcmp(two + k, from, len + 1)) {
				memcpy(two + k, to, len);
				count++;
			}
		memcpy(c->blocks[i].bytes, two, CORPUS_BLOCK);
		memcpy(c->blocks[i + 1].bytes, two + CORPUS_BLOCK, CORPUS_BLOCK);
	}
	(void)all;
	return count;
}

Test(hotspot, layout_is_read_from_the_tables)
{
	struct corpus *c = open_17();
	struct sp_modules *m;
	struct sp_hotspot *h;
	struct sp_anchor_layout a;

	cr_assert_eq(sp_modules_new(&m, &c->mem), 0);
	cr_assert(sp_modules_parse(m, c->maps, c->maps_len) > 0);
	cr_assert_eq(sp_hotspot_new(&h, &c->mem, m, NULL), 0);
	cr_assert_eq(sp_hotspot_version(h), 17);
	cr_assert(h->heap_count >= 1 && h->codelet_count > 100);
	cr_assert_eq(h->f.sizeof_heap_block, 16);
	sp_hotspot_anchor(h, &a);
	cr_assert(a.anchor > 0 && a.sp != a.pc && a.pc != a.fp);
	sp_hotspot_free(h);
	sp_modules_free(m);
	corpus_free(c);
}

Test(hotspot, missing_field_is_named)
{
	struct corpus *c = open_17();
	struct sp_err err = {""};
	struct sp_modules *m;
	struct sp_hotspot *h;

	cr_assert(rename_all(c, "_frame_complete_offset", "_frame_c0mplete_offset") > 0);
	cr_assert_eq(sp_modules_new(&m, &c->mem), 0);
	cr_assert(sp_modules_parse(m, c->maps, c->maps_len) > 0);
	cr_assert_eq(sp_hotspot_new(&h, &c->mem, m, &err), -ENOTSUP);
	cr_assert(strstr(err.text, "CodeBlob::_frame_complete_offset"), "%s", err.text);
	sp_modules_free(m);
	corpus_free(c);
}

static int words_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const uint64_t *words = ctx;

	if (addr + len > 16384)
		return -EFAULT;
	memcpy(buf, (const uint8_t *)words + addr, len);
	return 0;
}

/* A Method names its ConstMethod, which names its constants: each an aligned address that nobody
 * maps low. */
Test(hotspot, what_is_no_method_is_not_taken_for_one)
{
	enum { CONST = 8, CONSTANTS = 16 };
	static const struct {
		uint64_t method, cm, pool;
		bool good;
	} cases[] = {{8192, 12288, 8200, true}, {4096, 4096, 4096, true},
		{4088, 12288, 8200, false}, {8193, 12288, 8200, false}, {8192, 4088, 8200, false},
		{8192, 12289, 8200, false}, {8192, 12288, 4088, false}, {8192, 12288, 8201, false},
		{16384, 12288, 8200, false}};
	struct sp_hotspot h = {.f.method_const = CONST, .f.cm_constants = CONSTANTS};
	static uint8_t memory[16384];
	struct sp_mem mem = {.read = words_read, .ctx = memory};

	h.mem = &mem;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t got = 0;

		memset(memory, 0, sizeof(memory));
		if (cases[i].method + CONST + 8 <= sizeof(memory))
			memcpy(memory + cases[i].method + CONST, &cases[i].cm, 8);
		memcpy(memory + cases[i].cm + CONSTANTS, &cases[i].pool, 8);
		cr_assert_eq(
			sp_code_cache_method(&h, cases[i].method, &got), cases[i].good, "%zu", i);
		cr_assert_eq(got, cases[i].good ? cases[i].cm : 0, "%zu", i);
	}
}

/* Code keeps its methods: what was found is not read again for the same code, but for any other. */
Test(hotspot, a_method_of_code_is_read_once)
{
	enum { CONST = 8, CONSTANTS = 16, METHOD = 8192 };
	static const struct {
		struct sp_blob code;
		uint64_t cm, found;
	} cases[] = {{{.addr = 64, .compile_id = 1}, 12288, 12288},
		{{.addr = 64, .compile_id = 1}, 12544, 12288},
		{{.addr = 64, .compile_id = 2}, 12544, 12544},
		{{.addr = 128, .compile_id = 2}, 12800, 12800},
		{{.addr = 192, .compile_id = 3}, 8, 0},
		{{.addr = 192, .compile_id = 3}, 12288, 12288}};
	struct sp_code_method methods[SP_CODE_METHODS] = {{0}};
	struct sp_hotspot h = {
		.f.method_const = CONST, .f.cm_constants = CONSTANTS, .code_methods = methods};
	static uint8_t memory[16384];
	struct sp_mem mem = {.read = words_read, .ctx = memory};
	uint64_t pool = 8200;

	h.mem = &mem;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t got = 0;

		memcpy(memory + METHOD + CONST, &cases[i].cm, 8);
		memcpy(memory + cases[i].cm + CONSTANTS, &pool, 8);
		cr_assert_eq(sp_code_cache_method_in(&h, &cases[i].code, METHOD, &got),
			cases[i].found != 0, "%zu", i);
		cr_assert_eq(got, cases[i].found, "%zu", i);
	}
}

Test(hotspot, process_without_a_jvm_is_said)
{
	struct corpus *c = open_17();
	struct sp_err err = {""};
	struct sp_modules *m;
	struct sp_hotspot *h;

	cr_assert_eq(sp_modules_new(&m, &c->mem), 0);
	cr_assert_eq(sp_hotspot_new(&h, &c->mem, m, &err), -ENOENT);
	cr_assert(strstr(err.text, "libjvm"));
	sp_modules_free(m);
	corpus_free(c);
}

static int nothing_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return -EFAULT;
}

/* A walk that stands in generated code of which the blob is known, and no more. */
struct standing {
	struct sp_unwinder u;
	struct sp_hotspot h;
	struct sp_mem mem;
	struct sp_blob_entry blob;
	struct sp_scopes_entry scopes;
	struct sp_stack_memo_trail trail;
	struct sp_snapshot snap;
	struct sp_frame frame;
	struct sp_unwind_result res;
	struct sp_walk w;
};

#define CODE  0x10000ull
#define STACK 0x80000ull

static void stand(struct standing *s, uint64_t pc, uint8_t kind)
{
	memset(s, 0, sizeof(*s));
	s->mem.read = nothing_read;
	s->h.mem = s->u.mem = &s->mem;
	s->h.code_low = CODE;
	s->h.code_high = CODE + 0x1000;
	s->u.hotspot = &s->h;
	s->u.blobs = &s->blob;
	s->u.scopes = &s->scopes;
	s->blob.pc = pc;
	s->blob.blob = (struct sp_blob){.addr = CODE,
		.code_begin = CODE,
		.code_end = CODE + 0x1000,
		.kind = kind,
		.deopt = CODE + 0x100,
		.deopt_mh = CODE + 0x110};
	s->w = (struct sp_walk){.u = &s->u,
		.snap = &s->snap,
		.frames = &s->frame,
		.max = 1,
		.res = &s->res,
		.trail = &s->trail};
}

/* Compiled code returns behind a call, which has debug information, or to a handler. */
Test(java, of_code_without_debug_information_only_the_handlers_are_returned_to)
{
	static const struct {
		uint64_t pc;
		bool ok;
	} cases[] = {{CODE + 0x100, true}, {CODE + 0x110, true}, {CODE + 0x108, false},
		{CODE + 0x800, false}, {CODE - 1, false}};
	static struct standing s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		stand(&s, cases[i].pc, SP_BLOB_NMETHOD);
		cr_expect_eq(sp_java_return_ok(&s.w, cases[i].pc), cases[i].ok, "%zu", i);
	}
}

/* What the barrier at a method's entry leaves above its frame pointer is stepped over. */
Test(java, a_cookie_below_the_return_address_of_a_stub_is_taken_away_with_it)
{
	for (unsigned cookie = 0; cookie < 2; cookie++) {
		uint64_t stack[8] = {0, 0, STACK + 56, CODE + 0x600, CODE + 0x600};
		static struct standing s;

		if (cookie)
			stack[3] = ~0ull;
		stand(&s, CODE + 0x200, SP_BLOB_STUB_ROUTINES);
		s.snap.stack_addr = STACK;
		s.snap.stack_end = STACK + sizeof(stack);
		s.snap.stack_len = sizeof(stack);
		s.snap.stack = (const uint8_t *)stack;
		sp_walk_set(&s.w, CODE + 0x200, STACK, STACK + 16, true);
		cr_assert_eq(sp_java_step(&s.w), SP_WHY_NONE);
		cr_expect_eq(s.w.regs.r[SP_ARCH_PC], CODE + 0x600);
		cr_expect_eq(s.w.regs.r[SP_ARCH_FP], STACK + 56);
		cr_expect_eq(s.w.regs.r[SP_ARCH_SP], STACK + (cookie ? 40 : 32));
	}
}
