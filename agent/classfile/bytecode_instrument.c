/* See bytecode_instrument.h. Two walks over the code: the first finds where each byte goes, the
 * second writes. The code that takes the time is before a return, and jumps to the return lead
 * there; no jump leads to what was put before the first instruction. */
#include "bytecode_instrument.h"

#include "base/cleanup.h"
#include "stackmap_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	NOP = 0x00,
	SIPUSH = 0x11,
	LLOAD = 0x16,
	LSTORE = 0x37,
	IINC = 0x84,
	IFEQ = 0x99,
	JSR = 0xa8,
	TABLESWITCH = 0xaa,
	LOOKUPSWITCH = 0xab,
	IRETURN = 0xac,
	RETURN = 0xb1,
	INVOKESTATIC = 0xb8,
	ATHROW = 0xbf,
	WIDE = 0xc4,
	IFNULL = 0xc6,
	IFNONNULL = 0xc7,
	GOTO_W = 0xc8,
	JSR_W = 0xc9,
};

#define CODE_MAX   65535u
#define COUNT_LEN  8u
#define CLOCK_LEN  8u
#define LEFT_LEN   12u
#define MORE_STACK 4u /* a thrown object below a long and an int */

/* Length of each instruction by its opcode; 0: it varies, or there is none (JVMS 6.5). */
static const char lengths[] = "1111111111111111" /* 0x00 */
			      "2323322222111111"
			      "1111111111111111" /* 0x20 */
			      "1111112222211111"
			      "1111111111111111" /* 0x40 */
			      "1111111111111111"
			      "1111111111111111" /* 0x60 */
			      "1111111111111111"
			      "1111311111111111" /* 0x80 */
			      "1111111113333333"
			      "3333333332001111" /* 0xa0 */
			      "1133333335532311"
			      "3311043355";

struct job {
	const struct sp_class_instrument_class *c;
	const struct sp_bytecode_instrument_method *m;
	const uint8_t *code;
	uint32_t len, max_stack, max_locals;
	uint32_t *moved; /* len + 1: new place of each byte */
	uint32_t new_len, handler;
};

static bool is_return(uint32_t op)
{
	return op >= IRETURN && op <= RETURN;
}

static bool is_jump(uint32_t op)
{
	return (op >= IFEQ && op <= JSR) || op == IFNULL || op == IFNONNULL;
}

/* Where the numbers of the switch at @at begin, rounded up to four. */
static uint32_t operands(uint32_t at)
{
	return (at | 3) + 1;
}

/* Length of the instruction at @at; 0: it is none, or does not end within the code. */
static uint32_t length(const struct job *j, uint32_t at)
{
	uint32_t op = j->code[at], left = j->len - at, from = operands(at);
	uint64_t n = op < sizeof(lengths) - 1 ? (uint64_t)(lengths[op] - '0') : 0;

	if (op == WIDE && left > 1) {
		n = j->code[at + 1] == IINC ? 6 : 4;
	} else if (op == TABLESWITCH && from + 12 <= j->len) {
		int64_t low = (int32_t)sp_be32(j->code + from + 4);
		int64_t high = (int32_t)sp_be32(j->code + from + 8);

		n = low <= high ? from - at + 12 + 4 * (uint64_t)(high - low + 1) : 0;
	} else if (op == LOOKUPSWITCH && from + 8 <= j->len) {
		n = from - at + 8 + 8 * (uint64_t)sp_be32(j->code + from + 4);
	}
	return n <= left ? (uint32_t)n : 0;
}

static bool timed(const struct job *j)
{
	return j->m->want.timed >= 0;
}

static bool counted(const struct job *j)
{
	return j->m->want.counted >= 0;
}

