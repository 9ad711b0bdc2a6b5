/* See native_locks.h. The hooks run in any thread of the host, also in a forked child. A lock that
 * is free is taken by its own "try" function, which looks at no clock; those that are not are
 * waited for by the function that was called, so that what it returns is what the caller gets. */
#include "native_locks.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "host/got_patch.h"
#include "library_hooks.h"
#include "sig/hook_capture.h"
#include "wait_weight.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#define JVM "libjvm."

typedef const struct timespec when;

static struct {
	int (*mutex_try)(pthread_mutex_t *);
	int (*mutex_lock)(pthread_mutex_t *);
	int (*mutex_timed)(pthread_mutex_t *, when *);
	int (*mutex_clock)(pthread_mutex_t *, clockid_t, when *);
	int (*read_try)(pthread_rwlock_t *);
	int (*read_lock)(pthread_rwlock_t *);
	int (*read_timed)(pthread_rwlock_t *, when *);
	int (*read_clock)(pthread_rwlock_t *, clockid_t, when *);
	int (*write_try)(pthread_rwlock_t *);
	int (*write_lock)(pthread_rwlock_t *);
	int (*write_timed)(pthread_rwlock_t *, when *);
	int (*write_clock)(pthread_rwlock_t *, clockid_t, when *);
	int (*cond_wait)(pthread_cond_t *, pthread_mutex_t *);
	int (*cond_timed)(pthread_cond_t *, pthread_mutex_t *, when *);
	int (*cond_clock)(pthread_cond_t *, pthread_mutex_t *, clockid_t, when *);
} real;

static struct {
	uint64_t ns, begun_ns;
	bool patched;
	struct sp_rate_limit limit;
	_Atomic uint64_t missed; /* time that found the ring full */
} nl;

/* One wait, from before it. */
struct wait {
	const char *kind;
	uint64_t since_ns, owner; /* thread id, 0: not known */
};

static bool is_on(void)
{
	return atomic_load_explicit(&sp_sig.hooks, memory_order_relaxed) &
	       1u << SP_HOOK_NATIVE_LOCK;
}

static struct wait begin(const char *kind, int owner)
{
	return (struct wait){kind, sp_clock_mono_ns(), owner > 0 ? (uint64_t)owner : 0};
}

static void record_wait(const struct wait *w, const void *lock, uint64_t now_ns)
{
	struct sp_hook_capture h = {.kind = SP_HOOK_NATIVE_LOCK,
		.text = w->kind,
		.text_len = (uint32_t)strlen(w->kind)};
	uint64_t own = sp_wait_weight(&nl.limit, nl.ns, now_ns - w->since_ns, now_ns);
	enum sp_hook_capture_outcome outcome;

	if (!own)
		return;
	h.arg[0] = w->since_ns;
	h.arg[1] = own + atomic_exchange(&nl.missed, 0);
	h.arg[2] = (uint64_t)lock;
	h.arg[3] = w->owner;
	outcome = sp_hook_capture_report(&h);
	if (outcome != SP_HOOK_TAKEN)
		atomic_fetch_add(&nl.missed, h.arg[1] - (outcome == SP_HOOK_FULL ? 0 : own));
}

/* A wait that began before the recording is not of it. */
static int end(const struct wait *w, const void *lock, int result)
{
	int saved = errno;

	if (sp_hook_capture_enter(SP_HOOK_NATIVE_LOCK)) {
		uint64_t now = sp_clock_mono_ns();

		if (w->since_ns >= nl.begun_ns && now > w->since_ns)
			record_wait(w, lock, now);
		sp_hook_capture_leave();
	}
	errno = saved;
	return result;
}

/* @call waits for @lock, which the thread @owner has, 0: nobody. */
#define WAIT(call, lock, kind, owner) \
	struct wait w;                \
	int result;                   \
                                      \
	if (!is_on())                 \
		return (call);        \
	w = begin(kind, owner);       \
	result = (call);              \
	return end(&w, lock, result)

/* Waits where @try says that another thread has the lock. */
#define LOCK(try, call, kind, owner)         \
	int taken = is_on() ? (try) : EBUSY; \
                                             \
	if (taken != EBUSY)                  \
		return taken;                \
	WAIT(call, l, kind, __atomic_load_n(&(owner), __ATOMIC_RELAXED))

#define MUTEX(call) LOCK(real.mutex_try(l), call, "pthread_mutex_t", l->__data.__owner)
#define READ(call)  LOCK(real.read_try(l), call, "pthread_rwlock_t", l->__data.__cur_writer)
#define WRITE(call) LOCK(real.write_try(l), call, "pthread_rwlock_t", l->__data.__cur_writer)
#define COND(call)  WAIT(call, c, "pthread_cond_t", 0)

static int hook_mutex_lock(pthread_mutex_t *l)
{
	MUTEX(real.mutex_lock(l));
}

static int hook_mutex_timed(pthread_mutex_t *l, when *t)
{
	MUTEX(real.mutex_timed(l, t));
}

static int hook_mutex_clock(pthread_mutex_t *l, clockid_t id, when *t)
{
	MUTEX(real.mutex_clock(l, id, t));
}

