#include "tree.h"

#include "base/cleanup.h"
#include "proc/java_cmdline.h"

/* Words parted by '|' as NUL-terminated strings. */
static void put(struct sp_buf *b, const char *words)
{
	sp_buf_init(b);
	sp_buf_add(b, words, strlen(words) + 1);
	for (size_t i = 0; i < b->len; i++)
		b->data[i] = b->data[i] == '|' ? '\0' : b->data[i];
}

static const char *first(const struct sp_buf *b)
{
	const char *s = sp_proc_next_string(b, NULL);

	return s ? s : "";
}

Test(java_cmdline, main_class_behind_options_with_and_without_values)
{
	static const struct {
		const char *words, *main, *arg, *cp;
	} cases[] = {
		{"java|Main", "Main", "", NULL},
		{"java|-Xmx1g|-cp|a:b|x.Main|-cp|c", "x.Main", "-cp", "a:b"},
		{"java|--class-path=a|x.Main|1", "x.Main", "1", "a"},
		{"java|-classpath|a|-classpath|b|Main", "Main", "", "b"},
		{"java|--add-opens|java.base/x=ALL-UNNAMED|--add-modules=q|Main", "Main", "", NULL},
		{"java|-jar|/opt/my app.jar|arg", "/opt/my app.jar", "arg", NULL},
		{"java|-p|mods|-m|mod/x.Main|y", "mod/x.Main", "y", NULL},
		{"java|--module=mod/x.Main|y", "mod/x.Main", "y", NULL},
		{"java|-cp", "", "", NULL},
		{"java|-jar", "", "", NULL},
		{"java", "", "", NULL},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf argv;
		struct sp_java_cmdline c;

		put(&argv, cases[i].words);
		cr_assert_eq(sp_java_cmdline_parse(&argv, NULL, 0, &c), 0);
		cr_expect_str_eq(c.main, cases[i].main, "%s: %s", cases[i].words, c.main);
		cr_expect_str_eq(first(&c.args), cases[i].arg, "%s", cases[i].words);
		cr_expect_str_eq(
			c.class_path ? c.class_path : "-", cases[i].cp ? cases[i].cp : "-");
		sp_java_cmdline_done(&c);
	}
}

Test(java_cmdline, the_last_flag_wins)
{
	SP_AUTO_BUF struct sp_buf jvm;

	put(&jvm, "-XX:+A|-XX:-A|-XX:+AB|-Dx=1|-Dx=2|-Dxy=3");
	cr_expect_eq(sp_java_cmdline_flag(&jvm, "A", 5), 0);
	cr_expect_eq(sp_java_cmdline_flag(&jvm, "AB", 5), 1);
	cr_expect_eq(sp_java_cmdline_flag(&jvm, "B", 5), 5);
	cr_expect_str_eq(sp_java_cmdline_property(&jvm, "x"), "2");
	cr_expect_null(sp_java_cmdline_property(&jvm, "y"));
	cr_expect_eq(sp_java_cmdline_flag_text("  -Xmx1g '-XX:+A' -XX:-\"A\"", "A", 5), 0);
	cr_expect_eq(sp_java_cmdline_flag_text("", "A", 5), 5);
}

Test(java_cmdline, options_of_a_program)
{
	SP_AUTO_BUF struct sp_buf args;

	put(&args, "--executor-id|1|--app-id=app-1|--cores");
	cr_expect_str_eq(sp_java_cmdline_option(&args, "--executor-id"), "1");
	cr_expect_str_eq(sp_java_cmdline_option(&args, "--app-id"), "app-1");
	cr_expect_null(sp_java_cmdline_option(&args, "--app"));
	cr_expect_null(sp_java_cmdline_option(&args, "--cores"));
}

Test(java_cmdline, argfiles_are_read_as_java_reads_them)
{
	struct tree t = tree_new();
	SP_AUTO_PROC struct sp_proc p = {.dir = -1};
	SP_AUTO_BUF struct sp_buf argv;
	struct sp_java_cmdline c;

	tree_put(&t, "7/root/job/opts",
		"# a comment\n-XX:+DisableAttachMechanism \"-Da=b c\"\n'x.Main'\n");
	tree_link(&t, "7/cwd", "/job");
	cr_assert_eq(sp_proc_open(t.fd, 7, &p), 0);
	put(&argv, "java|-Xmx1g|@opts|@later");
	cr_assert_eq(sp_java_cmdline_parse(&argv, &p, geteuid(), &c), 0);
	cr_expect_str_eq(c.main, "x.Main");
	cr_expect_eq(sp_java_cmdline_flag(&c.jvm, "DisableAttachMechanism", 0), 1);
	cr_expect_str_eq(sp_java_cmdline_property(&c.jvm, "a"), "b c");
	sp_java_cmdline_done(&c);
	sp_buf_done(&argv);
	put(&argv, "java|Main|@opts");
	cr_assert_eq(sp_java_cmdline_parse(&argv, &p, geteuid(), &c), 0);
	cr_expect_str_eq(first(&c.args), "@opts", "behind the main class it is an argument");
	sp_java_cmdline_done(&c);
	tree_done(&t);
}
