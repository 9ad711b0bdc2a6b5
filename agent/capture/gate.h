/* --begin, --end and --ttsp: samples only while the gate is open, which the handler looks at at
 * each signal. Of --ttsp HotSpot's own state is the gate (SafepointSynchronize::_state of libjvm's
 * symbol table), so neither a breakpoint nor a permission is needed. Of --begin and --end each
 * thread has two breakpoints, whose signals open and shut it. Context: any agent thread. */
#ifndef SP_AGENT_CAPTURE_GATE_H
#define SP_AGENT_CAPTURE_GATE_H

#include "engine.h"

/* Before the handler is armed. Returns 0, or -errno with a sentence. */
int sp_gate_set(struct sp_capture *c, struct sp_err *err);
void sp_gate_unset(void);

/* As of struct sp_thread_hooks, where samples are by the timers of threads. */
void sp_gate_added(struct sp_tinfo *t);
void sp_gate_gone(struct sp_tinfo *t);

/* After the engine has stopped: the thread and the begin of the time that nothing has ended, or
 * false. Once. */
bool sp_gate_still_open(const struct sp_capture *c, uint32_t *ret_tid, uint64_t *ret_since_ns);

/* Says how often it was open since it was set, and for how long, where that is counted. */
void sp_gate_say(struct sp_capture *c);

#endif
