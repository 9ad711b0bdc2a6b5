/* How soon a thread of ours gets a CPU. */
#ifndef SP_AGENT_SLICE_H
#define SP_AGENT_SLICE_H

/* On busy cores a thread that looks once in a while comes late: rings overflow, and wall sees fewer
 * threads run than do. With a short slice it comes sooner (Linux 6.12; older kernels ignore it).
 * For the calling thread. */
void sp_slice_short(void);

#endif
