/* From a pc to its row: search of .eh_frame_hdr, then CIE and FDE instructions up to the pc. */
#include "unwind/cfi.h"

#include "unwind/bytes.h"

#include <errno.h>

#define RECORD_MAX   (1u << 20)
#define REMEMBER_MAX 8
#define PROGRAM_MAX  100000 /* instructions */

/* Pointer encodings (LSB Core 10.5.1) */
enum {
	PE_PTR = 0x00,
	PE_ULEB = 0x01,
	PE_U2 = 0x02,
	PE_U4 = 0x03,
	PE_U8 = 0x04,
	PE_SLEB = 0x09,
	PE_S2 = 0x0a,
	PE_S4 = 0x0b,
	PE_S8 = 0x0c,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

struct cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;
	uint64_t program, program_end;
	uint8_t pointer_enc;
	bool augmented, signal;
};

static uint64_t read_value(struct sp_bytes *b, uint8_t enc)
{
	switch (enc & 0x0f) {
	case PE_PTR:
	case PE_U8:
	case PE_S8:
		return sp_bytes_uint(b, 8);
	case PE_ULEB:
		return sp_bytes_uleb(b);
	case PE_SLEB:
		return (uint64_t)sp_bytes_sleb(b);
	case PE_U2:
		return sp_bytes_uint(b, 2);
	case PE_S2:
		return (uint64_t)(int64_t)(int16_t)sp_bytes_uint(b, 2);
	case PE_U4:
		return sp_bytes_uint(b, 4);
	case PE_S4:
		return (uint64_t)(int64_t)(int32_t)sp_bytes_uint(b, 4);
	default:
		b->failed = true;
		return 0;
	}
}

static uint64_t read_pointer(struct sp_bytes *b, uint8_t enc, uint64_t data)
{
	uint64_t at = b->at, v;

	if (enc == PE_OMIT)
		return 0;
	v = read_value(b, enc);
	if ((enc & 0x70) == PE_PCREL)
		v += at;
	else if ((enc & 0x70) == PE_DATAREL)
		v += data;
	else if (enc & 0x70)
		b->failed = true;
	if ((enc & PE_INDIRECT) && !b->failed && !sp_mem_u64(b->mem, v, &v))
		b->failed = true;
	return v;
}

/* Opens the length-prefixed record at @addr. */
static bool record_open(struct sp_bytes *b, const struct sp_mem *mem, uint64_t addr)
{
	uint64_t len;

	sp_bytes_init(b, mem, addr, addr + 12);
	len = sp_bytes_uint(b, 4);
	if (len == 0xffffffff)
		len = sp_bytes_uint(b, 8);
	if (b->failed || len < 4 || len > RECORD_MAX)
		return false;
	b->end = b->at + len;
	b->win_len = 0;
	return true;
}

static void read_augmentation(struct sp_bytes *b, const char *aug, uint64_t data, struct cie *cie)
{
	uint64_t len, end;

	cie->augmented = true;
	len = sp_bytes_uleb(b);
	end = b->at + len;
	for (aug++; *aug && !b->failed; aug++) {
		if (*aug == 'R')
			cie->pointer_enc = sp_bytes_u8(b);
		else if (*aug == 'P')
			(void)read_pointer(b, sp_bytes_u8(b) & 0x7f, data);
		else if (*aug == 'L')
			(void)sp_bytes_u8(b);
		else if (*aug == 'S')
			cie->signal = true;
		else
			break; /* unknown: the length says where the program starts */
	}
	if (end < b->at || end > b->end)
		b->failed = true;
	else
		b->at = end;
}

static bool cie_read(const struct sp_mem *mem, uint64_t addr, uint64_t data, struct cie *ret)
{
	struct sp_bytes b;
	char aug[16];
	unsigned n = 0;
	uint8_t version;

	*ret = (struct cie){.pointer_enc = PE_PTR};
	if (!record_open(&b, mem, addr) || sp_bytes_uint(&b, 4) != 0)
		return false;
	version = sp_bytes_u8(&b);
	do {
		aug[n] = (char)sp_bytes_u8(&b);
	} while (aug[n] && ++n < sizeof(aug));
	if (b.failed || n == sizeof(aug) || (version != 1 && version != 3))
		return false;
	ret->code_align = sp_bytes_uleb(&b);
	ret->data_align = sp_bytes_sleb(&b);
	ret->ra = version == 1 ? sp_bytes_u8(&b) : sp_bytes_uleb(&b);
	if (aug[0] == 'z')
		read_augmentation(&b, aug, data, ret);
	ret->program = b.at;
	ret->program_end = b.end;
	return !b.failed && ret->ra == SP_ARCH_PC;
}

struct program {
	struct sp_bytes b;
	const struct cie *cie;
	uint64_t loc, pc;
	struct sp_cfi_row *row;
	const struct sp_cfi_row *initial;
	struct sp_cfi_row saved[REMEMBER_MAX];
	unsigned saved_count;
};

