/* The parser of the command line, from argv to struct sp_call. */
#include "cli/options.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/event_names.h"
#include "cli/help.h"
#include "cli/option_table.h"
#include "failing_realloc.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

enum { MAX_WORDS = 40 };

static struct sp_call call;
static struct sp_err err;

/* Parses a line of words; "''" is an empty word. */
static int parse(const char *line)
{
	static char copy[4096];
	char *argv[MAX_WORDS + 1] = {"sparkprof"};
	int argc = 1;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok(copy, " "); w && argc < MAX_WORDS; w = strtok(NULL, " "))
		argv[argc++] = strcmp(w, "''") == 0 ? "" : w;
	err.text[0] = '\0';
	return sp_options_parse(argc, argv, &call, &err);
}

#define accepts(line) cr_assert_eq(parse(line), 0, "%s: %s", line, err.text)

Test(options, defaults)
{
	accepts("123");
	cr_expect_eq(call.action, SP_ACTION_COLLECT);
	cr_expect_eq(call.n_events, 1);
	cr_expect_str_eq(call.events[0].name, "cpu");
	cr_expect_eq(call.events[0].interval, 0);
	cr_expect_eq(call.duration_ns, 60000000000);
	cr_expect_eq(call.timeout_ns, 3600000000000);
	cr_expect_eq(call.attach_timeout_ns, 10000000000);
	cr_expect_eq(call.depth.most, 2048);
	cr_expect_eq(call.memory, 12 << 20);
	cr_expect_eq(call.chunk_bytes, 100 << 20);
	cr_expect_eq(call.chunk_ns, 3600000000000);
	cr_expect_eq(call.capture, SP_CAPTURE_AUTO);
	cr_expect_eq(call.n_outputs, 1);
	cr_expect_str_eq(call.outputs[0].path, "-");
	cr_expect_eq(call.outputs[0].format, SP_FORMAT_TEXT);
	cr_expect_eq(call.n_targets, 1);
	cr_expect_str_eq(call.targets[0], "123");
}

Test(options, ways_to_write_a_value)
{
	static const struct {
		const char *line;
		uint64_t ns;
	} cases[] = {
		{"-d30 1", 30000000000},
		{"-d 30 1", 30000000000},
		{"--duration=30 1", 30000000000},
		{"--duration 30 1", 30000000000},
		{"-d 30s 1", 30000000000},
		{"-d 2m 1", 120000000000},
		{"-d 0.5s 1", 500000000},
		{"1 -d 7", 7000000000},
		{"-d 1 -d 9 1", 9000000000},
		{"-tsd5 1", 5000000000},
		{"-tsd 5 1", 5000000000},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		accepts(cases[i].line);
		cr_expect_eq(call.duration_ns, cases[i].ns, "%s", cases[i].line);
	}
	cr_expect(call.threads && call.simple);
}

Test(options, first_word_is_an_action_only_if_it_equals_one)
{
	accepts("start 1");
	cr_expect_eq(call.action, SP_ACTION_START);
	accepts("-q stop 1");
	cr_expect_eq(call.action, SP_ACTION_STOP);
	accepts("-- start");
	cr_expect_eq(call.action, SP_ACTION_COLLECT);
	cr_expect_str_eq(call.targets[0], "start");
	accepts("starter");
	cr_expect_str_eq(call.targets[0], "starter");
	accepts("status status");
	cr_expect_eq(call.action, SP_ACTION_STATUS);
	cr_expect_str_eq(call.targets[0], "status");
	accepts("status -- -q");
	cr_expect_str_eq(call.targets[0], "-q");
	accepts("-d 3 -- -d");
	cr_expect_str_eq(call.targets[0], "-d");
	cr_expect_eq(parse("collect"), -EINVAL);
}

/* Events with their intervals, as "name=interval ". */
static const char *events(void)
{
	static char text[512];
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < call.n_events; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s=%llu ", call.events[i].name,
			(unsigned long long)call.events[i].interval);
	return text;
}

