/* Which part of which Spark application a JVM is. From its main class, arguments, environment,
 * working directory, configuration files, opened jars and thread names. */
#include "jvm_internal.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PROPERTIES = 4 << 20, MAX_ENTRIES = 20000 };

void sp_jvm_look_set(char *ret, size_t len, const char *s)
{
	if (s)
		snprintf(ret, len, "%s", s);
}

static bool is_main(const struct sp_jvm *j, const char *name)
{
	return strcmp(j->main_class, name) == 0;
}

static bool is_executor(const struct sp_jvm *j)
{
	static const char *const names[] = {
		"org.apache.spark.executor.YarnCoarseGrainedExecutorBackend",
		"org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
		"org.apache.spark.executor.CoarseGrainedExecutorBackend",
		"org.apache.spark.executor.MesosExecutorBackend",
	};

	for (size_t i = 0; i < SP_COUNT(names); i++) {
		if (is_main(j, names[i]))
			return true;
	}
	return false;
}

bool sp_jvm_look_spark_jar(const char *text, struct sp_jvm *j)
{
	static const char mark[] = "spark-core_";

	for (const char *s = text; (s = strstr(s, mark)); s++) {
		const char *scala = s + sizeof(mark) - 1;
		size_t n = strspn(scala, "0123456789.");
		const char *version = scala + n + 1;
		const char *end = strstr(version - 1, ".jar");

		if (!n || scala[n] != '-' || !isdigit((unsigned char)*version) || !end ||
			strcspn(version, "/: ") < (size_t)(end - version))
			continue;
		snprintf(j->scala_version, sizeof(j->scala_version), "%.*s", (int)n, scala);
		snprintf(j->spark_version, sizeof(j->spark_version), "%.*s", (int)(end - version),
			version);
		return true;
	}
	return false;
}

typedef bool look_at_entry(int dir, const char *name, struct sp_jvm *j);

/* Whether @look finds what it looks for in one of the entries of /proc/PID/@name. */
static bool any_entry(
	const struct sp_jvm_look *l, const char *name, look_at_entry *look, struct sp_jvm *j)
{
	int fd = openat(l->proc.dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool found = false;

	if (!dir) {
		sp_cleanup_close(&fd);
		return false;
	}
	for (int i = 0; i < MAX_ENTRIES && !found; i++) {
		const struct dirent *d = readdir(dir);

		if (!d)
			break;
		found = look(dirfd(dir), d->d_name, j);
	}
	closedir(dir);
	return found;
}

/* A class path of wildcards says nothing; the jars that the JVM has opened do. */
static bool version_from_fd(int dir, const char *name, struct sp_jvm *j)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);

	if (n <= 0)
		return false;
	target[n] = '\0';
	return sp_jvm_look_spark_jar(target, j);
}

static void find_version(const struct sp_jvm_look *l, struct sp_jvm *j)
{
	const char *env = sp_proc_env(&l->env, "CLASSPATH");

	if ((l->cmd.class_path && sp_jvm_look_spark_jar(l->cmd.class_path, j)) ||
		(env && sp_jvm_look_spark_jar(env, j)) ||
		(l->has_perf && sp_jvm_look_spark_jar(l->perf.class_path, j)))
		return;
	any_entry(l, "fd", version_from_fd, j);
}

/* A local-mode driver may have any main class, but it has Spark's scheduler thread. Its name is
 * dag-scheduler-event-loop, which the kernel cuts to 15 bytes. */
static bool is_scheduler_thread(int dir, const char *name, struct sp_jvm *j)
{
	char path[NAME_MAX + 8], comm[16] = "";

	snprintf(path, sizeof(path), "%s/comm", name);
	SP_AUTO_CLOSE int c = name[0] == '.' ? -1 : openat(dir, path, O_RDONLY | O_CLOEXEC);

	return c >= 0 && read(c, comm, 15) == 15 && strcmp(comm, "dag-scheduler-e") == 0;
}

/* The value of a key in a Java properties text; Spark writes "key=value" with \: \= escaped. */
static bool property(const char *text, const char *key, char *ret, size_t len)
{
	size_t n = strlen(key), out = 0;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		const char *s = line + strspn(line, " \t");
		if (strncmp(s, key, n) != 0 || !strchr("= \t:", s[n]) || !s[n])
			continue;
		s += n + strspn(s + n, " \t=:");
		for (; *s && *s != '\n' && *s != '\r' && out + 1 < len; s++) {
			if (*s == '\\' && s[1] && s[1] != '\n')
				s++;
			ret[out++] = *s;
		}
		ret[out] = '\0';
		return true;
	}
	return false;
}

