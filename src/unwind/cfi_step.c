/* From a row to the caller's registers, with DWARF expressions (DWARF 5 section 2.5) where a rule
 * is one: PLT entries, realigned stacks (DRAP), signal frames. */
#include "unwind/cfi.h"

#include "unwind/bytes.h"

#include <errno.h>

#define STACK_MAX 32
#define OPS_MAX	  256
#define EXPR_MAX  4096

struct machine {
	const struct sp_cfi_regs *regs;
	sp_cfi_load_fn *load;
	void *ctx;
	uint64_t s[STACK_MAX];
	unsigned n;
	int err;
};

static void push(struct machine *m, uint64_t v)
{
	if (m->n == STACK_MAX)
		m->err = -EBADMSG;
	else
		m->s[m->n++] = v;
}

static uint64_t pop(struct machine *m)
{
	if (m->n == 0) {
		m->err = -EBADMSG;
		return 0;
	}
	return m->s[--m->n];
}

static uint64_t reg_value(struct machine *m, uint64_t reg)
{
	if (reg >= SP_ARCH_REGS) {
		m->err = -EBADMSG;
		return 0;
	}
	if (!(m->regs->known & SP_KNOWN(reg)))
		m->err = -ENXIO;
	return m->regs->r[reg];
}

static void deref(struct machine *m, unsigned size)
{
	uint64_t addr = pop(m), v = 0;
	int r;

	if (size == 0 || size > 8)
		m->err = -EBADMSG;
	if (m->err)
		return;
	r = m->load(m->ctx, addr, &v);
	if (r < 0)
		m->err = r;
	push(m, size == 8 ? v : v & ((1ull << (8 * size)) - 1));
}

static void binary(struct machine *m, uint8_t op)
{
	uint64_t b = pop(m), a = pop(m);
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (op) {
	case 0x1a:
		push(m, a & b);
		break;
	case 0x1b:
		if (sb == 0 || (sb == -1 && sa == INT64_MIN))
			m->err = -EBADMSG;
		else
			push(m, (uint64_t)(sa / sb));
		break;
	case 0x1c:
		push(m, a - b);
		break;
	case 0x1d:
		if (b == 0)
			m->err = -EBADMSG;
		else
			push(m, a % b);
		break;
	case 0x1e:
		push(m, a * b);
		break;
	case 0x21:
		push(m, a | b);
		break;
	case 0x22:
		push(m, a + b);
		break;
	case 0x24:
		push(m, b < 64 ? a << b : 0);
		break;
	case 0x25:
		push(m, b < 64 ? a >> b : 0);
		break;
	case 0x26:
		push(m, (uint64_t)(sa >> (b < 64 ? b : 63)));
		break;
	case 0x27:
		push(m, a ^ b);
		break;
	case 0x29:
		push(m, sa == sb);
		break;
	case 0x2a:
		push(m, sa >= sb);
		break;
	case 0x2b:
		push(m, sa > sb);
		break;
	case 0x2c:
		push(m, sa <= sb);
		break;
	case 0x2d:
		push(m, sa < sb);
		break;
	case 0x2e:
		push(m, sa != sb);
		break;
	default:
		m->err = -EBADMSG;
	}
}

static void push_again(struct machine *m, unsigned depth)
{
	if (depth >= m->n)
		m->err = -EBADMSG;
	else
		push(m, m->s[m->n - 1 - depth]);
}

static void rotate(struct machine *m, unsigned count)
{
	uint64_t top;

	if (m->n < count) {
		m->err = -EBADMSG;
		return;
	}
	top = m->s[m->n - 1];
	for (unsigned i = 1; i < count; i++)
		m->s[m->n - i] = m->s[m->n - i - 1];
	m->s[m->n - count] = top;
}

static void constant(struct machine *m, struct sp_bytes *b, uint8_t op)
{
	unsigned size = 1u << ((op - 0x08) / 2);
	uint64_t v;

	if (op == 0x10) {
		push(m, sp_bytes_uleb(b));
	} else if (op == 0x11) {
		push(m, (uint64_t)sp_bytes_sleb(b));
	} else {
		v = sp_bytes_uint(b, size);
		if ((op & 1) && size < 8 && (v >> (8 * size - 1)))
			v |= ~0ull << (8 * size);
		push(m, v);
	}
}

