/* Control groups: see cgroup.h. Documented in cgroup-v1/memory.rst and cgroup-v2.rst of the kernel,
 * mounts in proc_pid_mountinfo(5). */
#include "cgroup.h"

#include "buf.h"
#include "cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct group {
	const char *controller; /* NULL: memory */
	int version;		/* 1 or 2 */
	char path[PATH_MAX];
};

struct mount {
	char root[PATH_MAX]; /* the part of the hierarchy that is mounted */
	char at[PATH_MAX];
};

static const uint64_t UNLIMITED = UINT64_MAX;

static const char *controller_of(const struct group *g)
{
	return g->controller ? g->controller : "memory";
}

/* Whether @word is one of the names parted by commas. */
static bool in_list(const char *list, size_t len, const char *word)
{
	size_t n = strlen(word);

	for (const char *s = list, *end = list + len; s < end; s++) {
		if ((size_t)(end - s) >= n && strncmp(s, word, n) == 0 &&
			(s + n == end || s[n] == ',') && (s == list || s[-1] == ','))
			return true;
	}
	return false;
}

/* Lines are "4:memory:/path", "2:cpu,cpuacct:/path" and, for version 2, "0::/path". Where version 1
 * has the controller, version 2 has it not. */
static int parse_groups(char *text, struct group *ret)
{
	ret->version = 0;
	for (char *line = text, *next; line; line = next) {
		char *list = strchr(line, ':'), *path;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		path = list ? strchr(list + 1, ':') : NULL;
		if (!path)
			continue;
		bool v1 = in_list(list + 1, (size_t)(path - list - 1), controller_of(ret));
		bool v2 = strncmp(line, "0::", 3) == 0 && ret->version == 0;
		if (v1 || v2) {
			ret->version = v1 ? 1 : 2;
			snprintf(ret->path, sizeof(ret->path), "%s", path + 1);
		}
	}
	return ret->version ? 0 : -ENODATA;
}

/* A whole file below @dir as text. */
static int read_text(int dir, const char *file, size_t max, struct sp_buf *ret)
{
	SP_AUTO_CLOSE int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : sp_buf_read_fd(ret, fd, max);

	if (r < 0)
		return r;
	sp_buf_str(ret);
	return ret->failed ? -ENOMEM : 0;
}

/* @piddir: /proc/PID. */
static int read_group(int piddir, struct group *ret)
{
	SP_AUTO_BUF struct sp_buf b = {0};
	int r = read_text(piddir, "cgroup", 64 << 10, &b);

	return r < 0 ? r : parse_groups(b.data, ret);
}

int sp_cgroup_path(int piddir, char *ret, size_t len)
{
	struct group g = {0};
	int r = read_group(piddir, &g);

	snprintf(ret, len, "%s", r < 0 ? "" : g.path);
	return r;
}

/* mountinfo writes blank, tab, newline and backslash as \ooo. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		unsigned c;

		if (s[0] == '\\' && sscanf(s + 1, "%3o", &c) == 1) {
			*to++ = (char)c;
			s += strnlen(s + 1, 3);
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* "36 35 98:0 /root /mount/point rw,noatime shared:1 - cgroup cgroup rw,memory" */
static bool parse_mount(const char *line, const struct group *g, struct mount *ret)
{
	const char *dash = strstr(line, " - ");
	char type[32], options[1024];

	if (!dash || sscanf(dash, " - %31s %*s %1023s", type, options) != 2)
		return false;
	if (strcmp(type, g->version == 2 ? "cgroup2" : "cgroup") != 0)
		return false;
	if (g->version == 1 && !in_list(options, strlen(options), controller_of(g)))
		return false;
	_Static_assert(PATH_MAX == 4096, "width of the fields below");
	if (sscanf(line, "%*d %*d %*s %4095s %4095s", ret->root, ret->at) != 2)
		return false;
	unescape(ret->root);
	unescape(ret->at);
	return true;
}

static int find_mount(int procfd, const struct group *g, struct mount *ret)
{
	SP_AUTO_BUF struct sp_buf b = {0};
	int r = read_text(procfd, "self/mountinfo", 16 << 20, &b);

	if (r < 0)
		return r;
	for (char *line = b.data, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (parse_mount(line, g, ret))
			return 0;
	}
	return -ENODATA;
}

/* The group's directory below the mount. A container that is not in a cgroup namespace sees the
 * host's path but only its own subtree: then the part that is mounted is cut off. A path that lies
 * elsewhere ("/../other") leaves the top of what is mounted. */
static void relative(const struct mount *m, const char *path, char *ret, size_t len)
{
	size_t n = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root);

	if (strstr(path, "/..") || strncmp(path, m->root, n) != 0 || (path[n] && path[n] != '/'))
		path = "";
	else
		path += n;
	snprintf(ret, len, "%s", path);
}

static uint64_t read_number(int dir, const char *file)
{
	SP_AUTO_CLOSE int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	char text[32] = "";
	unsigned long long v;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 || sscanf(text, "%llu", &v) != 1)
		return UNLIMITED; /* "max", or no such file */
	return v > (uint64_t)INT64_MAX - (64 << 10) ? UNLIMITED : v;
}

