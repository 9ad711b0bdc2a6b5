/* The JFR writer: the file is looked at as a killed writer would have left it after each write and
 * in the middle of each. */
#include "jfr_kit.h"
#include "base/cleanup.h"
#include "jfr/concat.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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

static bool in_pieces; /* flushes so large that the writer divides them */

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
	cr_assert(f.cpu == op->flushes * samples || f.cpu == (op->flushes + 1) * samples ||
			  (in_pieces && f.cpu > op->flushes * samples &&
				  f.cpu < (op->flushes + 1) * samples),
		"op %u, %zu of %zu bytes: %lu samples after %u flushes", i, part, op->len, f.cpu,
		op->flushes);
	cr_assert(f.cpu == f.wall || (in_pieces && f.cpu == f.wall + 1));
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

	in_pieces = true;
	journalling = true;
	cr_assert_eq(record(fd, 4, 120, 40, 0, false), 0);
	journalling = false;
	replay(120, CREATED);
	close(fd);
}

Test(jfr, flush_larger_than_two_megabytes)
{
	enum { SAMPLES = 400000 };
	struct sp_jfrw_cfg cfg = {.buffer = 8 << 20};
	int fd = memory_file(NULL, 0);
	struct sp_dict *d;
	struct sp_jfrw *w;
	struct found f;
	struct sp_err err;

	cr_assert_eq(sp_dict_new(&d, 64 << 20), 0);
	cr_assert_eq(sp_jfrw_new(&w, fd, d, &cfg, &err), 0, "%s", err.text);
	script_events(w, d, 0, 1, 1);
	for (unsigned i = 1; i < SAMPLES; i++)
		sp_jfrw_sample(w, sp_clock_mono_ns(), 1, 1, SP_STATE_RUNNING);
	cr_assert_gt(sp_jfrw_bytes(w), 2 << 20);
	cr_assert_eq(sp_jfrw_close(w), 0);
	sp_dict_free(d);
	cr_assert_eq(read_fd(fd, &f, NULL, &err), 0, "%s", err.text);
	cr_expect_eq(f.cpu, SAMPLES);
	cr_expect_eq(f.no_stack, 0);
	close(fd);
}

/* An event with a text of @len bytes. */
static void setting(struct sp_jfrw *w, size_t len)
{
	static char text[32 << 10];

	memset(text, 'x', len);
	text[len] = 0;
	sp_jfrw_event(w, SP_JFR_ACTIVE_SETTING,
		(const union sp_jfr_val[]){{1}, {1}, {.s = "name"}, {.s = text}});
}

/* Texts of all lengths around the one at which the event's bound is what is left of the buffer. */
Test(jfr, an_event_that_just_fits_into_the_buffer_is_written)
{
	enum { BUFFER = 64 << 10, BESIDE = 200 }; /* bytes of its bound beside the text, at most */
	struct sp_jfrw_cfg cfg = {.buffer = BUFFER};
	int fd = memory_file(NULL, 0);
	struct sp_dict *d;
	struct sp_jfrw *w;
	struct found f;
	struct sp_err err;

	cr_assert_eq(sp_dict_new(&d, 1 << 20), 0);
	cr_assert_eq(sp_jfrw_new(&w, fd, d, &cfg, &err), 0, "%s", err.text);
	for (unsigned beside = 0; beside < BESIDE; beside++) {
		uint64_t before;

		cr_assert_eq(sp_jfrw_flush(w), 0);
		before = sp_jfrw_bytes(w);
		setting(w, 20000);
		setting(w, 20000);
		setting(w, BUFFER - (size_t)(sp_jfrw_bytes(w) - before) - beside);
	}
	cr_assert_eq(sp_jfrw_close(w), 0);
	sp_dict_free(d);
	cr_assert_eq(read_fd(fd, &f, NULL, &err), 0, "%s", err.text);
	cr_expect_eq(f.settings, 3 * BESIDE, "%lu", f.settings);
	close(fd);
}

