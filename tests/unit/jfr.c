/* The JFR writer, reader and rewriter. pwrite, ftruncate and the allocator are wrapped at link
 * time: writes are journalled, so that the file can be looked at as a killed writer would have left
 * it after each of them and in the middle of each; allocations can be made to fail. */
#include "../kit/jfr_script.h"
#include "jfr/reader.h"
#include "jfr/rewrite.h"
#include "jfr/text.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct op {
	off_t offset;
	size_t len; /* ftruncate: 0 */
	uint8_t *data;
	unsigned flushes; /* complete before it */
};

static struct op journal[8192];
static unsigned journal_len, flushes_done;
static bool journalling;
static off_t disk_full = -1; /* writes beyond fail */
static long fail_alloc = -1;

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

struct found {
	uint64_t cpu, wall, span, settings, weight;
	uint64_t no_stack, no_thread;
	uint64_t states[SP_STATES];
	struct sp_dict *dict;
	char text[256]; /* of the last event with text */
	double ratio;
};

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

static int read_fd(int fd, struct found *f, struct sp_jfr_stats *st, struct sp_err *err)
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

static int memory_file(const void *data, size_t len)
{
	int fd = memfd_create("jfr", MFD_CLOEXEC);

	cr_assert_geq(fd, 0);
	if (len)
		cr_assert_eq(write(fd, data, len), (ssize_t)len);
	return fd;
}

/* Writes a recording; rotates after every @every-th flush. */
static int record(
	int fd, unsigned flushes, unsigned samples, unsigned depth, unsigned every, bool stream)
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

static uint64_t be64(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return v;
}

/* Chunk sizes add up to the file and events to the chunks; stricter than any reader. */
static const char *strict(const uint8_t *p, size_t len)
{
	while (len) {
		uint64_t size, at = 68;

		if (len < 68 || memcmp(p, "FLR\0\0\2\0\1", 8) != 0)
			return "no chunk header";
		size = be64(p + 8);
		if (size > len || size < 68)
			return "chunk size";
		while (at < size) {
			uint64_t n = 0, shift = 0, k = at;

			do
				n |= (uint64_t)(p[k] & 0x7f) << shift, shift += 7;
			while (p[k++] & 0x80);
			if (n < 2 || n > size - at)
				return "event size";
			at += n;
		}
		p += size;
		len -= size;
	}
	return NULL;
}

static void check_image(const uint8_t *image, size_t len, unsigned samples, const struct op *op,
	unsigned i, size_t part)
{
	struct found f;
	struct sp_jfr_stats st;
	struct sp_err err = {{0}};
	const char *wrong = strict(image, len);
	int fd, r;

	cr_assert_null(wrong, "op %u, %zu of %zu bytes: %s", i, part, op->len, wrong);
	fd = memory_file(image, len);
	r = read_fd(fd, &f, &st, &err);
	close(fd);
	cr_assert_eq(r, 0, "op %u, %zu of %zu bytes: %s", i, part, op->len, err.text);
	cr_assert_eq(st.unfinished, 0);
	cr_assert(f.cpu == op->flushes * samples || f.cpu == (op->flushes + 1) * samples,
		"op %u, %zu of %zu bytes: %lu samples after %u flushes", i, part, op->len, f.cpu,
		op->flushes);
	cr_assert_eq(f.cpu, f.wall);
	cr_assert_eq(f.no_stack + f.no_thread, 0);
}

/* Inside one page the kernel gives a file its new bytes and size in one step; and the size in a
 * chunk's header is one aligned field. All other writes may be cut anywhere. */
static bool is_atomic(const struct op *op, const uint8_t *image, size_t size)
{
	if (!op->len || (size_t)op->offset >= size)
		return true;
	for (size_t at = 0; at < size; at += be64(image + at + 8)) {
		if ((size_t)op->offset >= at + 8 && (size_t)op->offset + op->len <= at + 16)
			return true;
	}
	return false;
}

