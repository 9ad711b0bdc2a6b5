/* See cpu_group.h. */
#include "cpu_group.h"

#include "base/cgroup.h"
#include "base/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sp_cpu_group_find(char path[SP_CPU_GROUP_PATH])
{
	path[0] = 0;
	if (sp_cgroup_cpu_stat(0, path, SP_CPU_GROUP_PATH) == 0)
		return true;
	path[0] = 0;
	return false;
}

static uint64_t value_of(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = text; p; p = strchr(p, '\n'), p = p ? p + 1 : p)
		if (strncmp(p, key, n) == 0 && p[n] == ' ')
			return strtoull(p + n, NULL, 10);
	return 0;
}

bool sp_cpu_group_read(const char *path, struct sp_throttled *ret)
{
	char text[2048];

	if (!path[0] || sp_io_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	*ret = (struct sp_throttled){.periods = value_of(text, "nr_periods"),
		.throttled = value_of(text, "nr_throttled"),
		.ns = value_of(text, "throttled_time")};
	if (!ret->ns)
		ret->ns = value_of(text, "throttled_usec") * 1000;
	return true;
}
