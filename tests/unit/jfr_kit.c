/* See jfr_kit.h. */
#include "jfr_kit.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct op journal[8192];
unsigned journal_len, flushes_done;
bool journalling;
off_t disk_full = -1;
long fail_alloc = -1;

ssize_t __real_pwrite64(int fd, const void *data, size_t len, off_t offset);
int __real_ftruncate64(int fd, off_t len);
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t m);
void *__real_realloc(void *p, size_t n);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t len, off_t offset);
int __wrap_ftruncate64(int fd, off_t len);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t m);
void *__wrap_realloc(void *p, size_t n);

static void note(const void *data, size_t len, off_t offset)
{
	struct op *op = &journal[journal_len++];

	cr_assert_lt(journal_len, SP_COUNT(journal));
	*op = (struct op){offset, len, NULL, flushes_done};
	if (len)
		op->data = memcpy(__real_malloc(len), data, len);
}

ssize_t __wrap_pwrite64(int fd, const void *data, size_t len, off_t offset)
{
	if (disk_full >= 0 && offset + (off_t)len > disk_full) {
		errno = ENOSPC;
		return -1;
	}
	if (journalling)
		note(data, len, offset);
	return __real_pwrite64(fd, data, len, offset);
}

int __wrap_ftruncate64(int fd, off_t len)
{
	if (journalling)
		note(NULL, 0, len);
	return __real_ftruncate64(fd, len);
}

static bool alloc_fails(void)
{
	return fail_alloc >= 0 && fail_alloc-- == 0;
}

void *__wrap_malloc(size_t n)
{
	return alloc_fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t m)
{
	return alloc_fails() ? NULL : __real_calloc(n, m);
}

void *__wrap_realloc(void *p, size_t n)
{
	return alloc_fails() ? NULL : __real_realloc(p, n);
}

static int on_event(void *ctx, const struct sp_jfr_event *e)
{
	struct found *f = ctx;
	bool cpu = strcmp(e->type, "jdk.ExecutionSample") == 0;
	bool wall = strcmp(e->type, "profiler.WallClockSample") == 0;

	f->cpu += cpu;
	f->wall += wall;
	f->span += strcmp(e->type, "profiler.Span") == 0;
	f->settings += strcmp(e->type, "jdk.ActiveSetting") == 0;
	if (cpu || wall) {
		const struct sp_stack *s = sp_dict_get_stack(f->dict, e->stack);

		f->no_stack += !s || !s->count || !s->frames[0].method;
		f->no_thread += !e->thread;
		f->states[e->state]++;
	}
	for (uint32_t i = 0; i < e->count; i++) {
		const struct sp_jfr_value *v = &e->values[i];

		if (strcmp(v->name, "samples") == 0 && wall)
			f->weight += v->u;
		if (strcmp(v->name, "jvmUser") == 0)
			f->ratio = v->f;
		if (strcmp(v->name, "tag") == 0 || strcmp(v->name, "javaArguments") == 0 ||
			strcmp(v->name, "cause") == 0)
			snprintf(f->text + strlen(f->text), sizeof(f->text) - strlen(f->text),
				"%.*s;", (int)v->len, v->s);
	}
	return 0;
}

int read_fd(int fd, struct found *f, struct sp_jfr_stats *st, struct sp_err *err)
{
	struct sp_jfr_visitor v = {.ctx = f, .event = on_event};
	int r;

	memset(f, 0, sizeof(*f));
	r = sp_dict_new(&f->dict, 64 << 20);
	if (r < 0)
		return r;
	r = sp_jfr_read(fd, f->dict, &v, st, err);
	sp_dict_free(f->dict);
	return r;
}

int memory_file(const void *data, size_t len)
{
	int fd = memfd_create("jfr", MFD_CLOEXEC);

	cr_assert_geq(fd, 0);
	if (len)
		cr_assert_eq(write(fd, data, len), (ssize_t)len);
	return fd;
}

int record(int fd, unsigned flushes, unsigned samples, unsigned depth, unsigned every, bool stream)
{
	struct sp_jfrw_cfg cfg = {.stream = stream};
	struct sp_dict *d;
	struct sp_jfrw *w;
	struct sp_err err;
	int r;

	cr_assert_eq(sp_dict_new(&d, 64 << 20), 0);
	cr_assert_eq(sp_jfrw_new(&w, fd, d, &cfg, &err), 0, "%s", err.text);
	flushes_done = 0;
	script_head(w);
	for (unsigned i = 0; i < flushes; i++) {
		script_events(w, d, i, samples, depth);
		r = every && i % every == every - 1 ? sp_jfrw_rotate(w) : sp_jfrw_flush(w);
		if (r < 0)
			break;
		flushes_done = i + 1;
		if (r == 1) {
			sp_dict_reset(d);
			script_head(w);
		}
	}
	r = sp_jfrw_close(w);
	sp_dict_free(d);
	return r;
}

uint64_t be64(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return v;
}