Test(options, an_interval_belongs_to_the_event_before_it)
{
	static const struct {
		const char *line, *events;
	} cases[] = {
		{"-i 1ms 1", "cpu=1000000 "},
		{"-e wall 1", "wall=0 "},
		{"-e cpu,wall 1", "cpu=0 wall=0 "},
		{"-e cpu -e wall 1", "cpu=0 wall=0 "},
		{"-e cpu,wall -i 2ms 1", "cpu=2000000 wall=2000000 "},
		{"-e cpu -i 1ms -e wall 1", "cpu=1000000 wall=0 "},
		{"-e cpu -e wall -i 1ms 1", "cpu=0 wall=1000000 "},
		{"-i 3ms -e cpu -e wall -i 1ms 1", "cpu=3000000 wall=1000000 "},
		{"-e cpu -i 1000000 1", "cpu=1000000 "},
		{"-e page-faults -i 5 1", "page-faults=5 "},
		{"-e sched:sched_switch 1", "sched:sched_switch=0 "},
		{"--wall 20ms 1", "wall=20000000 "},
		{"-e cpu --wall 20ms 1", "cpu=0 wall=20000000 "},
		{"-e ctimer --wall 20ms -i 1ms 1", "ctimer=1000000 wall=20000000 "},
		{"-i 1ms --wall 20ms -e itimer 1", "itimer=1000000 wall=20000000 "},
		{"-e wall --wall 20ms 1", "wall=20000000 "},
		{"-e alloc 1", "alloc=0 "},
		{"-e alloc -i 2m 1", "alloc=2097152 "},
		{"-e cpu --wall 50ms --alloc 2m 1", "cpu=0 wall=50000000 alloc=2097152 "},
		{"-i 1ms --alloc 64k -e ctimer 1", "ctimer=1000000 alloc=65536 "},
		{"--live 1", "live=0 "},
		{"--lock 0 1", "lock=0 "},
		{"--nativelock 1ms 1", "nativelock=1000000 "},
		{"-e nativelock -i 1us 1", "nativelock=1000 "},
		{"--nativemem 0 1", "nativemem=0 "},
		{"--all 1", "cpu=0 wall=0 alloc=0 live=0 lock=0 nativelock=0 nativemem=0 "},
		{"--all --alloc 1m -i 5ms 1",
			"cpu=5000000 wall=5000000 alloc=1048576 live=0 lock=0 "
			"nativelock=0 nativemem=0 "},
		{"-e lock -i 1us 1", "lock=1000 "},
		{"-e cpu --wall 50ms --alloc 2m --lock 1ms 1",
			"cpu=0 wall=50000000 alloc=2097152 lock=1000000 "},
		{"--alloc 1m --live 1", "alloc=1048576 "},
		{"-e alloc,live -i 1k 1", "alloc=1024 live=1024 "},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		accepts(cases[i].line);
		cr_expect_str_eq(events(), cases[i].events, "%s: %s", cases[i].line, events());
	}
}

/* Outputs as "path:format ". */
static const char *outputs(void)
{
	static char text[512];
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < call.n_outputs; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s:%s ", call.outputs[i].path,
			sp_output_format_name(call.outputs[i].format));
	return text;
}

Test(options, each_file_gets_its_format)
{
	static const struct {
		const char *line, *outputs;
	} cases[] = {
		{"-f a.jfr 1", "a.jfr:jfr "},
		{"-f a.collapsed -f b.folded -f c.txt 1",
			"a.collapsed:collapsed b.folded:collapsed c.txt:text "},
		{"-f a 1", "a:text "},
		{"-o collapsed -f a -f b.jfr 1", "a:collapsed b.jfr:jfr "},
		{"-f a -f b.jfr -o collapsed 1", "a:collapsed b.jfr:jfr "},
		{"-o jfr -f a.jfr 1", "a.jfr:jfr "},
		{"-o collapsed 1", "-:collapsed "},
		{"-o jfr -f - 1", "-:jfr "},
		{"-o txt -f a 1", "a:text "},
		{"-o folded 1", "-:collapsed "},
		{"-f a.JFR 1", "a.JFR:jfr "},
		{"-f dir.jfr/.jfr 1", "dir.jfr/.jfr:text "},
		{"-f %p-%t-%n{3}.jfr 1 2", "%p-%t-%n{3}.jfr:jfr "},
		{"start -f a.jfr 1", "a.jfr:jfr "},
		{"stop 1", ""},
		{"stop -o text 1", "-:text "},
		{"status 1", ""},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		accepts(cases[i].line);
		cr_expect_str_eq(outputs(), cases[i].outputs, "%s: %s", cases[i].line, outputs());
	}
}

