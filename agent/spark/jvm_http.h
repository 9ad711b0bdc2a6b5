/* A GET over HTTP by java.net.HttpURLConnection. */
#ifndef SP_AGENT_SPARK_JVM_HTTP_H
#define SP_AGENT_SPARK_JVM_HTTP_H

#include "base/buf.h"

#include <jni.h>
#include <stdbool.h>

/* Puts what @url answers into @ret, at most @max bytes. Takes no longer than some seconds, or what
 * the resolver takes for a name.
 * Context: a thread attached to the JVM, no lock held. Returns false where there was no answer, or
 * another than 200, or a longer one. */
bool sp_jvm_http_get(JNIEnv *env, const char *url, size_t max, struct sp_buf *ret);

#endif
