/* See identity.h. */
#include "identity.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES (64 << 10)

/* The word behind "--executor-id" and the like, of a list of strings. */
static void option(const char *line, size_t len, const char *name, char *ret, size_t size)
{
	for (const char *w = line; w < line + len; w += strlen(w) + 1) {
		const char *value = w + strlen(w) + 1;

		if (strcmp(w, name) == 0 && value < line + len && !ret[0])
			snprintf(ret, size, "%s", value);
	}
}

/* "spark://CoarseGrainedScheduler@host:41234" */
static void host_of(const char *url, char *ret, size_t size)
{
	const char *at = strchr(url, '@'), *end = at ? strrchr(at, ':') : NULL;

	if (end)
		snprintf(ret, size, "%.*s", (int)(end - at - 1), at + 1);
}

static void from_command_line(struct sp_identity *id)
{
	char *line = malloc(LINE_MAX_BYTES), cores[16] = "", url[300] = "";
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = line && fd >= 0 ? read(fd, line, LINE_MAX_BYTES - 1) : 0;

	if (fd >= 0)
		close(fd);
	if (n > 0) {
		line[n] = 0;
		option(line, (size_t)n, "--app-id", id->app_id, sizeof(id->app_id));
		option(line, (size_t)n, "--executor-id", id->executor_id, sizeof(id->executor_id));
		option(line, (size_t)n, "--hostname", id->host, sizeof(id->host));
		option(line, (size_t)n, "--podName", id->pod, sizeof(id->pod));
		option(line, (size_t)n, "--cores", cores, sizeof(cores));
		option(line, (size_t)n, "--driver-url", url, sizeof(url));
		host_of(url, id->driver_host, sizeof(id->driver_host));
		id->cores = atoi(cores);
	}
	free(line);
	/* Kubernetes' placeholder where the id is given out later. */
	if (strcmp(id->executor_id, "EXECID") == 0)
		id->executor_id[0] = 0;
}

static void from_environment(struct sp_identity *id)
{
	static const struct {
		const char *name;
		size_t at, size;
	} vars[] = {
#define VAR(n, f) {n, offsetof(struct sp_identity, f), sizeof(((struct sp_identity *)0)->f)}
		VAR("CONTAINER_ID", container),
		VAR("NM_HOST", host),
		VAR("SPARK_APPLICATION_ID", app_id),
		VAR("SPARK_EXECUTOR_ID", executor_id),
		VAR("SPARK_EXECUTOR_POD_NAME", pod),
#undef VAR
	};

	for (size_t i = 0; i < sizeof(vars) / sizeof(*vars); i++) {
		char *to = (char *)id + vars[i].at;
		const char *v = getenv(vars[i].name);

		if (v && !to[0])
			snprintf(to, vars[i].size, "%s", v);
	}
	if (!id->host[0])
		gethostname(id->host, sizeof(id->host) - 1);
}

/* "…/spark-core_2.13-4.3.0.jar" among the jars that the JVM found. */
static bool from_class_path(jvmtiEnv *ti, struct sp_identity *id)
{
	static const char mark[] = "spark-core_";
	char *path = NULL;
	const char *jar, *end;
	size_t n;

	if ((*ti)->GetSystemProperty(ti, "java.class.path", &path) != JVMTI_ERROR_NONE)
		return false;
	jar = strstr(path, mark);
	end = jar ? strstr(jar, ".jar") : NULL;
	if (end) {
		jar += strlen(mark);
		n = strspn(jar, "0123456789.");
		snprintf(id->scala_version, sizeof(id->scala_version), "%.*s", (int)n, jar);
		if (jar[n] == '-' && jar + n + 1 < end)
			snprintf(id->spark_version, sizeof(id->spark_version), "%.*s",
				(int)(end - jar - (ptrdiff_t)n - 1), jar + n + 1);
	}
	(*ti)->Deallocate(ti, (unsigned char *)path);
	return end != NULL;
}

static bool failed(JNIEnv *env)
{
	if (!(*env)->ExceptionCheck(env))
		return false;
	(*env)->ExceptionClear(env);
	return true;
}

static void conf(JNIEnv *env, jobject from, jmethodID get, const char *key, char *ret, size_t size)
{
	jstring k = (*env)->NewStringUTF(env, key), none = (*env)->NewStringUTF(env, "");
	jstring v = k && none ? (*env)->CallObjectMethod(env, from, get, k, none) : NULL;
	jsize n;

	if (failed(env) || !v)
		return;
	n = (*env)->GetStringLength(env, v);
	if (n == 0 || (size_t)n * 3 >= size)
		return;
	(*env)->GetStringUTFRegion(env, v, 0, n, ret);
	ret[failed(env) ? 0 : strnlen(ret, size - 1)] = 0;
}

/* SparkEnv.get.conf, of the JVM's own Spark. */
static void from_spark(JNIEnv *env, struct sp_identity *id)
{
	jclass c = (*env)->FindClass(env, "org/apache/spark/SparkEnv");
	jmethodID get =
		c ? (*env)->GetStaticMethodID(env, c, "get", "()Lorg/apache/spark/SparkEnv;")
		  : NULL;
	jobject spark = get ? (*env)->CallStaticObjectMethod(env, c, get) : NULL, cf;
	char text[32] = "";
	jmethodID m;

	if (failed(env) || !spark)
		return;
	m = (*env)->GetMethodID(env, c, "conf", "()Lorg/apache/spark/SparkConf;");
	cf = m ? (*env)->CallObjectMethod(env, spark, m) : NULL;
	c = cf ? (*env)->GetObjectClass(env, cf) : NULL;
	m = c ? (*env)->GetMethodID(
			env, c, "get", "(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/String;")
	      : NULL;
	if (failed(env) || !m)
		return;
	conf(env, cf, m, "spark.app.id", id->app_id, sizeof(id->app_id));
	conf(env, cf, m, "spark.app.name", id->app_name, sizeof(id->app_name));
	conf(env, cf, m, "spark.app.attempt.id", id->app_attempt, sizeof(id->app_attempt));
	if (!id->executor_id[0])
		conf(env, cf, m, "spark.executor.id", id->executor_id, sizeof(id->executor_id));
	if (!id->driver_host[0])
		conf(env, cf, m, "spark.driver.host", id->driver_host, sizeof(id->driver_host));
	conf(env, cf, m, "spark.ui.port", text, sizeof(text));
	id->ui_port = atoi(text);
	text[0] = 0;
	conf(env, cf, m, "spark.ui.enabled", text, sizeof(text));
	id->no_ui = strcmp(text, "false") == 0;
}

bool sp_identity_read(JNIEnv *env, jvmtiEnv *ti, struct sp_identity *ret)
{
	bool spark;

	memset(ret, 0, sizeof(*ret));
	from_command_line(ret);
	spark = from_class_path(ti, ret) || ret->executor_id[0];
	if (!spark)
		return false;
	from_environment(ret);
	if ((*env)->PushLocalFrame(env, 32) < 0)
		return !failed(env);
	from_spark(env, ret);
	failed(env);
	(*env)->PopLocalFrame(env, NULL);
	return true;
}
