/* The agent's option string. */
#include "options/args.h"
#include "base/units.h"
#include "cli/option_table.h"
#include "options/arg_values.h"
#include "run/record_request.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

Test(args, words_and_their_values)
{
	struct sp_args a;
	struct sp_err err = {{0}};

	sp_args_init(&a);
	cr_assert_eq(sp_args_parse(&a,
			     "start,event=wall,interval=5ms,file=a\\,b.jfr,memory=4m,"
			     "jstackdepth=64/32,timeout=10,filter=3-5;9",
			     &err),
		0, "%s", err.text);
	cr_assert(a.start);
	cr_assert_str_eq(a.event, "wall");
	cr_assert_eq(a.interval_ns, 5000000);
	cr_assert_str_eq(a.file, "a,b.jfr");
	cr_assert_eq(a.memory, 4u << 20);
	cr_assert(a.depth == 64 && a.depth_left == 32);
	cr_assert_eq(a.timeout_ns, 10000000000ull);
	cr_assert(sp_args_has_tid(&a, 4) && sp_args_has_tid(&a, 9) && !sp_args_has_tid(&a, 6));
}

Test(args, wrong_ones_are_refused_by_name)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"bogus", "bogus"},
		{"interval=soon", "interval: 'soon'"},
		{"interval=", "interval needs a value"},
		{"start=1", "start takes no value"},
		{"memory=1", "memory: '1' is not between 2.0 MB and 1.0 GB"},
		{"capture=net", "capture: 'net'"},
		{"filter=main", "filter: 'main'"},
		{"jstackdepth=0", "jstackdepth: '0'"},
		{"jstackdepth=200/", "jstackdepth: '200/' is not a number; write 2048, or 200/40"},
		{"jstackdepth=200/x", "jstackdepth: '200/x'"},
		{"fraction=1.5", "fraction: '1.5'"},
		{"fraction=half", "fraction: 'half'"},
		{"loop=soon", "loop: 'soon'"},
		{"loop=500ms", "loop: '500ms' is not between 1 s and"},
		{"timeout=25:00:00", "timeout: '25:00:00' is not a time; write 30s, 10m, or 23"},
		{"timeout=12:00", "timeout: '12:00'"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sp_args a;
		struct sp_err err = {{0}};

		sp_args_init(&a);
		cr_expect_eq(sp_args_parse(&a, cases[i].text, &err), -EINVAL, "%s", cases[i].text);
		cr_expect(strstr(err.text, cases[i].says), "%s: %s", cases[i].text, err.text);
	}
}

static int parse_one(const char *name, uint64_t n, const char *unit, char said[64])
{
	struct sp_args a;
	char text[64];
	int r;

	sp_args_init(&a);
	snprintf(text, sizeof(text), "%s=%llu%s", name, (unsigned long long)n, unit);
	r = sp_args_parse(&a, text, NULL);
	if (said)
		snprintf(said, 64, "%s", a.ignored);
	return r;
}

static uint64_t number(const struct sp_option *o, const char *text)
{
	uint64_t n = 0;

	cr_assert_eq(o->kind == SP_OPTION_KIND_SIZE    ? sp_size_parse(text, &n)
		     : o->kind == SP_OPTION_KIND_DEPTH ? sp_count_parse(text, &n)
						       : sp_duration_parse(text, 0, &n),
		0, "%s", text);
	return n;
}

/* What the launcher passes on, the agent takes as it is. Beyond that it refuses its own words, and
 * of async-profiler's, which has no such bounds, it takes the nearest that it can do, and says so.
 */
Test(args, bounds_are_those_of_the_launcher)
{
	static const char *const both[] = {"jstackdepth", "chunksize", "chunktime", "memory"};

	for (size_t i = 0; i < sizeof(both) / sizeof(*both); i++) {
		const struct sp_option *o = sp_option_find(both[i], strlen(both[i]));
		uint64_t least = number(o, o->least), most = number(o, o->most);
		const char *unit = o->kind == SP_OPTION_KIND_DURATION ? "ns" : "";
		int beyond = i < 3 ? 0 : -EINVAL;
		char said[64];

		cr_expect_eq(parse_one(both[i], least, unit, NULL), 0, "%s", both[i]);
		cr_expect_eq(parse_one(both[i], most, unit, said), 0, "%s", both[i]);
		cr_expect_str_eq(said, "", "%s", both[i]);
		cr_expect_eq(parse_one(both[i], least - 1, unit, NULL), i ? beyond : -EINVAL, "%s",
			both[i]);
		cr_expect_eq(parse_one(both[i], most + 1, unit, said), beyond, "%s", both[i]);
		cr_expect_eq(strncmp(said, both[i], strlen(both[i])) == 0, i < 3, "%s", said);
	}
}

