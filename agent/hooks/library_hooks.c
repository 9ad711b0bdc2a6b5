/* See library_hooks.h. The hook of dlopen runs in any thread of the host: it waits two
 * seconds at most for who patches just then, as it waits for the loader, and does nothing in a
 * forked child. */
#include "library_hooks.h"

#include "sig/handler.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 100000
#define TRIES	 20000u
#define LEFT	 50u
#define SETTLES	 20u

static struct {
	pthread_mutex_t lock;
	struct sp_got_hook hooks[SP_LIBRARY_HOOKS_MAX + 1]; /* the first is dlopen's */
	size_t count;					    /* 0: nothing is in place */
	_Atomic uint64_t epoch;				    /* of the loader, when we last looked */
	_Atomic uint64_t loads;
	_Atomic uint32_t inside; /* threads in dlopen that will look when they return */
	uint32_t left;		 /* looks since all was patched */
} lh = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Read by the code below, and by threads that are in it long after. */
__attribute__((visibility("hidden"))) void *(*sp_library_hooks_real_dlopen)(const char *, int);
__attribute__((visibility("hidden"))) int sp_library_hooks_may_call(
	const char *file, int flags, void *caller);
__attribute__((visibility("hidden"))) void *sp_library_hooks_call(const char *file, int flags);
void *sp_library_hooks_dlopen(const char *file, int flags);

/* dlopen asks for the library that its return address lies in. So where that may matter it is
 * jumped to, with everything as it was. */
__asm__(".text\n"
	".p2align 4\n"
	".hidden sp_library_hooks_dlopen\n"
	".globl sp_library_hooks_dlopen\n"
	".type sp_library_hooks_dlopen, @function\n"
	"sp_library_hooks_dlopen:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	mov (%rsp), %rdx\n"
	"	push %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call sp_library_hooks_may_call\n"
	"	add $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	pop %rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	pop %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	test %eax, %eax\n"
	"	jnz sp_library_hooks_call\n"
	"	jmp *sp_library_hooks_real_dlopen(%rip)\n"
	"	.cfi_endproc\n"
	".size sp_library_hooks_dlopen, . - sp_library_hooks_dlopen\n");

static bool has_search_path(const struct link_map *map)
{
	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_RPATH || d->d_tag == DT_RUNPATH)
			return true;
	return false;
}

/* May it be us who calls dlopen? */
int sp_library_hooks_may_call(const char *file, int flags, void *caller)
{
	struct link_map *map = NULL;
	Dl_info info;

	if (!file || strchr(file, '$') || (int32_t)syscall(SYS_getpid) != sp_sig.pid)
		return 0;
	return dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) && map &&
	       !has_search_path(map);
}

/* Under the lock. What is left is so for the next look, or for who loads it. */
static void patch_new(uint64_t settled)
{
	uint64_t epoch = sp_got_patch_epoch();
	size_t left = 0;

	if (lh.count && epoch != lh.epoch)
		sp_got_patch_apply(lh.hooks, lh.count, settled, &left);
	if (!left)
		lh.epoch = epoch;
}

/* A thread that is cancelled meanwhile must not keep the lock. What takes too long is left to the
 * collector's look. */
static void patch_from_host(void)
{
	struct timespec pause = {0, PAUSE_NS};
	uint64_t settled;
	bool done = false;
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	settled = sp_got_patch_settle();
	for (uint32_t i = 0; i < TRIES && !done; i++) {
		done = pthread_mutex_trylock(&lh.lock) == 0;
		if (!done)
			nanosleep(&pause, NULL);
	}
	if (done) {
		patch_new(settled);
		atomic_fetch_add(&lh.loads, 1);
		pthread_mutex_unlock(&lh.lock);
	}
	pthread_setcancelstate(state, NULL);
}

void *sp_library_hooks_call(const char *file, int flags)
{
	void *library;
	int saved;

	atomic_fetch_add(&lh.inside, 1);
	library = sp_library_hooks_real_dlopen(file, flags);
	saved = errno;
	if (library)
		patch_from_host();
	atomic_fetch_sub(&lh.inside, 1);
	errno = saved;
	return library;
}

uint64_t sp_library_hooks_loads(void)
{
	return atomic_load(&lh.loads);
}

void sp_library_hooks_look(void)
{
	uint32_t n = lh.left++;

	if (sp_got_patch_epoch() == lh.epoch) {
		lh.left = 0;
		return;
	}
	/* They would have to wait for us; but a library's constructors may take for ever. */
	if (atomic_load(&lh.inside) ? n % LEFT != LEFT - 1 : n > LEFT && n % LEFT)
		return;
	pthread_mutex_lock(&lh.lock);
	patch_new(0);
	pthread_mutex_unlock(&lh.lock);
}

/* Under the lock. */
static bool add_hooks(const struct sp_got_hook *hooks, size_t count, void *dlopen_)
{
	if ((lh.count ? lh.count : 1) + count > SP_LIBRARY_HOOKS_MAX + 1)
		return false;
	if (!lh.count) {
		sp_library_hooks_real_dlopen = (void *(*)(const char *, int))dlopen_;
		lh.hooks[lh.count++] = (struct sp_got_hook){
			"dlopen", dlopen_, (void *)sp_library_hooks_dlopen, NULL};
	}
	memcpy(lh.hooks + lh.count, hooks, count * sizeof(*hooks));
	lh.count += count;
	return true;
}

/* Of libraries that come all the time, those who load them take care. */
size_t sp_library_hooks_add(const struct sp_got_hook *hooks, size_t count)
{
	void *dlopen_ = dlsym(RTLD_DEFAULT, "dlopen");
	size_t changed = 0;
	bool kept = false, done = false;

	for (uint32_t i = 0; !done && i < SETTLES; i++) {
		uint64_t settled = sp_got_patch_settle(), epoch;
		size_t left, dlopens;

		pthread_mutex_lock(&lh.lock);
		kept = kept || add_hooks(hooks, count, dlopen_);
		if (kept) {
			epoch = sp_got_patch_epoch();
			sp_got_patch_apply(lh.hooks, 1, settled, &dlopens);
			changed += sp_got_patch_apply(hooks, count, settled, &left);
			lh.epoch = left + dlopens ? 0 : epoch;
		}
		done = !kept || lh.epoch;
		pthread_mutex_unlock(&lh.lock);
	}
	return changed;
}

static bool is_one_of(const struct sp_got_hook *h, const struct sp_got_hook *hooks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (hooks[i].hook == h->hook && strcmp(hooks[i].name, h->name) == 0)
			return true;
	return false;
}

void sp_library_hooks_remove(const struct sp_got_hook *hooks, size_t count)
{
	size_t kept = 1;

	pthread_mutex_lock(&lh.lock);
	for (size_t i = 1; i < lh.count; i++)
		if (!is_one_of(&lh.hooks[i], hooks, count))
			lh.hooks[kept++] = lh.hooks[i];
	sp_got_patch_restore(hooks, count);
	if (kept == 1)
		sp_got_patch_restore(lh.hooks, 1);
	lh.count = kept > 1 ? kept : 0;
	pthread_mutex_unlock(&lh.lock);
}
