/* The files of a JVM that records from its start. */
#include "output/segments.h"

#include "base/clock.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];
static const struct sp_spark_identity known = {.app_id = "app-1", .executor_id = "7"};
static const struct sp_spark_identity unknown;

static void make_dir(void)
{
	snprintf(dir, sizeof(dir), "/tmp/segments-XXXXXX");
	cr_assert(mkdtemp(dir));
}

static void remove_dir(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	cr_assert(system(command) == 0);
}

TestSuite(segments, .init = make_dir, .fini = remove_dir);

static struct sp_segments *open_pieces(
	const char *options, const struct sp_spark_identity *id, int *fd)
{
	struct sp_args a;
	struct sp_segments *p = NULL;
	struct sp_err err = {{0}};
	char text[256];

	sp_args_init(&a);
	snprintf(text, sizeof(text), "file=%s/%s", dir, options);
	cr_assert(sp_args_parse(&a, text, &err) == 0, "%s", err.text);
	cr_assert(sp_segments_new(&p, &a, id, fd, &err) == 0, "%s", err.text);
	return p;
}

static bool there(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

/* What lies in the directory, as "a b b/c ". */
static const char *listing(void)
{
	static char text[1024];
	char command[128];
	FILE *f;
	size_t n;

	snprintf(command, sizeof(command),
		"find %s -mindepth 1 -printf '%%P\\n' | sort | tr '\\n' ' '", dir);
	f = popen(command, "r");
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	pclose(f);
	return text;
}

static int turn(struct sp_segments *p, uint64_t bytes, uint64_t samples)
{
	struct sp_err err = {{0}};
	int fd = sp_segments_next(p, sp_clock_mono_ns(), &err);

	cr_assert(fd >= 0, "%s", err.text);
	sp_segments_ended(p, bytes, samples);
	return fd;
}

Test(segments, directories_are_made)
{
	char out[512];
	int fd;
	struct sp_segments *p = open_pieces("a/{{APP_ID}}/exec-{{EXECUTOR_ID}}.jfr", &known, &fd);

	cr_expect(there("a/app-1/exec-7.jfr"), "%s", listing());
	cr_expect(strstr(sp_segments_outputs(p, out, sizeof(out)), "/a/app-1/exec-7.jfr\n"));
	cr_expect_not(sp_segments_due(p, sp_clock_mono_ns() + 1000000000000ull, 1ull << 40));
	close(fd);
	sp_segments_free(p);
}

Test(segments, ids_that_come_late_rename)
{
	char out[512];
	int fd;
	struct sp_segments *p =
		open_pieces("{{APP_ID}}/x-{{EXECUTOR_ID}}.%n.jfr,loop=1", &unknown, &fd);
	int second = turn(p, 10, 1);

	cr_expect_not(there("app-1"));
	sp_segments_identify(p, &unknown);
	cr_expect(strstr(sp_segments_outputs(p, out, sizeof(out)), "/jvm-"));
	sp_segments_identify(p, &known);
	cr_expect_str_eq(listing(), "app-1 app-1/x-7.1.jfr app-1/x-7.2.jfr ");
	cr_expect(strstr(sp_segments_outputs(p, out, sizeof(out)), "/app-1/x-7.2.jfr\n"));
	close(fd);
	close(second);
	sp_segments_free(p);
}

static int put_file(const char *name, const char *text)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT, 0644);
	cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	return fd;
}

static const char *with_pid(const char *format)
{
	static char name[64];

	snprintf(name, sizeof(name), format, (int)getpid());
	return name;
}

Test(segments, what_is_no_recording_is_left_alone)
{
	int theirs = put_file("x.jfr", "precious"), fd;
	struct sp_segments *p = open_pieces("x.jfr", &known, &fd);

	cr_expect(lseek(theirs, 0, SEEK_END) == 8);
	cr_expect(there(with_pid("x-%d.jfr")), "%s", listing());
	close(fd);
	close(theirs);
	sp_segments_free(p);
}

Test(segments, an_older_recording_is_written_over)
{
	int older = put_file("x.jfr", "FLR"), fd;
	struct sp_segments *p;

	cr_assert(write(older, "\0more", 5) == 5);
	p = open_pieces("x.jfr", &known, &fd);
	cr_expect(lseek(older, 0, SEEK_END) == 0);
	cr_expect_str_eq(listing(), "x.jfr ");
	close(fd);
	close(older);
	sp_segments_free(p);
}

