/* What reading a recording and writing its reports takes, in numbers that are the same each time:
 * allocations and bytes read. Many samples of the same stacks must not take more of either than
 * few; bounds are far above what it takes and far below what one of each sample would. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "jfr/writer.h"
#include "out/out.h"
#include "prof/load/load.h"

enum { FEW = 2000, MANY = 60000, STACKS = 40, THREADS = 4 };

static struct {
	uint64_t allocations, bytes;
} spent;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
ssize_t __real_pread64(int fd, void *to, size_t n, off_t at);

void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n)
{
	__atomic_add_fetch(&spent.allocations, 1, __ATOMIC_RELAXED);
	return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	__atomic_add_fetch(&spent.allocations, 1, __ATOMIC_RELAXED);
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
	__atomic_add_fetch(&spent.allocations, 1, __ATOMIC_RELAXED);
	return __real_realloc(p, n);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	__atomic_add_fetch(&spent.allocations, 1, __ATOMIC_RELAXED);
	return __real_reallocarray(p, n, size);
}

ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t at);
ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t at)
{
	ssize_t got = __real_pread64(fd, to, n, at);

	__atomic_add_fetch(&spent.bytes, got > 0 ? (uint64_t)got : 0, __ATOMIC_RELAXED);
	return got;
}

static uint32_t string(struct sp_dict *d, const char *format, unsigned n)
{
	char text[64];

	return sp_dict_string(d, text, (size_t)snprintf(text, sizeof(text), format, n));
}

static uint32_t stack(struct sp_dict *d, unsigned n)
{
	struct sp_frame_ref frames[10];

	for (unsigned i = 0; i < SP_COUNT(frames); i++) {
		struct sp_method m = {.class_id = string(d, "org/example/C%u", i),
			.name_id = string(d, "method%u", i ? i : n),
			.sig_id = string(d, "()V", 0),
			.modifiers = 1};

		frames[i] = (struct sp_frame_ref){sp_dict_method(d, &m), 1, 1, SP_FRAME_C2};
	}
	return sp_dict_stack(d, frames, SP_COUNT(frames), 0);
}

/* A recording of so many samples, ten seconds of cpu and of wall; in memory. */
static int recording(unsigned samples)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);
	struct sp_dict *d;
	struct sp_jfrw *w;

	cr_assert(fd >= 0 && sp_dict_new(&d, 16u << 20) == 0);
	cr_assert_eq(sp_jfrw_new(&w, fd, d, &(struct sp_jfrw_cfg){0}, NULL), 0);
	for (unsigned i = 0; i < samples; i++) {
		struct sp_thread t = {
			.tid = 100 + i % THREADS, .name_id = string(d, "thread-%u", i % THREADS)};
		uint32_t thread = sp_dict_thread(d, &t), s = stack(d, i % STACKS);
		uint64_t at = 1000000 + 10000000000ull / samples * i;

		if (i % 2)
			sp_jfrw_sample(w, at, thread, s, SP_STATE_UNKNOWN);
		else
			sp_jfrw_wall(w, at, thread, s, SP_STATE_SLEEP, 1, 1000);
		if (i % 512 == 511)
			cr_assert_geq(sp_jfrw_flush(w), 0);
	}
	cr_assert_eq(sp_jfrw_close(w), 0);
	sp_dict_free(d);
	return fd;
}

static struct sp_profile *load(int fd, unsigned samples)
{
	struct sp_load_opts opts = {.timeless = true};
	struct sp_profile *p;
	struct sp_err err;

	cr_assert_eq(sp_load_with(fd, &opts, NULL, &p, &err), 0, "%s", err.text);
	cr_assert_eq(p->count, samples);
	return p;
}

static void write_report(const char *format, struct sp_profile *p)
{
	struct sp_sink s;

	sp_sink_init(&s, -1);
	cr_assert_eq(sp_out_by_name(format)->write(p, &(struct sp_out_opts){0}, &s), 0);
	cr_assert_eq(sp_sink_done(&s), 0);
}

static uint64_t size_of(int fd)
{
	struct stat st;

	cr_assert_eq(fstat(fd, &st), 0);
	return (uint64_t)st.st_size;
}

/* At most so many allocations: some two and a half times of what there are. */
static const struct {
	const char *format; /* NULL: of the loading */
	uint64_t most;
} bounds[] = {{NULL, 100}, {"html", 400}, {"collapsed", 80}, {"text", 700}, {"pprof", 500}};

/* What each step takes for that many samples. */
static void count_allocations(unsigned samples, uint64_t *ret)
{
	int fd = recording(samples);
	struct sp_profile *p = NULL;

	for (size_t i = 0; i < SP_COUNT(bounds); i++) {
		spent.allocations = 0;
		if (bounds[i].format)
			write_report(bounds[i].format, p);
		else
			p = load(fd, samples);
		ret[i] = spent.allocations;
	}
	sp_profile_free(p);
	close(fd);
}

Test(report_cost, no_allocation_for_a_sample)
{
	uint64_t few[SP_COUNT(bounds)], many[SP_COUNT(bounds)];

	count_allocations(FEW, few);
	count_allocations(MANY, many);
	for (size_t i = 0; i < SP_COUNT(bounds); i++) {
		const char *what = bounds[i].format ? bounds[i].format : "loading";

		cr_expect_gt(few[i], 5, "%s: it is not counted", what);
		cr_expect_leq(many[i], bounds[i].most, "%s: %llu allocations", what,
			(unsigned long long)many[i]);
		cr_expect_leq(many[i], few[i] + 20, "%s: %llu allocations, %llu for few samples",
			what, (unsigned long long)many[i], (unsigned long long)few[i]);
	}
}

/* Smaller than what is mapped. */
Test(report_cost, a_recording_is_read_once)
{
	int fd = recording(MANY);
	uint64_t size = size_of(fd);

	cr_assert_lt(size, 1u << 20);
	spent.bytes = 0;
	sp_profile_free(load(fd, MANY));
	cr_expect_geq(spent.bytes, size, "it is not counted");
	cr_expect_leq(spent.bytes, size + size / 4, "%llu of %llu bytes",
		(unsigned long long)spent.bytes, (unsigned long long)size);
	close(fd);
}
