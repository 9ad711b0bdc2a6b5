/* The register set, in one place: what the CFI interpreter and the frame walkers need to know about
 * the machine. Another architecture gives its own numbers here and its own Java frame shapes. */
#ifndef SP_UNWIND_ARCH_H
#define SP_UNWIND_ARCH_H

#include "unwind/snapshot.h"

#ifdef __x86_64__
#define SP_ARCH_SP	SP_REG_RSP
#define SP_ARCH_FP	SP_REG_RBP
#define SP_ARCH_PC	SP_REG_PC    /* CFI's return address column */
#define SP_ARCH_REGS	SP_REG_COUNT /* columns that CFI may name */
#define SP_ARCH_WORD	8
#define SP_ARCH_MACHINE 62 /* EM_X86_64 */
/* Registers that a callee leaves as they were (psABI 3.2.1): their value is still known one frame
 * up where CFI has no rule. */
#define SP_ARCH_SAVED                                                                \
	(1u << SP_REG_RBX | 1u << SP_REG_RBP | 1u << SP_REG_R12 | 1u << SP_REG_R13 | \
		1u << SP_REG_R14 | 1u << SP_REG_R15)
#else
#error "this architecture has no register set yet"
#endif

#define SP_KNOWN(reg) (1u << (reg))

#endif
