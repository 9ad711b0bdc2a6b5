/* The nth allocation fails, for every n until one run passes without: nothing crashes, leaks (ASan)
 * or claims success halfway. The linker puts our allocator before the library's calls (--wrap). */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/demangle.h"
#include "elf/symbols.h"
#include "elf/symtab.h"
#include "out/out.h"
#include "sample_profile.h"

static long left = -1; /* allocations that still succeed; -1: all */
static bool once;      /* only that one fails; else all after it too */
static bool failed;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);

static bool deny(void)
{
	if (left < 0)
		return false;
	if (left == 0) {
		failed = true;
		left = once ? -1 : 0;
		errno = ENOMEM;
		return true;
	}
	left--;
	return false;
}

void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n)
{
	return deny() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	return deny() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
	return deny() ? NULL : __real_realloc(p, n);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return deny() ? NULL : __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *s);
char *__wrap_strdup(const char *s)
{
	return deny() ? NULL : __real_strdup(s);
}

static void one_way(int (*f)(void))
{
	int r;

	for (long n = 0;; n++) {
		cr_assert(n < 100000, "it never gets through");
		failed = false;
		left = n;
		r = f();
		left = -1;
		if (!failed) {
			cr_assert(r == 0);
			return;
		}
		cr_assert(r < 0, "allocation %ld failed, and it said nothing", n);
	}
}

/* Runs @f with the first, second, … allocation failing, alone and with all after it. */
static void every_allocation(int (*f)(void))
{
	once = false;
	one_way(f);
	once = true;
	one_way(f);
}

static int open_symbols(void)
{
	SP_AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct sp_symtab_source src = {
		.root_fd = root, .host_fd = -1, .path = "/proc/self/exe", .build_id = ""};
	struct sp_symtab *t;
	char exe[4096];
	ssize_t n = readlink(src.path, exe, sizeof(exe) - 1);
	int r;

	exe[n > 0 ? n : 0] = 0;
	src.path = exe;
	r = sp_symtab_open(&src, &t, NULL);
	if (r == 0)
		sp_symtab_free(t);
	return r;
}

Test(nomem, symbols_of_a_file)
{
	every_allocation(open_symbols);
}

static int demangle_name(void)
{
	SP_AUTO_BUF struct sp_buf b;
	int r;

	sp_buf_init(&b);
	r = sp_demangle("_ZNSt6vectorIiSaIiEE2atEm", true, &b);
	if (r == 0)
		r = sp_demangle("_RNvNtNtCs5Pp_4core3fmt5Write9write_fmt", false, &b);
	return r;
}

Test(nomem, demangling)
{
	every_allocation(demangle_name);
}

static struct sp_profile *profile;

static int write_reports(void)
{
	struct sp_sink s;
	int r, done;

	sp_sink_init(&s, -1);
	r = sp_out_text(profile, &(struct sp_out_opts){0}, &s);
	if (r == 0)
		r = sp_out_collapsed(profile, &(struct sp_out_opts){0}, &s);
	done = sp_sink_done(&s);
	return r < 0 ? r : done;
}

Test(nomem, reports)
{
	profile = sample_profile();
	every_allocation(write_reports);
	sp_profile_free(profile);
}

static int make_profile(void)
{
	struct sp_profile *p = NULL;
	int r = sp_profile_new(&p, 1 << 20);

	if (r == 0)
		r = sp_profile_event(p, "cpu", SP_UNIT_NS, 1, false);
	for (uint32_t i = 0; r == 0 && i < 1000; i++)
		r = sp_profile_add(p, &(struct sp_sample){.stack = i, .count = 1});
	sp_profile_free(p);
	return r;
}

Test(nomem, profile_that_grows)
{
	every_allocation(make_profile);
}
