/* CPU time of Python's threads as samples: see py_worker.h. */
#include "pysample/py_worker.h"

enum {
	BURST = 10000,		  /* most samples that one look writes; others wait for the next */
	HELD_MAX_NS = 1000000000, /* CPU time without a stack so far */
	LOOK_MAX_NS = 40000000,	  /* between looks at a process that runs */
};

bool sp_pyworker_is_due(const struct sp_pyworker *w, const struct sp_pysampling *s, uint64_t now_ns)
{
	uint64_t used = w->now_clock_ns - w->clock_ns, most = 0;

	if (s->wall_ns || !w->whole || !w->clock_ns || w->now_clock_ns < w->clock_ns ||
		now_ns >= w->looked_ns + LOOK_MAX_NS)
		return true;
	for (size_t i = 0; i < w->thread_count; i++)
		most = w->threads[i].carry_ns > most ? w->threads[i].carry_ns : most;
	return most + used >= s->cpu_ns;
}

static void write_cpu(
	struct sp_pyworker_thread *t, struct sp_pysampling *s, uint64_t now_ns, uint32_t stack)
{
	for (int i = 0; t->carry_ns >= s->cpu_ns && i < BURST; i++) {
		t->carry_ns -= s->cpu_ns;
		sp_pyrecord_cpu(s->record, now_ns, t->thread, stack);
		s->samples++;
	}
	t->held_ns = t->carry_ns >= s->cpu_ns ? now_ns : 0;
}

/* A thread that is found waiting did not use its CPU time there: that is kept until it is found
 * running. Where that does not come about in time, it was where it was last found running. */
void sp_pyworker_cpu(struct sp_pyworker_thread *t, struct sp_pysampling *s, uint64_t now_ns,
	uint64_t used_ns, uint32_t stack, bool runs)
{
	t->carry_ns += used_ns;
	if (runs)
		t->busy = stack;
	else if (t->carry_ns < s->cpu_ns)
		return;
	else if (!t->held_ns)
		t->held_ns = now_ns;
	if (runs || now_ns - t->held_ns >= HELD_MAX_NS)
		write_cpu(t, s, now_ns, t->busy ? t->busy : stack);
}

void sp_pyworker_settle(struct sp_pyworker_thread *t, struct sp_pysampling *s)
{
	uint32_t stack = t->busy ? t->busy : t->stack;

	if (stack && t->generation == sp_pyrecord_generation(s->record))
		while (t->held_ns)
			write_cpu(t, s, t->last_ns, stack);
}
