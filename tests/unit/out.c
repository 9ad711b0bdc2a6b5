/* Reports of one sample profile against files in tests/data/out, and the files they go to.
 * SP_UPDATE=1 writes the files anew: read the difference before you commit it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "out/out.h"
#include "base/cleanup.h"
#include "out/elide.h"
#include "out/json.h"
#include "out/outfile.h"
#include "prof/model/tasks.h"
#include "sample_profile.h"

static char *read_golden(const char *name, char *path, size_t len)
{
	const char *data = getenv("SP_DATA");
	SP_AUTO_BUF struct sp_buf b;
	SP_AUTO_CLOSE int fd = -1;

	snprintf(path, len, "%s/out/%s", data ? data : "tests/data", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	sp_buf_init(&b);
	if (fd >= 0)
		cr_assert(sp_buf_read_fd(&b, fd, 1 << 20) == 0);
	return strdup(sp_buf_str(&b));
}

static void check(const char *format, const struct sp_out_opts *o, const char *golden)
{
	struct sp_profile *p = sample_profile();
	char path[PATH_MAX], *want = read_golden(golden, path, sizeof(path));
	struct sp_sink s;

	sp_sink_init(&s, -1);
	cr_assert(sp_out_by_name(format)->write(p, o, &s) == 0);
	if (getenv("SP_UPDATE")) {
		FILE *f = fopen(path, "w");

		cr_assert(f && fputs(sp_buf_str(&s.buf), f) >= 0 && fclose(f) == 0);
	} else {
		cr_assert_str_eq(sp_buf_str(&s.buf), want, "%s:\n%s", golden, sp_buf_str(&s.buf));
	}
	cr_assert(sp_sink_done(&s) == 0);
	sp_profile_free(p);
	free(want);
}

Test(out, collapsed_plain)
{
	check("collapsed", &(struct sp_out_opts){0}, "plain.collapsed");
}

Test(out, collapsed_with_everything)
{
	struct sp_out_opts o = {.view = {.threads = true,
					.total = true,
					.style = {.signatures = true,
						.annotate = true,
						.libraries = true,
						.simple = true}}};

	check("collapsed", &o, "all.collapsed");
}

Test(out, collapsed_wall_by_state)
{
	check("collapsed", &(struct sp_out_opts){.view = {.event = "wall", .state = "lock"}},
		"lock.collapsed");
}

Test(out, text_ascii)
{
	check("text", &(struct sp_out_opts){0}, "plain.txt");
}

Test(out, text_coloured_utf8_narrow)
{
	check("text", &(struct sp_out_opts){.colour = true, .utf8 = true, .width = 60},
		"colour.txt");
}

Test(out, text_fits_the_width)
{
	for (unsigned width = 50; width < 120; width += 3) {
		struct sp_profile *p = sample_profile();
		struct sp_sink s;
		char *line, *save = NULL;

		sp_sink_init(&s, -1);
		sp_profile_lost(p, "a reason that is longer than most and goes on for a while", 7);
		cr_assert(sp_out_text(p, &(struct sp_out_opts){.width = width, .utf8 = true}, &s) ==
			  0);
		for (line = strtok_r((char *)sp_buf_str(&s.buf), "\n", &save); line;
			line = strtok_r(NULL, "\n", &save))
			cr_assert(sp_elide_columns(line, strlen(line)) <= width, "%u: %s", width,
				line);
		sp_sink_done(&s);
		sp_profile_free(p);
	}
}

/* The lines of the table of stages; returns how many there are. */
static size_t stage_lines(char *text, char *lines[], size_t max)
{
	char *at = strstr(text, "    share  tasks "), *save = NULL;
	size_t n = 0;

	cr_assert(at, "%s", text);
	*strstr(at, "\n\n") = 0;
	for (at = strtok_r(at, "\n", &save); at && n < max; at = strtok_r(NULL, "\n", &save))
		lines[n++] = at;
	return n;
}

/* Two stages, both on the first row's stack; the second has a name that is longer than any line. */
static struct sp_profile *profile_of_stages(void)
{
	static const char site[] =
		"collect at a/path/that/is/long/enough/to/go/on/below/and/on/x.py:34";
	struct sp_profile *p = sample_profile();
	uint32_t app = sp_dict_string(p->dict, "app-1", 5);

	for (int32_t i = 0; i < 2; i++) {
		struct sp_task_run task = {.name = {i, 7 + i, 0, 0, 0}, .app = app};

		cr_assert_eq(sp_profile_add_task(p, &task), 0);
		p->rows[i].task = (uint32_t)i + 1;
	}
	sp_profile_stage(p, app, 7, 0)->call_site = sp_dict_string(p->dict, "count at x.py:7", 15);
	sp_profile_stage(p, app, 8, 0)->call_site = sp_dict_string(p->dict, site, strlen(site));
	sp_profile_stage(p, app, 8, 0)->sql = 3;
	return p;
}