Test(options, other_values_land_in_their_fields)
{
	accepts("--filter 1-5,9 --thread Executor* --capture=signal --memory 4m -j 100 "
		"--chunksize 1m --chunktime 5m --attach-timeout 3 --force -talq --total "
		"-I a -I b -X c --filter 7 -f x 1");
	cr_expect_str_eq(call.filter, "7");
	cr_expect_str_eq(call.thread, "Executor*");
	cr_expect_eq(call.capture, SP_CAPTURE_SIGNAL);
	cr_expect_eq(call.memory, 4 << 20);
	cr_expect(call.depth.most == 100 && call.depth.left == 100);
	cr_expect_eq(call.chunk_bytes, 1 << 20);
	cr_expect_eq(call.chunk_ns, 300000000000);
	cr_expect_eq(call.attach_timeout_ns, 3000000000);
	cr_expect(call.force && call.threads && call.annotate && call.libs && call.quiet &&
		  call.total);
	cr_expect_eq(call.include.n, 2);
	cr_expect_str_eq(call.include.text[1], "b");
	cr_expect_eq(call.exclude.n, 1);
	accepts("ps --json");
	cr_expect(call.json);
	accepts("start --timeout 2h 1");
	cr_expect_eq(call.timeout_ns, 7200000000000);
	accepts("-j 200/40 1");
	cr_expect(call.depth.most == 200 && call.depth.left == 40);
}

Test(options, help_and_version_end_the_parse)
{
	accepts("-h");
	cr_expect_eq(call.help, SP_HELP_SHORT);
	accepts("start --help");
	cr_expect_eq(call.help, SP_HELP_ACTION);
	cr_expect_eq(call.action, SP_ACTION_START);
	accepts("--help");
	cr_expect_eq(call.help, SP_HELP_WHOLE);
	accepts("--help=-d nonsense --nonsense");
	cr_expect_eq(call.help, SP_HELP_ONE);
	cr_expect_str_eq(call.help_topic, "-d");
	accepts("-v --nonsense");
	cr_expect_eq(call.action, SP_ACTION_VERSION);
}

Test(options, as_many_as_fit_and_not_one_more)
{
	char line[4096] = "-f 0";
	size_t n = strlen(line);

	for (int i = 1; i < SP_CALL_MAX_OUTPUTS; i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, " -f %d", i);
	snprintf(line + n, sizeof(line) - n, " 1");
	accepts(line);
	cr_expect_eq(call.n_outputs, SP_CALL_MAX_OUTPUTS);
	snprintf(line + n, sizeof(line) - n, " -f z 1");
	cr_expect_eq(parse(line), -EINVAL);
	cr_expect_eq(parse("-e cpu,wall,cycles,r1,r2,r3,r4,r5 1"), -EINVAL);
	cr_expect(strstr(err.text, "together"), "%s", err.text);
	cr_expect_eq(parse("-e cpu,r0,r1,r2,r3,r4,r5,r6,r7 1"), -EINVAL);
	cr_expect(strstr(err.text, "at most 8"), "%s", err.text);
	cr_expect_eq(parse("-e r0,r1,r2,r3,r4,r5,r6,r7 --wall 1ms 1"), -EINVAL);
}

/* Each row of the table can be used: its default and bounds parse, its letter is its own. */
Test(options, the_table_is_sound)
{
	size_t n;
	const struct sp_option *o = sp_option_table(&n);

	for (size_t i = 0; i < n; i++) {
		if (o[i].state == SP_OPTION_GROUP)
			continue;
		cr_expect_eq(sp_option_find(o[i].name, strlen(o[i].name)), &o[i],
			"%s is there twice", o[i].name);
		if (o[i].letter)
			cr_expect_eq(sp_option_find_letter(o[i].letter), &o[i],
				"-%c is there twice", o[i].letter);
		cr_expect(o[i].help[0], "%s has no help", o[i].name);
		if (o[i].state == SP_OPTION_BUILT)
			cr_expect_eq(sp_option_takes_value(&o[i]),
				o[i].value[0] != '\0' && o[i].kind != SP_OPTION_KIND_HELP,
				"%s: value", o[i].name);
	}
}

Test(options, examples_of_actions_can_be_called)
{
	for (int a = 0; a < SP_ACTION_COUNT; a++) {
		const char *example;

		if (sp_action_info((enum sp_action)a)->refused)
			continue;
		for (unsigned n = 0; (example = sp_help_example((enum sp_action)a, n)); n++) {
			cr_assert_eq(strncmp(example, "sparkprof ", 10), 0);
			accepts(example + 10);
			cr_expect_eq(call.action, (enum sp_action)a, "%s", example);
		}
	}
}

