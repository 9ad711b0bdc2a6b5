/* Looking at processes: see jvm.h. The steps are in jvm_kind.c, jvm_spark.c and jvm_attach.c. */
#include "jvm_internal.h"

#include "base/cgroup.h"
#include "base/cleanup.h"
#include "base/grow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CMDLINE = 4 << 20, MAX_ENVIRON = 1 << 20 };

static void look_done(struct sp_jvm_look *l)
{
	sp_proc_done(&l->proc);
	sp_buf_done(&l->argv);
	sp_buf_done(&l->env);
	sp_java_cmdline_done(&l->cmd);
}

static void set_user(const struct sp_jvm_look *l, struct sp_jvm *j)
{
	SP_AUTO_CLOSE int ours = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	SP_AUTO_CLOSE int theirs = -1;

	if (sp_proc_user_name(ours, j->uid, j->user, sizeof(j->user)) == 0)
		return;
	theirs = sp_proc_open_readable(&l->proc, "/etc/passwd", j->uid);
	sp_proc_user_name(theirs, j->uid, j->user, sizeof(j->user));
}

/* The main class: `java`'s own grammar where `java` runs, else what the JVM says. */
static void set_main_class(struct sp_jvm_look *l, struct sp_jvm *j)
{
	const char *slash = strrchr(j->exe, '/');
	const char *argv0 = sp_proc_next_string(&l->argv, NULL);
	const char *name = slash ? slash + 1 : argv0 ? argv0 : "";
	bool java = strncmp(name, "java", 4) == 0 && (!name[4] || name[4] == ' ');

	if (!j->exe[0] && argv0 && strrchr(argv0, '/'))
		name = strrchr(argv0, '/') + 1;
	java = java || strcmp(name, "java") == 0;
	if (java && sp_java_cmdline_parse(&l->argv, &l->proc, j->uid, &l->cmd) == 0)
		SP_LOOK_SET(j->main_class, l->cmd.main);
	if (!j->main_class[0] && l->perf.command[0])
		snprintf(j->main_class, sizeof(j->main_class), "%.*s",
			(int)strcspn(l->perf.command, " "), l->perf.command);
	if (!j->main_class[0])
		SP_LOOK_SET(j->main_class, name);
}

static int read_first(struct sp_jvm_look *l, struct sp_jvm *j)
{
	int r = sp_proc_read_status(&l->proc, &l->status);

	if (r == 0)
		r = sp_proc_read_start(&l->proc, &j->start_ticks);
	if (r < 0)
		return r;
	j->nspid = l->status.nspid;
	j->ns_depth = l->status.ns_depth;
	j->tgid = l->status.tgid;
	j->ppid = l->status.ppid;
	j->uid = l->status.uid;
	j->gid = l->status.gid;
	j->state = l->status.state;
	j->uptime_ns = sp_proc_age_ns(j->start_ticks);
	r = sp_proc_read(&l->proc, "cmdline", MAX_CMDLINE, &l->argv);
	if (r == 0 && l->argv.len && l->argv.data[l->argv.len - 1])
		sp_buf_addc(&l->argv, '\0'); /* cut, or overwritten by the program */
	return r;
}

static int look_at_process(struct sp_jvm_look *l, struct sp_jvm *j)
{
	int r = read_first(l, j);

	if (r < 0)
		return r;
	sp_proc_readlink(&l->proc, "exe", j->exe, sizeof(j->exe));
	sp_jvm_look_kind(l, j);
	set_user(l, j);
	if (l->maps_error == -ESRCH)
		return j->state == 'Z' ? 0 : -ESRCH;
	if (j->kind != SP_JVM_NONE) {
		if (sp_proc_read(&l->proc, "environ", MAX_ENVIRON, &l->env) == 0)
			sp_buf_addc(&l->env, '\0');
		if (j->kind == SP_JVM_HOTSPOT)
			l->has_perf =
				sp_hsperf_read(&l->proc, j->nspid, j->uid, j->user, &l->perf) == 0;
		sp_cgroup_path(l->proc.dir, j->cgroup, sizeof(j->cgroup));
		set_main_class(l, j);
		sp_jvm_look_version(l, j);
		sp_jvm_look_spark(l, j);
	}
	sp_jvm_look_attach(l, j);
	return 0;
}

int sp_jvm_inspect(int procfd, pid_t pid, struct sp_jvm *ret)
{
	struct sp_jvm_look l = {.proc.dir = -1};
	struct sp_jvm j = {.pid = pid};
	int r = sp_proc_open(procfd, pid, &l.proc);

	if (r == 0)
		r = look_at_process(&l, &j);
	look_done(&l);
	if (r == 0)
		*ret = j;
	return r;
}