Test(args, events_that_hooks_report)
{
	static const struct {
		const char *text;
		uint64_t alloc, lock, nativemem;
		bool live, allocs, only;
		uint64_t nativelock; /* 0: not asked for */
	} cases[] = {
		{"event=cpu", SP_ARGS_NONE, SP_ARGS_NONE, SP_ARGS_NONE, false, false, false},
		{"alloc=2m", 2 << 20, SP_ARGS_NONE, SP_ARGS_NONE, false, true, true},
		{"event=alloc", 524287, SP_ARGS_NONE, SP_ARGS_NONE, false, true, true},
		{"alloc=0", 524287, SP_ARGS_NONE, SP_ARGS_NONE, false, true, true},
		{"event=alloc,interval=1m", 1000000, SP_ARGS_NONE, SP_ARGS_NONE, false, true, true},
		{"event=alloc,interval=64k", 65536, SP_ARGS_NONE, SP_ARGS_NONE, false, true, true},
		{"event=live", 524287, SP_ARGS_NONE, SP_ARGS_NONE, true, false, true},
		{"live", 524287, SP_ARGS_NONE, SP_ARGS_NONE, true, false, false},
		{"alloc=1k,live,allocs", 1024, SP_ARGS_NONE, SP_ARGS_NONE, true, true, true},
		{"event=lock,nativemem=0", SP_ARGS_NONE, 10000, 0, false, false, true},
		{"event=wall,lock=0", SP_ARGS_NONE, 0, SP_ARGS_NONE, false, false, false},
		{"nativelock", SP_ARGS_NONE, SP_ARGS_NONE, SP_ARGS_NONE, false, false, true, 10000},
		{"nativelock=5ms", SP_ARGS_NONE, SP_ARGS_NONE, SP_ARGS_NONE, false, false, true,
			5000000},
		{"event=nativelock,interval=1us", SP_ARGS_NONE, SP_ARGS_NONE, SP_ARGS_NONE, false,
			false, true, 1000},
		{"event=cpu,nativelock=1us", SP_ARGS_NONE, SP_ARGS_NONE, SP_ARGS_NONE, false, false,
			false, 1000},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sp_args a;
		struct sp_err err = {{0}};

		sp_args_init(&a);
		cr_assert_eq(sp_args_parse(&a, cases[i].text, &err), 0, "%s", err.text);
		cr_expect_eq(a.alloc, cases[i].alloc, "%s", cases[i].text);
		cr_expect_eq(a.lock_ns, cases[i].lock, "%s", cases[i].text);
		cr_expect_eq(a.nativemem, cases[i].nativemem, "%s", cases[i].text);
		cr_expect_eq(a.nativelock_ns,
			cases[i].nativelock ? cases[i].nativelock : SP_ARGS_NONE, "%s",
			cases[i].text);
		cr_expect_eq(a.live, cases[i].live, "%s", cases[i].text);
		cr_expect_eq(a.allocs, cases[i].allocs, "%s", cases[i].text);
		cr_expect_eq(sp_args_only_hooks(&a), cases[i].only, "%s", cases[i].text);
		cr_expect_eq(sp_args_hooks(&a), i > 0, "%s", cases[i].text);
	}
}

