/* Call frame information: rows from hand-made tables, expressions, steps; and tables cut at every
 * byte. */
#include "unwind/cfi.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BASE 0x10000u

/* Memory that is one buffer at BASE. */
struct flat {
	const uint8_t *bytes;
	size_t len;
};

static int flat_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct flat *f = ctx;

	if (addr < BASE || addr - BASE > f->len || len > f->len - (addr - BASE))
		return -EFAULT;
	memcpy(buf, f->bytes + (addr - BASE), len);
	return 0;
}

/* A CIE (code align 1, data align -8, return address 16, "zR" with absolute pointers, CFA = rsp +
 * 8, return address at CFA - 8), then an FDE for 0x400000 … 0x400100 with @program. Returns the
 * FDE's offset. */
struct table {
	uint8_t bytes[512];
	size_t len, fde;
};

static void put(struct table *t, const void *p, size_t n)
{
	memcpy(t->bytes + t->len, p, n);
	t->len += n;
}

static void put_u32(struct table *t, uint32_t v)
{
	put(t, &v, 4);
}

static struct table table_make(const uint8_t *program, size_t len)
{
	static const uint8_t cie[] = {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x00, 0x0c, 7, 8, 0x90, 1};
	static const uint64_t range[] = {0x400000, 0x100};
	struct table t = {{0}, 0, 0};

	put_u32(&t, 4 + sizeof(cie));
	put_u32(&t, 0);
	put(&t, cie, sizeof(cie));
	t.fde = t.len;
	put_u32(&t, (uint32_t)(4 + sizeof(range) + 1 + len));
	put_u32(&t, (uint32_t)t.len);
	put(&t, range, sizeof(range));
	put(&t, "", 1); /* augmentation length */
	put(&t, program, len);
	return t;
}

static int row(const struct table *t, uint64_t pc, struct sp_cfi_row *ret)
{
	struct flat f = {t->bytes, t->len};
	struct sp_mem mem = {flat_read, &f, NULL, NULL};

	return sp_cfi_row_at(&mem, BASE + t->fde, BASE, pc, ret, NULL);
}

/* push rbp at +0, mov rbp, rsp at +1 */
static const uint8_t framed[] = {
	0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x42, 0x0a, 0x0c, 7, 8, 0xc6, 0x41, 0x0b};

Test(cfi, rows_follow_the_prologue)
{
	static const struct {
		uint64_t pc;
		uint8_t reg;
		int32_t off;
		uint8_t rbp;
	} cases[] = {
		{0x400000, SP_REG_RSP, 8, SP_CFI_SAME},
		{0x400001, SP_REG_RSP, 16, SP_CFI_OFFSET},
		{0x400003, SP_REG_RSP, 16, SP_CFI_OFFSET},
		{0x400004, SP_REG_RBP, 16, SP_CFI_OFFSET},
		{0x400006, SP_REG_RSP, 8, SP_CFI_SAME},	   /* after remember, the epilogue */
		{0x400007, SP_REG_RBP, 16, SP_CFI_OFFSET}, /* restored */
		{0x4000ff, SP_REG_RBP, 16, SP_CFI_OFFSET},
	};
	struct table t = table_make(framed, sizeof(framed));
	struct sp_cfi_row r;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert_eq(row(&t, cases[i].pc, &r), 0);
		cr_assert_eq(r.cfa_reg, cases[i].reg, "pc %lx", (long)cases[i].pc);
		cr_assert_eq(r.cfa_val, cases[i].off, "pc %lx", (long)cases[i].pc);
		cr_assert_eq(r.how[SP_REG_RBP], cases[i].rbp, "pc %lx", (long)cases[i].pc);
		cr_assert_eq(r.how[SP_REG_PC], SP_CFI_OFFSET);
		cr_assert_eq(r.val[SP_REG_PC], -8);
	}
}

Test(cfi, row_outside_of_the_function_is_refused)
{
	struct table t = table_make(framed, sizeof(framed));
	struct sp_cfi_row r;

	cr_assert_eq(row(&t, 0x3fffff, &r), -ENOENT);
	cr_assert_eq(row(&t, 0x400100, &r), -ENOENT);
}

Test(cfi, table_cut_at_every_byte_is_refused)
{
	struct table t = table_make(framed, sizeof(framed));

	for (size_t len = 0; len < t.len; len++) {
		struct flat f = {t.bytes, len};
		uint8_t *copy = malloc(len + 1);
		struct sp_mem mem = {flat_read, &f, NULL, NULL};
		struct sp_cfi_row r;

		memcpy(copy, t.bytes, len);
		f.bytes = copy;
		cr_assert(sp_cfi_row_at(&mem, BASE + t.fde, BASE, 0x4000ff, &r, NULL) < 0,
			"accepted with %zu of %zu bytes", len, t.len);
		free(copy);
	}
}

Test(cfi, any_single_byte_may_be_anything)
{
	for (size_t at = 0; at < 80; at++)
		for (unsigned v = 0; v < 256; v++) {
			struct table t = table_make(framed, sizeof(framed));
			struct sp_cfi_row r;

			if (at >= t.len)
				return;
			t.bytes[at] = (uint8_t)v;
			row(&t, 0x4000ff, &r);
		}
}

Test(cfi, unbalanced_restore_is_refused)
{
	static const uint8_t pop[] = {0x0b};
	uint8_t deep[40];
	struct table t = table_make(pop, sizeof(pop));
	struct sp_cfi_row r;

	cr_assert_eq(row(&t, 0x400010, &r), -EBADMSG);
	memset(deep, 0x0a, sizeof(deep));
	t = table_make(deep, sizeof(deep));
	cr_assert_eq(row(&t, 0x400010, &r), -EBADMSG);
}