bool sp_jvm_is_spark(const struct sp_jvm *j)
{
	return j->role != SP_ROLE_OTHER || j->spark_version[0] ||
	       strncmp(j->main_class, "org.apache.spark.", 17) == 0;
}

static int rank(const struct sp_jvm *j)
{
	if (j->role == SP_ROLE_EXECUTOR)
		return 0;
	if (j->role == SP_ROLE_DRIVER)
		return 1;
	return sp_jvm_is_spark(j) ? 2 : 3;
}

/* Numbers by value, so that executor 10 comes behind 9. */
static int compare_ids(const char *a, const char *b)
{
	size_t m = strlen(a), n = strlen(b);

	if (m != n && strspn(a, "0123456789") == m && strspn(b, "0123456789") == n)
		return m < n ? -1 : 1;
	return strcmp(a, b);
}

static int compare(const void *a, const void *b)
{
	const struct sp_jvm *x = a, *y = b;
	int r = rank(x) - rank(y);

	if (!r)
		r = strcmp(x->app_id, y->app_id);
	if (!r)
		r = compare_ids(x->executor_id, y->executor_id);
	return r ? r : (x->pid > y->pid) - (x->pid < y->pid);
}

/* Executors that are children of a driver (local-cluster) know the application that it has. */
static void name_drivers(struct sp_jvm *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < n && list[i].role == SP_ROLE_DRIVER && !list[i].app_id[0];
			k++) {
			if (list[k].role == SP_ROLE_EXECUTOR && list[k].ppid == list[i].pid)
				SP_LOOK_SET(list[i].app_id, list[k].app_id);
		}
	}
}

/* Takes the application's name from another JVM of it, where that knows more. */
static void take_name(struct sp_jvm *to, const struct sp_jvm *from)
{
	bool better = !to->app_name[0] || (to->started_from && !from->started_from);

	if (!better || !from->app_name[0] || !to->app_id[0] ||
		strcmp(to->app_id, from->app_id) != 0)
		return;
	SP_LOOK_SET(to->app_name, from->app_name);
	to->started_from = from->started_from;
}

/* An application has one name, whichever of its JVMs knows it. */
static void share_names(struct sp_jvm *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n && (!list[i].app_name[0] || list[i].started_from); k++)
			if (list[i].role != SP_ROLE_OTHER && list[k].role != SP_ROLE_OTHER)
				take_name(&list[i], &list[k]);
}

static int add_jvm(struct sp_jvm **list, size_t *n, size_t *cap, const struct sp_jvm *j)
{
	if (sp_grow(list, cap, *n, sizeof(**list), 16) < 0)
		return -ENOMEM;
	(*list)[(*n)++] = *j;
	return 0;
}

int sp_jvm_list(int procfd, struct sp_jvm **ret, size_t *ret_n)
{
	int fd = openat(procfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	SP_AUTO_FREE struct sp_jvm *list = NULL;
	size_t n = 0, cap = 0;
	const struct dirent *d;
	int r = 0;

	if (!dir) {
		r = -errno;
		sp_cleanup_close(&fd);
		return r;
	}
	while (r == 0 && (d = readdir(dir))) {
		struct sp_jvm j;
		char *end;
		long pid = strtol(d->d_name, &end, 10);

		if (*end || pid <= 0 || pid > INT_MAX)
			continue;
		if (sp_jvm_inspect(procfd, (pid_t)pid, &j) == 0 && j.kind != SP_JVM_NONE)
			r = add_jvm(&list, &n, &cap, &j);
	}
	closedir(dir);
	if (r < 0)
		return r;
	name_drivers(list, n);
	share_names(list, n);
	if (n)
		qsort(list, n, sizeof(*list), compare);
	*ret = sp_steal_ptr(list);
	*ret_n = n;
	return 0;
}

const char *sp_jvm_role_name(enum sp_jvm_role role)
{
	static const char *const names[] = {"other", "driver", "executor"};

	return names[role];
}

const char *sp_jvm_kind_name(enum sp_jvm_kind kind)
{
	static const char *const names[] = {"none", "hotspot", "openj9", "native-image", "unknown"};

	return names[kind];
}

const char *sp_jvm_attach_name(enum sp_jvm_attach attach)
{
	static const char *const names[] = {"unknown", "yes", "no"};

	return names[attach];
}
