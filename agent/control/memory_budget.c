/* See memory_budget.h. Reads /proc/self/cgroup and the limit files of that group and its parents.
 */
#include "memory_budget.h"

#include "base/units.h"
#include "host/address_room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_text(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return false;
	buf[n] = 0;
	return true;
}

/* Pages of files that the kernel gives back before it kills anybody: an executor's shuffle files
 * fill its group with them. @text: memory.stat. */
static uint64_t droppable(const char *text, const char *prefix)
{
	static const char *const lists[] = {"inactive_file ", "active_file "};
	uint64_t sum = 0;
	char key[32];

	for (size_t i = 0; i < 2; i++) {
		const char *at;

		snprintf(key, sizeof(key), "\n%s%s", prefix, lists[i]);
		at = strstr(text, key);
		sum += at ? strtoull(at + strlen(key), NULL, 10) : 0;
	}
	return sum;
}

/* Names of a hierarchy's files. */
struct names {
	const char *limit, *usage, *stat_prefix;
};

/* limit - usage in @dir, UINT64_MAX where there is no limit or no such file. */
static uint64_t left_in(const char *dir, const struct names *n)
{
	char path[600], text[4096];
	uint64_t max, used, drop = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, n->limit);
	if (!read_text(path, text, sizeof(text)) || text[0] == 'm')
		return UINT64_MAX;
	max = strtoull(text, NULL, 10);
	snprintf(path, sizeof(path), "%s/%s", dir, n->usage);
	if (max > 1ull << 60 || !read_text(path, text, sizeof(text)))
		return UINT64_MAX;
	used = strtoull(text, NULL, 10);
	snprintf(path, sizeof(path), "%s/memory.stat", dir);
	if (read_text(path, text, sizeof(text)))
		drop = droppable(text, n->stat_prefix);
	used -= drop < used ? drop : used;
	return used < max ? max - used : 0;
}

/* The group and its parents up to the mount's root: the tightest counts. */
static uint64_t left_along(const char *root, const char *group, const struct names *names)
{
	char dir[512];
	uint64_t least = UINT64_MAX;

	snprintf(dir, sizeof(dir), "%s%s", root, group);
	for (;;) {
		uint64_t left = left_in(dir, names);
		char *slash = strrchr(dir, '/');

		if (left < least)
			least = left;
		if (!slash || strlen(dir) <= strlen(root))
			return least;
		*slash = 0;
	}
}

uint64_t sp_memory_budget_left(void)
{
	static const struct names v2 = {"memory.max", "memory.current", ""};
	static const struct names v1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_"};
	char text[4096], *line, *save;
	uint64_t least = UINT64_MAX;

	if (!read_text("/proc/self/cgroup", text, sizeof(text)))
		return UINT64_MAX;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *group = strrchr(line, ':');
		uint64_t left = UINT64_MAX;

		if (!group)
			continue;
		if (strncmp(line, "0::", 3) == 0)
			left = left_along("/sys/fs/cgroup", group + 1, &v2);
		else if (strstr(line, ":memory:") || strstr(line, ",memory:"))
			left = left_along("/sys/fs/cgroup/memory", group + 1, &v1);
		if (left < least)
			least = left;
	}
	return least;
}

/* Addresses that a recording takes: tables sized for the worst case, stacks of threads, its memory
 * (31 to 50 MB with the usual 12 MB, measured), and the arena that glibc gives to a thread of ours
 * where the JVM allocates on it (64 MB). */
static uint64_t addresses(const struct sp_args *args)
{
	return (104ull << 20) + 2 * args->memory;
}

/* A JVM at its limit of addresses ends itself at the next allocation of its own. */
static int check_addresses(const struct sp_args *args, struct sp_err *err)
{
	uint64_t left = sp_address_room(), need = addresses(args) + SP_BUDGET_HOST;
	char a[32], b[32];

	if (left >= need)
		return 0;
	return sp_err_set(err, -ENOMEM,
		"the target may map only %s more memory (ulimit -v or -d); a recording needs %s to "
		"leave enough for the JVM itself",
		sp_size_format(left, a, sizeof(a)), sp_size_format(need, b, sizeof(b)));
}

int sp_memory_budget_apply(struct sp_args *args, sp_say_fn *say, void *say_ctx, struct sp_err *err)
{
	uint64_t left = sp_memory_budget_left(), may = left / 20;
	char a[32], b[32], text[256];

	if (may >= args->memory)
		return check_addresses(args, err);
	if (may < SP_BUDGET_MIN)
		return sp_err_set(err, -ENOMEM,
			"the target's memory cgroup has only %s left, too little to record there",
			sp_size_format(left, a, sizeof(a)));
	snprintf(text, sizeof(text),
		"the target's memory cgroup has %s left: using %s for the recording, which may "
		"lose "
		"samples",
		sp_size_format(left, a, sizeof(a)), sp_size_format(may, b, sizeof(b)));
	args->memory = may;
	if (say)
		say(say_ctx, text);
	return check_addresses(args, err);
}
