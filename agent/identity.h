/* Which part of which Spark application this JVM is: by its command line, environment and class
 * path, and by Spark's own SparkEnv where it is there. All of it may be empty. */
#ifndef SP_AGENT_IDENTITY_H
#define SP_AGENT_IDENTITY_H

#include <jvmti.h>
#include <stdbool.h>

struct sp_identity {
	char app_id[128], app_name[256], app_attempt[32];
	char executor_id[64]; /* "driver" for a driver */
	char host[256], container[128], pod[256];
	char spark_version[32], scala_version[16];
	int cores; /* that Spark uses here; 0 unknown */
	char driver_host[256];
	int ui_port; /* as it is configured; 0 unknown */
	bool no_ui;  /* the driver has none */
};

/* Context: a thread attached to the JVM, no lock held. Runs a few lines of Spark's code where
 * SparkEnv exists. Returns false where nothing of Spark is to be seen. */
bool sp_identity_read(JNIEnv *env, jvmtiEnv *ti, struct sp_identity *ret);

#endif
