/* Reader of HotSpot's performance data: see hsperf.h. */
#include "hsperf.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Offsets of the head and of an entry, in bytes. */
enum {
	HEAD_ORDER = 4,
	HEAD_MAJOR = 5,
	HEAD_ACCESSIBLE = 7,
	HEAD_USED = 8,
	HEAD_FIRST = 24,
	HEAD_ENTRIES = 28,
	HEAD_SIZE = 32,

	ENTRY_LENGTH = 0,
	ENTRY_NAME = 4,
	ENTRY_VECTOR = 8,
	ENTRY_TYPE = 12,
	ENTRY_DATA = 16,
	ENTRY_SIZE = 20,

	MAX_DIRS = 20000, /* names looked at in a crowded /tmp */
};

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

static uint32_t u32(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Copies one entry's string if it is one of ours. @e has @len bytes, at least ENTRY_SIZE. */
static void take_entry(const unsigned char *e, size_t len, struct sp_hsperf *ret)
{
	uint32_t name = u32(e + ENTRY_NAME), data = u32(e + ENTRY_DATA), n = u32(e + ENTRY_VECTOR);

	if (e[ENTRY_TYPE] != 'B' || name >= len || data > len || n > len - data)
		return;
	if (!memchr(e + name, '\0', len - name))
		return;
	for (size_t i = 0; i < SP_COUNT(fields); i++) {
		if (strcmp((const char *)e + name, fields[i].name) == 0) {
			snprintf((char *)ret + fields[i].offset, fields[i].size, "%.*s", (int)n,
				(const char *)e + data);
			return;
		}
	}
}

int sp_hsperf_parse(const void *bytes, size_t len, struct sp_hsperf *ret)
{
	static const unsigned char magic[4] = {0xca, 0xfe, 0xc0, 0xc0};
	const unsigned char *data = bytes;
	struct sp_hsperf perf = {0};
	uint32_t used, at, entries;

	if (len < HEAD_SIZE || memcmp(data, magic, sizeof(magic)) != 0 || data[HEAD_MAJOR] != 2 ||
		data[HEAD_ORDER] != 1)
		return -EINVAL;
	if (data[HEAD_ACCESSIBLE] != 1)
		return -EAGAIN;
	used = u32(data + HEAD_USED);
	if (used < len)
		len = used;
	at = u32(data + HEAD_FIRST);
	entries = u32(data + HEAD_ENTRIES);
	for (; entries && at <= len && len - at >= ENTRY_SIZE; entries--) {
		uint32_t n = u32(data + at + ENTRY_LENGTH);

		if (n < ENTRY_SIZE || n > len - at)
			break;
		take_entry(data + at, n, &perf);
		at += n;
	}
	if (entries)
		return -EINVAL;
	*ret = perf;
	return 0;
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