static void replay(unsigned samples, unsigned first)
{
	static uint8_t image[4 << 20], before[4 << 20];
	size_t len = 0;

	for (unsigned i = 0; i < journal_len; i++) {
		const struct op *op = &journal[i];
		size_t step = op->len > 64 ? op->len / 7 : 1;

		for (size_t part = 1; i > first && !is_atomic(op, image, len) && part < op->len;
			part += step) {
			memcpy(before, image + op->offset, part);
			memcpy(image + op->offset, op->data, part);
			check_image(image, len, samples, op, i, part);
			memcpy(image + op->offset, before, part);
		}
		if (op->len) {
			memcpy(image + op->offset, op->data, op->len);
			if (len < (size_t)op->offset + op->len)
				len = (size_t)op->offset + op->len;
		} else {
			len = (size_t)op->offset;
		}
		if (i >= first)
			check_image(image, len, samples, op, i, op->len);
		free(op->data);
	}
}

/* The header is written by the last of the first five operations: from then on it is a recording.
 */
#define CREATED 4

Test(jfr, killed_anywhere_the_file_is_whole, .timeout = 100)
{
	int fd = memory_file(NULL, 0);

	journalling = true;
	cr_assert_eq(record(fd, 9, 6, 12, 3, false), 0);
	journalling = false;
	replay(6, CREATED);
	close(fd);
}

Test(jfr, killed_while_the_file_grows, .timeout = 100)
{
	int fd = memory_file(NULL, 0);

	journalling = true;
	cr_assert_eq(record(fd, 4, 120, 40, 0, false), 0);
	journalling = false;
	replay(120, CREATED);
	close(fd);
}

Test(jfr, flush_larger_than_two_megabytes)
{
	int fd = memory_file(NULL, 0);
	struct found f;
	struct sp_err err;

	cr_assert_eq(record(fd, 2, 9000, 100, 0, false), 0);
	cr_assert_eq(read_fd(fd, &f, NULL, &err), 0, "%s", err.text);
	cr_expect_eq(f.cpu, 18000);
	cr_expect_eq(f.no_stack, 0);
	close(fd);
}

Test(jfr, disk_full_keeps_every_earlier_flush)
{
	int fd = memory_file(NULL, 0);
	static uint8_t image[1 << 20];
	struct found f;
	struct sp_err err;
	ssize_t n;

	disk_full = 200000;
	cr_expect_eq(record(fd, 40, 50, 30, 0, false), -ENOSPC);
	disk_full = -1;
	cr_expect_gt(flushes_done, 2);
	n = pread(fd, image, sizeof(image), 0);
	cr_expect_null(strict(image, (size_t)n));
	cr_assert_eq(read_fd(fd, &f, NULL, &err), 0, "%s", err.text);
	cr_expect_eq(f.cpu, flushes_done * 50);
	close(fd);
}

Test(jfr, what_is_written_is_read)
{
	for (int stream = 0; stream < 2; stream++) {
		int fd = memory_file(NULL, 0);
		struct found f;
		struct sp_jfr_stats st;
		struct sp_err err;

		cr_assert_eq(record(fd, 4, 80, 20, 2, stream), 0);
		cr_assert_eq(read_fd(fd, &f, &st, &err), 0, "%s", err.text);
		cr_expect_eq(f.cpu, 320);
		cr_expect_eq(f.wall, 320);
		cr_expect_eq(f.span, 4);
		cr_expect_eq(f.weight, 639);
		cr_expect_eq(f.no_stack + f.no_thread, 0);
		cr_expect_eq(f.states[SP_STATE_UNKNOWN], 320);
		cr_expect_eq(f.states[SP_STATE_RUNNING], 40);
		cr_expect_eq(f.states[SP_STATE_BLOCKED], 40);
		cr_expect_eq(f.ratio, 0.5);
		cr_expect(strstr(f.text, "stage 1.0 task 3;"), "%s", f.text);
		cr_expect(strstr(f.text, "org.example.Main \xc3\xa4;"), "%s", f.text);
		cr_expect(strstr(f.text, "G1 Pause;"), "%s", f.text);
		cr_expect_eq(st.chunks, stream ? 5 : 3);
		close(fd);
	}
}

