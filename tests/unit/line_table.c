/* Self time by line, and the code of lines. */
#include <criterion/criterion.h>

#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "out/line_table.h"
#include "out/out.h"
#include "out/source_code.h"
#include "sample_profile.h"

#define SECOND 1000000000ull

static void add_at(struct sp_profile *p, struct sp_frame_ref leaf, int32_t line, uint64_t seconds)
{
	struct sp_frame_ref frames[] = {leaf, java(p, "com/acme/Main", "main", "", SP_FRAME_C2)};
	struct sp_sample s = {.count = 1, .weight = seconds * SECOND};

	frames[0].line = line;
	frames[1].line = 7;
	s.stack = sp_dict_stack(p->dict, frames, 2, 0);
	s.thread = thread(p, "main", 1);
	cr_assert_eq(sp_profile_add(p, &s), 0);
}

/* 6 s of com.acme.Job$Inner.run at two lines, by two signatures; 3 s of Python; 1 s without a line.
 */
static struct sp_profile *lined_profile(void)
{
	struct sp_profile *p;

	cr_assert_eq(sp_profile_new(&p, 1u << 20), 0);
	sp_profile_event(p, "cpu", SP_UNIT_NS, 10000000, false);
	add_at(p, java(p, "com/acme/Job$Inner", "run", "()V", SP_FRAME_C2), 3, 4);
	add_at(p, java(p, "com/acme/Job$Inner", "run", "()V", SP_FRAME_INTERPRETED), 2, 1);
	add_at(p, java(p, "com/acme/Job$Inner", "run", "(I)V", SP_FRAME_C2), 2, 1);
	add_at(p, native(p, "", "clean (jobs/udf.py)", SP_FRAME_PYTHON), 2, 3);
	add_at(p, native(p, "libc.so.6", "memcpy", SP_FRAME_NATIVE), 0, 1);
	return p;
}

Test(line_table, self_time_is_by_name_and_line)
{
	static const struct sp_style style = {.dotted = true};
	struct sp_profile *p = lined_profile();
	struct sp_line_table t;

	cr_assert_eq(sp_line_table_init(&t, p, 0, NULL, &style), 0);
	cr_assert_eq(t.count, 2);
	cr_expect_str_eq(t.methods[0].name, "com.acme.Job$Inner.run");
	cr_expect_eq(t.methods[0].weight, 6 * SECOND);
	cr_assert_eq(t.methods[0].count, 2);
	cr_expect_eq(t.methods[0].lines[0].line, 3);
	cr_expect_eq(t.methods[0].lines[0].weight, 4 * SECOND);
	cr_expect_eq(t.methods[0].lines[1].weight, 2 * SECOND);
	cr_expect_str_eq(t.methods[1].name, "clean (jobs/udf.py)");
	sp_line_table_done(&t);
	sp_profile_free(p);
}

static char dir[] = "/tmp/sparkprof-lines-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (char *c = path + strlen(dir) + 1; (c = strchr(c, '/')); *c++ = '/') {
		*c = 0;
		mkdir(path, 0700);
	}
	f = fopen(path, "w");
	cr_assert(f);
	fputs(text, f);
	fclose(f);
}

static void make_sources(void)
{
	cr_assert(mkdtemp(dir));
	put("src/main/java/com/acme/Job.java", "one\n\t  two();  \r\nthree\033[31m();\n");
	put("src/main/java/com/other/Job.java", "wrong\nwrong\nwrong\n");
	put("notjobs/udf.py", "wrong\nwrong\n");
	put("python/jobs/udf.py", "x\n    return re.compile(p)\n");
}

static void remove_sources(void)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	cr_expect_eq(system(command), 0);
}

Test(line_table, code_is_found_by_the_end_of_its_path)
{
	struct sp_profile *p = lined_profile();
	struct sp_frame_ref inner = java(p, "com/acme/Job$Inner", "run", "()V", SP_FRAME_C2);
	struct sp_frame_ref other = java(p, "com/acme/Jobs", "run", "()V", SP_FRAME_C2);
	struct sp_frame_ref python = native(p, "", "clean (jobs/udf.py)", SP_FRAME_PYTHON);
	struct sp_frame_ref recorded = native(p, "jobs/udf.py", "clean", SP_FRAME_PYTHON);
	const struct {
		const struct sp_frame_ref *frame;
		int32_t line;
		const char *want;
	} cases[] = {{&inner, 1, "one"}, {&inner, 2, "two();"}, {&inner, 4, ""}, {&inner, 99, ""},
		{&inner, 0, ""}, {&other, 1, ""}, {&python, 2, "return re.compile(p)"},
		{&recorded, 2, "return re.compile(p)"}};
	struct sp_source_code *code;

	make_sources();
	cr_assert_eq(sp_source_code_open(&code, dir), 0);
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf b = {0};
		bool found = sp_source_code_line(code, p->dict, cases[i].frame, cases[i].line, &b);

		cr_expect_str_eq(sp_buf_str(&b), cases[i].want, "case %zu", i);
		cr_expect_eq(found, cases[i].want[0] != 0);
	}
	sp_source_code_close(code);
	cr_assert_eq(sp_source_code_open(&code, "/nowhere"), 0);
	sp_source_code_close(code);
	remove_sources();
	sp_profile_free(p);
}

Test(line_table, text_shows_the_hottest_lines_with_their_code)
{
	struct sp_profile *p = lined_profile();
	struct sp_out_opts o = {0};
	struct sp_sink s;

	make_sources();
	sp_sink_init(&s, -1);
	cr_assert_eq(sp_out_text(p, &o, &s), 0);
	cr_expect(!strstr(sp_buf_str(&s.buf), "Hot lines"));
	sp_sink_done(&s);
	o.source = dir;
	sp_sink_init(&s, -1);
	cr_assert_eq(sp_out_text(p, &o, &s), 0);
	cr_expect(strstr(sp_buf_str(&s.buf), "Hot lines, by self time\n"
					     "   60.0 %  com.acme.Job$Inner.run\n"
					     "     40.0 %       3  three?[31m();\n"
					     "     20.0 %       2  two();\n"
					     "   30.0 %  clean (jobs/udf.py)\n"
					     "     30.0 %       2  return re.compile(p)\n"),
		"%s", sp_buf_str(&s.buf));
	sp_sink_done(&s);
	remove_sources();
	sp_profile_free(p);
}
