/* Files of the cluster (HDFS, S3A, ABFS: whatever this JVM's Spark can write), through Hadoop's
 * FileSystem over JNI, with Spark's configuration and credentials. The instance is our own and in
 * no cache, so that nobody closes it before us: it works to the JVM's last moment.
 * Context: one thread, attached to the JVM, no lock held; calls may take as long as the network
 * lets them. */
#ifndef SP_AGENT_OUTPUT_HADOOP_FS_H
#define SP_AGENT_OUTPUT_HADOOP_FS_H

#include "base/err.h"

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

struct sp_hadoop_fs;

/* Returns 0; -EAGAIN where Spark has not come so far yet; -errno with a sentence. */
__attribute__((warn_unused_result)) int sp_hadoop_fs_open(
	struct sp_hadoop_fs **ret, JNIEnv *env, const char *uri, struct sp_err *err);
void sp_hadoop_fs_close(struct sp_hadoop_fs *h, JNIEnv *env);

/* Writes all of @fds, one behind the other, to a new file with its directories, of the modes that
 * Spark's profiler has for them (770 and 660), or with @append behind what is there; the file is
 * closed then. *ret_touched: something of it may be there, also after a failure. Returns 0;
 * -EEXIST: there is such a file; -EOPNOTSUPP: no append there; -errno; all with a sentence. */
int sp_hadoop_fs_put(struct sp_hadoop_fs *h, JNIEnv *env, const char *path, const int *fds,
	size_t n, bool append, bool *ret_touched, struct sp_err *err);

/* Returns 0; -ENOENT; -errno with a sentence. */
int sp_hadoop_fs_length(
	struct sp_hadoop_fs *h, JNIEnv *env, const char *path, uint64_t *ret, struct sp_err *err);

/* Releases a file after its writer failed: HDFS keeps it for that writer, also against ourselves,
 * and across a restart of its NameNode. Returns 1 where no client has it open, 0 where that takes a
 * while; -ENOENT; -errno with a sentence. */
int sp_hadoop_fs_release(struct sp_hadoop_fs *h, JNIEnv *env, const char *path, struct sp_err *err);

/* Cuts a file that no client has open back to @length; with 0 it is removed. It may take effect
 * later: ask for the length. Returns 0 or -errno with a sentence. */
int sp_hadoop_fs_cut(
	struct sp_hadoop_fs *h, JNIEnv *env, const char *path, uint64_t length, struct sp_err *err);

#endif