static int place_code(struct job *j)
{
	uint32_t to = (counted(j) ? COUNT_LEN : 0) + (timed(j) ? CLOCK_LEN : 0), n;

	for (uint32_t at = 0; at < j->len; at += n) {
		n = length(j, at);
		if (!n)
			return -EBADMSG;
		for (uint32_t i = 0; i < n; i++)
			j->moved[at + i] = to + i;
		to += n + (timed(j) && is_return(j->code[at]) ? LEFT_LEN : 0);
	}
	j->moved[j->len] = to;
	j->new_len = to;
	/* Who is constructed cannot be in a handler's frame before it is. */
	if (timed(j) && !sp_class_text_is(j->m->name, "<init>")) {
		j->handler = to;
		j->new_len += LEFT_LEN + 1;
	}
	return j->new_len > CODE_MAX || j->max_locals + 2 > CODE_MAX ||
			       j->max_stack + MORE_STACK > CODE_MAX
		       ? -EFBIG
		       : 0;
}

static void put_call(struct sp_buf *out, uint32_t method)
{
	sp_put_u1(out, INVOKESTATIC);
	sp_put_u2(out, method);
}

static void put_local(struct sp_buf *out, uint32_t op, uint32_t index)
{
	sp_put_u1(out, WIDE);
	sp_put_u1(out, op);
	sp_put_u2(out, index);
}

static void put_number(struct sp_buf *out, uint32_t n)
{
	sp_put_u2(out, NOP);
	sp_put_u1(out, SIPUSH);
	sp_put_u2(out, n);
}

static void put_entry(const struct job *j, struct sp_buf *out)
{
	if (counted(j)) {
		put_number(out, (uint32_t)j->m->want.counted);
		put_call(out, j->c->entered);
	}
	if (timed(j)) {
		sp_put_u1(out, NOP);
		put_call(out, j->c->clock);
		put_local(out, LSTORE, j->max_locals);
	}
}

static void put_left(const struct job *j, struct sp_buf *out)
{
	put_local(out, LLOAD, j->max_locals);
	put_number(out, (uint32_t)j->m->want.timed);
	put_call(out, j->c->left);
}

/* How far the jump from @at by @by goes now. */
static int jump(const struct job *j, uint32_t at, int32_t by, int64_t *ret)
{
	int64_t to = (int64_t)at + by;

	if (to < 0 || to >= j->len)
		return -EBADMSG;
	*ret = (int64_t)j->moved[to] - j->moved[at];
	return 0;
}

static int put_jump(const struct job *j, uint32_t at, struct sp_buf *out)
{
	int64_t by = 0;
	int r = jump(j, at, (int16_t)sp_be16(j->code + at + 1), &by);

	sp_put_u1(out, j->code[at]);
	sp_put_u2(out, (uint32_t)by);
	return r == 0 && by != (int16_t)by ? -EFBIG : r;
}

static int put_far(const struct job *j, uint32_t from, uint32_t at, struct sp_buf *out)
{
	int64_t by = 0;
	int r = jump(j, from, (int32_t)sp_be32(j->code + at), &by);

	sp_put_u4(out, (uint32_t)by);
	return r;
}

/* Padding, bounds and the values that are looked up stay. */
static int put_switch(const struct job *j, uint32_t at, uint32_t n, struct sp_buf *out)
{
	uint32_t from = operands(at), table = j->code[at] == TABLESWITCH;
	int r;

	sp_buf_add(out, j->code + at, from - at);
	r = put_far(j, at, from, out);
	sp_buf_add(out, j->code + from + 4, table ? 8 : 4);
	for (uint32_t i = from + 12; r == 0 && i < at + n; i += table ? 4 : 8) {
		if (!table)
			sp_buf_add(out, j->code + i - 4, 4);
		r = put_far(j, at, i, out);
	}
	return r;
}

static int put_instruction(const struct job *j, uint32_t at, uint32_t n, struct sp_buf *out)
{
	uint32_t op = j->code[at];

	if (is_jump(op))
		return put_jump(j, at, out);
	if (op == TABLESWITCH || op == LOOKUPSWITCH)
		return put_switch(j, at, n, out);
	if (op == GOTO_W || op == JSR_W) {
		sp_put_u1(out, op);
		return put_far(j, at, at + 1, out);
	}
	if (timed(j) && is_return(op))
		put_left(j, out);
	sp_buf_add(out, j->code + at, n);
	return 0;
}

