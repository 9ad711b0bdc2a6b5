/* See spark_identity.h. */
#include "spark_identity.h"

#include "vm/jni_util.h"

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

static bool has_word(const char *line, size_t len, const char *word)
{
	for (const char *w = line; w < line + len; w += strlen(w) + 1)
		if (strcmp(w, word) == 0)
			return true;
	return false;
}

/* Main classes of drivers; in YARN's client mode the ApplicationMaster is ExecutorLauncher, which
 * is none. */
static bool is_driver(const char *line, size_t len)
{
	static const char *const mains[] = {"org.apache.spark.deploy.SparkSubmit",
		"org.apache.spark.deploy.yarn.ApplicationMaster",
		"org.apache.spark.deploy.worker.DriverWrapper"};

	for (size_t i = 0; i < sizeof(mains) / sizeof(*mains); i++)
		if (has_word(line, len, mains[i]))
			return true;
	return false;
}

static void from_command_line(struct sp_spark_identity *id)
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
		if (!id->executor_id[0] && is_driver(line, (size_t)n))
			snprintf(id->executor_id, sizeof(id->executor_id), "driver");
	}
	free(line);
	/* Kubernetes' placeholder where the id is given out later. */
	if (strcmp(id->executor_id, "EXECID") == 0)
		id->executor_id[0] = 0;
}

/* container_e17_1410901177871_0001_01_000005, the epoch perhaps left out, is of
 * application_1410901177871_0001. */
static void from_container(struct sp_spark_identity *id)
{
	const char *c = id->container;
	unsigned long long time;
	unsigned number;

	if (id->app_id[0] || strncmp(c, "container_", 10) != 0)
		return;
	c += 10;
	if (*c == 'e')
		c += strcspn(c, "_") + 1;
	if (sscanf(c, "%llu_%u_", &time, &number) == 2)
		snprintf(id->app_id, sizeof(id->app_id), "application_%llu_%04u", time, number);
}

static void from_environment(struct sp_spark_identity *id)
{
	static const struct {
		const char *name;
		size_t at, size;
	} vars[] = {
#define VAR(n, f) \
	{n, offsetof(struct sp_spark_identity, f), sizeof(((struct sp_spark_identity *)0)->f)}
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
	from_container(id);
	if (!id->host[0])
		gethostname(id->host, sizeof(id->host) - 1);
}

/* "…/spark-core_2.13-4.3.0.jar" among the jars that the JVM found. */
static bool from_class_path(jvmtiEnv *ti, struct sp_spark_identity *id)
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

static void conf(JNIEnv *env, jobject from, jmethodID get, const char *key, char *ret, size_t size)
{
	jstring k = (*env)->NewStringUTF(env, key), none = (*env)->NewStringUTF(env, "");
	jstring v = k && none ? (*env)->CallObjectMethod(env, from, get, k, none) : NULL;
	jsize n;

	if (sp_jni_failed(env) || !v)
		return;
	n = (*env)->GetStringLength(env, v);
	if (n == 0 || (size_t)n * 3 >= size)
		return;
	(*env)->GetStringUTFRegion(env, v, 0, n, ret);
	ret[sp_jni_failed(env) ? 0 : strnlen(ret, size - 1)] = 0;
}

/* SparkEnv.get.conf, of the JVM's own Spark. */
static void from_spark(JNIEnv *env, struct sp_spark_identity *id)
{
	jobject spark = sp_jni_spark_env(env), cf;
	char text[32] = "";
	jmethodID m;
	jclass c;

	if (sp_jni_failed(env) || !spark)
		return;
	cf = sp_jni_call(env, spark, "conf", "()Lorg/apache/spark/SparkConf;");
	c = cf ? (*env)->GetObjectClass(env, cf) : NULL;
	m = c ? (*env)->GetMethodID(
			env, c, "get", "(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/String;")
	      : NULL;
	if (sp_jni_failed(env) || !m)
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

void sp_spark_identity_early(struct sp_spark_identity *ret)
{
	memset(ret, 0, sizeof(*ret));
	from_command_line(ret);
	from_environment(ret);
}

bool sp_spark_identity_read(JNIEnv *env, jvmtiEnv *ti, struct sp_spark_identity *ret)
{
	bool spark;

	memset(ret, 0, sizeof(*ret));
	from_command_line(ret);
	spark = from_class_path(ti, ret) || ret->executor_id[0];
	if (!spark)
		return false;
	from_environment(ret);
	if ((*env)->PushLocalFrame(env, 32) < 0)
		return !sp_jni_failed(env);
	from_spark(env, ret);
	sp_jni_failed(env);
	(*env)->PopLocalFrame(env, NULL);
	return true;
}

bool sp_spark_identity_chosen(const struct sp_spark_identity *id, uint32_t fraction)
{
	const char *parts[] = {id->app_id, "/", id->executor_id[0] ? id->executor_id : id->host};
	uint64_t h = 14695981039346656037ull; /* FNV-1a, then mixed: its low bits are weak */

	/* There is one of them, and where it is to be recorded its own options say so. */
	if (strcmp(id->executor_id, "driver") == 0)
		return true;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		for (const char *s = parts[i]; *s; s++)
			h = (h ^ (uint8_t)*s) * 1099511628211ull;
	h = (h ^ h >> 31) * 0x7fb5d329728ea185ull;
	h = (h ^ h >> 27) * 0x81dadef4bc2dd44dull;
	return (h ^ h >> 33) % 1000000 < fraction;
}

void sp_spark_identity_put(struct sp_spark_identity_box *box, const struct sp_spark_identity *id)
{
	pthread_mutex_lock(&box->lock);
	if (!box->version || memcmp(&box->id, id, sizeof(*id)) != 0) {
		box->id = *id;
		box->version++;
	}
	pthread_mutex_unlock(&box->lock);
}

bool sp_spark_identity_take(
	struct sp_spark_identity_box *box, uint32_t *version, struct sp_spark_identity *ret)
{
	bool newer;

	pthread_mutex_lock(&box->lock);
	newer = box->version != *version;
	if (newer)
		*ret = box->id;
	*version = box->version;
	pthread_mutex_unlock(&box->lock);
	return newer;
}
