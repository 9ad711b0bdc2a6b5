/* See nativemem.h. The hooks run in any thread of the host, inside of its allocations: they take no
 * lock, allocate nothing, and leave errno as it is. */
#include "nativemem.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "host/got_patch.h"
#include "library_hooks.h"
#include "private_malloc.h"
#include "sig/hook_capture.h"
#include "sig/rate_limit.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define WAYS	16u /* addresses in a set: two cache lines */
#define SETS	8192u
#define TRACKED (WAYS * SETS * sizeof(uint64_t))

/* A place that calls: what it allocated and no sample has. Only with an interval of 0. */
struct site {
	_Atomic uint64_t caller, bytes;
	_Atomic uint32_t
		sampled; /* it has a stack: what is left at the end can be written with it */
};

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void (*free)(void *);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
} real;

static struct {
	struct sp_capture *capture;
	uint64_t interval;
	bool follow;
	bool patched;
	uint64_t named_epoch; /* of the loader */
	char unseen[1024];    /* libraries that were named, a line each */
	struct sp_rate_limit limit;
	_Atomic uint64_t missed;
	_Atomic uint64_t *tracked; /* SETS of WAYS; mapped for ever once it was */
	struct site sites[SP_NATIVEMEM_SITES];
} nm;

static _Atomic uint64_t *set_of(uint64_t address)
{
	return &nm.tracked[(address >> 4) * 0x9e3779b97f4a7c15ull >> 51 << 4];
}
_Static_assert(SETS == 1u << 13 && WAYS == 16, "set_of() takes the top 13 bits");

static bool track(uint64_t address)
{
	_Atomic uint64_t *set = set_of(address);

	for (uint32_t i = 0; i < WAYS; i++) {
		uint64_t none = 0;

		if (atomic_load_explicit(&set[i], memory_order_relaxed) == 0 &&
			atomic_compare_exchange_strong(&set[i], &none, address))
			return true;
	}
	return false;
}

static bool untrack(uint64_t address)
{
	_Atomic uint64_t *set = set_of(address);

	for (uint32_t i = 0; i < WAYS; i++) {
		uint64_t it = address;

		if (atomic_load_explicit(&set[i], memory_order_relaxed) == address &&
			atomic_compare_exchange_strong(&set[i], &it, 0))
			return true;
	}
	return false;
}

/* The caller's place, NULL where there are too many. */
static struct site *site_of(uint64_t caller)
{
	for (uint32_t i = 0; i < 8; i++) {
		struct site *s = &nm.sites[((caller * 0x9e3779b97f4a7c15ull >> 52) + i) %
					   SP_NATIVEMEM_SITES];
		uint64_t none = 0;

		if (atomic_load_explicit(&s->caller, memory_order_relaxed) == caller ||
			(atomic_compare_exchange_strong(&s->caller, &none, caller) ||
				none == caller))
			return s;
	}
	return NULL;
}

/* Bytes that one sample counts for now. */
static uint64_t unit_now(void)
{
	uint32_t shift = atomic_load_explicit(&nm.limit.shift, memory_order_relaxed);

	return shift ? (nm.interval > 64 ? nm.interval : 64) << shift : nm.interval;
}

static void record_alloc(uint64_t address, uint64_t size, uint64_t weight, struct site *s)
{
	struct sp_hook_capture h = {.kind = SP_HOOK_MALLOC, .time_ns = sp_clock_mono_ns()};
	uint64_t own = s ? size : weight;
	enum sp_hook_capture_outcome outcome;

	sp_rate_limit_turn(&nm.limit, h.time_ns);
	sp_rate_limit_taken(&nm.limit, sp_hook_capture_tight());
	h.arg[0] = nm.follow && track(address) ? address : 0;
	h.arg[1] = size;
	h.arg[2] = s ? atomic_exchange(&s->bytes, 0) : weight + atomic_exchange(&nm.missed, 0);
	h.arg[3] = s ? (uint64_t)(s - nm.sites) + 1 : 0;
	outcome = sp_hook_capture_report(&h);
	if (outcome == SP_HOOK_TAKEN) {
		if (s)
			atomic_store_explicit(&s->sampled, 1, memory_order_relaxed);
		return;
	}
	atomic_fetch_add(
		s ? &s->bytes : &nm.missed, h.arg[2] - (outcome == SP_HOOK_FULL ? 0 : own));
	if (h.arg[0])
		untrack(address);
}

