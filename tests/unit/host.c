/* What the agent uses in place of the host's own: heap, sorting, directories, thread stacks. */
#include <criterion/criterion.h>

#include "host/bury.h"
#include "base/list_dir.h"
#include "host/own_heap.h"
#include "host/own_sort.h"
#include "host/own_thread.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 300, TURNS = 20000, THREADS = 4 };

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

struct block {
	unsigned char *p;
	size_t size;
	unsigned char fill;
};

static void check_and_free(struct block *b)
{
	for (size_t i = 0; i < b->size; i++)
		cr_assert_eq(b->p[i], b->fill, "byte %zu of %zu", i, b->size);
	sp_own_free(b->p);
	b->p = NULL;
}

static void get_or_change(struct block *b, uint64_t seed)
{
	size_t size = seed % 16 ? seed % 2000 : seed % 200000, kept = size;

	if (!b->p) {
		b->p = seed & 1 << 20 ? sp_own_malloc(size) : sp_own_calloc(1, size);
	} else {
		kept = b->size < size ? b->size : size;
		b->p = sp_own_realloc(b->p, size);
		for (size_t i = 0; i < kept; i++)
			cr_assert_eq(b->p[i], b->fill);
	}
	cr_assert(b->p && (uintptr_t)b->p % 16 == 0);
	b->fill = (unsigned char)seed;
	b->size = size;
	memset(b->p, b->fill, size);
}

static void *use_heap(void *arg)
{
	static _Thread_local struct block blocks[BLOCKS];
	uint64_t seed = (uint64_t)(uintptr_t)arg;

	for (int i = 0; i < TURNS; i++) {
		struct block *b = &blocks[next_random(&seed) % BLOCKS];

		if (b->p && next_random(&seed) % 2)
			check_and_free(b);
		else
			get_or_change(b, next_random(&seed));
	}
	for (int i = 0; i < BLOCKS; i++)
		if (blocks[i].p)
			check_and_free(&blocks[i]);
	return NULL;
}

Test(own_heap, blocks_of_several_threads_keep_their_bytes_and_all_goes_back)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, use_heap, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	cr_expect_eq(sp_own_heap_mapped(), 0);
}

Test(own_heap, fresh_memory_of_calloc_is_zero_where_it_was_used_before)
{
	void *keep = sp_own_malloc(1);
	unsigned char *p = sp_own_malloc(500);

	memset(p, 0xff, 500);
	sp_own_free(p);
	p = sp_own_calloc(5, 100);
	for (int i = 0; i < 500; i++)
		cr_assert_eq(p[i], 0);
	sp_own_free(p);
	cr_expect_gt(sp_own_heap_mapped(), 0);
	sp_own_free(keep);
	sp_own_free(NULL);
	cr_expect_eq(sp_own_heap_mapped(), 0);
}