Test(args, words_of_async_profiler)
{
	static const struct {
		const char *text, *event, *ignored;
		uint64_t interval, wall, alloc, lock;
	} cases[] = {
		/* the default of Spark 4's plugin */
		{"start,event=wall,interval=10ms,alloc=2m,lock=10ms,chunktime=300s,file=x.jfr,jfr",
			"wall", "", 10000000, 0, 2 << 20, 10000000},
		{"start,event=cpu,wall,alloc,lock,threads,cstack=vm,title=a b,simple", "cpu", "", 0,
			50000000, 524287, 10000},
		{"start,wall=20ms,alloc=1m", "wall", "", 20000000, 0, 1 << 20, SP_ARGS_NONE},
		{"start,alloc,jstackdepth=64/32", "alloc", "", 0, 0, 524287, SP_ARGS_NONE},
		{"start,event=cpu,event=lock,event=alloc", "cpu", "", 0, 0, 524287, 10000},
		{"start,event=cpu,event=wall,lock", "wall", "", 0, 0, SP_ARGS_NONE, 10000},
		{"start,event=alloc,event=wall", "wall", "", 0, 0, 524287, SP_ARGS_NONE},
		{"cpu,include=*x*,jfrsync=profile,lock=1ms", "cpu", "jfrsync, include", 0, 0,
			SP_ARGS_NONE, 1000000},
		{"start,all", "cpu", "", 0, 50000000, 524287, 10000},
		{"event=cpu,wall=0,alloc=512KiB,lock=10m", "cpu", "", 0, 50000000, 512 << 10,
			10000000},
		{"event=wall,interval=5m", "wall", "", 5000000, 0, SP_ARGS_NONE, SP_ARGS_NONE},
		{"event=wall,interval=5min", "wall", "", 300000000000, 0, SP_ARGS_NONE,
			SP_ARGS_NONE},
		{"event=ctimer,interval=50usec,wall=1us", "ctimer", "wall=1us, interval=50000ns",
			100000, 100000, SP_ARGS_NONE, SP_ARGS_NONE},
		{"event=cache-misses,interval=1000,filter=", "cache-misses", "filter", 1000, 0,
			SP_ARGS_NONE, SP_ARGS_NONE},
		{"trace=a.B.c:10ms,trace=d.E.f", "trace", "", 0, 0, SP_ARGS_NONE, SP_ARGS_NONE},
		/* each of 4.5 that is about output, stacks or its log, with values as in its docs
		 */
		{"start,event=cpu,collapsed,flamegraph,tree,jfr,jfropts=mem,traces=100,flat=200,"
		 "otlp,"
		 "samples,total,memlimit=512m,signal=12/13,features=stats+vtable,log=/tmp/x,"
		 "loglevel=warn,quiet,fdtransfer=@x,threads,nobatch,cstack=vmx,clock="
		 "tsc,"
		 "simple,dot,norm,sig,ann,lib,mcache=1,title=x,minwidth=0.5,reverse,inverted",
			"cpu", "", 0, 0, SP_ARGS_NONE, SP_ARGS_NONE},
		{"start,event=cpu,ratelimit=cpu:100,jfrsync=+jdk.X,tlab,nativelock,proc=30,"
		 "include=a,exclude=b,sched,record-cpu,alluser,target-cpu=1,begin=a,end=b,nostop,"
		 "ttsp",
			"cpu",
			"ratelimit, jfrsync, sched, record-cpu, begin, end, nostop, target-cpu, "
			"include, exclude",
			0, 0, SP_ARGS_NONE, SP_ARGS_NONE},
		{"start,event=wall,ttsp", "wall", "ttsp", 0, 0, SP_ARGS_NONE, SP_ARGS_NONE},
		{"start,ttsp", "cpu", "", 0, 0, SP_ARGS_NONE, SP_ARGS_NONE},
		{"start,begin=f,end=g", "cpu", "", 0, 0, SP_ARGS_NONE, SP_ARGS_NONE},
		{"start,begin=f,end=g,nostop", "cpu", "", 0, 0, SP_ARGS_NONE, SP_ARGS_NONE},
		{"start,event=wall,begin=f,end=g", "wall", "begin, end", 0, 0, SP_ARGS_NONE,
			SP_ARGS_NONE},
		{"start,target-cpu=1", "cpu", "", 0, 0, SP_ARGS_NONE, SP_ARGS_NONE},
		{"start,target-cpu=-1", "cpu", "", 0, 0, SP_ARGS_NONE, SP_ARGS_NONE},
		{"start,event=ctimer,target-cpu=1", "ctimer", "target-cpu", 0, 0, SP_ARGS_NONE,
			SP_ARGS_NONE},
		{"start,end=g", "cpu", "end", 0, 0, SP_ARGS_NONE, SP_ARGS_NONE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sp_args a;
		struct sp_err err = {{0}};

		sp_args_init(&a);
		cr_assert_eq(sp_args_parse(&a, cases[i].text, &err), 0, "%s", err.text);
		cr_expect_str_eq(a.event, cases[i].event, "%s", cases[i].text);
		cr_expect_str_eq(a.ignored, cases[i].ignored, "%s", cases[i].text);
		cr_expect_eq(a.interval_ns, cases[i].interval, "%s", cases[i].text);
		cr_expect_eq(a.wall_ns, cases[i].wall, "%s", cases[i].text);
		cr_expect_eq(a.alloc, cases[i].alloc, "%s", cases[i].text);
		cr_expect_eq(a.lock_ns, cases[i].lock, "%s", cases[i].text);
	}
}

Test(args, methods_may_be_given_again)
{
	struct sp_args a;

	sp_args_init(&a);
	cr_assert_eq(sp_args_parse(&a, "event=wall,trace=a.B.c:10ms,trace=d.E.f", NULL), 0);
	cr_expect_str_eq(a.trace, "a.B.c:10ms;d.E.f");
	cr_expect_str_eq(a.event, "wall");
}

/* What is left at 2026-03-01 14:30:00 until a time of day comes next. */
static uint64_t seconds_until(const char *loop)
{
	struct tm tm = {.tm_year = 126, .tm_mon = 2, .tm_mday = 1, .tm_hour = 14, .tm_min = 30};
	struct sp_args a;
	struct sp_err err = {{0}};
	char text[64];

	tm.tm_isdst = -1;
	sp_args_init(&a);
	snprintf(text, sizeof(text), "loop=%s", loop);
	cr_assert_eq(sp_args_parse(&a, text, &err), 0, "%s", err.text);
	return sp_arg_value_left(a.loop, mktime(&tm)) / 1000000000;
}

Test(args, times_of_day)
{
	struct sp_args a;

	cr_expect_eq(seconds_until("14:30:10"), 10);
	cr_expect_eq(seconds_until("14:30:00"), 86400);
	cr_expect_eq(seconds_until("0:0:0"), 34200);
	cr_expect_eq(seconds_until("hh:00:00"), 1800);
	cr_expect_eq(seconds_until("hh:45:00"), 900);
	cr_expect_eq(seconds_until("hh:mm:30"), 30);
	cr_expect_eq(seconds_until("1hour"), 3600);
	cr_expect_eq(seconds_until("0"), 0);
	sp_args_init(&a);
	cr_assert_eq(sp_args_parse(&a, "timeout=hh:mm:00", NULL), 0);
	cr_expect(a.timeout_ns > 0 && a.timeout_ns <= 60000000000ull);
}

Test(args, autostart_only)
{
	struct sp_args a;
	struct sp_err err = {{0}};

	sp_args_init(&a);
	cr_expect_eq(a.fraction, 1000000);
	cr_assert_eq(sp_args_parse(&a, "loop=10m,maxdisk=200m,fraction=0.1,dfsinterval=5", &err), 0,
		"%s", err.text);
	cr_expect_eq(a.loop, 600000000000ull);
	cr_expect_eq(a.maxdisk, 200u << 20);
	cr_expect_eq(a.fraction, 100000);
	cr_expect_eq(a.dfs_ns, 5000000000ull);
}

Test(args, cut_anywhere_it_neither_crashes_nor_hangs)
{
	const char *text =
		"start,event=cpu,interval=10ms,file=x\\,y,filter=1-2,thread=a*,capture=ring";
	char cut[128];

	for (size_t n = 0; n <= strlen(text); n++) {
		struct sp_args a;

		sp_args_init(&a);
		memcpy(cut, text, n);
		cut[n] = 0;
		sp_args_parse(&a, cut, NULL);
	}
}

Test(args, default_intervals)
{
	struct sp_args a;

	sp_args_init(&a);
	cr_assert_eq(sp_args_interval(&a), 10000000);
	strcpy(a.event, "wall");
	cr_assert_eq(sp_args_interval(&a), 50000000);
}

/* From a command line over the wire to what the agent records. */
static int over_the_wire(
	int argc, char **argv, bool stream, struct sp_args *ret, struct sp_err *err)
{
	static uint8_t wire[SP_MSG_MAX];
	SP_AUTO_RECORD_REQUEST struct sp_record_request request;
	struct sp_msg sent = {.type = SP_MSG_START, .text = {"me", "jfr out.jfr"}}, got;
	struct sp_record_options fields;
	struct sp_call call;
	int n;

	cr_assert_eq(sp_options_parse(argc, argv, &call, err), 0, "%s", err->text);
	cr_assert_eq(sp_record_request_init(&request, &call, stream), 0);
	sp_record_options_put(&request.fields, &sent);
	n = sp_msg_encode(&sent, wire, sizeof(wire));
	cr_assert_gt(n, 0);
	cr_assert_eq(sp_msg_decode(wire, (size_t)n, &got), 0);
	cr_expect_str_eq(got.text[0], "me");
	cr_expect_str_eq(got.text[1], "jfr out.jfr");
	sp_record_options_get(&got, &fields);
	return sp_args_from_record(ret, &fields, err);
}

#define OVER_THE_WIRE(stream, ret, err, ...)                                                       \
	({                                                                                         \
		char *argv_[] = {"sparkprof", __VA_ARGS__, "1", NULL};                             \
		over_the_wire((int)(sizeof(argv_) / sizeof(*argv_)) - 1, argv_, stream, ret, err); \
	})

/* No sign in a value means anything to the wire: a backslash at the end once took what followed. */
Test(args, values_cross_the_wire_as_they_are)
{
	static const char *const values[] = {"x\\", "x\\,stream", "a,b", ",", "x=y", "\\,", " x "};
	struct sp_args a;
	struct sp_err err = {{0}};

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		cr_assert_eq(OVER_THE_WIRE(i % 2, &a, &err, "collect", "-e", "wall", "--thread",
				     (char *)values[i], "--driver-ui", "http://h:1/x,y\\"),
			0, "%s", err.text);
		cr_expect_str_eq(a.thread, values[i]);
		cr_expect_str_eq(a.driver_ui, "http://h:1/x,y\\");
		cr_expect_eq(a.stream, i % 2);
		cr_expect_str_eq(a.event, "wall");
		cr_expect_str_eq(a.ignored, "");
	}
}

