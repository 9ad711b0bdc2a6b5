/* What a process is: a JVM or not, of which kind, of which user, which part of which Spark
 * application, and whether sparkprof can get in. Decided from /proc and the target's own files
 * alone: nothing is sent to the process and nothing is loaded into it. `ps` shows the answer,
 * `target.h` searches in it, and an attach asks it first. */
#ifndef SP_LAUNCHER_DISCOVER_JVM_H
#define SP_LAUNCHER_DISCOVER_JVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum sp_jvm_kind {
	SP_JVM_NONE, /* not a JVM */
	SP_JVM_HOTSPOT,
	SP_JVM_OPENJ9,
	SP_JVM_NATIVE_IMAGE, /* Java compiled ahead by GraalVM */
	SP_JVM_UNSEEN,	     /* calls itself java, but may not be looked at */
};

enum sp_jvm_libc {
	SP_LIBC_UNKNOWN,
	SP_LIBC_GLIBC,
	SP_LIBC_MUSL,
};

enum sp_jvm_role {
	SP_ROLE_OTHER,
	SP_ROLE_DRIVER,
	SP_ROLE_EXECUTOR,
};

enum sp_jvm_attach {
	SP_ATTACH_UNKNOWN, /* nothing speaks against it, but not all could be seen: see reason */
	SP_ATTACH_YES,
	SP_ATTACH_NO,
};

/* Why not; the sentence is in sp_jvm.reason. Those marked * can pass by themselves. */
enum sp_jvm_block {
	SP_BLOCK_NONE,
	SP_BLOCK_ENDED,	     /* a zombie */
	SP_BLOCK_NOT_JVM,    /* not a JVM, OpenJ9 or a native image */
	SP_BLOCK_USER,	     /* another user or group */
	SP_BLOCK_UNSEEN,     /* the kernel hides it from us */
	SP_BLOCK_MACHINE,    /* another machine code */
	SP_BLOCK_LIBC,	     /* musl */
	SP_BLOCK_VERSION,    /* JDK too old, too new or unknown */
	SP_BLOCK_ATTACH_OFF, /* -XX:+DisableAttachMechanism, -Xrs */
	SP_BLOCK_AGENTS_OFF, /* -XX:-EnableDynamicAgentLoading */
	SP_BLOCK_STOPPED,    /* * SIGSTOP, or held by a debugger */
	SP_BLOCK_STARTING,   /* * does not catch SIGQUIT yet: it would die of it */
};

/* Plain data, nothing to free. Strings are "" where unknown, hold any bytes but NUL, and are cut to
 * fit. */
struct sp_jvm {
	pid_t pid;    /* as seen from here */
	pid_t tgid;   /* another one: pid is a thread of it; 0: not known */
	pid_t nspid;  /* in its own pid namespace: the number in its attach files */
	int ns_depth; /* more than 1: in another pid namespace than ours */
	pid_t ppid;
	uid_t uid; /* effective, as seen from here */
	gid_t gid;
	uint64_t start_ticks; /* pid and start_ticks name one process */
	uint64_t uptime_ns;
	char user[64]; /* name of uid by our /etc/passwd, else by its own, else the number */
	char state;    /* as in /proc/PID/status */

	enum sp_jvm_kind kind;
	enum sp_jvm_libc libc;
	int machine;	      /* EM_* of libjvm.so, 0 unknown */
	int jdk;	      /* 8, 11, 17 …; 0 unknown */
	char jdk_version[64]; /* 17.0.15 */
	char libjvm[512];     /* path of libjvm.so in its own root */
	char exe[512];
	char main_class[512];  /* main class, or jar */
	bool attach_listening; /* its attach socket is there: no SIGQUIT needed */

	enum sp_jvm_role role;
	char app_id[128];
	char app_name[256];
	bool started_from;    /* that is the file or class it was started from: what the application
			       * calls itself is not known */
	char executor_id[64]; /* "driver" for a driver */
	char container_id[128]; /* YARN's, else the first 12 digits of the runtime's */
	char pod[256];		/* Kubernetes' */
	char hostname[256];	/* what it calls its host */
	char driver_url[256];	/* an executor's driver */
	char spark_version[64]; /* 4.3.0; "" if there is no spark-core jar */
	char scala_version[16]; /* 2.13 */
	char cgroup[512];	/* path of its memory cgroup, or of v2 */

	/* PySpark's, as far as sp_pyps_fill found them; the first of more */
	pid_t python_workers[64];
	unsigned python_worker_count;
	pid_t python_driver; /* of a driver: the Python of its application; 0: none */

	bool elsewhere; /* on the host that hostname names, and not on this one */

	enum sp_jvm_attach attach;
	enum sp_jvm_block block;
	char reason[256]; /* why not, in words that follow "pid 123: "; "" with yes */
};

/* Looks at one process. Returns 0, also for what is not a JVM; -ESRCH where there is no such
 * process (any more); -errno. Context: takes up to some milliseconds; reads only. */
int sp_jvm_inspect(int procfd, pid_t pid, struct sp_jvm *ret);

/* All JVMs that can be seen, Spark's first: executors by application and number, drivers, others.
 * Owner: *ret is freed by the caller. Returns 0 or -errno. */
int sp_jvm_list(int procfd, struct sp_jvm **ret, size_t *ret_n);

/* Words for people and scripts; static. */
const char *sp_jvm_role_name(enum sp_jvm_role role);
const char *sp_jvm_kind_name(enum sp_jvm_kind kind);
const char *sp_jvm_attach_name(enum sp_jvm_attach attach);

/* Whether it belongs to Spark: has a role there, or runs with its classes. */
bool sp_jvm_is_spark(const struct sp_jvm *j);

/* 17 of "17.0.15+6" and "17-ea", 8 of "1.8.0_402"; 0 where it is no version. */
int sp_jvm_major(const char *version);

#endif
