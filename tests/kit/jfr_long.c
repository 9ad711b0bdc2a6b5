/* Writes a recording as of an executor that was looked at for long: wall every 50 ms of so many
 * threads, a part of which run tasks and change their stacks, while the others stand.
 *   jfr-long FILE SECONDS THREADS WORKERS STACKS
 */
#include "jfr_script.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define LOOK_NS 50000000ull
#define TASK_NS 2000000000ull
#define DEPTH	60

static void tell(struct sp_jfrw *w, uint64_t now)
{
	static const char *const settings[][2] = {{"event", "wall"}, {"interval", "50000000"}};

	for (size_t i = 0; i < SP_COUNT(settings); i++)
		sp_jfrw_event(w, SP_JFR_ACTIVE_SETTING,
			(const union sp_jfr_val[]){{now}, {SP_JFR_WALL_SAMPLE},
				{.s = settings[i][0]}, {.s = settings[i][1]}});
	sp_jfrw_event(w, SP_JFR_APPLICATION,
		(const union sp_jfr_val[]){{now}, {.s = "application_1700000000000_0001"},
			{.s = "nightly"}, {.s = NULL}, {.s = "3"}, {.s = "host"}, {.s = NULL},
			{.s = NULL}, {.s = "4.3.0"}, {.s = "2.13"}, {4}});
}

static uint32_t name(struct sp_dict *d, unsigned thread)
{
	struct sp_thread t = {.tid = 1000 + thread, .java_id = 10 + thread};

	t.name_id = script_string(d, "thread-%u", thread);
	return sp_dict_thread(d, &t);
}

/* The next of a sequence in which small numbers are frequent, as hot stacks are. */
static unsigned pick(unsigned *seed, unsigned n)
{
	double x;

	*seed = *seed * 1664525u + 1013904223u;
	x = (double)(*seed >> 8) / (1u << 24);
	return (unsigned)(x * x * x * n);
}

static void second(struct sp_jfrw *w, struct sp_dict *d, uint64_t at, unsigned threads,
	unsigned workers, unsigned stacks)
{
	static unsigned seed = 1, task;

	for (unsigned t = 0; t < threads; t++) {
		uint64_t step = t < workers ? LOOK_NS : 1000000000;

		for (uint64_t ns = 0; ns < 1000000000; ns += step)
			sp_jfrw_wall(w, at + ns, name(d, t),
				script_stack(d, t < workers ? pick(&seed, stacks) : t, DEPTH),
				t < workers ? SP_STATE_RUNNING : SP_STATE_LOCK,
				(uint32_t)(step / LOOK_NS), step);
	}
	for (unsigned t = 0; t < workers && at / 1000000000 % 2; t++, task++)
		sp_jfrw_event(w, SP_JFR_TASK,
			(const union sp_jfr_val[]){{at - TASK_NS / 2}, {TASK_NS - 1}, {name(d, t)},
				{task / 200}, {0}, {task % 200}, {0}, {task}, {1}, {1}, {0}});
}

int main(int argc, char **argv)
{
	struct sp_jfrw_cfg cfg = {0};
	uint64_t start = sp_clock_mono_ns();
	struct sp_err err;
	struct sp_dict *d;
	struct sp_jfrw *w;
	int fd = argc == 6 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;

	if (fd < 0 || sp_dict_new(&d, 256 << 20) < 0 || sp_jfrw_new(&w, fd, d, &cfg, &err) < 0)
		return 2;
	tell(w, start);
	for (unsigned s = 0; s < (unsigned)atoi(argv[2]); s++) {
		second(w, d, start + s * 1000000000ull, (unsigned)atoi(argv[3]),
			(unsigned)atoi(argv[4]), (unsigned)atoi(argv[5]));
		if (sp_jfrw_flush(w) == 1) { /* a new chunk, with constants of its own */
			sp_dict_reset(d);
			tell(w, start);
		}
	}
	return sp_jfrw_close(w) < 0 ? 2 : 0;
}
