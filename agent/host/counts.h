/* Samples recorded and lost, as every room counts them and every report prints them. */
#ifndef SP_AGENT_HOST_COUNTS_H
#define SP_AGENT_HOST_COUNTS_H

#include <stdint.h>

/* Why a sample that was due is not in the recording. */
enum sp_loss {
	SP_LOSS_RING,	/* the handler's ring was full */
	SP_LOSS_NESTED, /* a signal came while the last one was handled */
	SP_LOSS_KERNEL, /* perf events: the kernel's ring was full, or the thread not known */
	SP_LOSS_MEMORY, /* --memory: no place for its stack or thread */
	SP_LOSS_DISK,	/* maxdisk: the file that held it was removed */
	SP_LOSS_PYTHON, /* a stack of Python changed while it was read */
	SP_LOSSES
};

/* What has happened so far; every report prints it. */
struct sp_counts {
	uint64_t samples; /* recorded */
	uint64_t lost;	  /* taken but not recorded: the sum of lost_by */
	uint64_t lost_by[SP_LOSSES];
	uint64_t truncated; /* recorded with frames missing below */
	uint64_t too_deep;  /* of them, those deeper than asked for; the rest ended early */
	uint64_t unknown;   /* recorded with an unknown or broken frame */
	uint64_t bytes;	    /* written to the recording */
};

#endif