Test(segments, a_link_is_left_alone)
{
	static const char *const leads_to[] = {"precious", "older.jfr", "nothing"};
	int theirs = put_file("precious", "precious"), older = put_file("older.jfr", "FLR");

	for (size_t i = 0; i < sizeof(leads_to) / sizeof(*leads_to); i++) {
		struct sp_segments *p;
		char text[256], target[256];
		int fd;

		snprintf(text, sizeof(text), "%s/x.jfr", dir);
		cr_assert(symlink(leads_to[i], text) == 0);
		p = open_pieces("x.jfr", &known, &fd);
		cr_expect(there(with_pid("x-%d.jfr")), "%s", listing());
		cr_expect(readlink(text, target, sizeof(target)) > 0);
		cr_expect_not(there("nothing"));
		close(fd);
		sp_segments_free(p);
		unlink(text);
	}
	cr_expect(lseek(theirs, 0, SEEK_END) == 8 && lseek(older, 0, SEEK_END) == 3);
	close(theirs);
	close(older);
}

Test(segments, a_link_to_what_is_no_file_is_refused)
{
	struct sp_segments *p;
	struct sp_args a;
	struct sp_err err = {{0}};
	char text[256];
	int fd;

	snprintf(text, sizeof(text), "%s/x.jfr", dir);
	cr_assert(symlink("/dev/null", text) == 0);
	sp_args_init(&a);
	snprintf(a.file, sizeof(a.file), "%s", text);
	cr_expect(sp_segments_new(&p, &a, &known, &fd, &err) == -EINVAL);
	cr_expect(strstr(err.text, "x.jfr: is not a regular file"), "%s", err.text);
}

/* A child JVM with its parent's options, when the parent's first file is complete. */
Test(segments, complete_ones_of_another_are_not_overwritten)
{
	int fd, other_fd, second;
	struct sp_segments *p = open_pieces("x-%n{2}.jfr,loop=1", &known, &fd), *other;

	second = turn(p, 10, 1);
	close(fd);
	other = open_pieces("x-%n{2}.jfr,loop=1", &known, &other_fd);
	close(other_fd);
	other_fd = turn(other, 10, 1);
	cr_expect(there(with_pid("x-1-%d.jfr")) && there(with_pid("x-2-%d.jfr")), "%s", listing());
	close(other_fd);
	sp_segments_free(other);
	close(second);
	sp_segments_free(p);
	p = open_pieces("x-%n{2}.jfr,loop=1", &known, &fd);
	cr_expect(lseek(fd, 0, SEEK_END) == 0 && there("x-1.jfr"));
	close(fd);
	sp_segments_free(p);
}

Test(segments, ids_that_come_late_replace_nothing)
{
	int fd, theirs;
	struct sp_segments *p = open_pieces("{{APP_ID}}/x.jfr", &unknown, &fd);
	char path[128];

	snprintf(path, sizeof(path), "%s/app-1", dir);
	cr_assert(mkdir(path, 0755) == 0);
	theirs = put_file("app-1/x.jfr", "FLR");
	sp_segments_identify(p, &known);
	cr_expect(lseek(theirs, 0, SEEK_END) == 3 && there("app-1/x.jfr"));
	cr_expect(there(with_pid("app-1/x-%d.jfr")), "%s", listing());
	close(fd);
	close(theirs);
	sp_segments_free(p);
}

Test(segments, one_that_goes_on_lies_beside_the_others)
{
	int fd, second, third;
	struct sp_segments *p = open_pieces("x.jfr", &known, &fd);
	struct sp_err err = {{0}};

	sp_segments_finish(p, 10, 1);
	cr_assert_eq(sp_segments_again(p, &second, &err), 0, "%s", err.text);
	sp_segments_finish(p, 10, 1);
	cr_assert_eq(sp_segments_again(p, &third, &err), 0, "%s", err.text);
	cr_expect_str_eq(listing(), "x.2.jfr x.3.jfr x.jfr ");
	close(fd);
	close(second);
	close(third);
	sp_segments_free(p);
}

/* The file in hand has the name of the oldest: it does not go to make room. */
Test(segments, one_that_goes_on_may_take_the_name_of_the_oldest)
{
	struct sp_err err = {{0}};
	int fd, third;
	struct sp_segments *p = open_pieces("x-%n{2}.jfr,loop=1,maxdisk=1m", &known, &fd);

	close(fd);
	fd = turn(p, 600000, 1);
	sp_segments_finish(p, 300000, 2);
	close(fd);
	cr_assert_eq(sp_segments_again(p, &third, &err), 0, "%s", err.text);
	cr_expect_eq(sp_segments_fit(p, 300000), 0);
	cr_expect_str_eq(listing(), "x-1.jfr x-2.jfr ");
	close(third);
	sp_segments_free(p);
}

