/* Which part of which Spark application this JVM is: by its command line, environment and class
 * path, and by Spark's own SparkEnv where it is there. All of it may be empty. */
#ifndef SP_AGENT_SPARK_SPARK_IDENTITY_H
#define SP_AGENT_SPARK_SPARK_IDENTITY_H

#include <jvmti.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct sp_spark_identity {
	char app_id[128], app_name[256], app_attempt[32];
	char executor_id[64]; /* "driver" for a driver */
	char host[256], container[128], pod[256];
	char spark_version[32], scala_version[16];
	int cores; /* that Spark uses here; 0 unknown */
	char driver_host[256];
	int ui_port; /* as it is configured; 0 unknown */
	int no_ui;   /* 1: the driver has none */
};

/* What is known before the JVM has run a line: by command line and environment. A driver is
 * recognised by its main class, the application of a YARN container by the container's id. Context:
 * any thread. */
void sp_spark_identity_early(struct sp_spark_identity *ret);

/* Context: a thread attached to the JVM, no lock held. Runs a few lines of Spark's code where
 * SparkEnv exists, and loads none of its classes. Returns false where nothing of Spark is to be
 * seen. */
bool sp_spark_identity_read(JNIEnv *env, jvmtiEnv *ti, struct sp_spark_identity *ret);

/* Are application and executor known? A driver's application has no id before it runs. */
static inline bool sp_spark_identity_whole(const struct sp_spark_identity *id)
{
	return id->app_id[0] && id->executor_id[0];
}

/* Is this one of those @fraction of a million executors that record? The same ones of an
 * application at every try, others of the next application. A driver always is. */
bool sp_spark_identity_chosen(const struct sp_spark_identity *id, uint32_t fraction);

/* The identity on its way from the JVM's side, which learns it, to the collector. */
struct sp_spark_identity_box {
	pthread_mutex_t lock;
	struct sp_spark_identity id;
	uint32_t version; /* 0: nothing is known */
};

void sp_spark_identity_put(struct sp_spark_identity_box *box, const struct sp_spark_identity *id);

/* Takes what is newer than *@version, and sets that. Returns false where nothing is. */
bool sp_spark_identity_take(
	struct sp_spark_identity_box *box, uint32_t *version, struct sp_spark_identity *ret);

#endif