Test(out, text_of_stages_has_a_line_each_where_it_fits)
{
	static const struct {
		unsigned width;
		size_t lines;
	} cases[] = {{50, 5}, {80, 5}, {100, 3}, {160, 3}};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_profile *p = profile_of_stages();
		char *lines[8] = {NULL}, *work;
		struct sp_sink s;
		size_t n;

		sp_sink_init(&s, -1);
		cr_assert(sp_out_text(p, &(struct sp_out_opts){.width = cases[i].width}, &s) == 0);
		n = stage_lines((char *)sp_buf_str(&s.buf), lines, SP_COUNT(lines));
		cr_expect_eq(n, cases[i].lines, "%u: %zu", cases[i].width, n);
		for (size_t k = 0; k < n; k++)
			cr_expect_leq(strlen(lines[k]), cases[i].width, "%s", lines[k]);
		/* what they did stands below its heading, or below the name */
		work = strstr(lines[0], n == 3 ? "work" : "name");
		cr_expect(strncmp(lines[n == 3 ? 1 : 2] + (work - lines[0]), "shuffle", 7) == 0 ||
				  cases[i].width < 80,
			"%s", lines[1]);
		cr_expect(strncmp(lines[n - 1] + (work - lines[0]), "your code", 9) == 0 ||
				  cases[i].width < 80,
			"%s", lines[n - 1]);
		cr_expect(
			strstr(lines[1], "count at x.py:7") || cases[i].width < 80, "%s", lines[1]);
		sp_sink_done(&s);
		sp_profile_free(p);
	}
}

Test(out, text_of_a_straggler_keeps_its_number)
{
	for (unsigned width = 80; width <= 160; width += 80) {
		struct sp_profile *p = profile_of_stages();
		struct sp_sink s;

		for (int64_t k = 1; k <= 3; k++)
			sp_profile_add_task(
				p, &(struct sp_task_run){{34560 + k, 7, 0, 0, 0},
					   .app = p->tasks[0].app, .begun = true, .ended = true,
					   .end_ns = k == 3 ? 3548000000 : 200000000});
		sp_sink_init(&s, -1);
		cr_assert(sp_out_text(p, &(struct sp_out_opts){.width = width}, &s) == 0);
		cr_expect(strstr(
			sp_buf_str(&s.buf), width == 80 ? "TID 34563: " : "TID 34563 took "));
		sp_sink_done(&s);
		sp_profile_free(p);
	}
}

Test(out, text_shows_a_worker_of_tasks_once)
{
	struct sp_profile *p = sample_profile();
	struct sp_sink s;

	p->rows[1].thread =
		thread(p, "Executor task launch worker for task 4.0 in stage 7.0 (TID 43)", 101);
	sp_profile_reindex(p);
	sp_sink_init(&s, -1);
	cr_assert(sp_out_text(p, &(struct sp_out_opts){.view = {.event = "cpu"}}, &s) == 0);
	cr_expect(strstr(sp_buf_str(&s.buf), "Threads (3)"), "%s", sp_buf_str(&s.buf));
	cr_expect(strstr(sp_buf_str(&s.buf),
			  "90.0 %       101  Executor task launch worker (2 tasks)"),
		"%s", sp_buf_str(&s.buf));
	sp_sink_done(&s);
	sp_profile_free(p);
}

/* The number behind the first @word of a report. */
static unsigned long number_behind(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	cr_assert(at, "no '%s' in %s", word, text);
	return strtoul(at + strlen(word), NULL, 10);
}

