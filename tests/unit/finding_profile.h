/* Profiles for the tests of findings, built sample by sample. */
#ifndef FINDING_PROFILE_H
#define FINDING_PROFILE_H

#include <criterion/criterion.h>
#include <string.h>

#include "out/findings.h"
#include "prof/model/tasks.h"
#include "sample_profile.h"

#define S 1000000000ull

static inline struct sp_profile *wall_profile(void)
{
	struct sp_profile *p;

	cr_assert_eq(sp_profile_new(&p, 16u << 20), 0);
	sp_profile_event(p, "wall", SP_UNIT_NS, 10000000, true);
	p->duration_ns = 60 * S;
	return p;
}

static inline uint32_t add_task(struct sp_profile *p, int64_t tid, int32_t stage, uint64_t took_ns)
{
	struct sp_task_run t = {
		.name = {tid, stage, 0, 0, 0}, .end_ns = took_ns, .begun = true, .ended = true};

	cr_assert_eq(sp_profile_add_task(p, &t), 0);
	return (uint32_t)p->task_count;
}

static inline uint32_t stack_of(struct sp_profile *p, const char *cls, const char *name)
{
	struct sp_frame_ref f[] = {
		native(p, "libjvm.so", "SafepointSynchronize::block", SP_FRAME_CPP),
		java(p, cls, name, "()V", SP_FRAME_C2),
		java(p, "org/apache/spark/scheduler/Task", "run", "()V", SP_FRAME_C1),
		java(p, "org/apache/spark/executor/Executor$TaskRunner", "run", "()V",
			SP_FRAME_C1)};
	bool gc = strcmp(name, "collected") == 0;

	return sp_dict_stack(p->dict, gc ? f : f + 1, gc ? 4 : 3, 0);
}

static inline void add_time(
	struct sp_profile *p, uint32_t task, uint32_t stack, const char *state, uint64_t weight)
{
	struct sp_sample x = {.stack = stack,
		.thread = thread(p, "worker", 100 + task),
		.state = str(p, state),
		.count = weight / 10000000,
		.weight = weight,
		.task = task};

	cr_assert_eq(sp_profile_add(p, &x), 0);
}

/* Twelve tasks of stage 3, which compute; all take the same time. */
static inline struct sp_profile *healthy(void)
{
	struct sp_profile *p = wall_profile();

	for (int i = 0; i < 12; i++) {
		uint32_t t = add_task(p, i, 3, 2 * S);

		add_time(p, t, stack_of(p, "com/acme/Job", "work"), "running", 2 * S);
	}
	return p;
}

/* The finding of @rule; its words are left in @says. */
static inline bool finds(struct sp_profile *p, const char *rule, char *says, size_t size)
{
	struct sp_findings f;
	bool found = false;

	cr_assert_eq(sp_findings_init(&f, p, NULL), 0);
	says[0] = 0;
	for (unsigned i = 0; i < f.count; i++) {
		if (strcmp(f.list[i].rule, rule) != 0)
			continue;
		found = true;
		snprintf(says, size, "%s", sp_buf_str(&f.list[i].says));
	}
	sp_findings_done(&f);
	return found;
}

#endif