static int put_code(const struct job *j, struct sp_buf *out)
{
	uint32_t n;

	put_entry(j, out);
	for (uint32_t at = 0; at < j->len; at += n) {
		int r;

		n = length(j, at);
		r = put_instruction(j, at, n, out);
		if (r < 0)
			return r;
	}
	if (j->handler) {
		put_left(j, out);
		sp_put_u1(out, ATHROW);
	}
	return 0;
}

static uint32_t moved(const struct job *j, struct sp_class_bytes *in, uint32_t at)
{
	in->bad |= at > j->len;
	return in->bad ? 0 : j->moved[at];
}

/* Ours comes last: the method's own handlers are asked before it. */
static int put_handlers(const struct job *j, struct sp_class_bytes *in, struct sp_buf *out)
{
	uint32_t n = sp_class_bytes_u2(in);

	if (n + (j->handler != 0) > 65535)
		return -EFBIG;
	sp_put_u2(out, n + (j->handler != 0));
	for (; n && !in->bad; n--) {
		for (int i = 0; i < 3; i++)
			sp_put_u2(out, moved(j, in, sp_class_bytes_u2(in)));
		sp_put_u2(out, sp_class_bytes_u2(in));
	}
	if (j->handler) {
		sp_put_u2(out, j->moved[0]);
		sp_put_u2(out, j->handler);
		sp_put_u2(out, j->handler);
		sp_put_u2(out, 0);
	}
	return in->bad ? -EBADMSG : 0;
}

/* The first line begins with what we have put before it. */
static void put_lines(const struct job *j, struct sp_class_bytes *in, struct sp_buf *out)
{
	uint32_t n = sp_class_bytes_u2(in);

	sp_put_u2(out, n);
	for (; n && !in->bad; n--) {
		uint32_t at = sp_class_bytes_u2(in);

		sp_put_u2(out, at ? moved(j, in, at) : 0);
		sp_put_u2(out, sp_class_bytes_u2(in));
	}
}

/* LocalVariableTable and LocalVariableTypeTable. */
static void put_variables(const struct job *j, struct sp_class_bytes *in, struct sp_buf *out)
{
	uint32_t n = sp_class_bytes_u2(in);

	sp_put_u2(out, n);
	for (; n && !in->bad; n--) {
		uint32_t at = sp_class_bytes_u2(in), end = at + sp_class_bytes_u2(in);

		at = moved(j, in, at);
		sp_put_u2(out, at);
		sp_put_u2(out, moved(j, in, end) - at);
		sp_put_u4(out, sp_class_bytes_u4(in));
		sp_put_u2(out, sp_class_bytes_u2(in));
	}
}

static int put_frames(const struct job *j, struct sp_class_bytes in, struct sp_buf *out)
{
	struct sp_stackmap_table_job f = {.pool = j->c->pool,
		.descriptor = j->m->descriptor,
		.this_class = j->c->this_class,
		.is_static = j->m->is_static,
		.is_init = sp_class_text_is(j->m->name, "<init>"),
		.max_locals = j->max_locals,
		.max_stack = j->max_stack,
		.moved = j->moved,
		.code_len = j->len,
		.time = timed(j),
		.handler = j->handler};

	return sp_stackmap_table_rewrite(&f, in, out);
}

/* One attribute of the code; *ret_kept: it is among those that stay. */
static int put_attribute(const struct job *j, uint32_t name, struct sp_class_bytes *in,
	struct sp_buf *out, bool *ret_kept)
{
	struct sp_class_text t = sp_constant_pool_utf8(j->c->pool, name);
	size_t had = out->len;
	int r = 0;