Test(segments, another_writer_is_not_overwritten)
{
	int fd, other;
	char path[128], name[64];
	struct sp_segments *p;

	snprintf(path, sizeof(path), "%s/x.jfr", dir);
	other = open(path, O_RDWR | O_CREAT, 0644);
	cr_assert(flock(other, LOCK_EX) == 0 && write(other, "theirs", 6) == 6);
	p = open_pieces("x.jfr", &known, &fd);
	cr_expect(lseek(other, 0, SEEK_END) == 6);
	snprintf(name, sizeof(name), "x-%d.jfr", (int)getpid());
	cr_expect(there(name), "%s", listing());
	close(fd);
	close(other);
	sp_segments_free(p);
}

Test(segments, one_for_each_loop)
{
	uint64_t now = sp_clock_mono_ns();
	int fd;
	struct sp_segments *p = open_pieces("x.jfr,loop=10m", &known, &fd);

	cr_expect_not(sp_segments_due(p, now + 599000000000ull, 1 << 30));
	cr_expect(sp_segments_due(p, now + 601000000000ull, 0));
	close(fd);
	close(turn(p, 1, 1));
	cr_expect_str_eq(listing(), "x.1.jfr x.2.jfr ");
	sp_segments_free(p);
}

Test(segments, rounds_begin_again)
{
	int fd;
	struct sp_segments *p = open_pieces("x-%n{2}.jfr,loop=1,maxdisk=1m", &known, &fd);

	close(fd);
	for (int i = 0; i < 3; i++)
		close(turn(p, 400000, 1));
	cr_expect_str_eq(listing(), "x-1.jfr x-2.jfr ");
	/* of four segments only two are left: one is complete, one in hand */
	cr_expect_eq(sp_segments_fit(p, 400000), 0);
	sp_segments_free(p);
}

Test(segments, the_oldest_goes_first)
{
	int fd;
	struct sp_segments *p = open_pieces("x.jfr,maxdisk=1m", &known, &fd);

	cr_expect_not(sp_segments_due(p, sp_clock_mono_ns(), 100000));
	cr_expect(sp_segments_due(p, sp_clock_mono_ns(), 262144));
	close(fd);
	for (int i = 1; i <= 4; i++)
		close(turn(p, 262144, (uint64_t)i));
	cr_expect_eq(sp_segments_fit(p, 0), 0);
	cr_expect_eq(sp_segments_fit(p, 300000), 1 + 2);
	cr_expect_str_eq(listing(), "x.3.jfr x.4.jfr x.5.jfr ");
	sp_segments_free(p);
}

Test(segments, a_file_that_cannot_be_is_named)
{
	struct sp_args a;
	struct sp_segments *p;
	struct sp_err err = {{0}};
	int fd;

	sp_args_init(&a);
	snprintf(a.file, sizeof(a.file), "%s/file", dir);
	close(open(a.file, O_CREAT | O_RDWR, 0644));
	snprintf(a.file, sizeof(a.file), "%s/file/x.jfr", dir);
	cr_expect_eq(sp_segments_new(&p, &a, &known, &fd, &err), -ENOTDIR);
	cr_expect(strstr(err.text, "/file/x.jfr: Not a directory"), "%s", err.text);
	snprintf(a.file, sizeof(a.file), "%%{SP_NO_SUCH}");
	cr_expect_eq(sp_segments_new(&p, &a, &known, &fd, &err), -EINVAL);
	cr_expect(strstr(err.text, "SP_NO_SUCH"), "%s", err.text);
}

