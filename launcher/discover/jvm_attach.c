/* Whether an attach would work, decided before anything is sent, with the reason in words. The
 * order is that of usefulness: what the user cannot change comes first. */
#include "jvm_internal.h"

#include "base/cleanup.h"
#include "proc/elf_header.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { JDK_OLDEST = 11, JDK_NEWEST = 25 };

static const uint64_t XRS_START_NS = 10000000000; /* younger ones may be starting */

__attribute__((format(printf, 4, 5))) static bool set_attach(
	struct sp_jvm *j, enum sp_jvm_attach attach, enum sp_jvm_block block, const char *fmt, ...)
{
	va_list ap;

	j->attach = attach;
	j->block = block;
	va_start(ap, fmt);
	vsnprintf(j->reason, sizeof(j->reason), fmt, ap);
	va_end(ap);
	return true;
}

#define REFUSE(j, block, ...) set_attach((j), SP_ATTACH_NO, (block), __VA_ARGS__)

/* What HotSpot ends up with: its own word where it gives one, else the sources in the order in
 * which it reads them; a later one wins. */
static int flag(const struct sp_jvm_look *l, const char *name, int otherwise)
{
	static const char *const before[] = {"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"};
	const char *s;
	int v = otherwise;

	if (l->has_perf && strlen(l->perf.vm_args) < SP_HSPERF_TEXT - 1 && l->perf.vm_args[0])
		return sp_java_cmdline_flag_text(l->perf.vm_args, name, otherwise);
	for (size_t i = 0; i < SP_COUNT(before); i++) {
		if ((s = sp_proc_env(&l->env, before[i])))
			v = sp_java_cmdline_flag_text(s, name, v);
	}
	v = sp_java_cmdline_flag(&l->cmd.jvm, name, v);
	if ((s = sp_proc_env(&l->env, "_JAVA_OPTIONS")))
		v = sp_java_cmdline_flag_text(s, name, v);
	return v;
}

static bool refuse_by_kind(struct sp_jvm_look *l, struct sp_jvm *j)
{
	if (j->state == 'Z' || j->state == 'X')
		return REFUSE(j, SP_BLOCK_ENDED, "has ended (its parent has not collected it yet)");
	switch (j->kind) {
	case SP_JVM_NONE:
		if (l->maps_error == -EACCES || l->maps_error == -EPERM)
			return false;
		if (j->exe[0])
			return REFUSE(
				j, SP_BLOCK_NOT_JVM, "is not a JVM; it executes %.150s", j->exe);
		return REFUSE(j, SP_BLOCK_NOT_JVM, "is not a JVM (%s)", l->status.name);
	case SP_JVM_OPENJ9:
		return REFUSE(j, SP_BLOCK_NOT_JVM,
			"runs OpenJ9 (%s); sparkprof can profile HotSpot JVMs only", l->j9);
	case SP_JVM_NATIVE_IMAGE:
		return REFUSE(j, SP_BLOCK_NOT_JVM,
			"is a GraalVM native image: there is no JVM in it to attach to");
	default:
		return false;
	}
}

/* HotSpot lets in its own effective user and group, and root. */
static bool refuse_by_user(struct sp_jvm_look *l, struct sp_jvm *j)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (uid != 0 && uid != j->uid)
		return REFUSE(j, SP_BLOCK_USER, "runs as %s: use sudo", j->user);
	if (uid != 0 && gid != j->gid)
		return REFUSE(j, SP_BLOCK_USER,
			"runs with group %u, you have %u, and HotSpot wants the same: use sudo, or "
			"sg",
			(unsigned)j->gid, (unsigned)gid);
	if (l->maps_error == -EACCES || l->maps_error == -EPERM) {
		if (uid == 0)
			return REFUSE(j, SP_BLOCK_UNSEEN,
				"runs as %s and this root may not look into it (no "
				"CAP_SYS_PTRACE): "
				"run sparkprof as that user",
				j->user);
		return set_attach(j, SP_ATTACH_UNKNOWN, SP_BLOCK_UNSEEN,
			"the kernel hides it from its own user (it changed its rights at start): "
			"use sudo");
	}
	return false;
}

