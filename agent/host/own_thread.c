/* See own_thread.h. One mapping per thread, from below: guard, stack, and a page with its struct
 * sp_own_thread. The guard lies outside of what pthread_attr_setstack gets: glibc adds none there,
 * and HotSpot puts its own zones at the bottom of what a thread that attaches says is its stack.
 * HotSpot leaves these zones without access when the thread detaches; they go with the mapping. */
#include "own_thread.h"

#include "base/thread_sigmask.h"
#include "bury.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>

#define PAGE  ((size_t)4096)
#define GUARD ((size_t)64 << 10) /* more than any frame of ours: none jumps over it */

struct sp_own_thread {
	struct sp_grave grave; /* first: what unmaps it needs no more */
	struct sp_own_thread *next;
	pthread_t id;
	char name[16];
	void *(*run)(void *);
	void *arg;
};

/* Threads that ended while no other could be started to unmap them: the next start does. */
static _Atomic(struct sp_own_thread *) unburied;

/* What glibc itself takes of a stack. HotSpot asks the same function (os_linux.cpp). */
static size_t glibc_part(const pthread_attr_t *attr)
{
	size_t (*ask)(const pthread_attr_t *) =
		(size_t(*)(const pthread_attr_t *))dlsym(RTLD_DEFAULT, "__pthread_get_minstack");
	size_t n = ask ? ask(attr) : 0;

	return ((n > 64 << 10 ? n : 64 << 10) + PAGE - 1) & ~(PAGE - 1);
}

static void *map_stack(size_t size)
{
	char *p = mmap(NULL, size, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (mprotect(p + GUARD, size - GUARD, PROT_READ | PROT_WRITE) < 0) {
		munmap(p, size);
		return NULL;
	}
	/* A huge page would be 2 MB of memory for a few frames. */
	madvise(p + GUARD, size - GUARD, MADV_NOHUGEPAGE);
	return p;
}

static struct sp_own_thread *new_thread(size_t stack)
{
	size_t size = GUARD + stack + PAGE;
	char *map = map_stack(size);
	struct sp_own_thread *t;

	if (!map)
		return NULL;
	t = (struct sp_own_thread *)(map + size - PAGE);
	t->grave.map = map;
	t->grave.size = size;
	return t;
}

static void push_unburied(struct sp_own_thread *t)
{
	t->next = atomic_load(&unburied);
	while (!atomic_compare_exchange_weak(&unburied, &t->next, t))
		;
}

static void bury_old(void)
{
	struct sp_own_thread *t = atomic_exchange(&unburied, NULL), *next;

	for (; t; t = next) {
		next = t->next;
		if (atomic_load(&t->grave.tid))
			push_unburied(t);
		else
			munmap(t->grave.map, t->grave.size);
	}
}

static void *run_thread(void *arg)
{
	struct sp_own_thread *t = arg;

	pthread_setname_np(pthread_self(), t->name);
	return t->run(t->arg);
}

/* After this the thread executes only glibc's way out, and what the host registered for it. */
static void *begin_alone(void *arg)
{
	struct sp_own_thread *t = arg;

	run_thread(t);
	if (sp_bury_after_me(&t->grave) < 0)
		push_unburied(t);
	return NULL;
}

static int create(struct sp_own_thread *t, pthread_attr_t *attr, void *(*fn)(void *))
{
	char *stack = (char *)t->grave.map + GUARD;
	sigset_t all, old;
	pthread_t id;
	int r = pthread_attr_setstack(attr, stack, (size_t)((char *)t - stack));

	if (r != 0)
		return -r;
	sp_thread_sigmask_external(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&id, attr, fn, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r == 0 && fn == run_thread)
		t->id = id; /* of the other kind @t may be gone by now */
	return -r;
}

static int start(struct sp_own_thread **ret, const char *name, size_t stack, void *(*run)(void *),
	void *arg, bool alone)
{
	struct sp_own_thread *t;
	pthread_attr_t attr;
	int r;

	bury_old();
	pthread_attr_init(&attr);
	if (alone)
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	t = new_thread(stack + glibc_part(&attr));
	r = t ? 0 : -ENOMEM;
	if (t) {
		t->run = run;
		t->arg = arg;
		snprintf(t->name, sizeof(t->name), "%s", name);
		r = create(t, &attr, alone ? begin_alone : run_thread);
	}
	pthread_attr_destroy(&attr);
	if (t && r < 0)
		munmap(t->grave.map, t->grave.size);
	if (r == 0)
		*ret = t;
	return r;
}

int sp_own_thread_start(
	struct sp_own_thread **ret, const char *name, size_t stack, void *(*run)(void *), void *arg)
{
	return start(ret, name, stack, run, arg, false);
}

int sp_own_thread_start_alone(const char *name, size_t stack, void *(*run)(void *), void *arg)
{
	struct sp_own_thread *gone;

	return start(&gone, name, stack, run, arg, true);
}

void sp_own_thread_join(struct sp_own_thread *t)
{
	pthread_join(t->id, NULL);
	munmap(t->grave.map, t->grave.size);
}
