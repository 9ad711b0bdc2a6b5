/* See hadoop_fs.h. Everything is looked up by name when it is used: a call every half minute. */
#include "hadoop_fs.h"

#include "spark/spark_ugi.h"
#include "vm/jni_util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FS	   "org/apache/hadoop/fs/"
#define PATH_TYPE  "L" FS "Path;"
#define CONF_TYPE  "Lorg/apache/hadoop/conf/Configuration;"
#define FS_TYPE	   "L" FS "FileSystem;"
#define OUT_TYPE   "L" FS "FSDataOutputStream;"
#define MODE_TYPE  "L" FS "permission/FsPermission;"
#define COPY_BYTES (1 << 20)
#define FRAME_REFS 64
#define HELD_MS	   86400000

struct sp_hadoop_fs {
	jobject fs; /* global */
};

static jobject new_path(JNIEnv *env, const char *path)
{
	jclass c = (*env)->FindClass(env, FS "Path");
	jmethodID m = c ? (*env)->GetMethodID(env, c, "<init>", "(Ljava/lang/String;)V") : NULL;
	jstring s = m ? (*env)->NewStringUTF(env, path) : NULL;

	return s ? (*env)->NewObject(env, c, m, s) : NULL;
}

static jobject new_mode(JNIEnv *env, jshort bits)
{
	jclass c = (*env)->FindClass(env, FS "permission/FsPermission");
	jmethodID m = c ? (*env)->GetMethodID(env, c, "<init>", "(S)V") : NULL;

	return m ? (*env)->NewObject(env, c, m, bits) : NULL;
}

static bool set_conf(JNIEnv *env, jobject conf, jmethodID m, const char *key, bool value)
{
	jstring text = (*env)->NewStringUTF(env, key);

	if (text)
		(*env)->CallVoidMethod(env, conf, m, text, value ? JNI_TRUE : JNI_FALSE);
	return !(*env)->ExceptionCheck(env);
}

/* SparkHadoopUtil.get.newConfiguration(SparkEnv.get.conf), not to be closed by Hadoop's hook, nor
 * by SparkSubmit with all others of a proxy user; and where HDFS has fewer nodes than a file should
 * have copies, it can be appended to all the same. */
static jobject configuration(JNIEnv *env, jobject spark, const char *path)
{
	char uncached[128];
	jobject conf = sp_jni_call(env, spark, "conf", "()Lorg/apache/spark/SparkConf;");
	jobject util = conf ? sp_jni_call_static(env, "org/apache/spark/deploy/SparkHadoopUtil",
				      "get", "()Lorg/apache/spark/deploy/SparkHadoopUtil;")
			    : NULL;
	jobject made = util ? sp_jni_call(env, util, "newConfiguration",
				      "(Lorg/apache/spark/SparkConf;)" CONF_TYPE, conf)
			    : NULL;
	jclass c = made ? (*env)->GetObjectClass(env, made) : NULL;
	jmethodID m =
		c ? (*env)->GetMethodID(env, c, "setBoolean", "(Ljava/lang/String;Z)V") : NULL;

	snprintf(uncached, sizeof(uncached), "fs.%.*s.impl.disable.cache", (int)strcspn(path, ":"),
		path);
	if (!m || !set_conf(env, made, m, uncached, true) ||
		!set_conf(env, made, m, "fs.automatic.close", false) ||
		!set_conf(env, made, m,
			"dfs.client.block.write.replace-datanode-on-failure.best-effort", true))
		return NULL;
	return made;
}

static bool is_secure(JNIEnv *env)
{
	jclass c = (*env)->FindClass(env, "org/apache/hadoop/security/UserGroupInformation");
	jmethodID m = c ? (*env)->GetStaticMethodID(env, c, "isSecurityEnabled", "()Z") : NULL;
	bool secure = m && (*env)->CallStaticBooleanMethod(env, c, m);

	return !sp_jni_failed(env) && secure;
}

/* Who submitted: with --proxy-user the driver's process belongs to another user, and only what
 * runs below SparkSubmit's doAs is that user; executors write as him. NULL where there is no
 * context; *ret_none: there may be one later, for it is known when it is whole. */
