/* Writes a recording as of an executor that was looked at for long: wall every 50 ms of so many
 * threads, a part of which run tasks and change their stacks, while the others wait.
 *   jfr-long FILE SECONDS THREADS WORKERS STACKS [EXECUTORS [unlike]]
 * With EXECUTORS, FILE is a directory and gets so many recordings of one application: other tasks
 * of the same stages, and the same stacks at other moments. If they are to be unlike each other,
 * they also have other threads, every seventh of their stacks is none of the executor's before
 * them, they ran for up to a fifth longer or shorter, and have chunks of 2 MB. A FILE that
 * ends in driver.jfr is of the driver. */
#include "jfr_script.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define LOOK_NS 50000000ull
#define TASK_NS 2000000000ull
#define DEPTH	60
#define CHUNK	(2u << 20)

struct shape {
	unsigned seconds, threads, workers, stacks, executor;
	unsigned first_tid, first_stack;
	bool driver;
	uint64_t start;
	uint32_t *ids; /* of stacks that are in the dictionary */
	unsigned seed, task;
};

static void tell(struct sp_jfrw *w, const struct shape *s)
{
	static const char *const settings[][2] = {{"event", "wall"}, {"interval", "50000000"}};

	uint64_t now = s->start;
	char id[16];

	snprintf(id, sizeof(id), s->driver ? "driver" : "%u", s->executor);
	for (size_t i = 0; i < SP_COUNT(settings); i++)
		sp_jfrw_event(w, SP_JFR_ACTIVE_SETTING,
			(const union sp_jfr_val[]){{now}, {SP_JFR_WALL_SAMPLE},
				{.s = settings[i][0]}, {.s = settings[i][1]}});
	sp_jfrw_event(w, SP_JFR_APPLICATION,
		(const union sp_jfr_val[]){{now}, {.s = "application_1700000000000_0001"},
			{.s = "nightly"}, {.s = NULL}, {.s = id}, {.s = "host"}, {.s = NULL},
			{.s = NULL}, {.s = "4.3.0"}, {.s = "2.13"}, {4}});
}

static uint32_t name(struct sp_dict *d, const struct shape *s, unsigned thread)
{
	struct sp_thread t = {.tid = s->first_tid + thread, .java_id = 10 + thread};

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

static uint32_t stack(struct shape *s, struct sp_dict *d, unsigned n)
{
	if (!s->ids[n])
		s->ids[n] = script_stack(d, s->first_stack + n, DEPTH);
	return s->ids[n];
}

static void second(struct sp_jfrw *w, struct sp_dict *d, uint64_t at, struct shape *s)
{
	for (unsigned t = 0; t < s->threads; t++) {
		bool works = t < s->workers;
		uint64_t step = works ? LOOK_NS : 1000000000;
		uint32_t thread = name(d, s, t);

		for (uint64_t ns = 0; ns < 1000000000; ns += step)
			sp_jfrw_wall(w, at + ns, thread,
				stack(s, d, works ? pick(&s->seed, s->stacks) : t),
				works ? SP_STATE_RUNNING : SP_STATE_LOCK,
				(uint32_t)(step / LOOK_NS), step);
	}
	for (unsigned t = 0; t < s->workers && (at - s->start) / 1000000000 % 2; t++, s->task++)
		sp_jfrw_event(w, SP_JFR_TASK,
			(const union sp_jfr_val[]){{at - TASK_NS / 2}, {TASK_NS - 1},
				{name(d, s, t)}, {s->task / 200}, {0},
				{s->task % 200 + s->executor * 200}, {0},
				{s->task + s->executor * 1000000}, {1}, {1}, {0}, {0}});
}

static int write_one(const char *path, struct shape s, struct sp_jfrw_cfg cfg)
{
	struct sp_err err;
	struct sp_dict *d;
	struct sp_jfrw *w;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	size_t size = ((size_t)s.stacks + s.threads) * sizeof(*s.ids);

	s.ids = calloc(1, size);
	s.seed = 1 + s.executor * 7919;
	s.driver = strstr(path, "driver.jfr") != NULL;
	if (fd < 0 || !s.ids || sp_dict_new(&d, 256 << 20) < 0 ||
		sp_jfrw_new(&w, fd, d, &cfg, &err) < 0)
		return 2;
	tell(w, &s);
	for (unsigned i = 0; i < s.seconds; i++) {
		second(w, d, s.start + i * 1000000000ull, &s);
		if (sp_jfrw_flush(w) == 1) { /* a new chunk, with constants of its own */
			sp_dict_reset(d);
			memset(s.ids, 0, size);
			tell(w, &s);
		}
	}
	free(s.ids);
	if (sp_jfrw_close(w) < 0)
		return 2;
	sp_dict_free(d);
	return close(fd) < 0 ? 2 : 0;
}

static struct shape unlike(struct shape s)
{
	s.first_tid += s.executor * 1000;
	s.first_stack = s.executor % 50 * s.stacks / 7;
	s.seconds += s.seconds * (s.executor % 9) / 20 - s.seconds / 5;
	return s;
}

int main(int argc, char **argv)
{
	struct shape s = {.start = sp_clock_mono_ns(), .executor = 3, .first_tid = 1000};
	struct sp_jfrw_cfg cfg = {0};
	unsigned *numbers[] = {&s.seconds, &s.threads, &s.workers, &s.stacks};
	int r = 0;

	if (argc < 6)
		return 2;
	for (size_t i = 0; i < SP_COUNT(numbers); i++)
		*numbers[i] = (unsigned)atoi(argv[i + 2]);
	if (argc > 7)
		cfg.chunk_size = CHUNK;
	if (argc == 6)
		return write_one(argv[1], s, cfg);
	for (s.executor = 0; s.executor < (unsigned)atoi(argv[6]) && r == 0; s.executor++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/profile-nightly-exec-%u.jfr", argv[1], s.executor);
		r = write_one(path, argc > 7 ? unlike(s) : s, cfg);
	}
	return r;
}
