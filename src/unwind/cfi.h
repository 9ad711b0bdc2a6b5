/* DWARF call frame information in .eh_frame (LSB Core 10.6, DWARF 5 section 6.4): from a pc to the
 * rules that restore the caller's registers, and from rules to registers. Tables are foreign input:
 * every length is checked and every loop bounded. */
#ifndef SP_UNWIND_CFI_H
#define SP_UNWIND_CFI_H

#include "unwind/arch.h"
#include "unwind/mem.h"
#include "unwind/modules.h"

enum sp_cfi_how {
	SP_CFI_SAME,	   /* no rule: as in the callee */
	SP_CFI_UNDEFINED,  /* not recoverable; for the return address: no caller */
	SP_CFI_OFFSET,	   /* saved at CFA + val */
	SP_CFI_VAL_OFFSET, /* is CFA + val */
	SP_CFI_REGISTER,   /* is register val */
	SP_CFI_EXPR,	   /* saved at the address that the expression gives */
	SP_CFI_VAL_EXPR,   /* is what the expression gives */
};

struct sp_cfi_row {
	uint64_t expr_base; /* expressions lie at expr_base + val: ULEB length, then operations */
	int32_t cfa_val;    /* offset, or expression */
	uint8_t cfa_reg;
	uint8_t cfa_expr; /* CFA is an expression */
	uint8_t signal;	  /* a signal frame: the caller's pc is exact */
	uint8_t how[SP_ARCH_REGS];
	int32_t val[SP_ARCH_REGS];
};

/* Finds the row for @pc in @mod. Returns 0; -ENOENT where no function covers it; -EBADMSG for a
 * malformed table; -EFAULT where it could not be read. @ret_func (may be NULL): function's start.
 */
__attribute__((warn_unused_result)) int sp_cfi_find(const struct sp_mem *mem,
	const struct sp_module *mod, uint64_t pc, struct sp_cfi_row *ret, uint64_t *ret_func);

/* Decodes one FDE at @fde; for sp_cfi_find and tests. @hdr_base: what data-relative pointers are
 * relative to. Returns as above. */
int sp_cfi_row_at(const struct sp_mem *mem, uint64_t fde, uint64_t hdr_base, uint64_t pc,
	struct sp_cfi_row *ret, uint64_t *ret_func);

/* Where a step reads saved registers. Returns 0, -EFAULT, or -ENODATA where the snapshot was cut.
 */
typedef int sp_cfi_load_fn(void *ctx, uint64_t addr, uint64_t *ret);

struct sp_cfi_regs {
	uint64_t r[SP_ARCH_REGS];
	uint32_t known;
};

/* Applies @row: @regs become the caller's. Returns 0; 1 where there is no caller (thread entry);
 * -ENXIO where a needed register is unknown; -ENODATA where the stack was cut; -EFAULT; -EBADMSG.
 */
int sp_cfi_step(const struct sp_mem *mem, const struct sp_cfi_row *row, sp_cfi_load_fn *load,
	void *ctx, struct sp_cfi_regs *regs);

/* Evaluates an expression; for sp_cfi_step and tests. */
int sp_cfi_expr(const struct sp_mem *mem, uint64_t addr, const struct sp_cfi_regs *regs,
	sp_cfi_load_fn *load, void *ctx, bool push_cfa, uint64_t cfa, uint64_t *ret);

#endif