static jstring context_user(JNIEnv *env, bool *ret_none)
{
	static const char type[] = "Lorg/apache/spark/SparkContext$;";
	jclass c = sp_jni_loaded_class(env, "org.apache.spark.SparkContext$");
	jfieldID f = c ? (*env)->GetStaticFieldID(env, c, "MODULE$", type) : NULL;
	jobject module = f ? (*env)->GetStaticObjectField(env, c, f) : NULL;
	jobject option = sp_jni_call(env, module, "getActive", "()Lscala/Option;");
	jclass none = option ? (*env)->FindClass(env, "scala/None$") : NULL;
	jobject context = NULL;
	jstring user;

	*ret_none = none && (*env)->IsInstanceOf(env, option, none);
	if (none && !*ret_none)
		context = sp_jni_call(env, option, "get", "()Ljava/lang/Object;");
	user = context ? sp_jni_call(env, context, "sparkUser", "()Ljava/lang/String;") : NULL;
	return sp_jni_failed(env) ? NULL : user;
}

static bool is_driver(JNIEnv *env, jobject spark)
{
	jstring id = sp_jni_call(env, spark, "executorId", "()Ljava/lang/String;");
	char text[64] = "";

	if (!sp_jni_failed(env) && id)
		sp_jni_text(env, id, text, sizeof(text));
	return strcmp(text, "driver") == 0;
}

/* With Kerberos it is Spark's own user who has the tokens; without, whoever submitted is named by
 * SPARK_USER, as in Spark's own runAsSparkUser, or known to the driver. */
static jobject new_file_system(
	JNIEnv *env, jobject spark, jobject path, jobject conf, bool *ret_early)
{
	jobject uri = sp_jni_call(env, path, "toUri", "()Ljava/net/URI;");
	const char *user = getenv("SPARK_USER");
	jstring name = NULL;

	if (!uri)
		return NULL;
	if (is_secure(env))
		sp_spark_ugi_become(env);
	else if (user && *user)
		name = (*env)->NewStringUTF(env, user);
	else if (is_driver(env, spark))
		name = context_user(env, ret_early);
	if (*ret_early)
		return NULL;
	if (!name)
		return sp_jni_call_static(env, FS "FileSystem", "get",
			"(Ljava/net/URI;" CONF_TYPE ")" FS_TYPE, uri, conf);
	return sp_jni_call_static(env, FS "FileSystem", "get",
		"(Ljava/net/URI;" CONF_TYPE "Ljava/lang/String;)" FS_TYPE, uri, conf, name);
}

/* YARN cancels the tokens of an application that is over, in client mode before its driver has
 * ended, and Hadoop takes a token before a ticket. A connection that is there is not asked again:
 * a driver's stays, one of an application. */
static bool hold_connection(JNIEnv *env, jobject spark, jobject conf)
{
	jstring key;
	jmethodID m;

	if (!is_driver(env, spark) || !is_secure(env))
		return false;
	m = (*env)->GetMethodID(
		env, (*env)->GetObjectClass(env, conf), "setInt", "(Ljava/lang/String;I)V");
	key = m ? (*env)->NewStringUTF(env, "ipc.client.connection.maxidletime") : NULL;
	if (key)
		(*env)->CallVoidMethod(env, conf, m, key, HELD_MS);
	return !sp_jni_failed(env);
}

static int enter(JNIEnv *env, struct sp_err *err)
{
	if ((*env)->PushLocalFrame(env, FRAME_REFS) == 0)
		return 0;
	sp_jni_failed(env);
	return sp_err_set(err, -ENOMEM, "out of memory in the JVM");
}

/* Ends what enter() began; an exception becomes the result where there is none yet. */
static int leave(JNIEnv *env, int r, struct sp_err *err)
{
	struct sp_err text = {{0}};
	int e = sp_jni_error(env, &text);

	if (e < 0 && r == 0) {
		r = e;
		if (err)
			*err = text;
	}
	(*env)->PopLocalFrame(env, NULL);
	return r;
}