/* What is not given means on both sides what the option table shows. */
Test(args, defaults_are_the_same_on_both_sides)
{
	struct sp_args by_wire, own;
	struct sp_err err = {{0}};

	sp_args_init(&own);
	cr_assert_eq(OVER_THE_WIRE(false, &by_wire, &err, "collect"), 0, "%s", err.text);
	cr_expect_str_eq(by_wire.event, own.event);
	cr_expect_eq(by_wire.interval_ns, own.interval_ns);
	cr_expect_eq(sp_args_interval(&by_wire), SP_DEFAULT_INTERVAL_NS);
	cr_expect_eq(by_wire.depth, own.depth);
	cr_expect_eq(by_wire.depth_left, own.depth_left);
	cr_expect_eq(by_wire.memory, own.memory);
	cr_expect_eq(by_wire.chunk_bytes, own.chunk_bytes);
	cr_expect_eq(by_wire.chunk_ns, own.chunk_ns);
	cr_expect_eq(by_wire.timeout_ns, 0);
	cr_assert_eq(OVER_THE_WIRE(false, &by_wire, &err, "collect", "--all"), 0, "%s", err.text);
	cr_assert_eq(sp_args_parse(&own, "start,all", &err), 0);
	cr_expect_eq(by_wire.wall_ns, own.wall_ns);
	cr_expect_eq(by_wire.alloc, own.alloc);
	cr_expect_eq(by_wire.lock_ns, own.lock_ns);
	cr_expect_eq(by_wire.nativelock_ns, own.nativelock_ns);
	cr_expect_eq(by_wire.nativemem, own.nativemem);
	cr_expect_eq(by_wire.live, own.live);
	cr_expect_eq(by_wire.allocs, own.allocs);
}