static uint64_t read_stat(int dir, const char *key, uint64_t otherwise)
{
	SP_AUTO_BUF struct sp_buf b = {0};
	size_t n = strlen(key);

	if (read_text(dir, "memory.stat", 64 << 10, &b) < 0)
		return otherwise;
	for (const char *line = b.data; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, n) == 0 && line[n] == ' ')
			return strtoull(line + n + 1, NULL, 10);
	}
	return otherwise;
}

/* What one group may take and what it has taken of it; UNLIMITED where the kernel does not say. */
static uint64_t limit_in(int dir, int version, uint64_t *ret_used)
{
	bool v2 = version == 2;
	uint64_t max = read_number(dir, v2 ? "memory.max" : "memory.limit_in_bytes");
	uint64_t high = v2 ? read_number(dir, "memory.high") : UNLIMITED;
	uint64_t used = read_number(dir, v2 ? "memory.current" : "memory.usage_in_bytes");
	/* pages of files, which the kernel gives back before it kills anybody */
	uint64_t drop = read_stat(dir, v2 ? "inactive_file" : "total_inactive_file", 0) +
			read_stat(dir, v2 ? "active_file" : "total_active_file", 0);

	if (!v2) /* parents above what is mounted count too */
		high = read_stat(dir, "hierarchical_memory_limit", UNLIMITED);
	if (high > (uint64_t)INT64_MAX - (64 << 10))
		high = UNLIMITED;
	*ret_used = used - (drop < used ? drop : used);
	return used == UNLIMITED ? UNLIMITED : high < max ? high : max;
}

