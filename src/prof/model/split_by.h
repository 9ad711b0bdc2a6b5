/* By what stacks are split (--by). */
#ifndef SP_PROF_MODEL_SPLIT_BY_H
#define SP_PROF_MODEL_SPLIT_BY_H

/* What --by puts below each stack. Thread, class, area, state and wait are the view's (view.h). */
enum sp_by {
	SP_BY_NOTHING,
	SP_BY_THREAD,
	SP_BY_CLASS,
	SP_BY_EXECUTOR,
	SP_BY_STAGE,
	SP_BY_TASK,
	SP_BY_AREA,
	SP_BY_APP,
	SP_BY_SQL,
	SP_BY_STATE,
	SP_BY_WAIT,
	SP_BY_OPERATOR,
};

#endif
