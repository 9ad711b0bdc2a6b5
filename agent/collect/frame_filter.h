/* Leaves native frames out, as --cstack says. Pure functions. */
#ifndef SP_AGENT_COLLECT_FRAME_FILTER_H
#define SP_AGENT_COLLECT_FRAME_FILTER_H

#include "unwind/unwind.h"

enum sp_cstack {
	SP_CSTACK_ALL, /* vmx, and without the option */
	SP_CSTACK_TOP, /* vm, fp, dwarf, lbr: only those above the first Java frame */
	SP_CSTACK_NO,  /* none, and none of the kernel */
};

/* @word: of the option. */
enum sp_cstack sp_frame_filter_kind(const char *word);

/* Takes native frames out of @frames, leaf first, but not what is unknown. A stack without a Java
 * frame stays as it is; with SP_CSTACK_NO a mark takes its place. Returns how many are left. */
uint32_t sp_frame_filter(enum sp_cstack kind, struct sp_frame *frames, uint32_t count);

#endif
