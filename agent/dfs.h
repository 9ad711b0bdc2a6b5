/* Takes finished pieces of a recording to the cluster's files (hadoop.h): a thread of its own,
 * attached to the JVM, so that sampling goes on while it waits for the network. Where the file
 * system can append, all pieces become one file; else each is a file with a number. A piece stays
 * here until it is whole there. */
#ifndef SP_AGENT_DFS_H
#define SP_AGENT_DFS_H

#include "pieces.h"
#include "session.h"
#include "threads.h"

#include <jni.h>

struct sp_dfs;

/* @pieces is shared; @threads is borrowed until sp_dfs_finish(). @say (any thread) is told, once,
 * that pieces have to wait. Returns 0 or -errno with a sentence. */
int sp_dfs_start(struct sp_dfs **ret, JavaVM *vm, struct sp_pieces *pieces,
	struct sp_threads *threads, sp_session_say_fn *say, void *say_ctx, struct sp_err *err);

/* After sp_pieces_finish(): waits until everything is there, at most @limit_ns, less where nothing
 * arrives any more, and ends the thread. One that the network keeps longer ends by itself. May be
 * called again. */
void sp_dfs_finish(struct sp_dfs *d, uint64_t limit_ns);

/* Gives it up, after sp_dfs_finish(). */
void sp_dfs_free(struct sp_dfs *d);

#endif
