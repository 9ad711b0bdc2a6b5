/* What pass 1 over a recording looks for because pass 2 has met it. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "jfr/event_fields.h"
#include "jfr/writer.h"
#include "prof/load/load.h"

static struct sp_dict *dict;
static struct sp_jfrw *w;

static uint32_t str(const char *s)
{
	return sp_dict_string(dict, s, strlen(s));
}

static uint32_t thread(void)
{
	return sp_dict_thread(
		dict, &(struct sp_thread){.tid = 7, .java_id = 1, .name_id = str("main")});
}

static uint32_t stack(void)
{
	struct sp_method m = {.class_id = str("a/A"), .name_id = str("keep"), .sig_id = str("()V")};
	struct sp_frame_ref f = {sp_dict_method(dict, &m), -1, -1, SP_FRAME_C2};

	return sp_dict_stack(dict, &f, 1, 0);
}

/* Of two dumps only the later one counts, whichever reader of the file meets them. */
Test(load_survey, a_dump_in_a_later_chunk_is_found, .timeout = 60)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);
	struct sp_load_opts two = {.tasks = true, .readers = 2};
	struct sp_profile *p = NULL;

	cr_assert(fd >= 0 && sp_dict_new(&dict, 16u << 20) == 0);
	cr_assert_eq(sp_jfrw_new(&w, fd, dict, &(struct sp_jfrw_cfg){0}, NULL), 0);
	sp_jfrw_sample(w, sp_clock_mono_ns(), thread(), stack(), SP_STATE_RUNNING);
	cr_assert_eq(sp_jfrw_rotate(w), 1);
	sp_dict_reset(dict);
	for (uint64_t dump = 1; dump <= 2; dump++) {
		uint64_t now = sp_clock_mono_ns() + dump;

		sp_jfrw_event(
			w, SP_JFR_EVENT(LIVE_SO_FAR, .startTime.u = now, .eventThread.u = thread(),
				   .stackTrace.u = stack(), .objectClass.u = str("a/B"),
				   .allocationSize.u = 1000 * dump, .allocationTime.u = now));
	}
	cr_assert_eq(sp_jfrw_close(w), 0);
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	cr_assert_eq(sp_load_with(fd, &two, NULL, &p, NULL), 0);
	cr_assert_eq(p->event_count, 2);
	cr_expect_str_eq(sp_profile_event_name(p, 1), "live");
	cr_expect_eq(p->events[1].weight, 2000);
	sp_profile_free(p);
	sp_dict_free(dict);
	close(fd);
}