struct stack {
	uint64_t addr;
	const uint64_t *words;
	size_t count;
};

static int load(void *ctx, uint64_t addr, uint64_t *ret)
{
	const struct stack *s = ctx;
	uint64_t i = (addr - s->addr) / 8;

	if (addr < s->addr || i >= s->count || addr % 8)
		return -EFAULT;
	*ret = s->words[i];
	return 0;
}

static struct sp_cfi_regs regs_at(uint64_t sp, uint64_t fp)
{
	struct sp_cfi_regs r = {.known = SP_REG_ALL};

	r.r[SP_REG_RSP] = sp;
	r.r[SP_REG_RBP] = fp;
	r.r[SP_REG_RBX] = 0xb;
	return r;
}

Test(cfi, step_restores_saved_registers)
{
	static const uint64_t words[] = {1, 2, 0x7000, 0xabc, 5};
	struct stack s = {0x1000, words, 5};
	struct table t = table_make(framed, sizeof(framed));
	struct sp_cfi_regs regs = regs_at(0x1000, 0x1010);
	struct sp_cfi_row r;

	cr_assert_eq(row(&t, 0x400005, &r), 0);
	cr_assert_eq(sp_cfi_step(NULL, &r, load, &s, &regs), 0);
	cr_assert_eq(regs.r[SP_REG_PC], 0xabc);
	cr_assert_eq(regs.r[SP_REG_RSP], 0x1020);
	cr_assert_eq(regs.r[SP_REG_RBP], 0x7000);
	cr_assert_eq(regs.r[SP_REG_RBX], 0xb);
	cr_assert(!(regs.known & SP_KNOWN(SP_REG_RAX)), "a call may change rax");
}

Test(cfi, popped_register_keeps_its_value)
{
	static const uint64_t words[] = {0xabc, 5};
	static const uint8_t popped[] = {0x86, 2}; /* says rbp at CFA - 16, which is below rsp */
	struct stack s = {0x1000, words, 2};
	struct table t = table_make(popped, sizeof(popped));
	struct sp_cfi_regs regs = regs_at(0x1000, 0x55);
	struct sp_cfi_row r;

	cr_assert_eq(row(&t, 0x400005, &r), 0);
	cr_assert_eq(sp_cfi_step(NULL, &r, load, &s, &regs), 0);
	cr_assert_eq(regs.r[SP_REG_RBP], 0x55);
}

Test(cfi, unknown_frame_register_is_said)
{
	struct table t = table_make(framed, sizeof(framed));
	struct sp_cfi_regs regs = regs_at(0x1000, 0x1010);
	struct stack s = {0x1000, NULL, 0};
	struct sp_cfi_row r;

	regs.known = SP_KNOWN(SP_REG_RSP) | SP_KNOWN(SP_REG_PC);
	cr_assert_eq(row(&t, 0x400005, &r), 0);
	cr_assert_eq(sp_cfi_step(NULL, &r, load, &s, &regs), -ENXIO);
}

Test(cfi, undefined_return_address_is_the_thread_entry)
{
	static const uint8_t entry[] = {0x07, 16};
	struct table t = table_make(entry, sizeof(entry));
	struct sp_cfi_regs regs = regs_at(0x1000, 0);
	struct stack s = {0x1000, NULL, 0};
	struct sp_cfi_row r;

	cr_assert_eq(row(&t, 0x400005, &r), 0);
	cr_assert_eq(sp_cfi_step(NULL, &r, load, &s, &regs), 1);
}

Test(cfi, expressions_compute)
{
	static const struct {
		uint8_t code[16];
		uint64_t want;
		int err;
	} cases[] = {
		{{2, 0x77, 8}, 0x1008, 0},				   /* breg7 8 */
		{{5, 0x77, 0, 0x06, 0x23, 3}, 0x10, 0},			   /* *(rsp) + 3 */
		{{4, 0x77, 0x10, 0x32, 0x1c}, 0x100e, 0},		   /* rsp + 16 - 2 */
		{{5, 0x08, 0xff, 0x3f, 0x1a, 0x12}, 0xf, 0},		   /* 255 & 15, dup */
		{{3, 0x09, 0xff, 0x1f}, 1, 0},				   /* -(-1) */
		{{7, 0x31, 0x28, 1, 0, 0x35, 0x32, 0x33}, 0x33 - 0x30, 0}, /* bra over one */
		{{1, 0x06}, 0, -EBADMSG},				   /* empty stack */
		{{3, 0x31, 0x30, 0x1b}, 0, -EBADMSG},			   /* division by zero */
		{{3, 0x2f, 0xfd, 0xff}, 0, -EBADMSG},			   /* endless loop */
		{{1, 0xf1}, 0, -EBADMSG},				   /* unknown operation */
		{{2, 0x77, 0x80}, 0, -EBADMSG},				   /* cut */
	};
	static const uint64_t words[] = {13};
	struct stack s = {0x1000, words, 1};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct flat f = {cases[i].code, 1u + cases[i].code[0]};
		struct sp_mem mem = {flat_read, &f, NULL, NULL};
		struct sp_cfi_regs regs = regs_at(0x1000, 0);
		uint64_t v = 0;
		int r = sp_cfi_expr(&mem, BASE, &regs, load, &s, false, 0, &v);

		cr_assert_eq(r, cases[i].err, "case %zu: %d", i, r);
		if (r == 0)
			cr_assert_eq(v, cases[i].want, "case %zu: %lx", i, (long)v);
	}
}
