/* See jvm_http.h. */
#include "jvm_http.h"

#include "base/clock.h"
#include "vm/jni_util.h"

#define CONNECT_MS 500
#define READ_MS	   3000		 /* the first answer of a driver makes it load its REST classes */
#define ALL_NS	   4000000000ull /* for a whole answer, however steadily it comes */
#define PIECE	   8192
#define DRAINED	   (16u << 20) /* of an answer that is too long */

static jmethodID method(JNIEnv *env, jobject of, const char *name, const char *sig)
{
	jclass c = (*env)->GetObjectClass(env, of);
	jmethodID m = (*env)->GetMethodID(env, c, name, sig);

	(*env)->DeleteLocalRef(env, c);
	return sp_jni_failed(env) ? NULL : m;
}

/* The connection, not yet made; NULL where the address is none of HTTP. */
static jobject open_url(JNIEnv *env, const char *url)
{
	jclass http = (*env)->FindClass(env, "java/net/HttpURLConnection");
	jclass c = http ? (*env)->FindClass(env, "java/net/URL") : NULL;
	jmethodID m = c ? (*env)->GetMethodID(env, c, "<init>", "(Ljava/lang/String;)V") : NULL;
	jstring s = m ? (*env)->NewStringUTF(env, url) : NULL;
	jobject u = s ? (*env)->NewObject(env, c, m, s) : NULL;
	jobject conn;

	if (sp_jni_failed(env) || !u)
		return NULL;
	m = method(env, u, "openConnection", "()Ljava/net/URLConnection;");
	conn = m ? (*env)->CallObjectMethod(env, u, m) : NULL;
	return !sp_jni_failed(env) && conn && (*env)->IsInstanceOf(env, conn, http) ? conn : NULL;
}

/* No connection is kept: the JVM would keep a thread for it. */
static bool set_up(JNIEnv *env, jobject conn)
{
	jmethodID connect = method(env, conn, "setConnectTimeout", "(I)V");
	jmethodID read = method(env, conn, "setReadTimeout", "(I)V");
	jmethodID header =
		method(env, conn, "setRequestProperty", "(Ljava/lang/String;Ljava/lang/String;)V");
	jstring name = (*env)->NewStringUTF(env, "Connection");
	jstring value = (*env)->NewStringUTF(env, "close");

	if (sp_jni_failed(env) || !connect || !read || !header || !name || !value)
		return false;
	(*env)->CallVoidMethod(env, conn, connect, (jint)CONNECT_MS);
	(*env)->CallVoidMethod(env, conn, read, (jint)READ_MS);
	(*env)->CallVoidMethod(env, conn, header, name, value);
	return !sp_jni_failed(env);
}

/* What is too long is read to its end as well, and dropped: a server with a client that hangs up
 * complains in its log. */
static bool read_all(JNIEnv *env, jobject stream, size_t max, struct sp_buf *ret)
{
	uint64_t end = sp_clock_mono_ns() + ALL_NS;
	size_t got = 0;
	jmethodID read = method(env, stream, "read", "([B)I");
	jbyteArray piece = (*env)->NewByteArray(env, PIECE);
	jbyte bytes[PIECE];
	jint n = 0;

	if (sp_jni_failed(env) || !read || !piece)
		return false;
	while ((n = (*env)->CallIntMethod(env, stream, read, piece)) > 0 && !sp_jni_failed(env)) {
		got += (size_t)n;
		if ((got > max && got > DRAINED) || sp_clock_mono_ns() > end)
			return false;
		if (got > max)
			continue;
		(*env)->GetByteArrayRegion(env, piece, 0, n, bytes);
		sp_buf_add(ret, (const char *)bytes, (size_t)n);
	}
	return !sp_jni_failed(env) && got <= max && !ret->failed;
}

static bool answer(JNIEnv *env, jobject conn, size_t max, struct sp_buf *ret)
{
	jmethodID code = method(env, conn, "getResponseCode", "()I");
	jmethodID body = method(env, conn, "getInputStream", "()Ljava/io/InputStream;");
	jobject stream;

	if (!code || !body || (*env)->CallIntMethod(env, conn, code) != 200 || sp_jni_failed(env))
		return false;
	stream = (*env)->CallObjectMethod(env, conn, body);
	return !sp_jni_failed(env) && stream && read_all(env, stream, max, ret);
}

bool sp_jvm_http_get(JNIEnv *env, const char *url, size_t max, struct sp_buf *ret)
{
	jmethodID disconnect;
	jobject conn;
	bool ok = false;

	sp_buf_clear(ret);
	if ((*env)->PushLocalFrame(env, 32) < 0)
		return !sp_jni_failed(env) && false;
	conn = open_url(env, url);
	sp_jni_failed(env);
	if (conn) {
		ok = set_up(env, conn) && answer(env, conn, max, ret);
		sp_jni_failed(env);
		disconnect = method(env, conn, "disconnect", "()V");
		if (disconnect)
			(*env)->CallVoidMethod(env, conn, disconnect);
		sp_jni_failed(env);
	}
	(*env)->PopLocalFrame(env, NULL);
	return ok;
}
