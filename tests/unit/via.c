/* Packets between two launchers, and names of hosts. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/executor_list.h"
#include "via/child.h"
#include "via/choose.h"
#include "via/hosts.h"
#include "via/progress_table.h"
#include "via/packets.h"
#include "via/far_runs_internal.h"
#include "via/slowest.h"

struct ends {
	struct sp_packets a, b;
};

static void open_ends(struct ends *e)
{
	int to[2], back[2];

	cr_assert_eq(pipe2(to, O_CLOEXEC), 0);
	cr_assert_eq(pipe2(back, O_CLOEXEC), 0);
	sp_packets_init(&e->a, back[0], to[1]);
	sp_packets_init(&e->b, to[0], back[1]);
}

static void close_ends(struct ends *e)
{
	sp_packets_done(&e->a);
	sp_packets_done(&e->b);
}

Test(via, lines_then_packets_of_any_size_arrive_in_order)
{
	static uint8_t data[SP_PACKET_MAX];
	struct sp_packet p;
	struct ends e;
	const char *line = NULL;

	open_ends(&e);
	sp_packets_lend(&e.a, "hello\nmarker far\n", 17);
	for (uint32_t i = 0; i < 20; i++) {
		memset(data, (int)i, sizeof(data));
		sp_packets_send(&e.a, SP_PACKET_OUT, (uint16_t)i, data, i * 52000);
	}
	while (!line) {
		sp_packets_pump(&e.a);
		sp_packets_pump(&e.b);
		line = sp_packets_line(&e.b);
	}
	cr_assert_str_eq(line, "hello");
	cr_assert_str_eq(sp_packets_line(&e.b), "marker far");
	for (uint32_t i = 0; i < 20; i++) {
		while (!sp_packets_next(&e.b, &p)) {
			cr_assert(!e.b.broken && !e.b.ended);
			sp_packets_pump(&e.a);
			sp_packets_pump(&e.b);
		}
		cr_assert(p.type == SP_PACKET_OUT && p.id == i && p.len == i * 52000);
		cr_assert(p.len == 0 || (p.data[0] == i && p.data[p.len - 1] == i));
	}
	cr_assert_eq(sp_packets_waiting(&e.a), 0);
	close_ends(&e);
}

Test(via, a_packet_that_is_too_long_ends_it)
{
	uint32_t head[2] = {SP_PACKET_MAX + 1, SP_PACKET_OUT};
	struct sp_packet p;
	struct ends e;

	open_ends(&e);
	sp_packets_send_raw(&e.a, head, sizeof(head));
	sp_packets_pump(&e.a);
	sp_packets_pump(&e.b);
	cr_assert(!sp_packets_next(&e.b, &p) && e.b.broken);
	close_ends(&e);
}

Test(via, a_packet_that_is_cut_never_comes)
{
	struct sp_packet p;
	struct ends e;

	open_ends(&e);
	sp_packets_send(&e.a, SP_PACKET_ERR, 1, "words", 5);
	for (size_t n = 0; n < e.a.tx.len; n++) {
		struct ends cut;

		open_ends(&cut);
		sp_packets_send_raw(&cut.a, e.a.tx.data, n);
		sp_packets_pump(&cut.a);
		sp_packets_done(&cut.a);
		sp_packets_pump(&cut.b);
		cr_assert(!sp_packets_next(&cut.b, &p) && cut.b.ended && !cut.b.broken, "%zu bytes",
			n);
		sp_packets_done(&cut.b);
	}
	close_ends(&e);
}

static int find(struct sp_via_hosts *ret, const char *hosts, enum sp_via via, struct sp_err *err)
{
	static struct sp_call call; /* large */

	call = (struct sp_call){.hosts = hosts, .via = via};
	return sp_via_hosts_find(ret, &call, err);
}

Test(via, names_of_hosts)
{
	static const char *const wrong[] = {"", ",", "-oProxyCommand=x", "n1;reboot", "a b|c",
		"$(id)", "n1,`id`", "@/nonexistent/file", "n'1"};
	struct sp_via_hosts hs;
	struct sp_err err;

	cr_assert_eq(find(&hs, "n1, user@n2,n1,[::1],n-3.example.org:22", SP_VIA_SSH, &err), 0);
	cr_assert_eq(hs.n, 4);
	cr_assert_str_eq(hs.places[1].name, "user@n2");
	sp_via_hosts_done(&hs);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		cr_assert(find(&hs, wrong[i], SP_VIA_SSH, &err) < 0, "%s", wrong[i]);
		cr_assert(find(&hs, wrong[i], SP_VIA_KUBECTL, &err) < 0, "%s", wrong[i]);
	}
	cr_assert_eq(find(&hs, "pod-1.x", SP_VIA_KUBECTL, &err), 0);
	sp_via_hosts_done(&hs);
	cr_assert(find(&hs, "pods/a", SP_VIA_KUBECTL, &err) < 0);
}