int sp_hadoop_fs_open(struct sp_hadoop_fs **ret, JNIEnv *env, const char *uri, struct sp_err *err)
{
	struct sp_hadoop_fs *h = calloc(1, sizeof(*h));
	jobject spark, path, conf, fs = NULL;
	bool early = false, held = false;
	uint64_t length;
	int r = h ? enter(env, err) : -ENOMEM;

	if (r < 0) {
		free(h);
		return r;
	}
	spark = sp_jni_spark_env(env);
	if (spark) {
		path = new_path(env, uri);
		conf = path ? configuration(env, spark, uri) : NULL;
		held = conf && hold_connection(env, spark, conf);
		fs = conf ? new_file_system(env, spark, path, conf, &early) : NULL;
		h->fs = fs ? (*env)->NewGlobalRef(env, fs) : NULL;
	}
	r = leave(env, 0, err);
	if (r == 0 && !h->fs)
		r = spark && !early ? sp_err_set(err, -EIO, "Hadoop gives no file system")
				    : -EAGAIN;
	if (r < 0) {
		free(h);
		return r;
	}
	if (held) /* any question makes the connection; its result comes later */
		sp_hadoop_fs_length(h, env, uri, &length, NULL);
	*ret = h;
	return 0;
}

void sp_hadoop_fs_close(struct sp_hadoop_fs *h, JNIEnv *env)
{
	jclass c;
	jmethodID m;

	if (!h)
		return;
	if (enter(env, NULL) == 0) {
		c = (*env)->GetObjectClass(env, h->fs);
		m = (*env)->GetMethodID(env, c, "close", "()V");
		if (m)
			(*env)->CallVoidMethod(env, h->fs, m);
		leave(env, 0, NULL);
	}
	(*env)->DeleteGlobalRef(env, h->fs);
	free(h);
}

/* The directory above, with its mode also where the umask is narrower. */
static void make_directory(JNIEnv *env, jobject fs, jobject path)
{
	jobject parent = sp_jni_call(env, path, "getParent", "()" PATH_TYPE);
	jclass c = parent ? (*env)->FindClass(env, FS "FileSystem") : NULL;
	jmethodID there = c ? (*env)->GetMethodID(env, c, "exists", "(" PATH_TYPE ")Z") : NULL;
	jmethodID m = there ? (*env)->GetStaticMethodID(
				      env, c, "mkdirs", "(" FS_TYPE PATH_TYPE MODE_TYPE ")Z")
			    : NULL;

	if (m && !(*env)->CallBooleanMethod(env, fs, there, parent) &&
		!(*env)->ExceptionCheck(env)) {
		jobject mode = new_mode(env, 0770);

		if (mode)
			(*env)->CallStaticBooleanMethod(env, c, m, fs, parent, mode);
	}
}

static void set_mode(JNIEnv *env, jobject fs, jobject path)
{
	jclass c = (*env)->GetObjectClass(env, fs);
	jmethodID m = (*env)->GetMethodID(env, c, "setPermission", "(" PATH_TYPE MODE_TYPE ")V");
	jobject mode = m ? new_mode(env, 0660) : NULL;

	if (mode)
		(*env)->CallVoidMethod(env, fs, m, path, mode);
}

static jobject open_out(JNIEnv *env, jobject fs, jobject path, bool append)
{
	jobject out;

	if (append)
		return sp_jni_call(env, fs, "append", "(" PATH_TYPE ")" OUT_TYPE, path);
	make_directory(env, fs, path);
	if ((*env)->ExceptionCheck(env))
		return NULL;
	out = sp_jni_call(env, fs, "create", "(" PATH_TYPE "Z)" OUT_TYPE, path, JNI_FALSE);
	if (!out)
		return NULL;
	set_mode(env, fs, path);
	sp_jni_failed(env); /* a store that has no modes */
	return out;
}

/* Returns 0, or -errno where @fd cannot be read; an exception stays. */
static int copy_file(JNIEnv *env, jobject out, int fd)
{
	jclass c = (*env)->GetObjectClass(env, out);
	jmethodID write = (*env)->GetMethodID(env, c, "write", "([BII)V");
	jbyteArray bytes = write ? (*env)->NewByteArray(env, COPY_BYTES) : NULL;
	jbyte *buf = bytes ? malloc(COPY_BYTES) : NULL;
	off_t at = 0;
	ssize_t n = 0;

	while (buf && (n = pread(fd, buf, COPY_BYTES, at)) > 0) {
		(*env)->SetByteArrayRegion(env, bytes, 0, (jsize)n, buf);
		(*env)->CallVoidMethod(env, out, write, bytes, 0, (jint)n);
		if ((*env)->ExceptionCheck(env))
			break;
		at += n;
	}
	free(buf);
	return !buf && !(*env)->ExceptionCheck(env) ? -ENOMEM : n < 0 ? -errno : 0;
}

