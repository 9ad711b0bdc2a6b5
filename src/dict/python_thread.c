/* See python_thread.h. */
#include "dict/python_thread.h"

#include <string.h>

static const struct {
	const char *group, *name; /* name: as it began before the mark */
} kinds[SP_PYTHON_THREADS] = {
	[SP_PYTHON_THREAD_WORKER] = {"Python workers", "python-worker-"},
	[SP_PYTHON_THREAD_DAEMON] = {"Python worker daemon", "python-daemon-"},
	[SP_PYTHON_THREAD_DRIVER] = {"Python of the driver", "python-driver-"},
	[SP_PYTHON_THREAD_OTHER] = {"Python", NULL},
};

const char *sp_python_thread_group(enum sp_python_thread kind)
{
	return kinds[kind].group;
}

enum sp_python_thread sp_python_thread_of(const struct sp_dict *d, uint32_t id)
{
	const struct sp_thread *t = sp_dict_get_thread(d, id);
	const char *group = t ? sp_dict_get_string(d, t->group_id, NULL) : "";
	const char *name = t ? sp_dict_get_string(d, t->name_id, NULL) : "";

	for (int k = SP_PYTHON_THREAD_WORKER; k < SP_PYTHON_THREADS; k++) {
		const char *start = kinds[k].name;

		if (group[0] ? strcmp(group, kinds[k].group) == 0
			     : start && strncmp(name, start, strlen(start)) == 0)
			return (enum sp_python_thread)k;
	}
	return SP_PYTHON_THREAD_NONE;
}
