/* Native methods of tests/jvm/targets/Mallocs.java: known amounts of native memory by known
 * callers. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *volatile sink;

/* Returns the bytes that were not freed again: one block in @every is kept, 0: none. */
__attribute__((noinline)) long allocate_some(long count, long size, long every)
{
	long kept = 0;

	for (long i = 0; i < count; i++) {
		void *p = malloc((size_t)size);

		sink = p;
		if (every && i % every == 0)
			kept += size;
		else
			free(p);
	}
	return kept;
}

/* One block by each of the other functions, freed again by realloc and free. */
__attribute__((noinline)) void allocate_each(long size)
{
	void *p = calloc(2, (size_t)size), *q = NULL;

	p = realloc(p, 3 * (size_t)size);
	sink = p;
	free(p);
	if (posix_memalign(&q, 64, (size_t)size) == 0)
		free(q);
	q = aligned_alloc(64, (size_t)size);
	sink = q;
	free(q);
}

/* Blocks and mappings that stay: none of what would free them succeeds. */
__attribute__((noinline)) void allocate_refused(long count, long size)
{
	volatile size_t too_much = SIZE_MAX / 2, nothing = 0;

	for (long i = 0; i < count; i++) {
		void *p = malloc((size_t)size), *q = realloc(p, too_much);
		void *m = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		sink = q ? q : p;
		munmap(m, nothing);
	}
}

void Java_Mallocs_refused(void *env, void *cls, long count, long size)
{
	allocate_refused(count, size);
}

static void *others[1000];

/* Blocks that another thread frees. */
__attribute__((noinline)) void allocate_for_others(long count, long size)
{
	for (long i = 0; i < count; i++)
		others[i] = malloc((size_t)size);
	sink = others[0];
}

void Java_Mallocs_others(void *env, void *cls, long count, long size)
{
	allocate_for_others(count, size);
}

void Java_Mallocs_freeThose(void *env, void *cls, long count)
{
	for (long i = 0; i < count; i++)
		free(others[i]);
}

static long ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Allocates for 30 ms; adds its calls to *@calls. */
__attribute__((noinline)) void *allocate_a_while(void *calls)
{
	for (long end = ms() + 30; ms() < end; ++*(long *)calls) {
		sink = malloc(1000);
		free(sink);
	}
	return NULL;
}

/* Threads that the JVM does not know, one after the other. Returns the calls of all. */
long Java_Mallocs_threads(void *env, void *cls, long count)
{
	pthread_t t;
	long calls = 0;

	for (long i = 0; i < count; i++)
		if (pthread_create(&t, NULL, allocate_a_while, &calls) == 0)
			pthread_join(t, NULL);
	return calls;
}

/* Mappings of @size bytes; one in @every is kept. Address space without memory does not count. */
__attribute__((noinline)) void map_some(long count, long size, long every)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;

	for (long i = 0; i < count; i++) {
		void *p = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, flags, -1, 0);
		void *none = mmap(NULL, 1 << 30, PROT_NONE, flags | MAP_NORESERVE, -1, 0);

		sink = p;
		if (i % every)
			munmap(p, (size_t)size);
		munmap(none, 1 << 30);
	}
}

/* A child that allocates and ends: its exit status as wait() gives it. */
__attribute__((noinline)) int forked(void)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		for (int i = 0; i < 1000; i++) {
			sink = malloc(1000);
			free(sink);
		}
		_exit(0);
	}
	waitpid(child, &status, 0);
	return status;
}

int Java_Mallocs_forked(void *env, void *cls)
{
	return forked();
}

long Java_Mallocs_some(void *env, void *cls, long count, long size, long every)
{
	return allocate_some(count, size, every);
}

void Java_Mallocs_map(void *env, void *cls, long count, long size, long every)
{
	map_some(count, size, every);
}

void Java_Mallocs_each(void *env, void *cls, long size)
{
	allocate_each(size);
}