Test(jfr, refuses_what_it_cannot_patch)
{
	struct sp_jfrw_cfg cfg = {0};
	struct sp_dict *d;
	struct sp_jfrw *w;
	struct sp_err err;
	int p[2], fd = memory_file("x", 1);

	cr_assert_eq(pipe(p), 0);
	cr_assert_eq(sp_dict_new(&d, 1 << 20), 0);
	cr_expect_eq(sp_jfrw_new(&w, p[1], d, &cfg, &err), -EINVAL);
	cr_expect_eq(sp_jfrw_new(&w, fd, d, &cfg, &err), -EEXIST);
	cr_expect_eq(sp_jfrw_new(&w, -1, d, &cfg, &err), -EBADF);
	sp_dict_free(d);
}

/* A small recording to damage. */
static size_t sample(uint8_t *to, size_t cap, unsigned flushes, unsigned every)
{
	int fd = memory_file(NULL, 0);
	ssize_t n;

	cr_assert_eq(record(fd, flushes, 4, 6, every, false), 0);
	n = pread(fd, to, cap, 0);
	close(fd);
	return (size_t)n;
}

Test(jfr_reader, truncated_at_every_byte, .timeout = 100)
{
	static uint8_t image[1 << 20];
	size_t len = sample(image, sizeof(image), 1, 0);
	int fd = memory_file(image, len);

	for (size_t cut = len; cut-- > 0;) {
		struct found f;
		struct sp_err err = {{0}};
		int r;

		cr_assert_eq(ftruncate(fd, (off_t)cut), 0);
		r = read_fd(fd, &f, NULL, &err);
		cr_assert(r == 0 || r == -EBADMSG, "%zu: %d", cut, r);
		cr_assert(r == 0 || err.text[0]);
	}
	close(fd);
}

Test(jfr_reader, any_damage_is_survived, .timeout = 100)
{
	static uint8_t image[1 << 20], hurt[1 << 20];
	size_t len = sample(image, sizeof(image), 2, 1);
	unsigned long seed = 1;

	for (unsigned round = 0; round < 4000; round++) {
		struct found f;
		struct sp_err err = {{0}};
		int fd, r;

		memcpy(hurt, image, len);
		for (unsigned k = 0; k < 1 + round % 5; k++) {
			seed = seed * 6364136223846793005ul + 1442695040888963407ul;
			hurt[(seed >> 20) % len] = (uint8_t)(seed >> 56);
		}
		fd = memory_file(hurt, len);
		r = read_fd(fd, &f, NULL, &err);
		cr_assert(r == 0 || r == -EBADMSG, "round %u: %d", round, r);
		close(fd);
	}
}

Test(jfr_reader, names_the_damaged_place_and_reads_the_rest)
{
	static uint8_t image[1 << 20];
	size_t len = sample(image, sizeof(image), 2, 1);
	uint64_t second = be64(image + 8);
	struct sp_err err = {{0}};
	struct found f;
	int fd;

	memset(image + second, 'x', 4);
	fd = memory_file(image, len);
	cr_expect_eq(read_fd(fd, &f, NULL, &err), -EBADMSG);
	cr_expect(strstr(err.text, "offset"), "%s", err.text);
	cr_expect_geq(f.cpu, 4);
	close(fd);
	fd = memory_file(
		"not a recording at all, whatever it may be, and long enough to hold a header", 76);
	cr_expect_eq(read_fd(fd, &f, NULL, &err), -EBADMSG);
	close(fd);
}

Test(jfr_reader, joined_files_are_one_recording)
{
	static uint8_t image[2 << 20];
	size_t len = sample(image, 1 << 20, 2, 1);
	struct sp_err err;
	struct found f;
	int fd;

	memcpy(image + len, image, len);
	fd = memory_file(image, 2 * len);
	cr_assert_eq(read_fd(fd, &f, NULL, &err), 0, "%s", err.text);
	cr_expect_eq(f.cpu, 16);
	close(fd);
}

Test(jfr_reader, any_allocation_may_fail)
{
	static uint8_t image[1 << 20];
	size_t len = sample(image, sizeof(image), 2, 1);
	int fd = memory_file(image, len), r = -ENOMEM;
	unsigned n = 0;

	for (; r != 0; n++) {
		struct found f;
		struct sp_err err = {{0}};

		fail_alloc = n;
		r = read_fd(fd, &f, NULL, &err);
		fail_alloc = -1;
		cr_assert(r == 0 || r == -ENOMEM, "allocation %u: %d %s", n, r, err.text);
	}
	cr_expect_gt(n, 10);
	close(fd);
}

