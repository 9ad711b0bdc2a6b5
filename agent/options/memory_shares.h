/* Who may take which part of --memory: --memory / SP_SHARE_X bytes. Each of them keeps to its own
 * part; nobody watches the sum. */
#ifndef SP_AGENT_OPTIONS_MEMORY_SHARES_H
#define SP_AGENT_OPTIONS_MEMORY_SHARES_H

enum sp_memory_share {
	/* Always; together --memory. */
	SP_SHARE_RINGS = 3,   /* perf rings, or the byte ring; half each where there are both */
	SP_SHARE_DICT = 4,    /* strings, methods, stacks and threads by number */
	SP_SHARE_STACKS = 4,  /* what is known of code, to unwind it and to name it */
	SP_SHARE_EVENTS = 8,  /* events until they are written */
	SP_SHARE_CHAINS = 24, /* perf with signals: pages with kernel frames */
	/* Beyond it. */
	SP_SHARE_DEEP = 6,	   /* perf rings: the byte ring, once a thread has deep stacks */
	SP_SHARE_LIVE = 8,	   /* --live: the stacks of live objects */
	SP_SHARE_KERNEL_NAMES = 3, /* where no launcher stays and the kernel is sampled: at most */
	SP_SHARE_PYTHON_CODE = 4,  /* with Python workers: what is known of code */
	SP_SHARE_PYTHON_PROCESSES = 8,
};

#endif
