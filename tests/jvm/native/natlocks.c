/* Native methods of tests/jvm/targets/NativeLocks.java: waits of known length for locks of native
 * code. Each is held for 20 ms by a thread "natholder", and waited for by the caller. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum kind { MUTEX, TIMED, READ, WRITE, COND, COND_TIMED };

static const char *const names[] = {"mutex", "timed", "read", "write", "cond", "condtimed"};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static _Atomic int held, told;
static _Atomic long released_ns;
static enum kind wanted;
static sem_t go, done;

static long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void hold(void)
{
	struct timespec t = {0, 20000000};

	atomic_store(&held, 1);
	nanosleep(&t, NULL);
	atomic_store(&released_ns, now_ns());
}

static void hold_one(enum kind k)
{
	if (k == COND || k == COND_TIMED) {
		hold();
		pthread_mutex_lock(&mutex);
		atomic_store(&told, 1);
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
	} else if (k == MUTEX || k == TIMED) {
		pthread_mutex_lock(&mutex);
		hold();
		pthread_mutex_unlock(&mutex);
	} else {
		pthread_rwlock_wrlock(&rwlock);
		hold();
		pthread_rwlock_unlock(&rwlock);
	}
}

static void *holder(void *arg)
{
	pthread_setname_np(pthread_self(), "natholder");
	for (;;) {
		sem_wait(&go);
		hold_one(wanted);
		sem_post(&done);
	}
	return NULL;
}

static struct timespec in_a_minute(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += 60;
	return t;
}

__attribute__((noinline)) void wait_for_mutex(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) void wait_for_timed(void)
{
	struct timespec t = in_a_minute();

	pthread_mutex_timedlock(&mutex, &t);
	pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) void wait_for_read(void)
{
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

__attribute__((noinline)) void wait_for_write(void)
{
	pthread_rwlock_wrlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

__attribute__((noinline)) void wait_for_cond(void)
{
	pthread_mutex_lock(&mutex);
	while (!atomic_load(&told))
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) void wait_for_condtimed(void)
{
	struct timespec t = in_a_minute();

	pthread_mutex_lock(&mutex);
	while (!atomic_load(&told))
		pthread_cond_timedwait(&cond, &mutex, &t);
	pthread_mutex_unlock(&mutex);
}

/* What the caller saw of its waits, and what of them lay before the release. */
void Java_NativeLocks_rounds(void *env, void *cls, long kind, long count)
{
	static void (*const waits[])(void) = {wait_for_mutex, wait_for_timed, wait_for_read,
		wait_for_write, wait_for_cond, wait_for_condtimed};
	static pthread_t t;
	long most = 0, least = 0;

	if (!t) {
		sem_init(&go, 0, 0);
		sem_init(&done, 0, 0);
		if (pthread_create(&t, NULL, holder, NULL) != 0)
			return;
	}
	for (long i = 0; i < count; i++) {
		long from;

		atomic_store(&held, 0);
		atomic_store(&told, 0);
		wanted = (enum kind)kind;
		sem_post(&go);
		while (!atomic_load(&held))
			sched_yield();
		from = now_ns();
		waits[kind]();
		most += now_ns() - from;
		least += atomic_load(&released_ns) - from;
		sem_wait(&done);
	}
	printf("%s %ld %ld\n", names[kind], most, least);
	fflush(stdout);
}

/* Locks that nobody else wants. */
__attribute__((noinline)) void lock_alone(long count)
{
	for (long i = 0; i < count; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
	}
}

void Java_NativeLocks_alone(void *env, void *cls, long count)
{
	lock_alone(count);
}

static pthread_mutex_t crowded = PTHREAD_MUTEX_INITIALIZER;

static void *crowd(void *total)
{
	long waited = 0;

	for (int i = 0; i < 5000; i++) {
		long from;

		/* Where it is free nobody waits, however long this thread gets no core. */
		if (pthread_mutex_trylock(&crowded) != 0) {
			from = now_ns();
			pthread_mutex_lock(&crowded);
			waited += now_ns() - from;
		}
		sched_yield(); /* with the lock in hand, so that others find it taken */
		for (volatile int k = 0; k < 200; k++)
			;
		pthread_mutex_unlock(&crowded);
	}
	atomic_fetch_add((_Atomic long *)total, waited);
	return NULL;
}

/* What four threads that fight for one mutex waited. */
void Java_NativeLocks_crowd(void *env, void *cls)
{
	_Atomic long waited = 0;
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, crowd, (void *)&waited);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("crowd %ld 0\n", (long)waited);
	fflush(stdout);
}

/* What the C library answers to who locks wrongly: the same with hooks as without. */
void Java_NativeLocks_errors(void *env, void *cls)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t checked, recursive;
	struct timespec past = {1, 0};
	int a, b, c, d, e;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&checked, &attr);
	pthread_mutex_lock(&checked);
	a = pthread_mutex_lock(&checked); /* EDEADLK */
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&recursive, &attr);
	pthread_mutex_lock(&recursive);
	b = pthread_mutex_lock(&recursive);
	pthread_rwlock_wrlock(&rwlock);
	c = pthread_rwlock_wrlock(&rwlock); /* EDEADLK */
	d = pthread_rwlock_timedrdlock(&rwlock, &past);
	pthread_rwlock_unlock(&rwlock);
	pthread_mutex_lock(&mutex);
	e = pthread_mutex_timedlock(&mutex, &past); /* ETIMEDOUT */
	pthread_mutex_unlock(&mutex);
	printf("errors %d %d %d %d %d\n", a, b, c, d, e);
	fflush(stdout);
}

/* A thread that dies with a robust mutex in hand leaves it to the next one, who must be told. */
static void *die_with(void *m)
{
	pthread_mutex_lock(m);
	return NULL;
}

static void *wait_for_ever(void *arg)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push((void (*)(void *))pthread_mutex_unlock, &mutex);
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(1);
	return NULL;
}

void Java_NativeLocks_robust(void *env, void *cls)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t robust;
	pthread_t t;
	void *result = NULL;
	int status = -1, r;
	pid_t child;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &attr);
	pthread_create(&t, NULL, die_with, &robust);
	pthread_join(t, NULL);
	r = pthread_mutex_lock(&robust); /* EOWNERDEAD */
	pthread_mutex_consistent(&robust);
	pthread_mutex_unlock(&robust);
	/* A thread that is cancelled while it waits. */
	pthread_create(&t, NULL, wait_for_ever, NULL);
	pthread_cancel(t);
	pthread_join(t, &result);
	/* A child has the hooks but not the recording. */
	child = fork();
	if (child == 0) {
		wait_for_mutex();
		_exit(0);
	}
	waitpid(child, &status, 0);
	printf("robust %d %d %d\n", r, result == PTHREAD_CANCELED, status);
	fflush(stdout);
}
