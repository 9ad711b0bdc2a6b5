/* HotSpot's performance data (/tmp/hsperfdata_<user>/<pid>): what a JVM says about itself without
 * being asked. The file belongs to the target: it is read once and parsed as data.
 * Layout: HotSpot's perfMemory.hpp, format 2.0, unchanged from JDK 8 to 25. */
#ifndef SP_LAUNCHER_PROC_HSPERF_H
#define SP_LAUNCHER_PROC_HSPERF_H

#include "proc.h"

enum {
	SP_HSPERF_MAX_FILE = 4 << 20, /* the JVM's default is 32 KB */
	SP_HSPERF_TEXT = 1025,	      /* HotSpot cuts its strings to 1,024 bytes */
};

/* Strings are "" where the JVM does not say. */
struct sp_hsperf {
	char java_version[64]; /* java.version: 17.0.15, 1.8.0_402 */
	char vm_version[128];  /* java.vm.version: 17.0.15+6-Debian-1deb12u1 */
	char vm_name[128];
	char vm_args[SP_HSPERF_TEXT]; /* options of the JVM, all sources, in their order */
	char vm_flags[SP_HSPERF_TEXT];
	char command[SP_HSPERF_TEXT]; /* main class or jar, and its arguments */
	char class_path[SP_HSPERF_TEXT];
	char capabilities[65]; /* digits; the first: '1' attach works, '0' it is switched off */
};

/* Parses the bytes of such a file. Every offset in it is checked.
 * Returns: 0; -EINVAL where it is not one; -EAGAIN while the JVM has not finished it. */
int sp_hsperf_parse(const void *data, size_t len, struct sp_hsperf *ret);

/* Finds and reads the file of a process through its own root; it must be a regular file that
 * belongs to @uid. @user: the name that is tried first, before other directories are looked at.
 * Returns 0, -ENOENT (switched off, or never made), or -errno. */
__attribute__((warn_unused_result)) int sp_hsperf_read(
	const struct sp_proc *p, pid_t nspid, uid_t uid, const char *user, struct sp_hsperf *ret);

#endif