/* What status shows comes back as fields, and names what the user named. */
Test(args, the_state_brings_the_fields_back)
{
	static const struct {
		const char *words, *events;
	} cases[] = {
		{"start,event=wall,interval=5ms", "wall"},
		{"start,event=cpu,wall,alloc,lock,file=x.jfr", "cpu, wall, alloc, lock"},
		{"start,event=live", "live"},
		{"start,event=java.util.HashMap.put,trace=a.B.c:1ms",
			"java.util.HashMap.put, trace"},
		{"start,event=nativemem", "nativemem"},
		{"start,all", "cpu, wall, alloc, live, lock, nativelock, nativemem"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		SP_AUTO_BUF struct sp_buf events = {0};
		SP_AUTO_BUF struct sp_buf words = {0};
		struct sp_record_options fields;
		struct sp_msg m = {.type = SP_MSG_STATE};
		struct sp_err err = {{0}};
		struct sp_args a;

		sp_args_init(&a);
		cr_assert_eq(sp_args_parse(&a, cases[i].words, &err), 0, "%s", err.text);
		sp_args_to_record(&a, &fields);
		sp_record_options_put(&fields, &m);
		sp_record_options_get(&m, &fields);
		sp_record_request_events(&fields, &events);
		sp_record_request_words(&fields, &words);
		cr_expect_str_eq(sp_buf_str(&events), cases[i].events);
		cr_expect_str_eq(sp_buf_str(&words), cases[i].words, "as they were given");
	}
}

/* A launcher that lies is refused by the bounds of the words. */
Test(args, fields_beyond_the_bounds_are_refused)
{
	static char long_text[2000];
	struct sp_record_options good, bad;
	struct sp_args a;
	struct sp_err err = {{0}};

	memset(long_text, 'x', sizeof(long_text) - 1);
	sp_args_init(&a);
	sp_args_to_record(&a, &good);
	cr_assert_eq(sp_args_from_record(&a, &good, &err), 0, "%s", err.text);
	for (int i = SP_RECORD_DEPTH; i <= SP_RECORD_MEMORY; i++) {
		bad = good;
		bad.num[i] = i == SP_RECORD_DEPTH_LEFT ? 8193 : 0;
		cr_expect_eq(sp_args_from_record(&a, &bad, &err), -EINVAL, "%d", i);
	}
	for (int i = 0; i < SP_RECORD_GIVEN; i++) {
		bad = good;
		bad.text[i] = long_text;
		cr_expect_eq(sp_args_from_record(&a, &bad, &err), -EINVAL, "%d", i);
	}
}

/* What file= is to be in the end, and the words for how it looks. */
Test(args, reports)
{
	static const struct {
		const char *text, *report, *ext, *looks, *ignored;
	} cases[] = {
		{"file=x.jfr,total", "", "", ",total", ""},
		{"file=x.jfr,include=*a*", "", "", ",include=*a*", "include"},
		{"file=x.html,title=a\\,b,include=*a*,threads", "html", ".html",
			",title=a b,include=*a*,threads", ""},
		{"file=a.PB.gz", "pprof", ".PB.gz", "", ""},
		{"traces=100,flat=20,file=top.txt", "text", ".txt", ",traces=100,flat=20", ""},
		{"traces=100,file=x.html,flamegraph", "html", ".html", "", ""},
		{"collapsed,file=x", "collapsed", "", "", ""},
		{"collapsed,file=x.txt", "collapsed", ".txt", "", ""},
		{"jfr,file=x.html", "", "", "", ""},
		{"file=x", "", "", "", ""},
		{"collapsed,file=dir/", "", "", "", ""},
		{"collapsed", "", "", "", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sp_args a;
		struct sp_err err = {{0}};

		sp_args_init(&a);
		cr_assert_eq(sp_args_parse(&a, cases[i].text, &err), 0, "%s", err.text);
		cr_expect_str_eq(a.report, cases[i].report, "%s", cases[i].text);
		cr_expect_str_eq(a.report_ext, cases[i].ext, "%s", cases[i].text);
		cr_expect_str_eq(a.looks, cases[i].looks, "%s", cases[i].text);
		cr_expect_str_eq(a.ignored, cases[i].ignored, "%s", cases[i].text);
	}
}
