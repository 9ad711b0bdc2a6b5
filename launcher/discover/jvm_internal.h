/* The steps of sp_jvm_inspect (jvm.h), each in its own file. They share what was read once. */
#ifndef SP_LAUNCHER_DISCOVER_JVM_INTERNAL_H
#define SP_LAUNCHER_DISCOVER_JVM_INTERNAL_H

#include "jvm.h"
#include "proc/hsperf.h"
#include "proc/java_cmdline.h"
#include "proc/proc.h"

/* What was read of one process, borrowed by the steps. */
struct sp_jvm_look {
	struct sp_proc proc;
	struct sp_proc_status status;
	struct sp_buf argv, env; /* NUL-terminated strings; env is empty where it is hidden */
	struct sp_java_cmdline cmd;
	struct sp_hsperf perf;
	bool has_perf;
	int maps_error; /* 0, or why the maps could not be read */
	char j9[128];	/* a mapped library of OpenJ9 */
	uint64_t libjvm_dev, libjvm_inode;
};

/* Kind, libc, machine and JDK version: jvm_kind.c. */
void sp_jvm_look_kind(struct sp_jvm_look *l, struct sp_jvm *j);
void sp_jvm_look_version(struct sp_jvm_look *l, struct sp_jvm *j);

/* Role and identity in Spark: jvm_spark.c. */
void sp_jvm_look_spark(struct sp_jvm_look *l, struct sp_jvm *j);

/* Whether an attach would work: jvm_attach.c. */
void sp_jvm_look_attach(struct sp_jvm_look *l, struct sp_jvm *j);

/* Spark and Scala version of the first "spark-core_<scala>-<version>.jar" in a text (class path,
 * file name). Returns whether there is one; else nothing is changed. */
bool sp_jvm_look_spark_jar(const char *text, struct sp_jvm *j);

/* Copies with a limit; NULL leaves @ret as it is. */
#define SP_LOOK_SET(ret, s) sp_jvm_look_set((ret), sizeof(ret), (s))
void sp_jvm_look_set(char *ret, size_t len, const char *s);

#endif
