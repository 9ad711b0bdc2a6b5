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
