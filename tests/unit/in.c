/* Inputs of reports beside recordings: collapsed text, perf script and pprof, whole, cut at every
 * byte, and damaged at random. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "in/input.h"
#include "out/out.h"
#include "sample_profile.h"

static int file_of(const void *data, size_t n)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	cr_assert(fd >= 0 && write(fd, data, n) == (ssize_t)n);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Reads an input as report does; NULL if it is refused. */
static struct sp_profile *read_input(
	const void *data, size_t n, const struct sp_load_opts *opts, struct sp_err *err)
{
	static const struct sp_load_opts none = {.dict_cap = 16u << 20};
	SP_AUTO_CLOSE int fd = file_of(data, n);
	SP_AUTO_CLOSE int own = -1;
	struct sp_profile *p = NULL;
	enum sp_input_kind kind;

	if (sp_input_open(fd, &own, &kind, NULL, err) < 0)
		return NULL;
	return sp_input_read(own, kind, opts ? opts : &none, NULL, &p, err) < 0 ? NULL : p;
}

static char *collapsed(const struct sp_profile *p, bool threads)
{
	struct sp_out_opts o = {.view = {.threads = threads}};
	struct sp_sink sink;
	char *text;

	sp_sink_init(&sink, -1);
	cr_assert_eq(sp_out_collapsed(p, &o, &sink), 0);
	text = strdup(sp_buf_str(&sink.buf));
	sp_sink_done(&sink);
	return text;
}

static void check(const char *input, bool threads, const char *want)
{
	struct sp_err err = {0};
	struct sp_profile *p = read_input(input, strlen(input), NULL, &err);
	char *got;

	cr_assert_not_null(p, "%s", err.text);
	got = collapsed(p, threads);
	cr_expect_str_eq(got, want);
	free(got);
	sp_profile_free(p);
}

Test(in, collapsed_text_comes_back_as_it_was)
{
	check("a;b;c 3\na;b 2\n", false, "a;b 2\na;b;c 3\n");
	check("a;b 2\na;b 5", false, "a;b 7\n"); /* summed, and no newline at the end */
	check("[worker tid=7];java/lang/Thread.run;f 2\n", true,
		"[worker tid=7];java/lang/Thread.run;f 2\n");
	check("[worker tid=7];java/lang/Thread.run;f 2\n", false, "java/lang/Thread.run;f 2\n");
	check("[lost: ring full] 4\na 1\n", false, "[lost: ring full] 4\na 1\n");
	check("a b;c d 1\r\n# comment\n\n", false, "a b;c d 1\n");
	check("/usr/lib/libz.so.1.13;x 1\n", false, "/usr/lib/libz.so.1.13;x 1\n");
}

Test(in, lines_that_are_no_stacks_are_counted_with_their_place)
{
	const char text[] = "a;b 2\nwhat is this\nc 1\n";
	struct sp_err err = {0};
	struct sp_profile *p = read_input(text, strlen(text), NULL, &err);

	cr_assert_not_null(p);
	cr_expect_eq(p->samples, 3);
	cr_expect_eq(p->note_count, 1);
	cr_expect_str_eq(sp_dict_get_string(p->dict, p->notes[0].text_id, NULL),
		"1 lines are not a stack and a number, the first at offset 6");
	sp_profile_free(p);
}

static const char perf_text[] = "java  4242/4243  [001]  1234.567890:   10000000 cpu-clock:u: \n"
				"\t    7f0a1b2c3d4e do_work+0x1e (/usr/lib/libwork.so)\n"
				"\tffffffff81000000 do_syscall_64+0x10 ([kernel.kallsyms])\n"
				"\t    7f0a00000000 [unknown] (/usr/lib/libc.so.6)\n"
				"\n"
				"C2 CompilerThre 4250 1234.577890:   10000000 cpu-clock:u: \n"
				"\t    7f0a1b2c3d4e Lorg/foo/Bar;::baz+0x3 (/tmp/perf-4242.map)\n"
				"\n";

Test(in, perf_script_is_read)
{
	check(perf_text, true,
		"[C2 CompilerThre tid=4250];Lorg/foo/Bar|::baz 1\n"
		"[java tid=4243];[libc.so.6];do_syscall_64;do_work 1\n");
}

Test(in, what_is_none_of_ours_is_refused)
{
	static const char *const inputs[] = {"", "hello",
		"\x7f"
		"ELF\x02\x01\x01",
		"<html></html>", "678: begins with a number and a colon"};
	struct sp_err err = {0};

	for (size_t i = 0; i < SP_COUNT(inputs); i++)
		cr_expect_null(read_input(inputs[i], strlen(inputs[i]), NULL, &err));
}

/* pprof as our own writer makes it. */
static struct sp_buf pprof_of_sample(bool gzipped)
{
	struct sp_profile *p = sample_profile();
	struct sp_out_opts o = {0};
	struct sp_sink sink;
	struct sp_buf out;
	z_stream z = {0};

