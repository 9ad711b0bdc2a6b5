/* Wall time of Python's threads: see py_worker.h. */
#include "pysample/py_worker.h"

enum { OWED_MAX_NS = 1000000000 };

void sp_pyworker_wall(struct sp_pyworker_thread *t, struct sp_pysampling *s)
{
	if (t->samples)
		sp_pyrecord_wall(s->record, t->since_ns, t->thread, t->stack, t->state, t->samples,
			t->span_ns);
	t->samples = 0;
}

/* Who wants a core looks the same with and without one; how long it had none the kernel says once
 * it has one. Looks that find it running become waits until that is paid: right on the whole. */
static enum sp_state with_core(struct sp_pyworker_thread *t, uint64_t span_ns)
{
	int64_t span = (int64_t)span_ns;

	if (t->at.state != SP_STATE_RUNNING || t->wait_owed_ns < span / 2 + 1)
		return t->at.state;
	t->wait_owed_ns -= span;
	return SP_STATE_RUNNABLE;
}

/* Of one that has not run nobody asks whether it was woken meanwhile: what it waited for a core
 * before this look's own span was taken for more of what it had waited for. Returns how much of it
 * is put right. */
static uint64_t was_woken(struct sp_pyworker_thread *t, struct sp_pysampling *s, uint64_t waited_ns)
{
	uint64_t n;

	if (!t->samples || t->state == SP_STATE_RUNNING || t->state == SP_STATE_RUNNABLE)
		return 0;
	if (waited_ns > t->span_ns)
		waited_ns = t->span_ns;
	n = waited_ns * t->samples / (t->span_ns ? t->span_ns : 1);
	if (!n)
		return 0;
	t->samples -= (uint32_t)n;
	t->span_ns -= waited_ns;
	sp_pyrecord_wall(s->record, t->since_ns + t->span_ns, t->thread, t->stack,
		SP_STATE_RUNNABLE, (uint32_t)n, waited_ns);
	return waited_ns;
}

void sp_pyworker_owe_wait(struct sp_pyworker_thread *t, struct sp_pysampling *s, uint64_t now_ns)
{
	uint64_t waited = t->last_ns ? t->at.delay_ns - t->delay_ns : 0;
	uint64_t span = now_ns - t->last_ns;

	if (s->wall_ns && waited > span)
		waited -= was_woken(t, s, waited - span);
	t->wait_owed_ns += (int64_t)waited;
	if (t->wait_owed_ns > OWED_MAX_NS)
		t->wait_owed_ns = OWED_MAX_NS;
	t->delay_ns = t->at.delay_ns;
}

void sp_pyworker_add_wall(
	struct sp_pyworker_thread *t, struct sp_pysampling *s, uint64_t now_ns, uint32_t stack)
{
	uint64_t span = t->last_ns ? now_ns - t->last_ns : s->wall_ns;
	enum sp_state state = with_core(t, span);

	if (t->samples && (stack != t->stack || state != t->state))
		sp_pyworker_wall(t, s);
	if (!t->samples) {
		t->since_ns = now_ns - span;
		t->span_ns = 0;
		t->state = state;
	}
	t->stack = stack;
	t->samples++;
	t->span_ns += span;
	s->samples++;
}
