/* What page and SVG are made with: text of strangers, the prefix tree, frames that threads start
 * with. */
#include <criterion/criterion.h>

#include "base/cleanup.h"
#include "out/escape.h"
#include "out/thread_entry_frames.h"
#include "out/trie.h"

#define FFFD "\xef\xbf\xbd"

Test(escape, only_utf8_comes_through)
{
	static const struct {
		const char *in, *utf8, *markup, *json;
	} cases[] = {
		{"plain", "plain", "plain", "\"plain\""},
		{"<a href=\"x\">&'", "<a href=\"x\">&'", "&lt;a href=&quot;x&quot;&gt;&amp;&#39;",
			"\"<a href=\\\"x\\\">&'\""},
		{"]]>", "]]>", "]]&gt;", "\"]]>\""},
		{"\x01\x1b\x7f", "\x01\x1b\x7f", FFFD FFFD FFFD, "\"\\u0001\\u001b\\u007f\""},
		{"\xe2\x80\xa8", "\xe2\x80\xa8", FFFD, "\"\\u2028\""},
		{"\xc2\x9b\xe2\x80\xae", "\xc2\x9b\xe2\x80\xae", FFFD FFFD, "\"\\u009b\\u202e\""},
		{"\xff", FFFD, FFFD, "\"" FFFD "\""},
		{"\xc0\xaf", FFFD FFFD, FFFD FFFD, "\"" FFFD FFFD "\""},
		{"\xed\xa0\x80", FFFD FFFD FFFD, FFFD FFFD FFFD, "\"" FFFD FFFD FFFD "\""},
		{"\xf0\x9f\x94\xa5", "\xf0\x9f\x94\xa5", "\xf0\x9f\x94\xa5",
			"\"\xf0\x9f\x94\xa5\""},
		{"\xf0\x9f\x94", FFFD FFFD FFFD, FFFD FFFD FFFD, "\"" FFFD FFFD FFFD "\""},
		{"\xf8\x88\x80\x80\x80", FFFD FFFD FFFD FFFD FFFD, FFFD FFFD FFFD FFFD FFFD, NULL},
		{"\xef\xbf\xbe", "\xef\xbf\xbe", FFFD, NULL},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf a = {0}, b = {0}, c = {0};
		size_t n = strlen(cases[i].in);

		sp_escape_utf8(cases[i].in, n, &a);
		sp_escape_markup(cases[i].in, n, &b);
		sp_escape_json(cases[i].in, n, &c);
		cr_expect_str_eq(sp_buf_str(&a), cases[i].utf8, "%zu", i);
		cr_expect_str_eq(sp_buf_str(&b), cases[i].markup, "%zu", i);
		if (cases[i].json)
			cr_expect_str_eq(sp_buf_str(&c), cases[i].json, "%zu", i);
	}
}

Test(trie, pre_order_and_majority)
{
	struct sp_trie t;
	uint32_t *order, *place, a, b, c, d;

	cr_assert_eq(sp_trie_init(&t), 0);
	a = sp_trie_child(&t, 0, 7);
	b = sp_trie_child(&t, a, 8);
	c = sp_trie_child(&t, 0, 9);
	d = sp_trie_child(&t, a, 9);
	cr_expect_eq(sp_trie_child(&t, a, 8), b);
	t.nodes[b].self = 5;
	t.nodes[d].self = 6;
	t.nodes[c].self = 1;
	sp_trie_sum(&t);
	cr_expect_eq(t.nodes[0].total, 12);
	cr_expect_eq(t.nodes[a].total, 11);
	cr_assert_eq(sp_trie_order(&t, &order, &place), 0);
	cr_expect(order[1] == a && order[2] == b && order[3] == d && order[4] == c);
	cr_expect_eq(place[c], 4);
	sp_trie_vote(&t, a, 10, SP_FRAME_C1, 3);
	sp_trie_vote(&t, a, 20, SP_FRAME_C2, 10);
	sp_trie_vote(&t, a, 10, SP_FRAME_C1, 2);
	cr_expect_eq(t.nodes[a].line, 20);
	cr_expect_eq(t.nodes[a].type, SP_FRAME_C2);
	cr_assert_eq(sp_trie_sort(&t), 0);
	cr_expect(t.nodes[0].child == a && t.nodes[a].next == c && t.nodes[a].child == d);
	free(order);
	free(place);
	sp_trie_done(&t);
}

Test(trie, of_lines_with_as_many_votes_the_first_stays_until_another_one_comes)
{
	struct sp_trie t;
	uint32_t a;

	cr_assert_eq(sp_trie_init(&t), 0);
	a = sp_trie_child(&t, 0, 7);
	sp_trie_vote(&t, a, 10, SP_FRAME_C2, 3);
	sp_trie_vote(&t, a, 20, SP_FRAME_C2, 3);
	cr_expect_eq(t.nodes[a].line, 10);
	sp_trie_vote(&t, a, 20, SP_FRAME_C2, 1);
	cr_expect_eq(t.nodes[a].line, 20);
	sp_trie_done(&t);
}

Test(starts, frames_that_threads_start_with)
{
	static const struct {
		const char *name;
		bool is;
	} cases[] = {
		{"__clone3", true},
		{"start_thread", true},
		{"JavaCalls::call_helper(JavaValue*, methodHandle const&)", true},
		{"StubRoutines (1)", true},
		{"StubRoutinesOfMine", false},
		{"java/lang/Thread.run_[j]", true},
		{"java.lang.Thread.run", true},
		{"j.u.concurrent.ThreadPoolExecutor$Worker.run", true},
		{"j.l.Thread.run", true}, /* --names=short */
		{"j.u.c.ThreadPoolExecutor.runWorker", true},
		{"o.a.s.e.Executor.TaskRunner.run{λ4}", true},
		{"o.a.s.u.SparkErrorUtils.tryWithSafeFinally", true},
		{"o.a.s.s.Task.run", true},
		{"o.a.s.TaskContext.runTaskWithListeners", true},
		{"o.a.s.s.ShuffleMapTask.runTask", false},
		{"java/util/concurrent/ThreadPoolExecutor.getTask", false},
		{"org/apache/spark/executor/Executor$TaskRunner.$anonfun$run$3", true},
		{"org.apache.spark.scheduler.Task.run", true},
		{"org/apache/spark/scheduler/ShuffleMapTask.runTask", false},
		{"io/netty/util/concurrent/SingleThreadEventExecutor$4.run", true},
		{"Mine.run", false},
		{"", false},
	};
	struct sp_thread_entry_frames *s;

	cr_assert_eq(sp_thread_entry_frames_new(&s), 0);
	for (size_t i = 0; i < SP_COUNT(cases); i++)
		cr_expect_eq(sp_thread_entry_frames_has(s, cases[i].name), cases[i].is, "%s",
			cases[i].name);
	sp_thread_entry_frames_free(s);
}
