/* The JFR reader and rewriter, over whole, cut and damaged recordings. */
#include "base/hash.h"
#include "jfr/resolve.h"
#include "jfr/rewrite.h"
#include "jfr/string_decode.h"
#include "jfr_kit.h"
#include "report/sigbus_guard.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t sample(uint8_t *to, size_t cap, unsigned flushes, unsigned every)
{
	int fd = memory_file(NULL, 0);
	ssize_t n;

	cr_assert_eq(record(fd, flushes, 4, 6, every, false), 0);
	n = pread(fd, to, cap, 0);
	close(fd);
	return (size_t)n;
}

Test(jfr_cursor, skipped_numbers_end_where_read_ones_do)
{
	uint8_t bytes[400];
	unsigned seed = 7;

	for (int round = 0; round < 20000; round++) {
		unsigned often = round % 9; /* from single bytes to numbers of nine */
		struct sp_jfr_cursor slow, fast;
		uint64_t n = (seed >> 8) % 120;

		for (size_t i = 0; i < sizeof(bytes); i++) {
			seed = seed * 1664525u + 1013904223u;
			bytes[i] = (uint8_t)(seed >> 24 | ((seed >> 16) % 9 < often ? 0x80 : 0));
			bytes[i] &= often == 0 ? 0x7f : 0xff;
		}
		slow = fast = (struct sp_jfr_cursor){
			.p = bytes, .end = bytes + sizeof(bytes) - round % 50};
		for (uint64_t i = 0; i < n && !slow.bad; i++)
			sp_jfr_get_packed(&slow);
		sp_jfr_skip_packed(&fast, n);
		cr_assert(fast.bad == slow.bad, "round %d", round);
		cr_assert(slow.bad || fast.p == slow.p, "round %d", round);
	}
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

/* A hash over events in their order. */
struct digest {
	uint64_t hash, events;
	bool whole; /* all fields are read, not only those that are picked */
};

static int want_samples(void *ctx, const char *type)
{
	return strcmp(type, "jdk.ExecutionSample") == 0	       ? 1
	       : strcmp(type, "profiler.WallClockSample") == 0 ? 2
	       : strcmp(type, "jdk.ResidentSetSize") == 0      ? 3
							       : 0;
}

static const char *const *pick_fields(void *ctx, int wanted)
{
	static const char *const none[] = {NULL}, *const wall[] = {"timeSpan", "", "samples", NULL};

	return wanted == 2 ? wall : wanted == 1 ? none : NULL;
}

static int digest_event(void *ctx, const struct sp_jfr_event *e)
{
	struct digest *d = ctx;
	const struct sp_jfr_value *span = sp_jfr_value_of(e, "timeSpan");
	const struct sp_jfr_value *samples = sp_jfr_value_of(e, "samples");
	const uint64_t v[] = {(uint64_t)e->wanted, e->start_ns, e->duration_ns, e->thread, e->state,
		e->stack, span ? span->u : e->picked[0], samples ? samples->u : e->picked[2],
		e->picked[1] | e->picked[3]};

	d->hash = (d->hash ^ sp_hash_bytes(v, sizeof(v))) * 0x9e3779b97f4a7c15ull;
	d->events++;
	cr_assert(e->wanted != 2 || !d->whole || span);
	return 0;
}

static struct digest digest_of(int fd, bool whole, struct sp_jfr_stats *st, int *ret)
{
	struct digest d = {.whole = whole};
	struct sp_jfr_visitor v = {.ctx = &d,
		.want = want_samples,
		.fields = whole ? NULL : pick_fields,
		.event = digest_event};
	struct sp_dict *dict;
	struct sp_err err = {{0}};

	cr_assert_eq(sp_dict_new(&dict, 64 << 20), 0);
	*ret = sp_jfr_read(fd, dict, &v, st, &err);
	sp_dict_free(dict);
	return d;
}

/* Events that are read several at once, a few fields of each, are those that are read one by one.
 */
Test(jfr_reader, batches_hold_what_single_events_do)
{
	for (unsigned samples = 0; samples < 100; samples += 1 + samples / 20) {
		int fd = memory_file(NULL, 0), r, s;
		struct sp_jfr_stats one, many;
		struct digest whole, picked;

		cr_assert_eq(record(fd, 3, samples, 6, samples % 2, false), 0);
		whole = digest_of(fd, true, &one, &r);
		picked = digest_of(fd, false, &many, &s);
		cr_assert(r == 0 && s == 0);
		cr_expect_eq(whole.events, 3 * (2 * samples + 1), "%u samples", samples);
		cr_expect_eq(picked.events, whole.events, "%u samples", samples);
		cr_expect_eq(picked.hash, whole.hash, "%u samples", samples);
		cr_expect_eq(many.events, one.events);
		cr_expect_eq(many.skipped, one.skipped, "%u samples", samples);
		close(fd);
	}
}

Test(jfr_reader, damaged_batches_are_survived, .timeout = 100)
{
	static uint8_t image[1 << 20], hurt[1 << 20];
	size_t len = sample(image, sizeof(image), 2, 1);
	unsigned long seed = 3;

	for (unsigned round = 0; round < 4000; round++) {
		size_t cut = round % 3 ? len : len * (round % 997) / 997;
		struct sp_jfr_stats st;
		int fd, r;

		memcpy(hurt, image, len);
		for (unsigned k = 0; k < round % 5; k++) {
			seed = seed * 6364136223846793005ul + 1442695040888963407ul;
			hurt[(seed >> 20) % len] = (uint8_t)(seed >> 56);
		}
		fd = memory_file(hurt, cut);
		digest_of(fd, false, &st, &r);
		cr_assert(r == 0 || r == -EBADMSG, "round %u: %d", round, r);
		close(fd);
	}
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

static const char *name_all(
	void *ctx, const char *module, uint64_t offset, const char *build_id, const char *has)
{
	static char text[64];

	if (has)
		return NULL;

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
	cr_assert_eq(sp_jfr_rewrite(in, out, SP_JFR_REWRITE_REDACT, name_all, NULL, &st, &err), 0,
		"%s", err.text);
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
		got = sp_jfr_string_utf8(&b, &t, &len);
		cr_expect(len == strlen(cases[i].utf8) && memcmp(got, cases[i].utf8, len) == 0,
			"case %zu: %.*s", i, (int)len, got);
	}
}

/* Cuts the file at the first event that is read. */
static int cut_file(void *ctx, const struct sp_jfr_event *e)
{
	cr_assert_eq(ftruncate(*(int *)ctx, 8192), 0);
	return 0;
}

Test(jfr_reader, a_file_cut_while_it_is_mapped_is_damage)
{
	int fd = memory_file(NULL, 0);
	struct sp_jfr_visitor v = {.ctx = &fd, .event = cut_file};
	struct sp_err err = {{0}};
	struct sp_dict *dict;

	/* two chunks of megabytes: the first is mapped, for its writer has gone on */
	cr_assert_eq(record(fd, 2, 9000, 100, 1, false), 0);
	sp_sigbus_guard_install();
	cr_assert_eq(sp_dict_new(&dict, 64u << 20), 0);
	cr_expect_eq(sp_jfr_read(fd, dict, &v, NULL, &err), -EBADMSG);
	cr_expect(strstr(err.text, "offset"), "%s", err.text);
	cr_expect(sp_sigbus_guard_hit());
	sp_dict_free(dict);
	close(fd);
}

Test(jfr_resolver, a_chunk_is_ours_wherever_it_declares_our_type)
{
	for (uint32_t at = 0; at < 4; at++) {
		struct sp_jfr_decl types[] = {
			{.name = "jdk.GCPhasePause"}, {.name = "jdk.CPULoad"}, {.name = "boolean"}};
		struct sp_jfr_chunk_data chunk = {
			.schema = {.types = types, .type_count = SP_COUNT(types)}};
		struct sp_jfr_resolver r;
		struct sp_dict *d;

		if (at < SP_COUNT(types))
			types[at].name = "sparkprof.Counts";
		cr_assert_eq(sp_dict_new(&d, 1 << 20), 0);
		cr_assert_eq(sp_jfr_resolver_init(&r, d), 0);
		cr_assert_eq(sp_jfr_resolver_enter(&r, &chunk), 0);
		cr_expect_eq(r.ours, at < SP_COUNT(types), "%u", at);
		sp_jfr_resolver_done(&r);
		sp_dict_free(d);
	}
}
