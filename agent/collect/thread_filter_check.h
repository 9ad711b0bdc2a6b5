/* --thread and --filter may match nothing: better said than an empty report.
 * Context: the collector only. */
#ifndef SP_AGENT_SOMEBODY_H
#define SP_AGENT_SOMEBODY_H

#include "engine.h"

struct sp_somebody {
	bool seen; /* a thread that is wanted */
};

/* Looks, until one was seen; cheap where all threads are wanted. */
void sp_somebody_look(struct sp_somebody *s, struct sp_capture *c);

/* At the end: looks once more, and says a sentence if there never was one. */
void sp_somebody_say(struct sp_somebody *s, struct sp_capture *c);

#endif