/* The way of most allocations ends before anything is shared with other threads. */
static void allocated(void *p, uint64_t size, void *caller)
{
	uint64_t unit = unit_now();
	struct site *s;
	int saved;

	if (!p || !size ||
		!(atomic_load_explicit(&sp_sig.hooks, memory_order_relaxed) & 1u << SP_HOOK_MALLOC))
		return;
	s = nm.interval ? NULL : site_of((uint64_t)caller);
	if (s)
		atomic_fetch_add_explicit(&s->bytes, size, memory_order_relaxed);
	if (size < unit && (!s || atomic_load_explicit(&s->sampled, memory_order_relaxed)) &&
		sp_rate_limit_random() % unit >= size)
		return;
	saved = errno;
	if (sp_hook_capture_enter(SP_HOOK_MALLOC)) {
		record_alloc((uint64_t)p, size, size < unit ? unit : size, s);
		sp_hook_capture_leave();
	}
	errno = saved;
}

/* Before the memory goes: the address may be another's right after. Returns when that was, 0 where
 * it is not followed. */
static uint64_t forget(void *p)
{
	return p && nm.follow && untrack((uint64_t)p) ? sp_clock_mono_ns() : 0;
}

/* It went, at @when_ns, which is before anybody else had its address. */
static void gone(void *p, uint64_t when_ns)
{
	struct sp_hook_capture h = {.kind = SP_HOOK_FREE, .stackless = true, .time_ns = when_ns};
	int saved = errno;

	if (sp_hook_capture_enter(SP_HOOK_FREE)) {
		h.arg[0] = (uint64_t)p;
		/* No room for the event: the next free at that address has it. */
		if (sp_hook_capture_report(&h) == SP_HOOK_FULL)
			track((uint64_t)p);
		sp_hook_capture_leave();
	}
	errno = saved;
}

#define CALLER __builtin_return_address(0)

static void *hook_malloc(size_t size)
{
	void *p = real.malloc(size);

	allocated(p, size, CALLER);
	return p;
}

static void *hook_calloc(size_t n, size_t size)
{
	void *p = real.calloc(n, size);

	allocated(p, n * size, CALLER);
	return p;
}

static void *hook_realloc(void *old, size_t size)
{
	uint64_t when_ns = forget(old);
	void *p = real.realloc(old, size);

	if (when_ns && (p || !size))
		gone(old, when_ns);
	else if (when_ns) /* it failed: the old block is as it was */
		track((uint64_t)old);
	allocated(p, size, CALLER);
	return p;
}

static void *hook_memalign(size_t align, size_t size)
{
	void *p = real.memalign(align, size);

	allocated(p, size, CALLER);
	return p;
}

static void *hook_aligned_alloc(size_t align, size_t size)
{
	void *p = real.aligned_alloc(align, size);

	allocated(p, size, CALLER);
	return p;
}

static int hook_posix_memalign(void **ret, size_t align, size_t size)
{
	int r = real.posix_memalign(ret, align, size);

	if (r == 0)
		allocated(*ret, size, CALLER);
	return r;
}

static void hook_free(void *p)
{
	uint64_t when_ns = forget(p);

	if (when_ns)
		gone(p, when_ns);
	real.free(p);
}

/* Address space that is only reserved is no memory. */
static void *hook_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *p = real.mmap(at, size, prot, flags, fd, offset);

	if (p != MAP_FAILED && (prot & PROT_WRITE) && (flags & MAP_ANONYMOUS) &&
		!(flags & MAP_NORESERVE))
		allocated(p, size, CALLER);
	return p;
}

static int hook_munmap(void *p, size_t size)
{
	uint64_t when_ns = forget(p);
	int r = real.munmap(p, size);

	if (when_ns && r == 0)
		gone(p, when_ns);
	else if (when_ns)
		track((uint64_t)p);
	return r;
}

static struct sp_got_hook hooks[] = {
	{"malloc", NULL, (void *)hook_malloc, NULL},
	{"calloc", NULL, (void *)hook_calloc, NULL},
	{"realloc", NULL, (void *)hook_realloc, NULL},
	{"memalign", NULL, (void *)hook_memalign, NULL},
	{"aligned_alloc", NULL, (void *)hook_aligned_alloc, NULL},
	{"posix_memalign", NULL, (void *)hook_posix_memalign, NULL},
	{"free", NULL, (void *)hook_free, NULL},
	{"mmap", NULL, (void *)hook_mmap, NULL},
	{"munmap", NULL, (void *)hook_munmap, NULL},
	{"mmap64", NULL, (void *)hook_mmap, NULL},
};