	*ret_kept = true;
	sp_put_u2(out, name);
	sp_put_u4(out, 0);
	if (sp_class_text_is(t, "LineNumberTable")) {
		put_lines(j, in, out);
	} else if (sp_class_text_is(t, "LocalVariableTable") ||
		   sp_class_text_is(t, "LocalVariableTypeTable")) {
		put_variables(j, in, out);
	} else {
		out->len = had;
		*ret_kept = false;
		return 0;
	}
	if (in->bad || in->p != in->end)
		r = -EBADMSG;
	sp_patch_u4(out, had + 2, (uint32_t)(out->len - had - 6));
	return r;
}

/* The frames, also where there were none. Class files of before Java 6 (50) have none at all. */
static int put_map(const struct job *j, uint32_t name, struct sp_class_bytes in, struct sp_buf *out)
{
	size_t had = out->len;
	int r;

	if (!name)
		name = sp_constant_pool_add_utf8(
			j->c->pool, "StackMapTable", strlen("StackMapTable"));
	sp_put_u2(out, name);
	sp_put_u4(out, 0);
	r = name ? put_frames(j, in, out) : -E2BIG;
	sp_patch_u4(out, had + 2, (uint32_t)(out->len - had - 6));
	return r;
}

static int put_attributes(const struct job *j, struct sp_class_bytes *in, struct sp_buf *out)
{
	uint32_t count = sp_class_bytes_u2(in), kept_count = 0, map_name = 0;
	size_t count_at = out->len;
	struct sp_class_bytes map = {0};
	int r = 0;

	sp_put_u2(out, 0);
	for (; count && !in->bad && r == 0; count--) {
		uint32_t name = sp_class_bytes_u2(in), len = sp_class_bytes_u4(in);
		struct sp_class_bytes part = sp_class_bytes_part(in, len);
		bool kept = false;

		if (in->bad)
			break;
		if (sp_class_text_is(sp_constant_pool_utf8(j->c->pool, name), "StackMapTable")) {
			map_name = name;
			map = part;
			continue;
		}
		r = put_attribute(j, name, &part, out, &kept);
		kept_count += kept;
	}
	if (r == 0 && !in->bad && j->c->version >= 50 && (map_name || j->handler)) {
		r = put_map(j, map_name, map, out);
		kept_count++;
	}
	if (!out->failed) {
		out->data[count_at] = (char)(kept_count >> 8);
		out->data[count_at + 1] = (char)kept_count;
	}
	return in->bad ? -EBADMSG : r;
}

/* Code, handlers and attributes, where the places are known. */
static int put_all(const struct job *j, struct sp_class_bytes *in, struct sp_buf *out)
{
	size_t had = out->len;
	int r;

	sp_put_u4(out, 0);
	sp_put_u2(out, j->max_stack + MORE_STACK);
	sp_put_u2(out, timed(j) ? j->max_locals + 2 : j->max_locals);
	sp_put_u4(out, j->new_len);
	r = put_code(j, out);
	if (r == 0)
		r = put_handlers(j, in, out);
	if (r == 0)
		r = put_attributes(j, in, out);
	sp_patch_u4(out, had, (uint32_t)(out->len - had - 4));
	return r < 0 ? r : in->p == in->end ? 0 : -EBADMSG;
}

int sp_bytecode_instrument(const struct sp_class_instrument_class *c,
	const struct sp_bytecode_instrument_method *m, struct sp_class_bytes in, struct sp_buf *out)
{
	struct job j = {.c = c, .m = m};
	SP_AUTO_FREE uint32_t *places = NULL;
	int r;

	j.max_stack = sp_class_bytes_u2(&in);
	j.max_locals = sp_class_bytes_u2(&in);
	j.len = sp_class_bytes_u4(&in);
	j.code = sp_class_bytes_skip(&in, j.len);
	if (in.bad || !j.len || j.len > CODE_MAX)
		return -EBADMSG;
	places = j.moved = calloc(j.len + 1, sizeof(*places));
	if (!places)
		return -ENOMEM;
	r = place_code(&j);
	return r < 0 ? r : put_all(&j, &in, out);
}
