/* Takes finished segments of a recording to the cluster's files (hadoop_fs.h): a thread of its own,
 * attached to the JVM, so that sampling goes on while it waits for the network. Where the file
 * system can append, all segments become one file; else each is a file with a number. A segment
 * stays here until it is whole there. */
#ifndef SP_AGENT_OUTPUT_REMOTE_UPLOAD_H
#define SP_AGENT_OUTPUT_REMOTE_UPLOAD_H

#include "host/say.h"
#include "segments.h"
#include "threads/threads.h"

#include <jni.h>

struct sp_remote_upload;

/* @segments is shared; @threads is borrowed until sp_remote_upload_finish(). @say (any thread)
 * reports, once, that segments have to wait. Returns 0 or -errno with a sentence. */
__attribute__((warn_unused_result)) int sp_remote_upload_start(struct sp_remote_upload **ret,
	JavaVM *vm, struct sp_segments *segments, struct sp_threads *threads, sp_say_fn *say,
	void *say_ctx, struct sp_err *err);

/* After sp_segments_finish(): waits until everything is there, at most @limit_ns, less where
 * nothing arrives any more, and ends the thread. One that the network keeps longer ends by itself.
 * May be called again. */
void sp_remote_upload_finish(struct sp_remote_upload *d, uint64_t limit_ns);

/* Gives it up, after sp_remote_upload_finish(). */
void sp_remote_upload_free(struct sp_remote_upload *d);

#endif