/* Wall of the sample: 24 looks, 2 s, 40 intervals of 50 ms. */
Test(out, every_format_counts_the_same_samples)
{
	static const char *const tables[] = {"wall,method,", "wall,thread,", "wall,state,"};
	struct sp_out_opts o = {.view = {.event = "wall"}, .width = 200};
	struct sp_profile *p = sample_profile();
	unsigned long sum[SP_COUNT(tables)] = {0}, collapsed = 0;
	SP_AUTO_BUF struct sp_buf line = {0};
	char *at, *save = NULL;
	struct sp_sink s;

	sp_out_summary(p, &line);
	cr_expect_eq(number_behind(sp_buf_str(&line), ""), 140);
	sp_sink_init(&s, -1);
	cr_assert_eq(sp_out_text(p, &o, &s), 0);
	cr_expect_eq(number_behind(sp_buf_str(&s.buf), "Samples    "), 140);
	cr_expect_eq(number_behind(sp_buf_str(&s.buf), "wall, every 50 ms: "), 40);
	sp_sink_done(&s);
	sp_sink_init(&s, -1);
	cr_assert_eq(sp_out_json(p, &o, &s), 0);
	cr_expect_eq(number_behind(sp_buf_str(&s.buf), "\"samples\":"), 140);
	cr_expect_eq(
		number_behind(strstr(sp_buf_str(&s.buf), "\"event\":\"wall\""), "\"samples\":"),
		40);
	sp_sink_done(&s);
	sp_sink_init(&s, -1);
	cr_assert_eq(sp_out_csv(p, &o, &s), 0);
	for (at = strtok_r((char *)sp_buf_str(&s.buf), "\r\n", &save); at;
		at = strtok_r(NULL, "\r\n", &save))
		for (size_t i = 0; i < SP_COUNT(tables); i++)
			if (strncmp(at, tables[i], strlen(tables[i])) == 0) {
				const char *end =
					strstr(at, ",ns,"); /* samples,self,total before it */

				for (int commas = 0; commas < 3;)
					commas += *--end == ',';
				sum[i] += strtoul(end + 1, NULL, 10);
			}
	for (size_t i = 0; i < SP_COUNT(tables); i++)
		cr_expect_eq(sum[i], 40, "%s %lu", tables[i], sum[i]);
	sp_sink_done(&s);
	sp_sink_init(&s, -1);
	cr_assert_eq(sp_out_collapsed(p, &o, &s), 0);
	for (at = strtok_r((char *)sp_buf_str(&s.buf), "\n", &save); at;
		at = strtok_r(NULL, "\n", &save))
		collapsed += strncmp(at, "[lost", 5) == 0 ? 0 : strtoul(strrchr(at, ' '), NULL, 10);
	cr_expect_eq(collapsed, 40);
	sp_sink_done(&s);
	sp_profile_free(p);
}

Test(out, text_of_nothing)
{
	struct sp_profile *p;
	struct sp_sink s;

	cr_assert(sp_profile_new(&p, 1 << 20) == 0);
	sp_sink_init(&s, -1);
	cr_assert(sp_out_text(p, &(struct sp_out_opts){0}, &s) == 0);
	cr_assert(strstr(sp_buf_str(&s.buf), "Nothing was sampled"));
	cr_assert(strstr(sp_buf_str(&s.buf), "Lost       0"));
	sp_sink_done(&s);
	sp_sink_init(&s, -1);
	cr_assert(sp_out_collapsed(p, &(struct sp_out_opts){0}, &s) == 0 && s.buf.len == 0);
	sp_sink_done(&s);
	sp_profile_free(p);
}

/* What was lost is lost of everything that was sampled, also of what is not shown. */
Test(out, lost_is_a_share_of_all_samples)
{
	struct sp_profile *p;
	struct sp_sink s;

	cr_assert(sp_profile_new(&p, 1 << 20) == 0);
	p->samples = 10;
	p->outside = 890;
	sp_profile_lost(p, "ring full", 100);
	sp_sink_init(&s, -1);
	cr_assert(sp_out_text(p, &(struct sp_out_opts){0}, &s) == 0);
	cr_expect(strstr(sp_buf_str(&s.buf), "Lost       100 (10.00 %)"), "%s", sp_buf_str(&s.buf));
	sp_sink_done(&s);
	sp_profile_free(p);
}

Test(out, collapsed_names_cannot_break_the_format)
{
	struct sp_profile *p;
	struct sp_sink s;

	cr_assert(sp_profile_new(&p, 1 << 20) == 0);
	sp_profile_event(p, "cpu", SP_UNIT_NS, 1, false);
	struct sp_frame_ref f = native(p, "x", "a;b\nc\td 7", SP_FRAME_NATIVE);
	struct sp_sample one = {.stack = sp_dict_stack(p->dict, &f, 1, 0),
		.thread = thread(p, "x;y\r\n", 5),
		.count = 2};

	cr_assert(sp_profile_add(p, &one) == 0);
	sp_sink_init(&s, -1);
	cr_assert(sp_out_collapsed(p, &(struct sp_out_opts){.view.threads = true}, &s) == 0);
	cr_assert_str_eq(sp_buf_str(&s.buf), "[x|y   tid=5];a|b c d 7 2\n");
	sp_sink_done(&s);
	sp_profile_free(p);
}

