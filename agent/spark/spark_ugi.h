/* The user that Spark works as in this JVM, as far as threads have it from the thread that began
 * them: with Kerberos Spark runs below a doAs of a user of its own making (runAsSparkUser,
 * --proxy-user), and puts later tokens into that one only.
 * Context: a thread attached to the JVM, no lock held. */
#ifndef SP_AGENT_SPARK_SPARK_UGI_H
#define SP_AGENT_SPARK_SPARK_UGI_H

#include <jni.h>

/* From now on the calling thread is that user for Hadoop, as if one of Spark's threads had begun
 * it. Nothing changes where threads inherit no user: from JDK 24 on, and before SparkEnv is
 * there. */
void sp_spark_ugi_become(JNIEnv *env);

#endif