/* A library in the root directory: what stands before its slash is no name. */
Test(jfr, a_name_that_begins_with_its_only_slash_is_in_no_package)
{
	int fd = memory_file(NULL, 0);
	struct sp_jfrw_cfg cfg = {0};
	struct sp_frame_ref f = {.type = SP_FRAME_NATIVE};
	struct sp_dict *d;
	struct sp_jfrw *w;
	struct sp_err err;

	cr_assert_eq(sp_dict_new(&d, 1 << 20), 0);
	cr_assert_eq(sp_jfrw_new(&w, fd, d, &cfg, &err), 0, "%s", err.text);
	f.method =
		sp_dict_method(d, &(struct sp_method){.class_id = script_string(d, "/libx.so", 0),
					  .name_id = script_string(d, "f", 0),
					  .native = 1});
	sp_jfrw_sample(w, sp_clock_mono_ns(), 0, sp_dict_stack(d, &f, 1, 0), SP_STATE_RUNNING);
	cr_assert_eq(sp_jfrw_close(w), 0);
	cr_expect_eq(sp_dict_strings(d), 2, "no third one, of a package");
	sp_dict_free(d);
	close(fd);
}

Test(jfr, many_constants_are_written_in_pieces)
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

/* One flush that would take megabytes, on a disk that has less. */
Test(jfr, disk_full_keeps_what_fits_of_a_large_flush)
{
	static const struct {
		off_t bytes;
		unsigned samples; /* that it keeps at least: 600 bytes each, and a last piece */
	} disks[] = {{80000, 1}, {150000, 50}, {300000, 300}, {600000, 800}, {900000, 1300}};
	static uint8_t image[2 << 20];

	for (size_t i = 0; i < SP_COUNT(disks); i++) {
		int fd = memory_file(NULL, 0);
		struct found f;
		struct sp_err err;
		ssize_t n;

		disk_full = disks[i].bytes;
		cr_expect_eq(record(fd, 1, 3000, 100, 0, false), -ENOSPC);
		disk_full = -1;
		n = pread(fd, image, sizeof(image), 0);
		cr_expect_null(strict(image, (size_t)n));
		cr_assert_eq(read_fd(fd, &f, NULL, &err), 0, "%s", err.text);
		cr_expect_eq(f.no_stack + f.no_thread, 0);
		cr_expect_geq(f.cpu, disks[i].samples, "%lu of %u with %ld bytes", f.cpu,
			disks[i].samples, (long)disks[i].bytes);
		close(fd);
	}
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
	cr_expect_eq(f.settings, 2); /* the first, and its last words */
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

/* Two recordings with a separator between them are one that every reader takes. */
Test(jfr, concatenated_recordings_are_one)
{
	SP_AUTO_CLOSE int a = memfd_create("a", MFD_CLOEXEC), b = memfd_create("b", MFD_CLOEXEC);
	struct found one, two, both;
	struct sp_jfr_stats stats;
	struct sp_err err;
	uint8_t *all;
	off_t len;

	cr_assert_eq(record(a, 3, 5, 4, 2, false), 0);
	cr_assert_eq(record(b, 2, 5, 4, 0, false), 0);
	cr_assert_eq(read_fd(a, &one, &stats, &err), 0);
	cr_assert_eq(read_fd(b, &two, &stats, &err), 0);
	cr_assert_eq(sp_jfr_concat_zero_durations(b), 0);
	lseek(a, 0, SEEK_END);
	cr_assert_eq(sp_jfr_concat_separator(a, b), 0);
	cr_assert_eq(sp_jfr_concat_append(b, a), 0);
	len = lseek(a, 0, SEEK_END);
	all = malloc((size_t)len);
	cr_assert_eq(pread(a, all, (size_t)len, 0), len);
	cr_expect_null(strict(all, (size_t)len));
	free(all);
	cr_assert_eq(read_fd(a, &both, &stats, &err), 0, "%s", err.text);
	cr_expect_eq(both.cpu, one.cpu + two.cpu);
	cr_expect_gt(two.cpu, 0);
	cr_expect_eq(both.no_stack, 0);
}

Test(jfr, durations_of_what_is_no_recording_are_left)
{
	uint8_t junk[200] = {'F', 'L', 'R', 0};
	SP_AUTO_CLOSE int fd = memory_file(junk, sizeof(junk));

	cr_expect_eq(sp_jfr_concat_zero_durations(fd), -EBADMSG, "a size of 0");
}
