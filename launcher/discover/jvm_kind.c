/* Which virtual machine a process runs, for which libc and machine, and its version. By what is
 * mapped, never by file names lying about: a host with musl's loader installed is not a musl JVM.
 */
#include "jvm_internal.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "proc/elf_header.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct seen {
	struct sp_jvm_look *look;
	struct sp_jvm *jvm;
};

static int see_map(const struct sp_proc_map *m, void *arg)
{
	struct seen *s = arg;
	const char *name = sp_path_base(m->path);

	if (*m->path != '/')
		return 0;
	/* " (deleted)" behind a name: a JDK that was upgraded under the running JVM */
	if (strncmp(name, "libjvm.so", 9) == 0 && (name[9] == '\0' || name[9] == ' ')) {
		if (!s->jvm->libjvm[0]) {
			SP_LOOK_SET(s->jvm->libjvm, m->path);
			s->look->libjvm_dev = m->dev;
			s->look->libjvm_inode = m->inode;
		}
	} else if (strncmp(name, "libj9vm", 7) == 0) {
		SP_LOOK_SET(s->look->j9, name);
	} else if (strncmp(name, "ld-musl-", 8) == 0 || strncmp(name, "libc.musl-", 10) == 0) {
		s->jvm->libc = SP_LIBC_MUSL;
	} else if (s->jvm->libc == SP_LIBC_UNKNOWN &&
		   (strncmp(name, "libc.so.6", 9) == 0 || strncmp(name, "libc-2.", 7) == 0)) {
		s->jvm->libc = SP_LIBC_GLIBC;
	}
	return 0;
}

/* libjvm.so as the process has it mapped; a file that was put in its place does not count. */
static int open_libjvm(const struct sp_jvm_look *l, const struct sp_jvm *j)
{
	SP_AUTO_CLOSE int fd = sp_proc_open_readable(&l->proc, j->libjvm, j->uid);
	struct stat st;

	if (fd < 0)
		return fd;
	/* overlayfs and btrfs show other device numbers in maps: the inode must do */
	if (fstat(fd, &st) < 0 || st.st_ino != l->libjvm_inode)
		return -ESTALE;
	return sp_steal_fd(&fd);
}

static int read_head(struct sp_jvm_look *l, const struct sp_jvm *j, struct sp_elf_header *ret)
{
	SP_AUTO_CLOSE int fd = j->libjvm[0] ? open_libjvm(l, j) : -ENOENT;

	if (fd < 0)
		fd = openat(l->proc.dir, "exe", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : sp_elf_header_read(fd, ret);
}

/* Between fork and exec a child has the mappings and the words of its JVM, but one thread only; a
 * JVM that catches SIGQUIT has many. */
static bool is_forked_child(const struct sp_jvm_look *l)
{
	SP_AUTO_BUF struct sp_buf parent = {0};
	char file[32];

	if (l->status.threads != 1 || !(l->status.sigcgt & 1ull << (SIGQUIT - 1)))
		return false;
	snprintf(file, sizeof(file), "../%d/cmdline", (int)l->status.ppid);
	return sp_proc_read(&l->proc, file, l->argv.len, &parent) == 0 && parent.len &&
	       parent.len == l->argv.len && memcmp(parent.data, l->argv.data, parent.len) == 0;
}

void sp_jvm_look_kind(struct sp_jvm_look *l, struct sp_jvm *j)
{
	struct seen seen = {l, j};
	struct sp_elf_header head = {0};
	const char *argv0 = sp_proc_next_string(&l->argv, NULL);

	l->maps_error = sp_proc_each_map(&l->proc, see_map, &seen);
	if (l->maps_error < 0) {
		if (argv0 && strcmp(sp_path_base(argv0), "java") == 0)
			j->kind = SP_JVM_UNSEEN;
		return;
	}
	if (read_head(l, j, &head) == 0)
		j->machine = head.machine;
	if (is_forked_child(l))
		return;
	if (l->j9[0])
		j->kind = SP_JVM_OPENJ9; /* it has a libjvm.so too */
	else if (j->libjvm[0])
		j->kind = SP_JVM_HOTSPOT;
	else if (head.native_image)
		j->kind = SP_JVM_NATIVE_IMAGE;
}

int sp_jvm_major(const char *version)
{
	int v = 0;

	if (strncmp(version, "1.", 2) == 0)
		version += 2;
	for (; isdigit((unsigned char)*version) && v < 1000; version++)
		v = v * 10 + (*version - '0');
	return v < 1000 ? v : 0;
}

static void set_version(struct sp_jvm *j, const char *version)
{
	int major = sp_jvm_major(version);

	if (!major)
		return;
	j->jdk = major;
	snprintf(j->jdk_version, sizeof(j->jdk_version), "%.*s",
		(int)strcspn(version, "+-\"(), \r\n"), version);
}

/* JAVA_VERSION="17.0.15" of the file `release`, one to four directories above libjvm.so's. */
static void version_from_release(struct sp_jvm_look *l, struct sp_jvm *j)
{
	char dir[sizeof(j->libjvm)], path[sizeof(dir) + 16];

	snprintf(dir, sizeof(dir), "%s", j->libjvm);
	for (int up = 0; up < 5 && !j->jdk; up++) {
		SP_AUTO_BUF struct sp_buf b = {0};
		SP_AUTO_CLOSE int fd = -1;
		char *slash = strrchr(dir, '/');
		const char *s;

		if (!slash || slash == dir)
			return;
		*slash = '\0';
		snprintf(path, sizeof(path), "%s/release", dir);
		fd = sp_proc_open_readable(&l->proc, path, j->uid);
		if (fd < 0 || sp_buf_read_fd(&b, fd, 64 << 10) < 0)
			continue;
		s = strstr(sp_buf_str(&b), "JAVA_VERSION=\"");
		if (s)
			set_version(j, s + 14);
	}
}

/* HotSpot's own version text has "… JRE (17.0.15+6…), built on …". */
static void version_from_libjvm(struct sp_jvm_look *l, struct sp_jvm *j)
{
	static const char mark[] = " JRE (";
	SP_AUTO_CLOSE int fd = open_libjvm(l, j);
	SP_AUTO_BUF struct sp_buf b = {0};
	char *chunk = sp_buf_reserve(&b, (256 << 10) + 1);
	off_t at = 0;
	ssize_t n;

	while (fd >= 0 && chunk && !j->jdk && at < (256 << 20)) {
		n = pread(fd, chunk, 256 << 10, at);
		if (n < 256)
			return;
		chunk[n] = '\0';
		for (char *s = chunk; (s = memmem(s, (size_t)(chunk + n - s), mark, 6)); s += 6) {
			if (isdigit((unsigned char)s[6])) {
				set_version(j, s + 6);
				return;
			}
		}
		at += n - 128; /* a mark on the border is seen whole the next time */
	}
}

void sp_jvm_look_version(struct sp_jvm_look *l, struct sp_jvm *j)
{
	if (l->has_perf)
		set_version(j, l->perf.java_version[0] ? l->perf.java_version : l->perf.vm_version);
	if (!j->jdk && j->libjvm[0])
		version_from_release(l, j);
	if (!j->jdk && j->libjvm[0])
		version_from_libjvm(l, j);
}