static bool read_properties(
	const struct sp_jvm_look *l, const struct sp_jvm *j, const char *path, struct sp_buf *ret)
{
	SP_AUTO_CLOSE int fd = sp_proc_open_readable(&l->proc, path, j->uid);

	return fd >= 0 && sp_buf_read_fd(ret, fd, MAX_PROPERTIES) == 0;
}

static void name_from_files(const struct sp_jvm_look *l, struct sp_jvm *j)
{
	const char *given = sp_java_cmdline_option(&l->cmd.args, "--properties-file");
	SP_AUTO_BUF struct sp_buf b = {0};
	char path[PATH_MAX + 64], cwd[PATH_MAX];
	const char *text;

	if (sp_proc_readlink(&l->proc, "cwd", cwd, sizeof(cwd)) < 0)
		cwd[0] = '\0';
	snprintf(path, sizeof(path), "%s/__spark_conf__/__spark_conf__.properties", cwd);
	if (!read_properties(l, j, path, &b)) {
		if (!given)
			return;
		snprintf(path, sizeof(path), "%s%s%.2000s", *given == '/' ? "" : cwd,
			*given == '/' ? "" : "/", given);
		sp_buf_clear(&b);
		if (!read_properties(l, j, path, &b))
			return;
	}
	text = sp_buf_str(&b);
	if (!j->app_name[0])
		property(text, "spark.app.name", j->app_name, sizeof(j->app_name));
	if (!j->app_id[0])
		property(text, "spark.app.id", j->app_id, sizeof(j->app_id));
	if (!j->pod[0] && j->role == SP_ROLE_DRIVER)
		property(text, "spark.kubernetes.driver.pod.name", j->pod, sizeof(j->pod));
}

/* container_e17_1700000000000_0001_01_000002 → application_1700000000000_0001 */
static void app_from_container(struct sp_jvm *j)
{
	unsigned long long cluster;
	unsigned epoch, app;
	const char *s = j->container_id;

	if (sscanf(s, "container_e%u_%llu_%u_", &epoch, &cluster, &app) == 3 ||
		sscanf(s, "container_%llu_%u_", &cluster, &app) == 2)
		snprintf(j->app_id, sizeof(j->app_id), "application_%llu_%04u", cluster, app);
}

static void look_executor(const struct sp_jvm_look *l, struct sp_jvm *j)
{
	const struct sp_buf *args = &l->cmd.args;

	SP_LOOK_SET(j->executor_id, sp_java_cmdline_option(args, "--executor-id"));
	SP_LOOK_SET(j->app_id, sp_java_cmdline_option(args, "--app-id"));
	SP_LOOK_SET(j->hostname, sp_java_cmdline_option(args, "--hostname"));
	SP_LOOK_SET(j->pod, sp_java_cmdline_option(args, "--podName"));
	SP_LOOK_SET(j->driver_url, sp_java_cmdline_option(args, "--driver-url"));
	/* EXECID: Kubernetes' placeholder where the id is given out later */
	if (!j->executor_id[0] || strcmp(j->executor_id, "EXECID") == 0)
		SP_LOOK_SET(j->executor_id, sp_proc_env(&l->env, "SPARK_EXECUTOR_ID"));
	if (strcmp(j->executor_id, "EXECID") == 0)
		j->executor_id[0] = '\0';
}

/* What SparkSubmit was asked for. Its own options end at the application's file. */
struct submit {
	const char *name, *class_name, *deploy_mode, *resource, *app_id;
};

static void submit_conf(struct submit *s, const char *conf)
{
	if (strncmp(conf, "spark.app.name=", 15) == 0 && !s->name)
		s->name = conf + 15;
	else if (strncmp(conf, "spark.app.id=", 13) == 0)
		s->app_id = conf + 13;
	else if (strncmp(conf, "spark.submit.deployMode=", 24) == 0 && !s->deploy_mode)
		s->deploy_mode = conf + 24;
}

static bool submit_switch(const char *word)
{
	static const char *const names[] = {"--verbose", "-v", "--version", "--help", "-h",
		"--supervise", "--usage-error", "--load-spark-defaults"};

	for (size_t i = 0; i < SP_COUNT(names); i++) {
		if (strcmp(word, names[i]) == 0)
			return true;
	}
	return false;
}