static const char *name_all(void *ctx, const char *module, uint64_t offset, const char *build_id)
{
	static char text[64];

	cr_assert_str_eq(module, "libfoo.so");
	cr_assert_eq(strncmp(build_id, "deadbeef", 8), 0);
	snprintf(text, sizeof(text), "foo_%lx", offset);
	return text;
}

static int on_named(void *ctx, const struct sp_jfr_event *e)
{
	uint64_t *counts = ctx;
	struct sp_dict *d = (struct sp_dict *)(uintptr_t)counts[3];
	const struct sp_stack *s = sp_dict_get_stack(d, e->stack);
	const struct sp_method *m = s ? sp_dict_get_method(d, s->frames[0].method) : NULL;

	counts[0]++;
	counts[1] += m && strncmp(sp_dict_get_string(d, m->name_id, NULL), "foo_", 4) == 0;
	counts[2] += m && m->unresolved;
	return 0;
}

Test(jfr_rewrite, native_frames_get_their_names)
{
	int in = memory_file(NULL, 0), out = memory_file(NULL, 0);
	struct sp_jfr_rewrite_stats st;
	struct sp_err err = {{0}};
	struct found f, g;
	struct sp_dict *d;
	uint64_t counts[4] = {0};
	struct sp_jfr_visitor v = {.ctx = counts, .event = on_named};

	cr_assert_eq(record(in, 4, 30, 10, 2, false), 0);
	cr_assert_eq(sp_jfr_rewrite(in, out, name_all, NULL, &st, &err), 0, "%s", err.text);
	cr_expect_eq(st.renamed, 40);
	cr_assert_eq(read_fd(in, &f, NULL, &err), 0);
	cr_assert_eq(read_fd(out, &g, NULL, &err), 0, "%s", err.text);
	cr_expect_eq(f.cpu, g.cpu);
	cr_expect_eq(f.wall, g.wall);
	cr_expect_eq(f.settings, g.settings);
	cr_expect_str_eq(f.text, g.text);
	cr_expect_eq(g.no_stack + g.no_thread, 0);
	cr_assert_eq(sp_dict_new(&d, 8 << 20), 0);
	counts[3] = (uintptr_t)d;
	cr_assert_eq(sp_jfr_read(out, d, &v, NULL, &err), 0);
	cr_expect_eq(counts[1], 80, "%lu", counts[1]);
	cr_expect_eq(counts[2], 0);
	sp_dict_free(d);
	close(in);
	close(out);
}

Test(jfr_text, all_encodings_become_utf8)
{
	static const struct {
		uint8_t encoding;
		uint32_t len;
		const char *data, *utf8;
	} cases[] = {
		{3, 3, "abc", "abc"},
		{3, 2, "\xc3\xa4", "\xc3\xa4"},
		{3, 6, "\xed\xa0\xbd\xed\xb8\x80", "\xf0\x9f\x98\x80"}, /* two surrogates */
		{3, 4, "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
		{3, 3,
			"a\xff"
			"b",
			"a\xef\xbf\xbd"
			"b"},
		{3, 2, "a\xc3", "a\xef\xbf\xbd"},
		{3, 3, "\xed\xa0\xbd", ""}, /* half a pair */
		{5, 2, "\xe4z", "\xc3\xa4z"},
		{4, 1, "\xac\x41", "\xe2\x82\xac"},
		{4, 2, "\xbd\xb0\x03\x80\xbc\x03", "\xf0\x9f\x98\x80"},
		{3, 0, "", ""},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf b;
		const uint8_t *data = (const uint8_t *)cases[i].data;
		struct sp_jfr_text t = {.encoding = cases[i].encoding,
			.data = data,
			.end = data + strlen(cases[i].data),
			.len = cases[i].len};
		size_t len;
		const char *got;

		sp_buf_init(&b);
		got = sp_jfr_text_utf8(&b, &t, &len);
		cr_expect(len == strlen(cases[i].utf8) && memcmp(got, cases[i].utf8, len) == 0,
			"case %zu: %.*s", i, (int)len, got);
	}
}
