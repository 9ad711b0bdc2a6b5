/* See cpu_group.h. In a container the path in /proc/self/cgroup may be the host's: then what is
 * mounted is the container's own group, and the search ends there. */
#include "cpu_group.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool slurp(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* "max 100000" and "-1" say that there is no limit. */
static bool has_limit(const char *dir, bool v2)
{
	char path[SP_CPU_GROUP_PATH + 32], text[64];

	snprintf(path, sizeof(path), "%s/%s", dir, v2 ? "cpu.max" : "cpu.cfs_quota_us");
	return slurp(path, text, sizeof(text)) && strtoll(text, NULL, 10) > 0;
}

/* From the process's own group up to the mount point. */
static bool search(const char *mount, const char *group, bool v2, char path[SP_CPU_GROUP_PATH])
{
	char dir[SP_CPU_GROUP_PATH - 16];
	size_t root = strlen(mount);

	if (snprintf(dir, sizeof(dir), "%s%s", mount, group) >= (int)sizeof(dir))
		return false;
	for (;;) {
		char *slash;

		if (has_limit(dir, v2)) {
			snprintf(path, SP_CPU_GROUP_PATH, "%s/cpu.stat", dir);
			return true;
		}
		slash = strrchr(dir, '/');
		if (!slash || (size_t)(slash - dir) < root)
			return false;
		*slash = 0;
	}
}

/* A line of /proc/self/cgroup: "4:cpu,cpuacct:/a/b", or "0::/a/b" of v2. */
static bool search_line(const char *line, char path[SP_CPU_GROUP_PATH])
{
	static const char *const v1[] = {"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu"};
	static const char *const v2[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	const char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
	bool two = group == names + 1;

	if (!group ||
		(!two && strncmp(names + 1, "cpu,", 4) != 0 && strncmp(names + 1, "cpu:", 4) != 0 &&
			!strstr(names, ",cpu:") && !strstr(names, ",cpu,")))
		return false;
	for (int i = 0; i < 2; i++)
		if (search(two ? v2[i] : v1[i], group + 1, two, path))
			return true;
	return false;
}

bool sp_cpu_group_find(char path[SP_CPU_GROUP_PATH])
{
	char text[4096], *rest = text, *line;

	path[0] = 0;
	slurp("/proc/self/cgroup", text, sizeof(text));
	while ((line = strsep(&rest, "\n")))
		if (search_line(line, path))
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

	if (!path[0] || !slurp(path, text, sizeof(text)))
		return false;
	*ret = (struct sp_throttled){.periods = value_of(text, "nr_periods"),
		.throttled = value_of(text, "nr_throttled"),
		.ns = value_of(text, "throttled_time")};
	if (!ret->ns)
		ret->ns = value_of(text, "throttled_usec") * 1000;
	return true;
}