static void set_rule(struct program *p, uint64_t reg, enum sp_cfi_how how, int64_t val)
{
	if (reg >= SP_ARCH_REGS) /* vector registers and the like: nobody needs them */
		return;
	if (val != (int32_t)val) {
		p->b.failed = true;
		return;
	}
	p->row->how[reg] = (uint8_t)how;
	p->row->val[reg] = (int32_t)val;
}

static void set_cfa(struct program *p, uint64_t reg, int64_t off)
{
	if (reg >= SP_ARCH_REGS || off != (int32_t)off) {
		p->b.failed = true;
		return;
	}
	p->row->cfa_expr = 0;
	p->row->cfa_reg = (uint8_t)reg;
	p->row->cfa_val = (int32_t)off;
}

/* Skips a block and returns where it was, relative to the row's base. */
static int64_t take_block(struct program *p)
{
	uint64_t at = p->b.at;

	sp_bytes_skip(&p->b, sp_bytes_uleb(&p->b));
	return (int64_t)(at - p->row->expr_base);
}

static void set_cfa_expr(struct program *p)
{
	int64_t at = take_block(p);

	if (at != (int32_t)at)
		p->b.failed = true;
	p->row->cfa_expr = 1;
	p->row->cfa_val = (int32_t)at;
}

static void restore(struct program *p, uint64_t reg)
{
	if (reg < SP_ARCH_REGS && p->initial) {
		p->row->how[reg] = p->initial->how[reg];
		p->row->val[reg] = p->initial->val[reg];
	}
}

static void save_row(struct program *p)
{
	if (p->saved_count == REMEMBER_MAX)
		p->b.failed = true;
	else
		p->saved[p->saved_count++] = *p->row;
}

static void recall(struct program *p)
{
	if (p->saved_count == 0)
		p->b.failed = true;
	else
		*p->row = p->saved[--p->saved_count];
}

/* Rules of the extended opcodes; returns false for one that is not known. */
static bool run_rule(struct program *p, uint8_t op)
{
	struct sp_bytes *b = &p->b;
	int64_t da = p->cie->data_align;
	uint64_t reg = sp_bytes_uleb(b);

	switch (op) {
	case 0x05: /* offset_extended */
		set_rule(p, reg, SP_CFI_OFFSET, (int64_t)sp_bytes_uleb(b) * da);
		return true;
	case 0x06: /* restore_extended */
		restore(p, reg);
		return true;
	case 0x07:
		set_rule(p, reg, SP_CFI_UNDEFINED, 0);
		return true;
	case 0x08:
		set_rule(p, reg, SP_CFI_SAME, 0);
		return true;
	case 0x09:
		set_rule(p, reg, SP_CFI_REGISTER, (int64_t)sp_bytes_uleb(b));
		return true;
	case 0x0c: /* def_cfa */
		set_cfa(p, reg, (int64_t)sp_bytes_uleb(b));
		return true;
	case 0x0d: /* def_cfa_register */
		set_cfa(p, reg, p->row->cfa_val);
		return true;
	case 0x0e: /* def_cfa_offset: the operand is the offset */
		set_cfa(p, p->row->cfa_reg, (int64_t)reg);
		return true;
	case 0x10:
		set_rule(p, reg, SP_CFI_EXPR, take_block(p));
		return true;
	case 0x11: /* offset_extended_sf */
		set_rule(p, reg, SP_CFI_OFFSET, sp_bytes_sleb(b) * da);
		return true;
	case 0x12: /* def_cfa_sf */
		set_cfa(p, reg, sp_bytes_sleb(b) * da);
		return true;
	case 0x14: /* val_offset */
		set_rule(p, reg, SP_CFI_VAL_OFFSET, (int64_t)sp_bytes_uleb(b) * da);
		return true;
	case 0x15: /* val_offset_sf */
		set_rule(p, reg, SP_CFI_VAL_OFFSET, sp_bytes_sleb(b) * da);
		return true;
	case 0x16:
		set_rule(p, reg, SP_CFI_VAL_EXPR, take_block(p));
		return true;
	case 0x2e: /* GNU_args_size */
		return true;
	case 0x2f: /* GNU_negative_offset_extended */
		set_rule(p, reg, SP_CFI_OFFSET, -((int64_t)sp_bytes_uleb(b) * da));
		return true;
	default:
		return false;
	}
}

static void run_one(struct program *p, uint8_t op, uint64_t data)
{
	struct sp_bytes *b = &p->b;

	switch (op) {
	case 0x00: /* nop */
		break;
	case 0x01: /* set_loc */
		p->loc = read_pointer(b, p->cie->pointer_enc, data);
		break;
	case 0x02:
		p->loc += sp_bytes_uint(b, 1) * p->cie->code_align;
		break;
	case 0x03:
		p->loc += sp_bytes_uint(b, 2) * p->cie->code_align;
		break;
	case 0x04:
		p->loc += sp_bytes_uint(b, 4) * p->cie->code_align;
		break;
	case 0x0a:
		save_row(p);
		break;
	case 0x0b:
		recall(p);
		break;
	case 0x0f: /* def_cfa_expression */
		set_cfa_expr(p);
		break;
	case 0x13: /* def_cfa_offset_sf */
		set_cfa(p, p->row->cfa_reg, sp_bytes_sleb(b) * p->cie->data_align);
		break;
	default:
		if (!run_rule(p, op))
			b->failed = true;
	}
}