Test(segments, a_directory_has_the_layout_of_sparks_profiler)
{
	static const struct {
		const char *file;
		struct sp_spark_identity id;
		unsigned n;
		const char *name;
	} cases[] = {
		{"hdfs:///p", {.app_id = "app-1", .executor_id = "7"}, 0,
			"hdfs:///p/app-1/profile-exec-7.jfr"},
		{"s3a://b/p/", {.app_id = "a", .executor_id = "driver"}, 3,
			"s3a://b/p/a/profile-driver.3.jfr"},
		{"hdfs://nn/{{APP_ID}}/x{{EXECUTOR_ID}}.jfr", {.app_id = "a", .executor_id = "1"},
			0, "hdfs://nn/a/x1.jfr"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sp_args a;
		struct sp_segments *p;
		struct sp_err err = {{0}};
		char name[256];
		int fd;

		sp_args_init(&a);
		snprintf(a.file, sizeof(a.file), "%s", cases[i].file);
		snprintf(a.localdir, sizeof(a.localdir), "%s", dir);
		cr_assert_eq(sp_segments_new(&p, &a, &unknown, &fd, &err), 0, "%s", err.text);
		cr_expect_eq(sp_segments_remote(p, 0, name, sizeof(name), &err), -EAGAIN);
		sp_segments_identify(p, &cases[i].id);
		cr_expect_eq(sp_segments_remote(p, cases[i].n, name, sizeof(name), &err), 0);
		cr_expect_str_eq(name, cases[i].name);
		close(fd);
		sp_segments_free(p);
	}
	cr_expect_not(sp_segments_is_remote("/a://b"));
	cr_expect_not(sp_segments_is_remote("file:///b"));
	cr_expect_not(sp_segments_is_remote("hdfs:b"));
	cr_expect(sp_segments_is_remote("dbfs:/b"));
}

Test(segments, what_waits_is_taken_in_order)
{
	char options[256], want[64];
	int fd, fds[8];
	struct sp_args a;
	struct sp_segments *p;
	struct sp_err err = {{0}};

	sp_args_init(&a);
	snprintf(options, sizeof(options), "file=hdfs:///p,localdir=%s,maxdisk=1m,dfsinterval=5",
		dir);
	cr_assert_eq(sp_args_parse(&a, options, &err), 0);
	cr_assert_eq(sp_segments_new(&p, &a, &known, &fd, &err), 0, "%s", err.text);
	cr_expect_eq(sp_segments_take(p, fds, 8), 0);
	cr_expect_eq(sp_segments_wait(p, 1000000), 0);
	cr_expect_not(sp_segments_due(p, sp_clock_mono_ns(), 0));
	sp_segments_hurry(p);
	cr_expect(sp_segments_due(p, sp_clock_mono_ns(), 0));
	close(fd);
	fd = sp_segments_next(p, sp_clock_mono_ns(), &err);
	cr_expect_eq(sp_segments_take(p, fds, 8), 0, "it is not complete yet");
	sp_segments_ended(p, 600000, 1);
	close(fd);
	close(turn(p, 600000, 2));
	cr_assert_eq(sp_segments_take(p, fds, 8), 1, "both are more than a quarter of maxdisk=");
	cr_expect_eq(sp_segments_fit(p, 0), 2, "what is on its way stays");
	sp_segments_keep(p);
	close(fds[0]);
	cr_assert_eq(sp_segments_take(p, fds, 8), 1);
	sp_segments_sent(p);
	close(fds[0]);
	close(turn(p, 10, 1));
	sp_segments_finish(p, 10, 3);
	snprintf(want, sizeof(want), "sparkprof-%d.3.jfr sparkprof-%d.4.jfr ", (int)getpid(),
		(int)getpid());
	cr_expect_str_eq(listing(), want);
	cr_expect_eq(sp_segments_wait(p, 0), 2);
	cr_assert_eq(sp_segments_take(p, fds, 8), 2, "small ones go together");
	close(fds[0]);
	close(fds[1]);
	sp_segments_sent(p);
	cr_expect_str_eq(listing(), "");
	sp_segments_free(p);
}

Test(segments, a_turn_of_loop_has_its_file_in_the_cluster)
{
	char options[256], name[256];
	uint64_t now = sp_clock_mono_ns();
	int fd, fds[8];
	struct sp_args a;
	struct sp_segments *p;
	struct sp_err err = {{0}};

	sp_args_init(&a);
	snprintf(options, sizeof(options),
		"file=hdfs:///p/%%n{2}.jfr,localdir=%s,loop=10,dfsinterval=60", dir);
	cr_assert_eq(sp_args_parse(&a, options, &err), 0);
	cr_assert_eq(sp_segments_new(&p, &a, &known, &fd, &err), 0, "%s", err.text);
	close(fd);
	for (uint64_t i = 1; i <= 3; i++) {
		cr_expect_not(sp_segments_due(p, now + i * 10000000000ull - 1000000000, 0));
		cr_expect(sp_segments_due(p, now + i * 10000000000ull + 1000000000, 0));
		fd = sp_segments_next(p, now + i * 10000000000ull + 1000000, &err);
		cr_assert_geq(fd, 0);
		close(fd);
		sp_segments_ended(p, 10, 1);
	}
	for (uint64_t i = 1; i <= 3; i++) {
		struct sp_turn t = sp_segments_turn(p);

		cr_expect(t.number == i && t.keep == 2 && t.named);
		cr_assert_eq(sp_segments_take(p, fds, 8), 1, "others are of another turn");
		cr_expect_eq(sp_segments_remote(p, 0, name, sizeof(name), &err), 0);
		cr_expect_str_eq(name, i == 2 ? "hdfs:///p/2.jfr" : "hdfs:///p/1.jfr");
		close(fds[0]);
		sp_segments_sent(p);
	}
	sp_segments_free(p);
}

Test(segments, nothing_is_left_of_one_that_did_not_start)
{
	int fd;
	struct sp_segments *p = open_pieces("{{APP_ID}}/x.jfr", &unknown, &fd);

	sp_segments_discard(p);
	cr_expect_str_eq(listing(), "");
	close(fd);
	sp_segments_free(p);
}