/* Also after a failure: else its threads and its lease stay. */
static void close_out(JNIEnv *env, jobject out, struct sp_err *err, int *r)
{
	struct sp_err first = {{0}};
	int e = sp_jni_error(env, &first);
	jclass c = (*env)->GetObjectClass(env, out);
	jmethodID m = (*env)->GetMethodID(env, c, "close", "()V");

	if (m)
		(*env)->CallVoidMethod(env, out, m);
	if (e < 0 && *r == 0) {
		sp_jni_failed(env);
		*r = e;
		*err = first;
	}
}

int sp_hadoop_fs_put(struct sp_hadoop_fs *h, JNIEnv *env, const char *path, const int *fds,
	size_t n, bool append, bool *ret_touched, struct sp_err *err)
{
	jobject p, out;
	int r = enter(env, err);

	*ret_touched = false;
	if (r < 0)
		return r;
	p = new_path(env, path);
	out = p ? open_out(env, h->fs, p, append) : NULL;
	if (out) {
		*ret_touched = true;
		for (size_t i = 0; i < n && r == 0 && !(*env)->ExceptionCheck(env); i++)
			r = copy_file(env, out, fds[i]);
		if (r < 0)
			sp_err_set(err, r, "the local copy: %s", strerror(-r));
		close_out(env, out, err, &r);
	}
	r = leave(env, r, err);
	return r == 0 && !*ret_touched ? sp_err_set(err, -EIO, "Hadoop gives no stream") : r;
}

int sp_hadoop_fs_length(
	struct sp_hadoop_fs *h, JNIEnv *env, const char *path, uint64_t *ret, struct sp_err *err)
{
	jobject p, status = NULL;
	jmethodID m = NULL;
	int r = enter(env, err);

	if (r < 0)
		return r;
	p = new_path(env, path);
	if (p)
		status = sp_jni_call(
			env, h->fs, "getFileStatus", "(" PATH_TYPE ")L" FS "FileStatus;", p);
	if (status)
		m = (*env)->GetMethodID(env, (*env)->GetObjectClass(env, status), "getLen", "()J");
	if (m)
		*ret = (uint64_t)(*env)->CallLongMethod(env, status, m);
	return leave(env, 0, err);
}

int sp_hadoop_fs_release(struct sp_hadoop_fs *h, JNIEnv *env, const char *path, struct sp_err *err)
{
	bool released = true;
	jmethodID m;
	jobject p;
	int r = enter(env, err);

	if (r < 0)
		return r;
	m = (*env)->GetMethodID(
		env, (*env)->GetObjectClass(env, h->fs), "recoverLease", "(" PATH_TYPE ")Z");
	if (!m)
		sp_jni_failed(env); /* other file systems have no such method */
	p = m ? new_path(env, path) : NULL;
	if (p)
		released = (*env)->CallBooleanMethod(env, h->fs, m, p);
	r = leave(env, 0, err);
	return r < 0 ? r : released;
}

int sp_hadoop_fs_cut(
	struct sp_hadoop_fs *h, JNIEnv *env, const char *path, uint64_t length, struct sp_err *err)
{
	jobject p;
	jmethodID m;
	jclass c;
	int r = enter(env, err);

	if (r < 0)
		return r;
	p = new_path(env, path);
	if (p) {
		c = (*env)->GetObjectClass(env, h->fs);
		m = (*env)->GetMethodID(env, c, length ? "truncate" : "delete",
			length ? "(" PATH_TYPE "J)Z" : "(" PATH_TYPE "Z)Z");
		if (m && length)
			(*env)->CallBooleanMethod(env, h->fs, m, p, (jlong)length);
		else if (m)
			(*env)->CallBooleanMethod(env, h->fs, m, p, JNI_FALSE);
	}
	return leave(env, 0, err);
}