Test(own_heap, sizes_that_overflow_are_refused)
{
	char *p = sp_own_strdup("kept");

	cr_expect_null(sp_own_malloc(SIZE_MAX));
	cr_expect_null(sp_own_malloc(SIZE_MAX - 4096));
	cr_expect_null(sp_own_calloc(SIZE_MAX / 2, 3));
	cr_expect_null(sp_own_realloc(p, SIZE_MAX - 1));
	cr_expect_str_eq(p, "kept");
	sp_own_free(p);
	p = sp_own_strndup("abcdef", 3);
	cr_expect_str_eq(p, "abc");
	sp_own_free(p);
	cr_expect_eq(sp_own_heap_mapped(), 0);
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int by_table(const void *a, const void *b, void *ctx)
{
	const uint32_t *values = ctx;

	return by_value(&values[*(const uint32_t *)a], &values[*(const uint32_t *)b]);
}

Test(own_sort, agrees_with_libc)
{
	uint32_t a[1000], b[1000], order[1000];
	uint64_t seed = 7;

	for (size_t n = 0; n <= 1000; n = n * 3 / 2 + 1) {
		for (size_t i = 0; i < n; i++) {
			a[i] = b[i] = (uint32_t)next_random(&seed) % 500;
			order[i] = (uint32_t)i;
		}
		sp_own_qsort_r(order, n, sizeof(*order), by_table, a);
		qsort(b, n, sizeof(*b), by_value);
		for (size_t i = 0; i < n; i++)
			cr_assert_eq(a[order[i]], b[i]);
		sp_own_qsort(a, n, sizeof(*a), by_value);
		cr_assert_arr_eq(a, b, n * sizeof(*a));
	}
}

static void count_name(void *ctx, const char *name)
{
	*(size_t *)ctx += strlen(name) * 31 + 1;
}

Test(list_dir, agrees_with_libc)
{
	size_t ours = 0, libc = 0;
	DIR *d = opendir("/usr/bin"); /* more than one buffer */

	for (struct dirent *e; (e = readdir(d));)
		count_name(&libc, e->d_name);
	closedir(d);
	cr_assert_eq(sp_list_dir("/usr/bin", count_name, &ours), 0);
	cr_expect_eq(ours, libc);
	cr_expect_eq(sp_list_dir("/proc/self/none", count_name, &ours), -ENOENT);
	cr_expect_eq(sp_list_dir("/dev/null", count_name, &ours), -ENOTDIR);
}

/* Guards of ours, by their size and protection. */
static int guards(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long lo, hi;
	char mode[8], line[512];
	int n = 0;

	while (fgets(line, sizeof(line), f))
		n += sscanf(line, "%lx-%lx %7s", &lo, &hi, mode) == 3 && hi - lo == 64 << 10 &&
		     strcmp(mode, "---p") == 0;
	fclose(f);
	return n;
}

static bool no_guard_soon(void)
{
	for (int i = 0; i < 1000 && guards(); i++)
		nanosleep(&(struct timespec){0, 10000000}, NULL);
	return guards() == 0;
}

static _Atomic int ran, may_leave;

/* On the stack that was mapped, with the name, and no signal but what its own instructions raise.
 */
static void *look_around(void *arg)
{
	pthread_attr_t attr;
	char name[16];
	sigset_t mask;
	size_t size;
	void *lo;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &lo, &size);
	pthread_attr_destroy(&attr);
	cr_expect_geq(size, *(size_t *)arg);
	cr_expect((char *)&name > (char *)lo && (char *)&name < (char *)lo + size);
	pthread_getname_np(pthread_self(), name, sizeof(name));
	cr_expect_str_eq(name, "fifteen-letters");
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	cr_expect(sigismember(&mask, SIGPROF) && sigismember(&mask, SIGTERM) &&
		  !sigismember(&mask, SIGSEGV));
	memset(__builtin_alloca(*(size_t *)arg / 2), 1, *(size_t *)arg / 2);
	atomic_fetch_add(&ran, 1);
	while (!atomic_load(&may_leave))
		usleep(100);
	return NULL;
}

Test(own_thread, stack_is_mapped_guarded_and_gone_after_join)
{
	size_t sizes[] = {SP_STACK_PLAIN, SP_STACK_JAVA};
	struct sp_own_thread *t[2];

	atomic_store(&may_leave, 0);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(sp_own_thread_start(&t[i], "fifteen-letters-too-long", sizes[i],
				     look_around, &sizes[i]),
			0);
	cr_expect_eq(guards(), 2);
	atomic_store(&may_leave, 1);
	for (int i = 0; i < 2; i++)
		sp_own_thread_join(t[i]);
	cr_expect_eq(guards(), 0);
	cr_expect_eq(atomic_load(&ran), 2);
}

static void *count_me(void *arg)
{
	atomic_fetch_add(&ran, 1);
	return NULL;
}

static void *start_many(void *arg)
{
	for (int i = 0; i < 200; i++)
		cr_assert_eq(sp_own_thread_start_alone("alone", SP_STACK_PLAIN, count_me, NULL), 0);
	return NULL;
}

Test(own_thread, stacks_of_threads_that_nobody_joins_go_too)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, start_many, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	cr_expect(no_guard_soon(), "%d stacks are left", guards());
	cr_expect_eq(atomic_load(&ran), THREADS * 200);
}

static bool refuse;

int __real_sp_bury_after_me(struct sp_grave *g);
int __wrap_sp_bury_after_me(struct sp_grave *g);
int __wrap_sp_bury_after_me(struct sp_grave *g)
{
	if (!refuse)
		return __real_sp_bury_after_me(g);
	atomic_store(&g->tid, (int)syscall(SYS_gettid));
	syscall(SYS_set_tid_address, &g->tid);
	return -EAGAIN;
}

Test(own_thread, where_no_helper_can_be_started_the_next_start_unmaps)
{
	struct sp_own_thread *t;

	refuse = true;
	cr_assert_eq(sp_own_thread_start_alone("alone", SP_STACK_PLAIN, count_me, NULL), 0);
	while (atomic_load(&ran) == 0)
		usleep(100);
	usleep(100000);
	cr_expect_eq(guards(), 1);
	refuse = false;
	for (int i = 0; i < 100 && guards(); i++) {
		cr_assert_eq(sp_own_thread_start(&t, "next", SP_STACK_PLAIN, count_me, NULL), 0);
		sp_own_thread_join(t);
	}
	cr_expect_eq(guards(), 0);
}
