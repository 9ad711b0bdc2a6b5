/* Reader of HotSpot's performance data: see hsperf.h. */
#include "hsperf.h"

#include "base/cleanup.h"
#include "base/perfdata.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DIRS = 20000 }; /* names looked at in a crowded /tmp */

static const struct {
	const char *name;
	size_t offset, size;
} fields[] = {
#define FIELD(name, member)                                                                       \
	{                                                                                         \
		name, offsetof(struct sp_hsperf, member), sizeof(((struct sp_hsperf *)0)->member) \
	}
	FIELD("java.property.java.version", java_version),
	FIELD("java.property.java.vm.version", vm_version),
	FIELD("java.property.java.vm.name", vm_name),
	FIELD("java.rt.vmArgs", vm_args),
	FIELD("java.rt.vmFlags", vm_flags),
	FIELD("sun.rt.javaCommand", command),
	FIELD("java.property.java.class.path", class_path),
	FIELD("sun.rt.jvmCapabilities", capabilities),
#undef FIELD
};

/* Copies one entry's string if it is one of ours. */
static void take_entry(void *ctx, const struct sp_perfdata_entry *e)
{
	struct sp_hsperf *ret = ctx;

	for (size_t i = 0; i < SP_COUNT(fields) && e->type == 'B'; i++)
		if (strcmp(e->name, fields[i].name) == 0)
			snprintf((char *)ret + fields[i].offset, fields[i].size, "%.*s",
				(int)e->elements, (const char *)e->data);
}

int sp_hsperf_parse(const void *bytes, size_t len, struct sp_hsperf *ret)
{
	struct sp_hsperf perf = {0};
	int r;

	if (len < SP_PERFDATA_HEAD || !sp_perfdata_used(bytes))
		return -EINVAL;
	if (!sp_perfdata_is_ready(bytes))
		return -EAGAIN;
	r = sp_perfdata_each(bytes, len, take_entry, &perf);
	if (r == 0)
		*ret = perf;
	return r;
}

static int read_from(
	const struct sp_proc *p, const char *dir, pid_t nspid, uid_t uid, struct sp_hsperf *ret)
{
	SP_AUTO_BUF struct sp_buf b = {0};
	SP_AUTO_CLOSE int fd = -1;
	char path[NAME_MAX + 64];
	int r;

	snprintf(path, sizeof(path), "/tmp/%s/%d", dir, (int)nspid);
	fd = sp_proc_open_file(p, path, uid);
	if (fd < 0)
		return fd;
	r = sp_buf_read_fd(&b, fd, SP_HSPERF_MAX_FILE);
	return r < 0 ? r : sp_hsperf_parse(b.data, b.len, ret);
}

/* The directory carries a user name that only the container's passwd may know. */
static int search(const struct sp_proc *p, pid_t nspid, uid_t uid, struct sp_hsperf *ret)
{
	int fd = sp_proc_open_dir(p, "/tmp");
	int r = -ENOENT;
	DIR *tmp;

	if (fd < 0)
		return fd;
	tmp = fdopendir(fd);
	if (!tmp) {
		close(fd);
		return -ENOMEM;
	}
	for (int i = 0; i < MAX_DIRS && r < 0; i++) {
		const struct dirent *d = readdir(tmp);

		if (!d)
			break;
		if (strncmp(d->d_name, "hsperfdata_", 11) == 0)
			r = read_from(p, d->d_name, nspid, uid, ret);
	}
	closedir(tmp);
	return r < 0 ? -ENOENT : 0;
}

int sp_hsperf_read(
	const struct sp_proc *p, pid_t nspid, uid_t uid, const char *user, struct sp_hsperf *ret)
{
	char dir[NAME_MAX];
	int r;

	snprintf(dir, sizeof(dir), "hsperfdata_%s", user);
	r = strchr(user, '/') ? -ENOENT : read_from(p, dir, nspid, uid, ret);
	return r == -ENOENT || r == -EPERM ? search(p, nspid, uid, ret) : r;
}