Test(out, csv_names_cannot_reach_the_terminal)
{
	static const struct {
		const char *name, *want;
	} cases[] = {
		{"plain", "plain"},
		{"\xc3\xa9", "\xc3\xa9"},
		{"a\x1b[31mb\x7f", "a [31mb "},
		{"a\xff"
		 "b",
			"a\xef\xbf\xbd"
			"b"},
		{"a,\"b\"\n", "\"a,\"\"b\"\" \""},
		{"=1+1", "\"'=1+1\""},
		{"", ""},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_sink s;

		sp_sink_init(&s, -1);
		sp_csv_field(&s, cases[i].name);
		cr_assert_str_eq(sp_buf_str(&s.buf), cases[i].want);
		cr_assert(sp_sink_done(&s) == 0);
	}
}

Test(out, formats_by_name_and_extension)
{
	cr_assert_str_eq(sp_out_by_path("/a.b/x.TXT")->name, "text");
	cr_assert_str_eq(sp_out_by_path("x.tar.folded")->name, "collapsed");
	cr_assert_null(sp_out_by_path("/a.txt/x"));
	cr_assert_null(sp_out_by_path("x.tx"));
	cr_assert_null(sp_out_by_path("x."));
	cr_assert_null(sp_out_by_name("Text"));
}

Test(out, summary_in_a_line)
{
	struct sp_profile *p = sample_profile();
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	sp_out_summary(p, &b);
	cr_assert_str_eq(sp_buf_str(&b),
		"140 samples, 4 lost (ring full 3, thread ended 1), 1 truncated, 1 unknown");
	p->outside = 1234;
	sp_buf_clear(&b);
	sp_out_summary(p, &b);
	cr_assert(strstr(sp_buf_str(&b), ", 1 unknown; 1,234 outside of tasks left out"));
	sp_profile_free(p);
}

static char dir[64];

static void make_dir(void)
{
	strcpy(dir, "/tmp/sparkprof-out-XXXXXX");
	cr_assert(mkdtemp(dir));
	cr_assert(chdir(dir) == 0);
}

static void remove_dir(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	cr_assert(system(cmd) == 0);
}

TestSuite(outfile, .init = make_dir, .fini = remove_dir);

/* Is there nothing in the directory but what the shell pattern @names? */
static bool only(const char *names)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd), "[ \"$(ls -A | tr '\\n' ' ')\" = '%s' ]", names);
	return system(cmd) == 0;
}

Test(outfile, appears_when_it_is_whole)
{
	struct sp_outfile o;
	struct sp_err err;

	cr_assert(sp_outfile_open(&o, "x.txt", SP_OUTFILE_REPORT, &err) == 0, "%s", err.text);
	cr_assert(write(o.fd, "new", 3) == 3);
	cr_assert(access("x.txt", F_OK) < 0);
	cr_assert(sp_outfile_commit(&o, &err) == 0);
	cr_assert(only("x.txt "));
	sp_outfile_abort(&o); /* nothing happens */
	cr_assert(only("x.txt "));
	cr_assert(sp_outfile_open(&o, "x.txt", SP_OUTFILE_REPORT, &err) == 0);
	sp_outfile_abort(&o);
	cr_assert(only("x.txt ") && system("[ $(cat x.txt) = new ]") == 0);
}

Test(outfile, link_stays_and_its_file_is_replaced)
{
	struct sp_outfile o;

	cr_assert(system("mkdir d && echo old >d/real && ln -s d/real link") == 0);
	cr_assert(sp_outfile_open(&o, "link", SP_OUTFILE_REPORT, NULL) == 0);
	cr_assert(write(o.fd, "new", 3) == 3);
	cr_assert(sp_outfile_commit(&o, NULL) == 0);
	cr_assert(system("[ -L link ] && [ $(cat d/real) = new ]") == 0);
}

Test(outfile, refusals_are_sentences)
{
	struct sp_outfile o;
	struct sp_err err;

	cr_assert(sp_outfile_open(&o, "/", SP_OUTFILE_REPORT, &err) == -EISDIR);
	cr_assert(sp_outfile_open(&o, "none/x", SP_OUTFILE_REPORT, &err) == -ENOENT);
	cr_assert_str_eq(err.text,
		"none/x: cannot be written: No such file or directory; make its directory "
		"first, or name another file with -f");
	cr_assert(sp_outfile_open(&o, "/dev/null", SP_OUTFILE_REPORT, &err) == 0);
	cr_assert(write(o.fd, "x", 1) == 1 && sp_outfile_commit(&o, &err) == 0);
	cr_assert(access("/dev/null", W_OK) == 0 && only(""));
}

Test(outfile, full_disk_is_told_once)
{
	struct sp_sink s;
	SP_AUTO_CLOSE int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	sp_sink_init(&s, fd);
	for (int i = 0; i < 100000; i++)
		sp_sink_puts(&s, "0123456789");
	cr_assert(sp_sink_done(&s) == -ENOSPC);
}