static const char *random_word(unsigned *seed)
{
	static const char *const words[] = {"", "-", "--", "=", "start", "stop", "ps", "1", "-d",
		"-d=", "30", "-e", "cpu", "cpu,,wall", ",", "-i", "-f", "%", "%n{", "%{", "{{",
		"x.jfr", "x.html", "-o", "jfr", "-tsalq", "-tsalqd", "--wall",
		"--wall=", "--filter=1-", "--help", "--help=", "--help=-", "--=", "---", "-I", "-X",
		"mem:", "mem:0x1/", "uprobe:/", ":", "a:", "r",
		"kprobe:", "--memory=99999999999999999999g", "--capture=", "\xff\xfe", "-\xff",
		"%n{99999999999999999999}", "--attach-timeout=-", "-j", "4294967296"};
	static const char letters[] = "-=,%{}:/.emdn0123456789\x01\x80wx";
	static char made[64];
	size_t n;

	*seed = *seed * 1103515245 + 12345;
	if ((*seed >> 16) % 4)
		return words[(*seed >> 8) % SP_COUNT(words)];
	n = (*seed >> 20) % (sizeof(made) - 1);
	for (size_t i = 0; i < n; i++) {
		*seed = *seed * 1103515245 + 12345;
		made[i] = letters[(*seed >> 16) % (sizeof(letters) - 1)];
	}
	made[n] = '\0';
	return made;
}

Test(options, random_words_never_crash)
{
	unsigned seed = 1;

	for (int round = 0; round < 100000; round++) {
		char store[12][64], *argv[13];
		int argc = 1 + (int)((seed >> 16) % 12);

		for (int i = 0; i < argc; i++) {
			snprintf(store[i], sizeof(store[i]), "%s", random_word(&seed));
			argv[i] = store[i];
		}
		argv[argc] = NULL;
		err.text[0] = '\0';
		if (sp_options_parse(argc, argv, &call, &err) < 0)
			cr_assert(err.text[0], "round %d: refused without a sentence", round);
	}
}

Test(options, help_survives_the_nth_allocation_failing)
{
	unsigned n = 0;
	bool failed;

	accepts("--help");
	do {
		SP_AUTO_BUF struct sp_buf b;

		sp_buf_init(&b);
		realloc_fails_at = ++n;
		cr_expect_eq(sp_help_write(&call, &b, &err), 0);
		realloc_fails_at = 0;
		failed = b.failed;
		cr_expect_eq(sp_buf_str(&b)[0] == '\0', failed);
	} while (failed);
	cr_expect_gt(n, 3);
}

Test(events, names)
{
	static const struct {
		const char *name;
		int r;
	} cases[] = {
		{"cpu", 0},
		{"LLC-load-misses", 0},
		{"sched:sched_switch", 0},
		{"syscalls:sys_enter_read", 0},
		{"mem:0x7f00", 0},
		{"mem:0x7f00/8", 0},
		{"mem:0x7f00/8:rw", 0},
		{"mem:Foo_bar+8:x", 0},
		{"mem:", -EINVAL},
		{"mem:0x7f00/3", -EINVAL},
		{"mem:0x7f00:q", -EINVAL},
		{"mem:0x7f00:", -EINVAL},
		{"r1a8", 0},
		{"mem:A::b+0x10/0x8:rw", 0},
		{"malloc", 0},
		{"G1CollectedHeap::humongous_obj_allocate", 0},
		{"_ZN4Unit3runEv", 0},
		{"A::", -EINVAL},
		{"cpuu", -EINVAL},
		{"walk", -EINVAL},
		{"mem:walk:x", 0},
		{"page-fault", -EINVAL},
		{"kprobe:do_sys_open", 0},
		{"kprobe:do_sys_open+0x10", 0},
		{"kprobe:", -EINVAL},
		{"kretprobe:do_sys_open", 0},
		{"uretprobe:/lib/x.so:malloc", 0},
		{"uretprobe:x", -EINVAL},
		{"uprobe:/lib/x.so:malloc", 0},
		{"uprobe:/lib/x.so+0x10", 0},
		{"uprobe:lib", -EINVAL},
		{"uprobe:/lib/x.so:", -EINVAL},
		{":x", -EINVAL},
		{"x:", -EINVAL},
		{"a b:c", -EINVAL},
		{"alloc", 0},
		{"live", 0},
		{"lock", 0},
		{"nativelock", 0},
		{"nativemem", 0},
		{"", -EINVAL},
		{"CPU", -EINVAL},
		{"java.lang.Object.wait", 0},
		{"org.apache.spark.*.Foo.<init>", 0},
		{"java.lang.Object.", -EINVAL},
		{".wait", -EINVAL},
		{"java/lang/Object.wait", -EINVAL},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++)
		cr_expect_eq(
			sp_event_check(cases[i].name, &err), cases[i].r, "'%s'", cases[i].name);
	cr_expect_eq(sp_event_unit("wall"), SP_EVENT_TIME);
	cr_expect_eq(sp_event_unit("task-clock"), SP_EVENT_TIME);
	cr_expect_eq(sp_event_unit("alloc"), SP_EVENT_SIZE);
	cr_expect_eq(sp_event_unit("cycles"), SP_EVENT_COUNT);
	cr_expect_eq(sp_event_unit("sched:sched_switch"), SP_EVENT_COUNT);
}