/* The process's own allocator: what everybody's calls lead to. */
static bool find_real(void)
{
	void **to[] = {(void **)&real.malloc, (void **)&real.calloc, (void **)&real.realloc,
		(void **)&real.memalign, (void **)&real.aligned_alloc,
		(void **)&real.posix_memalign, (void **)&real.free, (void **)&real.mmap,
		(void **)&real.munmap};

	for (size_t i = 0; i < SP_COUNT(hooks); i++)
		hooks[i].real = dlsym(RTLD_DEFAULT, hooks[i].name);
	for (size_t i = 0; i < SP_COUNT(to); i++)
		*to[i] = hooks[i].real;
	return real.malloc && real.calloc && real.realloc && real.free && real.mmap && real.munmap;
}

/* Each is named once. */
static void say_unseen(const char *library)
{
	char text[320];
	size_t used = strlen(nm.unseen), len = strlen(library);
	const char *said = strstr(nm.unseen, library);

	if ((said && (said[len] == '\n')) || used + len + 2 > sizeof(nm.unseen))
		return;
	snprintf(nm.unseen + used, sizeof(nm.unseen) - used, "%s\n", library);
	snprintf(text, sizeof(text),
		"nativemem: %.200s has an allocator of its own: what it allocates is seen as its "
		"mmap only",
		library);
	nm.capture->say(nm.capture->say_ctx, text);
}

/* Libraries that came since the last time. */
static void tick(void *ctx, JNIEnv *env)
{
	uint64_t epoch = sp_got_patch_epoch();

	if (epoch != nm.named_epoch)
		sp_private_malloc_find(hooks[0].real, say_unseen);
	nm.named_epoch = epoch;
}

static int start(void *ctx, JavaVM *vm, JNIEnv *env, struct sp_err *err)
{
	if (!nm.tracked) {
		void *p = mmap(
			NULL, TRACKED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return sp_err_set(err, -ENOMEM, "nativemem: out of memory");
		nm.tracked = p;
	}
	memset((void *)nm.tracked, 0, TRACKED);
	if (!find_real())
		return sp_err_set(err, -ENOTSUP, "nativemem: the process's malloc cannot be found");
	atomic_fetch_or(&sp_sig.hooks, 1u << SP_HOOK_MALLOC | 1u << SP_HOOK_FREE);
	nm.patched = true;
	if (sp_library_hooks_add(hooks, SP_COUNT(hooks)) == 0)
		return sp_err_set(err, -ENOTSUP,
			"nativemem: no library of this process calls its malloc by a table");
	tick(ctx, env);
	return 0;
}

void sp_nativemem_look(void)
{
	if (!nm.patched || !(atomic_load(&sp_sig.hooks) & 1u << SP_HOOK_MALLOC))
		return;
	/* After a storm hardly any call is looked at: they alone would not see its end. */
	sp_rate_limit_turn(&nm.limit, sp_clock_mono_ns());
}

/* A thread may be in a hook: its code stays, and the table of addresses with it. */
static void stop(void *ctx, JNIEnv *env)
{
	if (nm.patched)
		sp_library_hooks_remove(hooks, SP_COUNT(hooks));
	nm.patched = false;
}

struct sp_jvm_guest sp_nativemem_guest(uint64_t interval, bool follow_free, struct sp_capture *c)
{
	nm.interval = interval;
	nm.follow = follow_free;
	nm.capture = c;
	sp_rate_limit_init(&nm.limit, SP_NATIVEMEM_PER_SECOND);
	atomic_store(&nm.missed, 0);
	memset((void *)nm.sites, 0, sizeof(nm.sites));
	nm.unseen[0] = '\0';
	nm.named_epoch = 0;
	return (struct sp_jvm_guest){.start = start, .tick = tick, .stop = stop};
}

bool sp_nativemem_rest(uint32_t site, uint64_t *ret_bytes)
{
	*ret_bytes = site < SP_NATIVEMEM_SITES ? atomic_exchange(&nm.sites[site].bytes, 0) : 0;
	return *ret_bytes > 0;
}

uint64_t sp_nativemem_max_factor(void)
{
	return 1ull << atomic_load(&nm.limit.peak);
}