	sp_sink_init(&sink, -1);
	cr_assert_eq(sp_out_pprof(p, &o, &sink), 0);
	sp_profile_free(p);
	sp_buf_init(&out);
	if (gzipped) {
		sp_buf_add(&out, sink.buf.data, sink.buf.len);
	} else {
		z.next_in = (unsigned char *)sink.buf.data;
		z.avail_in = (unsigned)sink.buf.len;
		z.next_out = sp_buf_reserve(&out, 1 << 20);
		z.avail_out = 1 << 20;
		cr_assert_eq(inflateInit2(&z, 15 + 16), Z_OK);
		cr_assert_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
		out.len = z.total_out;
		inflateEnd(&z);
	}
	sp_sink_done(&sink);
	return out;
}

Test(in, pprof_comes_back_with_its_events_threads_and_states)
{
	for (int gz = 0; gz < 2; gz++) {
		SP_AUTO_BUF struct sp_buf b = pprof_of_sample(gz);
		struct sp_load_opts cpu = {.events = (const char *const[]){"cpu"},
			.event_count = 1,
			.dict_cap = 16u << 20};
		struct sp_profile *want = sample_profile(), *got;
		struct sp_err err = {0};
		struct sp_out_opts o = {.view = {.threads = true}};
		struct sp_sink a, c;

		want->lost_count = 0; /* the format has no place for it but a comment */
		got = read_input(b.data, b.len, &cpu, &err);
		cr_assert_not_null(got, "%s", err.text);
		sp_sink_init(&a, -1);
		sp_sink_init(&c, -1);
		cr_assert_eq(sp_out_collapsed(want, &o, &a), 0);
		cr_assert_eq(sp_out_collapsed(got, &o, &c), 0);
		/* "[truncated]" is a frame there, as in collapsed text */
		cr_expect_eq(a.buf.len > 0, c.buf.len > 0);
		cr_expect_eq(got->samples, want->events[0].samples);
		cr_expect_eq(got->events[0].weight, want->events[0].weight);
		sp_sink_done(&a);
		sp_sink_done(&c);
		sp_profile_free(got);
		sp_profile_free(want);
	}
}

static uint64_t take_varint(const uint8_t **at)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		v |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return v;
	}
}

/* Calls @found with each field of a message that is number @field and has bytes. */
static void each_field(const uint8_t *at, const uint8_t *end, unsigned field,
	void (*found)(const uint8_t *at, const uint8_t *end))
{
	while (at < end) {
		uint64_t tag = take_varint(&at), value = take_varint(&at);

		if ((tag & 7) != 2)
			continue;
		if (tag >> 3 == field)
			found(at, at + value);
		at += value;
	}
}

static unsigned packed_lists;

static void count_values(const uint8_t *at, const uint8_t *end)
{
	unsigned n = 0;

	for (; at < end; n++)
		take_varint(&at);
	cr_expect_eq(n, 2 * 2, "%u values of two events", n);
	packed_lists++;
}

static void values_of_sample(const uint8_t *at, const uint8_t *end)
{
	each_field(at, end, 2, count_values);
}

/* sample_type has a count and a weight for each event: a sample has as many values. */
Test(in, pprof_samples_have_as_many_values_as_there_are_types)
{
	SP_AUTO_BUF struct sp_buf b = pprof_of_sample(false);
	const uint8_t *at = (const uint8_t *)b.data;

	each_field(at, at + b.len, 2, values_of_sample);
	cr_expect_gt(packed_lists, 4);
}

/* Whatever comes in: a profile or a sentence, and nothing else. */
static void try(const void *data, size_t n)
{
	struct sp_err err = {0};
	struct sp_profile *p = read_input(data, n, NULL, &err);

	cr_assert(p || err.text[0]);
	if (p)
		free(collapsed(p, true));
	sp_profile_free(p);
}

static void cut_everywhere(const char *data, size_t n)
{
	for (size_t i = 0; i <= n; i++) {
		char *copy = malloc(i ? i : 1); /* so that reading past the end is seen */

		memcpy(copy, data, i);
		try(copy, i);
		free(copy);
	}
}

/* The same damage each time: a test that fails can be run again. */
static void damage(const char *data, size_t n, unsigned rounds)
{
	unsigned seed = 1;
	char *copy = malloc(n);

	for (unsigned i = 0; i < rounds; i++) {
		memcpy(copy, data, n);
		for (unsigned k = 0; k < 1 + i % 4; k++)
			copy[(unsigned)rand_r(&seed) % n] = (char)rand_r(&seed);
		try(copy, n);
	}
	free(copy);
}

static unsigned rounds(void)
{
	const char *s = getenv("SP_FUZZ_ROUNDS");

	return s ? (unsigned)strtoul(s, NULL, 10) : 500;
}

Test(in, collapsed_text_survives_cuts_and_damage)
{
	static const char text[] = "[w tid=7];a/B.c_[j];d_[k] 3\n[lost: x] 2\n[truncated];a;b 2\n";

	cut_everywhere(text, strlen(text));
	damage(text, strlen(text), rounds());
}

Test(in, perf_script_survives_cuts_and_damage)
{
	cut_everywhere(perf_text, strlen(perf_text));
	damage(perf_text, strlen(perf_text), rounds());
}

Test(in, pprof_survives_cuts_and_damage)
{
	SP_AUTO_BUF struct sp_buf b = pprof_of_sample(false), gz = pprof_of_sample(true);

	cut_everywhere(b.data, b.len);
	damage(b.data, b.len, rounds());
	cut_everywhere(gz.data, gz.len);
	damage(gz.data, gz.len, rounds());
}
