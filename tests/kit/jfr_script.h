/* A recording made from a script, for tests: the same contents each time, so that what a reader
 * finds can be counted. Used by the unit tests and by the program jfr-script. */
#ifndef SP_TESTS_JFR_SCRIPT_H
#define SP_TESTS_JFR_SCRIPT_H

#include "base/cleanup.h"
#include "base/clock.h"
#include "jfr/writer.h"

#include <stdio.h>
#include <string.h>

static inline uint32_t script_string(struct sp_dict *d, const char *fmt, unsigned n)
{
	char text[128];
	int len = snprintf(text, sizeof(text), fmt, n);

	return sp_dict_string(d, text, (size_t)len);
}

/* Stack @n: a few Java frames that are shared, some that are not, and native ones. */
static inline uint32_t script_stack(struct sp_dict *d, unsigned n, unsigned depth)
{
	struct sp_frame_ref frames[256];
	unsigned count = 0;
	uint32_t sig = script_string(d, "(I)Ljava/lang/String;", 0);

	for (; count < depth && count < SP_COUNT(frames); count++) {
		struct sp_method m = {0};

		if (count == 0 && n % 3 == 0) {
			m.class_id = script_string(d, "libc.so.6", 0);
			m.name_id = script_string(d, "memcpy_%u", n);
			m.native = 1;
		} else if (count == 0 && n % 3 == 1) {
			m.class_id = script_string(d, "libfoo.so", 0);
			m.name_id = script_string(d, "0x%x", 4096 + n);
			m.sig_id = script_string(d, "()Ldeadbeef%02x;", n & 0xff);
			m.native = m.unresolved = 1;
		} else {
			m.class_id = script_string(d, "org/example/app/C%u", n % 7 + count);
			m.name_id = script_string(d, "method%u", n % 13);
			m.sig_id = sig;
			m.modifiers = 1;
		}
		frames[count] = (struct sp_frame_ref){sp_dict_method(d, &m), (int32_t)(n % 100),
			m.native ? -1 : (int32_t)count, m.native ? SP_FRAME_NATIVE : SP_FRAME_C2};
	}
	return sp_dict_stack(d, frames, count, n % 5 == 0);
}

static inline uint32_t script_thread(struct sp_dict *d, unsigned n)
{
	struct sp_thread t = {
		.tid = 1000 + n % 4,
		.java_id = n % 4 ? n % 4 : 0,
		.name_id = script_string(d, "Executor task launch worker for task %u", n % 4),
		.group_id = n % 4 ? script_string(d, "main", 0) : 0,
	};

	return sp_dict_thread(d, &t);
}

/* What each chunk says first. */
static inline void script_head(struct sp_jfrw *w)
{
	uint64_t now = sp_clock_mono_ns();

	sp_jfrw_event(w, SP_JFR_ACTIVE_SETTING,
		(const union sp_jfr_val[]){
			{now}, {SP_JFR_EXECUTION_SAMPLE}, {.s = "event"}, {.s = "cpu"}});
	sp_jfrw_event(w, SP_JFR_JVM_INFORMATION,
		(const union sp_jfr_val[]){{now}, {.s = "OpenJDK"}, {.s = "17"}, {.s = "-Xmx1g"},
			{.s = NULL}, {.s = "org.example.Main \xc3\xa4"}, {1700000000000}, {4711}});
	sp_jfrw_event(w, SP_JFR_MODULE,
		(const union sp_jfr_val[]){{now}, {.s = "/lib/libfoo.so"}, {.s = "deadbeef"},
			{0x7f0000000000}, {0x7f0000010000}, {2049}, {77}});
}

/* One flush worth of events: @samples cpu and as many wall samples, and one each of the rest. */
static inline void script_events(
	struct sp_jfrw *w, struct sp_dict *d, unsigned flush, unsigned samples, unsigned depth)
{
	uint64_t now = sp_clock_mono_ns();

	for (unsigned i = 0; i < samples; i++) {
		unsigned n = flush * samples + i;
		uint32_t stack = script_stack(d, n, depth), thread = script_thread(d, n);

		sp_jfrw_sample(w, now + i, thread, stack, SP_STATE_UNKNOWN);
		sp_jfrw_wall(
			w, now + i, thread, stack, SP_STATE_RUNNING + n % 8, 1 + n % 3, 50000000);
	}
	sp_jfrw_event(w, SP_JFR_SPAN,
		(const union sp_jfr_val[]){{now}, {1000}, {script_thread(d, 1)},
			{script_string(d, "stage 1.0 task %u", flush)}});
	sp_jfrw_event(w, SP_JFR_CPU_LOAD,
		(const union sp_jfr_val[]){{now}, {.f = 0.5}, {.f = 0.25}, {.f = 0.75}});
	sp_jfrw_event(w, SP_JFR_RSS, (const union sp_jfr_val[]){{now}, {1 << 20}, {2 << 20}});
	sp_jfrw_event(w, SP_JFR_HEAP_SUMMARY,
		(const union sp_jfr_val[]){{now}, {flush}, {SP_GC_AFTER}, {0x1000}, {0x3000},
			{0x2000}, {0x5000}, {0x4000}, {0x1800}});
	sp_jfrw_event(w, SP_JFR_GC,
		(const union sp_jfr_val[]){{now}, {5000}, {flush}, {script_string(d, "G1New", 0)},
			{script_string(d, "G1 Pause", 0)}, {4000}, {3000}});
	sp_jfrw_event(w, SP_JFR_COUNTS,
		(const union sp_jfr_val[]){{now}, {flush * samples}, {3}, {2}, {1}, {2}, {1}});
	sp_jfrw_event(
		w, SP_JFR_LOST, (const union sp_jfr_val[]){{now}, {.s = "ring full"}, {3}, {1}});
}

#endif