static void jump(struct machine *m, struct sp_bytes *b, uint64_t start)
{
	int16_t off = (int16_t)sp_bytes_uint(b, 2);
	uint64_t to = b->at + (uint64_t)(int64_t)off;

	if (to < start || to > b->end) {
		m->err = -EBADMSG;
		return;
	}
	b->at = to;
	b->win_len = 0;
}

static void operate(struct machine *m, struct sp_bytes *b, uint8_t op, uint64_t start)
{
	if (op >= 0x30 && op <= 0x4f) { /* lit0 … */
		push(m, op - 0x30u);
	} else if (op >= 0x50 && op <= 0x6f) { /* reg0 … */
		push(m, reg_value(m, op - 0x50u));
	} else if (op >= 0x70 && op <= 0x8f) { /* breg0 … */
		uint64_t v = reg_value(m, op - 0x70u);

		push(m, v + (uint64_t)sp_bytes_sleb(b));
	} else if (op == 0x92) { /* bregx */
		uint64_t v = reg_value(m, sp_bytes_uleb(b));

		push(m, v + (uint64_t)sp_bytes_sleb(b));
	} else if (op >= 0x08 && op <= 0x11) {
		constant(m, b, op);
	} else if (op == 0x03) { /* addr */
		push(m, sp_bytes_uint(b, 8));
	} else if (op == 0x06 || op == 0x94) { /* deref, deref_size */
		deref(m, op == 0x06 ? 8 : sp_bytes_u8(b));
	} else if (op == 0x12 || op == 0x14) { /* dup, over */
		push_again(m, op == 0x12 ? 0 : 1);
	} else if (op == 0x15) {
		push_again(m, sp_bytes_u8(b));
	} else if (op == 0x13) {
		(void)pop(m);
	} else if (op == 0x16 || op == 0x17) { /* swap, rot */
		rotate(m, op == 0x16 ? 2 : 3);
	} else if (op == 0x19) { /* abs */
		int64_t v = (int64_t)pop(m);
		push(m, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
	} else if (op == 0x1f) {
		push(m, 0 - pop(m));
	} else if (op == 0x20) {
		push(m, ~pop(m));
	} else if (op == 0x23) { /* plus_uconst */
		uint64_t v = pop(m);

		push(m, v + sp_bytes_uleb(b));
	} else if (op == 0x2f) { /* skip */
		jump(m, b, start);
	} else if (op == 0x28) { /* bra */
		if (pop(m))
			jump(m, b, start);
		else
			sp_bytes_skip(b, 2);
	} else if (op != 0x96) { /* nop */
		binary(m, op);
	}
}

int sp_cfi_expr(const struct sp_mem *mem, uint64_t addr, const struct sp_cfi_regs *regs,
	sp_cfi_load_fn *load, void *ctx, bool push_cfa, uint64_t cfa, uint64_t *ret)
{
	struct machine m = {.regs = regs, .load = load, .ctx = ctx};
	struct sp_bytes b;
	uint64_t len, start;

	sp_bytes_init(&b, mem, addr, addr + 10);
	len = sp_bytes_uleb(&b);
	if (b.failed || len > EXPR_MAX)
		return -EBADMSG;
	start = b.at;
	b.end = b.at + len;
	b.win_len = 0;
	if (push_cfa)
		push(&m, cfa);
	for (unsigned ops = 0; b.at < b.end; ops++) {
		if (ops == OPS_MAX)
			return -EBADMSG;
		operate(&m, &b, sp_bytes_u8(&b), start);
		if (b.failed)
			return -EBADMSG;
		if (m.err)
			return m.err;
	}
	*ret = pop(&m);
	return m.err;
}

struct stepper {
	const struct sp_mem *mem;
	const struct sp_cfi_row *row;
	sp_cfi_load_fn *load;
	void *ctx;
	const struct sp_cfi_regs *old;
	uint64_t cfa;
};

static int find_cfa(struct stepper *s)
{
	const struct sp_cfi_row *row = s->row;

	if (row->cfa_expr)
		return sp_cfi_expr(s->mem, row->expr_base + (uint64_t)(int64_t)row->cfa_val, s->old,
			s->load, s->ctx, false, 0, &s->cfa);
	if (!(s->old->known & SP_KNOWN(row->cfa_reg)))
		return -ENXIO;
	s->cfa = s->old->r[row->cfa_reg] + (uint64_t)(int64_t)row->cfa_val;
	return 0;
}

/* A slot below the stack pointer was already popped (an epilogue without its own row): the register
 * holds the caller's value again. */
static int load_saved(struct stepper *s, unsigned reg, uint64_t addr, uint64_t *ret)
{
	if (addr < s->old->r[SP_ARCH_SP] && reg != SP_ARCH_PC && !s->row->signal) {
		if (!(s->old->known & SP_KNOWN(reg)))
			return -ENXIO;
		*ret = s->old->r[reg];
		return 0;
	}
	return s->load(s->ctx, addr, ret);
}

static int restore_reg(struct stepper *s, unsigned reg, uint64_t *ret)
{
	int32_t val = s->row->val[reg];
	uint64_t expr = s->row->expr_base + (uint64_t)(int64_t)val, addr;
	int r;

	switch (s->row->how[reg]) {
	case SP_CFI_OFFSET:
		return load_saved(s, reg, s->cfa + (uint64_t)(int64_t)val, ret);
	case SP_CFI_VAL_OFFSET:
		*ret = s->cfa + (uint64_t)(int64_t)val;
		return 0;
	case SP_CFI_EXPR:
		r = sp_cfi_expr(s->mem, expr, s->old, s->load, s->ctx, true, s->cfa, &addr);
		return r < 0 ? r : load_saved(s, reg, addr, ret);
	case SP_CFI_VAL_EXPR:
		return sp_cfi_expr(s->mem, expr, s->old, s->load, s->ctx, true, s->cfa, ret);
	case SP_CFI_REGISTER:
		if ((uint32_t)val >= SP_ARCH_REGS || !(s->old->known & SP_KNOWN(val)))
			return -ENXIO;
		*ret = s->old->r[val];
		return 0;
	case SP_CFI_UNDEFINED:
		return -ENXIO;
	default: /* no rule */
		if (!(s->old->known & SP_KNOWN(reg)))
			return -ENXIO;
		*ret = s->old->r[reg];
		return 0;
	}
}

int sp_cfi_step(const struct sp_mem *mem, const struct sp_cfi_row *row, sp_cfi_load_fn *load,
	void *ctx, struct sp_cfi_regs *regs)
{
	struct sp_cfi_regs next = {.known = 0};
	struct stepper s = {mem, row, load, ctx, regs, 0};
	int r;

	if (row->how[SP_ARCH_PC] == SP_CFI_UNDEFINED)
		return 1;
	r = find_cfa(&s);
	if (r < 0)
		return r;
	for (unsigned reg = 0; reg < SP_ARCH_REGS; reg++) {
		bool same = row->how[reg] == SP_CFI_SAME;

		if (same && !(SP_ARCH_SAVED & SP_KNOWN(reg)) && reg != SP_ARCH_SP)
			continue; /* a call may have changed it */
		if (same && reg == SP_ARCH_SP) {
			next.r[reg] = s.cfa;
			next.known |= SP_KNOWN(reg);
			continue;
		}
		r = restore_reg(&s, reg, &next.r[reg]);
		if (r == 0)
			next.known |= SP_KNOWN(reg);
		else if (reg == SP_ARCH_PC || r == -ENODATA)
			return r == -ENXIO ? -EBADMSG : r;
	}
	if (!(next.known & SP_KNOWN(SP_ARCH_PC)) || !(next.known & SP_KNOWN(SP_ARCH_SP)))
		return -EBADMSG;
	*regs = next;
	return 0;
}