static bool refuse_by_build(struct sp_jvm *j)
{
	char buf[32];

	if (j->machine && j->machine != EM_X86_64)
		return REFUSE(j, SP_BLOCK_MACHINE,
			"runs %s code; this sparkprof has an agent for x86-64 only",
			sp_elf_header_machine(j->machine, buf));
	if (j->libc == SP_LIBC_MUSL)
		return REFUSE(j, SP_BLOCK_LIBC,
			"runs on musl (Alpine); sparkprof's agent needs glibc: use an image with "
			"glibc");
	if (j->jdk && j->jdk < JDK_OLDEST)
		return REFUSE(j, SP_BLOCK_VERSION, "runs JDK %d; sparkprof needs JDK %d to %d",
			j->jdk, JDK_OLDEST, JDK_NEWEST);
	return false;
}

static bool refuse_by_flags(struct sp_jvm_look *l, struct sp_jvm *j)
{
	int off = flag(l, "DisableAttachMechanism", 0);

	if (l->has_perf && l->perf.capabilities[0])
		off = l->perf.capabilities[0] == '0';
	if (off)
		return REFUSE(j, SP_BLOCK_ATTACH_OFF,
			"attach is switched off there: -XX:+DisableAttachMechanism");
	if (!flag(l, "EnableDynamicAgentLoading", 1))
		return REFUSE(j, SP_BLOCK_AGENTS_OFF,
			"agent loading is disabled there: -XX:-EnableDynamicAgentLoading");
	return false;
}

static bool has_xrs(const struct sp_jvm_look *l)
{
	for (const char *s = NULL; (s = sp_proc_next_string(&l->cmd.jvm, s));) {
		if (strcmp(s, "-Xrs") == 0 || strcmp(s, "-XX:+ReduceSignalUsage") == 0)
			return true;
	}
	return flag(l, "ReduceSignalUsage", 0) == 1;
}

static bool refuse_by_state(struct sp_jvm_look *l, struct sp_jvm *j)
{
	if (j->state == 't')
		return REFUSE(j, SP_BLOCK_STOPPED, "is held by a debugger (pid %d)",
			(int)l->status.tracer);
	if (j->state == 'T')
		return REFUSE(j, SP_BLOCK_STOPPED, "is stopped (SIGSTOP): kill -CONT %d first",
			(int)j->pid);
	if (j->attach_listening || l->status.sigcgt & 1ull << (SIGQUIT - 1))
		return false;
	/* with -Xrs HotSpot makes its socket at start, and cannot be asked for another one */
	if (has_xrs(l) && j->uptime_ns > XRS_START_NS)
		return REFUSE(j, SP_BLOCK_ATTACH_OFF,
			"was started with -Xrs and its socket /tmp/.java_pid%d is gone: there is "
			"no "
			"way in until it is started again",
			(int)j->nspid);
	return REFUSE(j, SP_BLOCK_STARTING, "is still starting: try again in a moment");
}

/* The attach socket is there once a tool attached, or with -XX:+StartAttachListener. */
static bool is_listening(const struct sp_jvm_look *l, const struct sp_jvm *j)
{
	SP_AUTO_CLOSE int tmp = sp_proc_open_dir(&l->proc, "/tmp");
	char name[32];
	struct stat st;

	snprintf(name, sizeof(name), ".java_pid%d", (int)j->nspid);
	return tmp >= 0 && fstatat(tmp, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISSOCK(st.st_mode) && st.st_uid == j->uid;
}

void sp_jvm_look_attach(struct sp_jvm_look *l, struct sp_jvm *j)
{
	j->attach_listening = j->kind == SP_JVM_HOTSPOT && is_listening(l, j);
	if (refuse_by_kind(l, j) || refuse_by_user(l, j) || refuse_by_build(j) ||
		refuse_by_flags(l, j) || refuse_by_state(l, j))
		return;
	if (!j->jdk)
		set_attach(j, SP_ATTACH_UNKNOWN, SP_BLOCK_VERSION, "its JDK version is unknown");
	else if (j->jdk > JDK_NEWEST)
		set_attach(j, SP_ATTACH_UNKNOWN, SP_BLOCK_VERSION,
			"runs JDK %d; sparkprof was made for JDK %d to %d", j->jdk, JDK_OLDEST,
			JDK_NEWEST);
	else
		set_attach(j, SP_ATTACH_YES, SP_BLOCK_NONE, "%s", "");
}