Test(via, names_of_hosts_from_a_file)
{
	char path[] = "/tmp/unit-via-XXXXXX", at[64];
	int fd = mkstemp(path);
	struct sp_via_hosts hs;
	struct sp_err err;

	cr_assert(fd >= 0 && dprintf(fd, "# ours\nn1\nn2 # two\n\n  n3\n") > 0);
	snprintf(at, sizeof(at), "@%s", path);
	cr_assert_eq(find(&hs, at, SP_VIA_SSH, &err), 0);
	cr_assert_eq(hs.n, 3);
	cr_assert_str_eq(hs.places[2].name, "n3");
	sp_via_hosts_done(&hs);
	close(fd);
	unlink(path);
}

static const struct sp_via_member members[] = {
	{"spark-7f3c", "1", SP_ROLE_EXECUTOR, false},
	{"spark-7f3c", "2", SP_ROLE_EXECUTOR, false},
	{"spark-7f3c", "", SP_ROLE_DRIVER, false},
	{"spark-7f9d", "1", SP_ROLE_EXECUTOR, false},
	{"", "", SP_ROLE_OTHER, false},
};

Test(via, words_mean_members)
{
	static const struct {
		const char *word, *meant; /* one letter for each member */
	} cases[] = {
		{"spark-7f3c", "xxx.."},
		{"spark-7f", "xxxx."},
		{"spark-7f3c/2", ".x..."},
		{"spark-7f3/driver", "..x.."},
		{"executors", "xx.x."},
		{"executor", "xx.x."},
		{"executor:1", "x..x."},
		{"driver", "..x.."},
		{"spark-7f3c/", "....."},
		{"/1", "....."},
		{"", "....."},
		{"spark-7f3c0", "....."},
		{"executor:", "....."},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (size_t k = 0; k < 5; k++)
			cr_assert_eq(sp_via_word_means(cases[i].word, &members[k]),
				cases[i].meant[k] == 'x', "%s %zu", cases[i].word, k);
}

Test(via, a_beginning_is_of_one_application)
{
	struct sp_err err;

	cr_assert_eq(sp_via_check_word("spark-7f3", members, 5, &err), 0);
	cr_assert_eq(sp_via_check_word("executor:1", members, 5, &err), 0);
	cr_assert(sp_via_check_word("spark-7f", members, 5, &err) < 0);
}

/* Of all that belong to spark-7f3c, those that a call leaves, one letter each. */
static void choose(const struct sp_call *call, char ret[6])
{
	struct sp_via_member list[5];
	struct sp_err err;

	memcpy(list, members, sizeof(list));
	list[0].meant = list[1].meant = true;
	cr_assert_eq(sp_via_choose(call, list, 5, &err), 0);
	for (size_t i = 0; i < 5; i++)
		ret[i] = list[i].meant ? 'x' : '.';
	ret[5] = '\0';
}

Test(via, options_choose_among_those_that_are_meant)
{
	static struct sp_call call; /* large */
	char left[6];

	choose(&call, left);
	cr_assert_str_eq(left, "xx...");
	call.with_driver = SP_WITH_DRIVER_ON;
	choose(&call, left);
	cr_assert_str_eq(left, "xxx..");
	call.executors = "0,2-9";
	choose(&call, left);
	cr_assert(left[0] == '.' && left[1] == 'x', "%s", left);
	call.executors = NULL;
	call.with_driver = SP_WITH_DRIVER_OFF;
	call.fraction = 0.5;
	for (int i = 0; i < 100; i++) {
		choose(&call, left);
		cr_assert(left[0] != left[1] && left[2] == '.', "%s", left);
	}
}

Test(via, the_slowest_by_the_mean_of_their_tasks)
{
	static const char json[] =
		"[{\"id\":\"driver\",\"totalDuration\":99000,\"completedTasks\":1},"
		"{\"id\":\"1\",\"totalDuration\":9000,\"completedTasks\":8,\"failedTasks\":1},"
		"{\"id\":\"2\",\"totalDuration\":8000,\"completedTasks\":2,\"failedTasks\":0},"
		"{\"id\":\"3\",\"totalDuration\":0,\"completedTasks\":0},"
		"{\"id\":\"4\",\"totalDuration\":5000,\"completedTasks\":1}, 7, {\"id\":5}]";
	static const char *const left[] = {"", "...x.d", ".x.x.d", "xx.x.d", "xx.x.d"};

	for (size_t keep = 1; keep < 5; keep++) {
		struct sp_via_member list[6] = {{"a", "1", SP_ROLE_EXECUTOR, true},
			{"a", "2", SP_ROLE_EXECUTOR, true}, {"a", "3", SP_ROLE_EXECUTOR, true},
			{"a", "4", SP_ROLE_EXECUTOR, true}, {"b", "4", SP_ROLE_EXECUTOR, true},
			{"a", "", SP_ROLE_DRIVER, true}};

		cr_expect_eq(sp_via_slowest_keep("a", json, sizeof(json) - 1, keep, list, 6),
			keep < 3 ? keep : 3);
		for (size_t i = 0; i < 6; i++)
			cr_expect_eq(list[i].meant, left[keep][i] != '.', "%zu of %zu", i, keep);
	}
}

/* A clock is off where it is certain: by more than 50 ms outside of the time of the question. */
Test(via, a_clock_that_is_off)
{
	const int64_t s = 1000000000;

	cr_expect_eq(sp_via_host_clock(10 * s, 10 * s + 1, 10 * s + 2), 0);
	cr_expect_eq(sp_via_host_clock(10 * s, 12 * s, 13 * s), 0, "an answer that took long");
	cr_expect_eq(sp_via_host_clock(10 * s, 11 * s + 40000000, 11 * s), 0);
	cr_expect_eq(sp_via_host_clock(10 * s, 10 * s - 40000000, 11 * s), 0);
	cr_expect_eq(sp_via_host_clock(10 * s, 14 * s, 12 * s), 3 * s);
	cr_expect_eq(sp_via_host_clock(10 * s, 2 * s, 12 * s), -9 * s);
}

static const struct sp_progress_row shown[] = {{"n1", "executor 1", "recording", 1234, 0, 1200000},
	{"node-two", "driver", "failed", 0, 7, 0}, {"n3", "executor 12", "done", 5, 0, 99}};

Test(via, a_line_for_each_recording)
{
	SP_AUTO_BUF struct sp_buf b = {0};

	cr_expect_eq(sp_progress_table_text(shown, 3, 12 * 1000000000ull, 24, 99, &b), 4);
	cr_expect_str_eq(sp_buf_str(&b),
		"  n1        executor 1   recording       1234 samples       0 lost      1.2 "
		"MB\033[K\n"
		"  node-two  driver       failed             0 samples       7 lost      0.0 "
		"MB\033[K\n"
		"  n3        executor 12  done               5 samples       0 lost      0.0 "
		"MB\033[K\n"
		"12 s, 3 recordings: 1239 samples, 7 lost, 1.2 MB\033[K\n");
}

/* In a low or narrow window the sum stays, and nothing is wider than it. */
Test(via, lines_that_have_no_room_are_counted)
{
	for (size_t rows = 1; rows < 6; rows++) {
		SP_AUTO_BUF struct sp_buf b = {0};
		size_t n = sp_progress_table_text(shown, 3, 0, rows, 20, &b), lines = 0;
		const char *sum = strstr(sp_buf_str(&b), "0 s, 3 recordings: 1");

		for (const char *p = sp_buf_str(&b), *end; (end = strchr(p, '\n'));
			p = end + 1, lines++)
			cr_expect_leq((size_t)(end - p), 20 + strlen("\033[K"));
		cr_expect(n == lines && n <= rows && sum, "%zu: %s", rows, sp_buf_str(&b));
		cr_expect_eq(
			strstr(sp_buf_str(&b), "more") != NULL, rows > 1 && rows < 4, "%zu", rows);
	}
}

Test(via, lists_of_executors)
{
	static const char *const wrong[] = {"", ",", "1,", "1-", "-1", "2-1", "1;2", "a", "1 2"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		cr_assert_not(sp_executor_list_is(wrong[i]), "%s", wrong[i]);
	cr_assert(sp_executor_list_is("0") && sp_executor_list_is("1,4-9,11"));
	cr_assert(sp_executor_list_has("1,4-9", "9") && sp_executor_list_has("1,4-9", "1"));
	cr_assert_not(sp_executor_list_has("1,4-9", "3"));
	cr_assert_not(sp_executor_list_has("1,4-9", "driver"));
}

Test(via, what_kubectl_says_has_advice)
{
	static const struct {
		const char *said, *advice;
	} cases[] = {
		{"Error from server (Forbidden): pods \"p\" is forbidden: User \"u\" cannot create "
		 "resource \"pods/exec\" in API group \"\"",
			"create pods/exec"},
		{"Error from server (NotFound): pods \"p\" not found", "the pod is gone"},
		{"error: context \"x\" does not exist", "get-contexts"},
		{"error: Internal error occurred: OCI runtime exec failed: exec: \"sh\": "
		 "executable "
		 "file not found in $PATH: unknown",
			"debug p --image"},
	};
	struct sp_via_place place = {.name = "p"};
	static struct sp_call call; /* large */

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sp_buf b = {0};
		bool alone;

		cr_assert(sp_via_kubectl_advice(&call, &place, cases[i].said, &b, &alone));
		cr_assert(strstr(sp_buf_str(&b), cases[i].advice), "%s", sp_buf_str(&b));
		cr_assert_eq(alone, i == 3);
		sp_buf_done(&b);
	}
}

/* A far side that sends without end fills no more than that. */
Test(via, what_is_not_taken_has_a_limit)
{
	static uint8_t data[SP_PACKET_MAX];
	struct sp_packet p;
	struct ends e;
	size_t taken = 0;

	open_ends(&e);
	for (int i = 0; i < 20; i++)
		sp_packets_send(&e.a, SP_PACKET_OUT, 0, data, sizeof(data));
	for (int i = 0; i < 2000; i++) {
		sp_packets_pump(&e.a);
		sp_packets_pump(&e.b);
	}
	cr_assert(sp_packets_full(&e.b));
	cr_assert_lt(e.b.rx.len, 2 * SP_PACKETS_FULL);
	while (taken < 20) {
		while (sp_packets_next(&e.b, &p))
			taken++;
		sp_packets_pump(&e.a);
		sp_packets_pump(&e.b);
	}
	cr_assert(!sp_packets_full(&e.b) && !e.b.broken);
	close_ends(&e);
}

Test(via, sentences_of_others_are_short)
{
	struct sp_host_messages said = {0};
	char *text = malloc(1 << 20);

	memset(text, 'x', 1 << 20);
	sp_host_messages_add(&said, "n1", text, 1 << 20);
	cr_assert(said.n == 1 && strlen(said.list[0].text) <= 2000);
	sp_host_messages_done(&said);
	free(text);
}

Test(via, executors_that_come_later_are_meant_by_the_same_words)
{
	static struct sp_call call = {.n_targets = 1, .targets = {"app-1"}}; /* large */
	static struct sp_jvm j = {
		.role = SP_ROLE_EXECUTOR, .app_id = "app-1-0001", .executor_id = "7"};

	cr_expect(sp_via_join_means(&call, &j));
	call.executors = "1-6";
	cr_expect_not(sp_via_join_means(&call, &j));
	call.executors = "7";
	cr_expect(sp_via_join_means(&call, &j));
	call.targets[0] = "app-2";
	cr_expect_not(sp_via_join_means(&call, &j));
	call.targets[0] = "app-1";
	j.role = SP_ROLE_DRIVER;
	cr_expect_not(sp_via_join_means(&call, &j));
}

static void count_up(void *ctx)
{
	++*(int *)ctx;
}

Test(via, a_search_that_failed_does_not_end_what_is_done_for_others)
{
	struct sp_via_hosts none = {0};
	struct sp_buf said = {0};
	struct sp_err err;
	int n = 0;

	sp_via_child_meanwhile(count_up, &n);
	sp_via_hosts_done(&none);
	cr_assert_eq(sp_via_child_ask((char *[]){"sleep", "1", NULL}, &said, &err), 0);
	cr_expect_gt(n, 0);
	sp_via_child_meanwhile(NULL, NULL);
	sp_buf_done(&said);
}