static int hook_read_lock(pthread_rwlock_t *l)
{
	READ(real.read_lock(l));
}

static int hook_read_timed(pthread_rwlock_t *l, when *t)
{
	READ(real.read_timed(l, t));
}

static int hook_read_clock(pthread_rwlock_t *l, clockid_t id, when *t)
{
	READ(real.read_clock(l, id, t));
}

static int hook_write_lock(pthread_rwlock_t *l)
{
	WRITE(real.write_lock(l));
}

static int hook_write_timed(pthread_rwlock_t *l, when *t)
{
	WRITE(real.write_timed(l, t));
}

static int hook_write_clock(pthread_rwlock_t *l, clockid_t id, when *t)
{
	WRITE(real.write_clock(l, id, t));
}

static int hook_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	COND(real.cond_wait(c, m));
}

static int hook_cond_timed(pthread_cond_t *c, pthread_mutex_t *m, when *t)
{
	COND(real.cond_timed(c, m, t));
}

static int hook_cond_clock(pthread_cond_t *c, pthread_mutex_t *m, clockid_t id, when *t)
{
	COND(real.cond_clock(c, m, id, t));
}

static struct sp_got_hook hooks[] = {
	{"pthread_mutex_lock", NULL, (void *)hook_mutex_lock, NULL},
	{"pthread_mutex_timedlock", NULL, (void *)hook_mutex_timed, NULL},
	{"pthread_mutex_clocklock", NULL, (void *)hook_mutex_clock, NULL},
	{"pthread_rwlock_rdlock", NULL, (void *)hook_read_lock, NULL},
	{"pthread_rwlock_timedrdlock", NULL, (void *)hook_read_timed, NULL},
	{"pthread_rwlock_clockrdlock", NULL, (void *)hook_read_clock, NULL},
	{"pthread_rwlock_wrlock", NULL, (void *)hook_write_lock, NULL},
	{"pthread_rwlock_timedwrlock", NULL, (void *)hook_write_timed, NULL},
	{"pthread_rwlock_clockwrlock", NULL, (void *)hook_write_clock, NULL},
	{"pthread_cond_wait", NULL, (void *)hook_cond_wait, JVM},
	{"pthread_cond_timedwait", NULL, (void *)hook_cond_timed, JVM},
	{"pthread_cond_clockwait", NULL, (void *)hook_cond_clock, JVM},
};

/* Those that the C library does not have (the clock's, before glibc 2.30) nobody calls. */
static bool find_real(void)
{
	void **to[] = {(void **)&real.mutex_lock, (void **)&real.mutex_timed,
		(void **)&real.mutex_clock, (void **)&real.read_lock, (void **)&real.read_timed,
		(void **)&real.read_clock, (void **)&real.write_lock, (void **)&real.write_timed,
		(void **)&real.write_clock, (void **)&real.cond_wait, (void **)&real.cond_timed,
		(void **)&real.cond_clock};

	_Static_assert(SP_COUNT(to) == SP_COUNT(hooks), "one for each");
	for (size_t i = 0; i < SP_COUNT(hooks); i++)
		*to[i] = hooks[i].real = dlsym(RTLD_DEFAULT, hooks[i].name);
	real.mutex_try = (int (*)(pthread_mutex_t *))dlsym(RTLD_DEFAULT, "pthread_mutex_trylock");
	real.read_try =
		(int (*)(pthread_rwlock_t *))dlsym(RTLD_DEFAULT, "pthread_rwlock_tryrdlock");
	real.write_try =
		(int (*)(pthread_rwlock_t *))dlsym(RTLD_DEFAULT, "pthread_rwlock_trywrlock");
	return real.mutex_lock && real.mutex_try && real.read_lock && real.read_try &&
	       real.write_lock && real.write_try && real.cond_wait;
}

static int start(void *ctx, JavaVM *vm, JNIEnv *env, struct sp_err *err)
{
	if (!find_real())
		return sp_err_set(
			err, -ENOTSUP, "nativelock: the process's pthread locks cannot be found");
	nl.begun_ns = sp_clock_mono_ns();
	atomic_fetch_or(&sp_sig.hooks, 1u << SP_HOOK_NATIVE_LOCK);
	nl.patched = true;
	if (sp_library_hooks_add(hooks, SP_COUNT(hooks)) == 0)
		return sp_err_set(err, -ENOTSUP,
			"nativelock: no library of this process calls pthread locks by a table");
	return 0;
}

/* A thread may wait in a hook: its code stays. */
static void stop(void *ctx, JNIEnv *env)
{
	if (nl.patched)
		sp_library_hooks_remove(hooks, SP_COUNT(hooks));
	nl.patched = false;
}

struct sp_jvm_guest sp_native_locks_guest(uint64_t ns, struct sp_capture *c)
{
	nl.ns = ns;
	sp_rate_limit_init(&nl.limit, SP_NATIVE_LOCKS_PER_SECOND);
	atomic_store(&nl.missed, 0);
	return (struct sp_jvm_guest){.start = start, .stop = stop};
}

uint64_t sp_native_locks_max_factor(void)
{
	return 1ull << atomic_load(&nl.limit.peak);
}
