/* --thread and --filter may match nothing: better said than an empty report.
 * Context: the collector only. */
#ifndef SP_AGENT_COLLECT_THREAD_FILTER_CHECK_H
#define SP_AGENT_COLLECT_THREAD_FILTER_CHECK_H

#include "capture/engine.h"

struct sp_thread_filter_check {
	bool seen; /* a thread that is wanted */
};

/* Looks, until one was seen; cheap where all threads are wanted. */
void sp_thread_filter_check_look(struct sp_thread_filter_check *s, struct sp_capture *c);

/* At the end: looks once more, and says a sentence if there never was one. */
void sp_thread_filter_check_say(struct sp_thread_filter_check *s, struct sp_capture *c);

#endif