/* Opens the directory of a group: @at and @path are walked below @rootfd. */
static int open_group(int rootfd, const struct mount *m, const char *path)
{
	char full[2 * PATH_MAX];
	int fd;

	snprintf(full, sizeof(full), "%s/%s", m->at + strspn(m->at, "/"), path);
	fd = openat(rootfd, full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Cuts the last name off; false at the top. */
static bool to_parent(char *rel)
{
	char *slash = strrchr(rel, '/');

	if (slash)
		*slash = '\0';
	return slash;
}

static int locate(int procfd, pid_t pid, struct group *g, struct mount *m, char *rel, size_t len)
{
	char name[16];

	if (pid)
		snprintf(name, sizeof(name), "%d", (int)pid);
	else
		snprintf(name, sizeof(name), "self");
	SP_AUTO_CLOSE int dir = openat(procfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = dir >= 0 ? 0 : errno == ENOENT ? -ESRCH : -errno;

	if (r == 0)
		r = read_group(dir, g);
	if (r == 0)
		r = find_mount(procfd, g, m);
	if (r == 0)
		relative(m, g->path, rel, len);
	return r;
}

static uint64_t threads_in(int dir, uint64_t *ret_used)
{
	*ret_used = read_number(dir, "pids.current");
	return *ret_used == UNLIMITED ? UNLIMITED : read_number(dir, "pids.max");
}

/* The group with the least left. */
struct least {
	uint64_t left, used, limit;
};

static int least_left(int procfd, int rootfd, pid_t pid, const char *controller, struct least *ret)
{
	char rel[PATH_MAX];
	struct group g = {.controller = controller};
	struct mount m;
	struct least least = {.left = UNLIMITED};
	int r = locate(procfd, pid, &g, &m, rel, sizeof(rel));

	if (r < 0)
		return r;
	do {
		SP_AUTO_CLOSE int dir = open_group(rootfd, &m, rel);

		if (dir >= 0) {
			uint64_t used, limit = controller ? threads_in(dir, &used)
							  : limit_in(dir, g.version, &used);
			uint64_t left = limit == UNLIMITED ? UNLIMITED
					: used < limit	   ? limit - used
							   : 0;

			if (left < least.left)
				least = (struct least){left, used, limit};
		}
	} while (to_parent(rel));
	if (least.left == UNLIMITED)
		return -ENODATA;
	*ret = least;
	return 0;
}

int sp_cgroup_memory_left_at(int procfd, int rootfd, pid_t pid, uint64_t *ret_bytes)
{
	struct least least;
	int r = least_left(procfd, rootfd, pid, NULL, &least);

	if (r == 0)
		*ret_bytes = least.left;
	return r;
}

int sp_cgroup_memory_at(int procfd, int rootfd, pid_t pid, uint64_t *ret_used, uint64_t *ret_limit)
{
	struct least least;
	int r = least_left(procfd, rootfd, pid, NULL, &least);

	if (r == 0) {
		*ret_used = least.used;
		*ret_limit = least.limit;
	}
	return r;
}

int sp_cgroup_threads_left_at(int procfd, int rootfd, pid_t pid, uint64_t *ret_threads)
{
	struct least least;
	int r = least_left(procfd, rootfd, pid, "pids", &least);

	if (r == 0)
		*ret_threads = least.left;
	return r;
}

/* Only the root of a hierarchy has release_agent (version 1) and lacks cgroup.events (version 2).
 */
static bool is_top(int rootfd, const struct mount *m, const struct group *g, const char *rel)
{
	SP_AUTO_CLOSE int dir = open_group(rootfd, m, rel);

	if (dir < 0)
		return strcmp(g->path, "/") == 0;
	if (g->version == 1)
		return faccessat(dir, "release_agent", F_OK, 0) == 0;
	return faccessat(dir, "cgroup.events", F_OK, 0) < 0;
}

bool sp_cgroup_is_guest_at(int procfd, int rootfd, pid_t pid)
{
	SP_AUTO_CLOSE int self = openat(procfd, "self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char rel[PATH_MAX];
	struct group ours = {0}, theirs = {0};
	struct mount m;

	if (self < 0 || read_group(self, &ours) < 0 ||
		locate(procfd, pid, &theirs, &m, rel, sizeof(rel)) < 0)
		return false;
	return ours.version == theirs.version && strcmp(ours.path, theirs.path) == 0 &&
	       !is_top(rootfd, &m, &theirs, rel);
}

/* "max 100000", "50000 100000"; version 1 has the quota alone, -1 for none, where the cpu
 * controller is mounted with memory's. */
static bool has_cpu_limit(int dir, int version)
{
	const char *file = version == 2 ? "cpu.max" : "cpu.cfs_quota_us";

	return read_number(dir, file) != UNLIMITED;
}

bool sp_cgroup_is_limited_at(int procfd, int rootfd, pid_t pid)
{
	char rel[PATH_MAX];
	struct group g = {0};
	struct mount m;
	uint64_t left;

	if (sp_cgroup_memory_left_at(procfd, rootfd, pid, &left) == 0)
		return true;
	if (locate(procfd, pid, &g, &m, rel, sizeof(rel)) < 0)
		return false;
	if (strcmp(g.path, "/") == 0 && !is_top(rootfd, &m, &g, rel))
		return true;
	do {
		SP_AUTO_CLOSE int dir = open_group(rootfd, &m, rel);

		if (dir >= 0 && has_cpu_limit(dir, g.version))
			return true;
	} while (to_parent(rel));
	return false;
}

int sp_cgroup_cpu_stat_at(int procfd, int rootfd, pid_t pid, char *ret, size_t len)
{
	char rel[PATH_MAX];
	struct group g = {.controller = "cpu"};
	struct mount m;
	int r = locate(procfd, pid, &g, &m, rel, sizeof(rel));

	if (r < 0)
		return r;
	do {
		SP_AUTO_CLOSE int dir = open_group(rootfd, &m, rel);

		if (dir < 0 || !has_cpu_limit(dir, g.version))
			continue;
		r = snprintf(ret, len, "%s%s/cpu.stat", m.at, rel);
		return r < (int)len ? 0 : -ENAMETOOLONG;
	} while (to_parent(rel));
	return -ENODATA;
}

/* This machine's directories. */
struct roots {
	int proc, root;
};

static void close_roots(struct roots *r)
{
	sp_cleanup_close(&r->proc);
	sp_cleanup_close(&r->root);
}

#define AUTO_ROOTS __attribute__((cleanup(close_roots)))

static int open_roots(struct roots *ret)
{
	ret->root = -1;
	ret->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->proc >= 0)
		ret->root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return ret->proc < 0 || ret->root < 0 ? -errno : 0;
}

int sp_cgroup_memory(pid_t pid, uint64_t *ret_used, uint64_t *ret_limit)
{
	AUTO_ROOTS struct roots d;
	int r = open_roots(&d);

	return r < 0 ? r : sp_cgroup_memory_at(d.proc, d.root, pid, ret_used, ret_limit);
}

int sp_cgroup_memory_left(pid_t pid, uint64_t *ret_bytes)
{
	AUTO_ROOTS struct roots d;
	int r = open_roots(&d);

	return r < 0 ? r : sp_cgroup_memory_left_at(d.proc, d.root, pid, ret_bytes);
}

int sp_cgroup_threads_left(pid_t pid, uint64_t *ret_threads)
{
	AUTO_ROOTS struct roots d;
	int r = open_roots(&d);

	return r < 0 ? r : sp_cgroup_threads_left_at(d.proc, d.root, pid, ret_threads);
}

int sp_cgroup_cpu_stat(pid_t pid, char *ret, size_t len)
{
	AUTO_ROOTS struct roots d;
	int r = open_roots(&d);

	return r < 0 ? r : sp_cgroup_cpu_stat_at(d.proc, d.root, pid, ret, len);
}

bool sp_cgroup_is_guest(pid_t pid)
{
	AUTO_ROOTS struct roots d;

	return open_roots(&d) == 0 && sp_cgroup_is_guest_at(d.proc, d.root, pid);
}

bool sp_cgroup_is_limited(pid_t pid)
{
	AUTO_ROOTS struct roots d;

	return open_roots(&d) == 0 && sp_cgroup_is_limited_at(d.proc, d.root, pid);
}