static void parse_submit(const struct sp_buf *args, struct submit *ret)
{
	const char *word = NULL, *value;

	while ((word = sp_proc_next_string(args, word))) {
		size_t n = strcspn(word, "=");

		if (word[0] != '-') {
			ret->resource = word;
			return;
		}
		if (submit_switch(word))
			continue;
		value = word[n] ? word + n + 1 : sp_proc_next_string(args, word);
		if (!value)
			return;
		if (strncmp(word, "--name", n) == 0 && n == 6)
			ret->name = value;
		else if (strncmp(word, "--class", n) == 0 && n == 7)
			ret->class_name = value;
		else if (strncmp(word, "--deploy-mode", n) == 0 && n == 13)
			ret->deploy_mode = value;
		else if ((strncmp(word, "--conf", n) == 0 && n == 6) || strcmp(word, "-c") == 0)
			submit_conf(ret, value);
		else if ((strncmp(word, "--kill", n) == 0 || strncmp(word, "--status", n) == 0) &&
			 n > 5)
			ret->deploy_mode = "cluster"; /* a request to a cluster, not a driver */
		if (!word[n])
			word = value;
	}
}

static void look_submit(const struct sp_jvm_look *l, struct sp_jvm *j)
{
	struct submit s = {0};
	const char *slash;

	parse_submit(&l->cmd.args, &s);
	/* in cluster mode the driver is elsewhere: this one only waits for it */
	if (s.deploy_mode && strcmp(s.deploy_mode, "cluster") == 0)
		return;
	j->role = SP_ROLE_DRIVER;
	SP_LOOK_SET(j->app_id, s.app_id);
	SP_LOOK_SET(j->app_name, s.name);
	name_from_files(l, j);
	if (j->app_name[0])
		return;
	/* as Spark does: the class, else the file's name */
	slash = s.resource ? strrchr(s.resource, '/') : NULL;
	SP_LOOK_SET(j->app_name, s.class_name ? s.class_name : slash ? slash + 1 : s.resource);
	j->started_from = j->app_name[0];
}

static void look_role(const struct sp_jvm_look *l, struct sp_jvm *j)
{
	if (is_executor(j)) {
		j->role = SP_ROLE_EXECUTOR;
		look_executor(l, j);
	} else if (is_main(j, "org.apache.spark.deploy.SparkSubmit")) {
		look_submit(l, j);
	} else if (is_main(j, "org.apache.spark.deploy.yarn.ApplicationMaster") ||
		   is_main(j, "org.apache.spark.deploy.worker.DriverWrapper")) {
		j->role = SP_ROLE_DRIVER;
	} else if (j->spark_version[0] && any_entry(l, "task", is_scheduler_thread, j)) {
		j->role = SP_ROLE_DRIVER;
	}
}

/* The id that docker, podman and containerd put into the name of a cgroup: 64 hexadecimal digits,
 * of which people use the first 12. */
static void container_from_cgroup(struct sp_jvm *j)
{
	for (const char *s = j->cgroup; *s;) {
		size_t n = strspn(s, "0123456789abcdef");

		if (n == 64)
			snprintf(j->container_id, sizeof(j->container_id), "%.12s", s);
		s += n ? n : 1;
	}
}

/* Where it runs, and under which id of the cluster: for every JVM, Spark's or not. */
static void look_place(const struct sp_jvm_look *l, struct sp_jvm *j)
{
	SP_LOOK_SET(j->container_id, sp_proc_env(&l->env, "CONTAINER_ID"));
	if (strncmp(j->container_id, "container_", 10) != 0)
		j->container_id[0] = '\0';
	if (!j->app_id[0])
		SP_LOOK_SET(j->app_id, sp_proc_env(&l->env, "SPARK_APPLICATION_ID"));
	if (!j->app_id[0])
		app_from_container(j);
	if (!j->container_id[0])
		container_from_cgroup(j);
	if (!j->pod[0])
		SP_LOOK_SET(j->pod, sp_proc_env(&l->env, "SPARK_EXECUTOR_POD_NAME"));
	/* the kubelet sets a pod's host name to its own */
	if (!j->pod[0] && sp_proc_env(&l->env, "KUBERNETES_SERVICE_HOST"))
		SP_LOOK_SET(j->pod, sp_proc_env(&l->env, "HOSTNAME"));
	if (!j->hostname[0])
		SP_LOOK_SET(j->hostname, sp_proc_env(&l->env, "NM_HOST"));
}

void sp_jvm_look_spark(struct sp_jvm_look *l, struct sp_jvm *j)
{
	find_version(l, j);
	look_role(l, j);
	look_place(l, j);
	if (j->role == SP_ROLE_OTHER &&
		!is_main(j, "org.apache.spark.deploy.yarn.ExecutorLauncher"))
		return;
	if (!j->app_id[0])
		SP_LOOK_SET(j->app_id, sp_java_cmdline_property(&l->cmd.jvm, "spark.app.id"));
	if (!j->app_name[0])
		SP_LOOK_SET(j->app_name, sp_java_cmdline_property(&l->cmd.jvm, "spark.app.name"));
	if (!j->app_name[0])
		name_from_files(l, j);
	if (j->role == SP_ROLE_DRIVER)
		SP_LOOK_SET(j->executor_id, "driver");
}
