/* What a capture leaves behind: registers and raw stack bytes of one thread at one moment. Every
 * capture (perf ring, signal copy, blocked read) makes the same record, and the unwinder reads
 * nothing else of the thread: so a snapshot can be written to a file and unwound again in a test.
 */
#ifndef SP_UNWIND_SNAPSHOT_H
#define SP_UNWIND_SNAPSHOT_H

#include <stdint.h>

/* DWARF numbering of x86-64 (System V psABI, figure 3.36), which CFI uses. */
enum sp_reg {
	SP_REG_RAX,
	SP_REG_RDX,
	SP_REG_RCX,
	SP_REG_RBX,
	SP_REG_RSI,
	SP_REG_RDI,
	SP_REG_RBP,
	SP_REG_RSP,
	SP_REG_R8,
	SP_REG_R9,
	SP_REG_R10,
	SP_REG_R11,
	SP_REG_R12,
	SP_REG_R13,
	SP_REG_R14,
	SP_REG_R15,
	SP_REG_PC,
	SP_REG_COUNT
};

#define SP_REG_ALL ((1u << SP_REG_COUNT) - 1)

/* HotSpot's JavaFrameAnchor of the thread, all zero where unknown or not a Java thread. */
struct sp_anchor {
	uint64_t last_java_sp, last_java_fp, last_java_pc;
};

struct sp_snapshot {
	uint32_t tid;
	uint32_t known;	  /* bit per register: a thread read while blocked gives rsp and pc only */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t regs[SP_REG_COUNT];
	struct sp_anchor anchor;
	uint64_t stack_addr; /* address of stack[0]: at or up to 128 bytes below rsp */
	uint64_t stack_end;  /* end of the thread's stack: beyond stack_addr + stack_len if cut */
	uint32_t stack_len;
	const uint8_t *stack; /* borrowed */
};

#endif
