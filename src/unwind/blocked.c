/* A thread that was read while it slept gave its stack pointer and pc only. Where a function's
 * frame hangs on an unknown register, its return address is found by who calls it: a stale return
 * address of another call on the stack must never be taken for it. */
#include "unwind/unwind_internal.h"

#define SCAN_WORDS 4096

/* The registers that @row restores from slots relative to @cfa. */
static void restore_from(
	struct sp_walk *w, const struct sp_cfi_row *row, uint64_t cfa, uint64_t ret)
{
	struct sp_cfi_regs next = {.known = SP_KNOWN(SP_ARCH_PC) | SP_KNOWN(SP_ARCH_SP)};

	for (unsigned reg = 0; reg < SP_ARCH_REGS; reg++) {
		if (!(SP_ARCH_SAVED & SP_KNOWN(reg)))
			continue;
		if (row->how[reg] == SP_CFI_OFFSET &&
			sp_walk_word(w, cfa + (uint64_t)(int64_t)row->val[reg], &next.r[reg]))
			next.known |= SP_KNOWN(reg);
		else if (row->how[reg] == SP_CFI_SAME && sp_walk_knows(w, reg)) {
			next.r[reg] = w->regs.r[reg];
			next.known |= SP_KNOWN(reg);
		}
	}
	next.r[SP_ARCH_PC] = ret;
	next.r[SP_ARCH_SP] = cfa;
	w->regs = next;
}

/* The stack bytes between rsp and the CFA, from the function's first instructions: pushes (their
 * number is in the row), then "sub rsp, imm". 0 if they cannot be read. */
static uint64_t frame_by_prologue(struct sp_walk *w, uint64_t func, uint64_t pc)
{
	uint64_t size = 8;
	uint8_t c[96];
	unsigned i = 0;

	if (sp_mem_read(w->u->mem, func, c, sizeof(c)) < 0)
		return 0;
	if (c[0] == 0xf3 && c[1] == 0x0f && c[2] == 0x1e && c[3] == 0xfa)
		i = 4;
	while (i + 8 < sizeof(c) && func + i < pc) {
		if (c[i] >= 0x50 && c[i] <= 0x57) {
			size += 8;
			i++;
		} else if (c[i] == 0x41 && c[i + 1] >= 0x50 && c[i + 1] <= 0x57) {
			size += 8;
			i += 2;
		} else if (c[i] == 0x48 && c[i + 1] == 0x83 && c[i + 2] == 0xec) {
			return size + c[i + 3];
		} else if (c[i] == 0x48 && c[i + 1] == 0x81 && c[i + 2] == 0xec) {
			return size + ((uint32_t)c[i + 3] | (uint32_t)c[i + 4] << 8 |
					      (uint32_t)c[i + 5] << 16 | (uint32_t)c[i + 6] << 24);
		} else if ((c[i] == 0x48 || c[i] == 0x49 || c[i] == 0x4c || c[i] == 0x4d) &&
			   (c[i + 1] == 0x89 || c[i + 1] == 0x8b) && c[i + 2] >= 0xc0) {
			i += 3; /* mov reg, reg */
		} else if ((c[i] == 0x89 || c[i] == 0x8b || c[i] == 0x31) && c[i + 1] >= 0xc0) {
			i += 2;
		} else if ((c[i] == 0x41 || c[i] == 0x44 || c[i] == 0x45) &&
			   (c[i + 1] == 0x89 || c[i + 1] == 0x8b || c[i + 1] == 0x31) &&
			   c[i + 2] >= 0xc0) {
			i += 3;
		} else {
			break;
		}
	}
	return 0;
}

static bool is_caller(struct sp_walk *w, uint64_t ret, uint64_t func, bool direct)
{
	uint64_t target;

	if (!sp_walk_in_java(w, ret) && !sp_modules_find(w->u->modules, ret))
		return false;
	if (!sp_call_site_before(w->u->mem, ret, &target))
		return false;
	return target ? sp_call_site_reaches(w->u->mem, target, func) : !direct;
}

bool sp_blocked_step(struct sp_walk *w, const struct sp_cfi_row *row, uint64_t func)
{
	uint64_t sp = w->regs.r[SP_ARCH_SP], ret, size;

	size = frame_by_prologue(w, func, w->regs.r[SP_ARCH_PC]);
	if (size && sp_walk_word(w, sp + size - 8, &ret) && is_caller(w, ret, func, false)) {
		restore_from(w, row, sp + size, ret);
		return true;
	}
	for (unsigned i = 0; i < SCAN_WORDS; i++) {
		if (!sp_walk_word(w, sp + 8ull * i, &ret))
			return false;
		if (is_caller(w, ret, func, true)) {
			restore_from(w, row, sp + 8ull * i + 8, ret);
			return true;
		}
	}
	return false;
}