/* Executes a program until it has passed @p->pc. */
static bool run(struct program *p, uint64_t from, uint64_t end, uint64_t data)
{
	sp_bytes_init(&p->b, p->b.mem, from, end);
	for (unsigned n = 0; p->b.at < p->b.end && !p->b.failed; n++) {
		uint8_t op = sp_bytes_u8(&p->b);
		uint8_t low = op & 0x3f;

		if (n == PROGRAM_MAX)
			return false;
		if (op >> 6 == 1)
			p->loc += low * p->cie->code_align;
		else if (op >> 6 == 2)
			set_rule(p, low, SP_CFI_OFFSET,
				(int64_t)sp_bytes_uleb(&p->b) * p->cie->data_align);
		else if (op >> 6 == 3)
			restore(p, low);
		else
			run_one(p, op, data);
		if (p->loc > p->pc)
			break;
	}
	return !p->b.failed;
}

static int make_row(struct program *p, const struct sp_bytes *fde, uint64_t data, uint64_t func)
{
	struct sp_cfi_row initial;

	p->loc = 0; /* the CIE's program has no location: nothing in it may stop early */
	if (!run(p, p->cie->program, p->cie->program_end, data))
		return -EBADMSG;
	initial = *p->row;
	p->initial = &initial;
	p->loc = func;
	if (!run(p, fde->at, fde->end, data))
		return -EBADMSG;
	return 0;
}

int sp_cfi_row_at(const struct sp_mem *mem, uint64_t fde, uint64_t hdr_base, uint64_t pc,
	struct sp_cfi_row *ret, uint64_t *ret_func)
{
	struct program p = {.b.mem = mem, .pc = pc, .row = ret};
	uint64_t id_at, id, func, len;
	struct sp_bytes b;
	struct cie cie;

	if (!record_open(&b, mem, fde))
		return -EBADMSG;
	id_at = b.at;
	id = sp_bytes_uint(&b, 4);
	if (b.failed || id == 0 || !cie_read(mem, id_at - id, hdr_base, &cie))
		return -EBADMSG;
	func = read_pointer(&b, cie.pointer_enc, hdr_base);
	len = read_value(&b, cie.pointer_enc & 0x0f);
	if (cie.augmented)
		sp_bytes_skip(&b, sp_bytes_uleb(&b));
	if (b.failed)
		return -EBADMSG;
	if (pc < func || pc - func >= len)
		return -ENOENT;
	memset(ret, 0, sizeof(*ret));
	ret->expr_base = fde;
	ret->signal = cie.signal;
	p.cie = &cie;
	if (ret_func)
		*ret_func = func;
	return make_row(&p, &b, hdr_base, func);
}

/* Reads .eh_frame_hdr's head: version, encodings, count; a sorted table of 32-bit pairs follows. */
static void open_header(const struct sp_mem *mem, struct sp_module *mod)
{
	struct sp_bytes b;
	uint8_t ptr_enc, count_enc, table_enc;

	mod->fde_state = 2;
	if (!mod->eh_frame_hdr)
		return;
	sp_bytes_init(&b, mem, mod->eh_frame_hdr, mod->eh_frame_hdr + mod->eh_frame_hdr_len);
	if (sp_bytes_u8(&b) != 1)
		return;
	ptr_enc = sp_bytes_u8(&b);
	count_enc = sp_bytes_u8(&b);
	table_enc = sp_bytes_u8(&b);
	mod->eh_frame = read_pointer(&b, ptr_enc, mod->eh_frame_hdr);
	mod->fde_count = read_pointer(&b, count_enc, mod->eh_frame_hdr);
	mod->fde_table = b.at;
	if (b.failed || table_enc != (PE_DATAREL | PE_S4) ||
		mod->fde_count > (mod->eh_frame_hdr_len - (b.at - mod->eh_frame_hdr)) / 8)
		return;
	mod->fde_state = 1;
}

int sp_cfi_find(const struct sp_mem *mem, const struct sp_module *mod, uint64_t pc,
	struct sp_cfi_row *ret, uint64_t *ret_func)
{
	uint64_t lo = 0, hi;
	int32_t pair[2];

	if (mod->fde_state == 0)
		open_header(mem, (struct sp_module *)mod); /* lazily filled in, see modules.h */
	if (mod->fde_state != 1)
		return -ENOENT;
	hi = mod->fde_count;
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (sp_mem_read(mem, mod->fde_table + mid * 8, pair, 4) < 0)
			return -EFAULT;
		if (mod->eh_frame_hdr + (uint64_t)(int64_t)pair[0] <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return -ENOENT;
	if (sp_mem_read(mem, mod->fde_table + (lo - 1) * 8, pair, 8) < 0)
		return -EFAULT;
	return sp_cfi_row_at(mem, mod->eh_frame_hdr + (uint64_t)(int64_t)pair[1], mod->eh_frame_hdr,
		pc, ret, ret_func);
}
