/* CPU time of Python's threads as samples: none is lost at a thread's end. */
#include "pysample/py_worker.h"

#include <criterion/criterion.h>

uint32_t sp_pyrecord_generation(const struct sp_pyrecord *r)
{
	return 0;
}

void sp_pyrecord_cpu(struct sp_pyrecord *r, uint64_t time_ns, uint32_t thread, uint32_t stack)
{
	cr_assert_eq(stack, 7);
}

Test(py_worker_cpu, what_one_look_does_not_write_is_written_at_the_end)
{
	struct sp_pyworker_thread t = {.last_ns = 1};
	struct sp_pysampling s = {.cpu_ns = 200000};

	sp_pyworker_cpu(&t, &s, 1, 25000 * s.cpu_ns + 1, 7, true);
	cr_assert_lt(s.samples, 25000);
	sp_pyworker_settle(&t, &s);
	cr_assert_eq(s.samples, 25000);
	cr_assert_eq(t.carry_ns, 1);
	sp_pyworker_settle(&t, &s);
	cr_assert_eq(s.samples, 25000);
}

Test(py_worker_cpu, memory_is_read_when_a_sample_may_be_due)
{
	struct sp_pyworker_thread t[2] = {{.carry_ns = 1000000}, {.carry_ns = 4000000}};
	struct sp_pyworker w = {.whole = true,
		.threads = t,
		.thread_count = 2,
		.clock_ns = 50000000,
		.now_clock_ns = 55999999,
		.looked_ns = 1000};
	struct sp_pysampling s = {.cpu_ns = 10000000};
	uint64_t now = 10001000;

	cr_assert_not(sp_pyworker_is_due(&w, &s, now));
	w.now_clock_ns++;
	cr_assert(sp_pyworker_is_due(&w, &s, now), "it may have used what the second one lacks");
	w.now_clock_ns--;
	t[0].carry_ns = s.cpu_ns;
	cr_assert(sp_pyworker_is_due(&w, &s, now), "held until it is found running");
	t[0].carry_ns = 0;
	cr_assert(sp_pyworker_is_due(&w, &s, now + 30000000), "a short task is seen");
	s.wall_ns = s.cpu_ns;
	cr_assert(sp_pyworker_is_due(&w, &s, now), "all time counts");
	s.wall_ns = 0;
	w.whole = false;
	cr_assert(sp_pyworker_is_due(&w, &s, now), "its task is not known");
	w.whole = true;
	w.now_clock_ns = 0;
	cr_assert(sp_pyworker_is_due(&w, &s, now), "it has ended");
	w.clock_ns = 0;
	cr_assert(sp_pyworker_is_due(&w, &s, now), "it was not read yet");
}
