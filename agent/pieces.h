/* The files of a JVM that records from its start: named after file=, made with their directories,
 * and one piece after another where loop= or maxdisk= want it. Where the name wants ids that are
 * not known yet, a file bears a name for the time being and is renamed when they are. Where file=
 * is of the cluster (hdfs://…), the pieces lie in localdir= until somebody has taken them there.
 * Context: opened before the recording starts, then the collector's; where it says so, any
 * thread. */
#ifndef SP_AGENT_PIECES_H
#define SP_AGENT_PIECES_H

#include "args.h"
#include "base/err.h"
#include "identity.h"

#include <stddef.h>

struct sp_pieces;

/* Opens the first piece. *ret_fd is the caller's. Nobody else writes to the file: one that another
 * JVM has open gets this process's id into its name.
 * Returns 0, or -errno with a sentence that names the file; nothing is left then. */
int sp_pieces_new(struct sp_pieces **ret, const struct sp_args *args, const struct sp_identity *id,
	int *ret_fd, struct sp_err *err);
/* Goes on, after sp_pieces_finish, in a file beside the others. As sp_pieces_new; one that cannot
 * be opened changes nothing. */
int sp_pieces_again(struct sp_pieces *p, int *ret_fd, struct sp_err *err);

/* What is called, by the collector and after sp_pieces_finish, when the piece in hand can be
 * written no more. */
void sp_pieces_on_failure(struct sp_pieces *p, void (*failed)(struct sp_pieces *p));
void sp_pieces_failed(struct sp_pieces *p);

/* Two may hold it: who has freed last frees it. */
struct sp_pieces *sp_pieces_ref(struct sp_pieces *p);
void sp_pieces_free(struct sp_pieces *p);

/* Is @file of the cluster: does it begin with a scheme and a slash (hdfs:///x, dbfs:/x), not file:?
 */
bool sp_pieces_is_remote(const char *file);

/* Ends the piece in hand at the next look. Any thread. */
void sp_pieces_hurry(struct sp_pieces *p);

/* No piece follows the one in hand, which is complete: so many bytes and samples. */
void sp_pieces_finish(struct sp_pieces *p, uint64_t bytes, uint64_t samples);

/* For pieces that wait. Any thread, one at a time.
 * wait: until there is one, until @timeout_ns is over, or sp_pieces_wake(). Returns how many there
 * are. take: opens the oldest, at most @max, for reading; the caller closes them, and says sent,
 * which removes them, or keep. Returns how many. */
size_t sp_pieces_wait(struct sp_pieces *p, uint64_t timeout_ns);
void sp_pieces_wake(struct sp_pieces *p);
size_t sp_pieces_take(struct sp_pieces *p, int *ret_fds, size_t max);
void sp_pieces_sent(struct sp_pieces *p);
void sp_pieces_keep(struct sp_pieces *p);

/* Where loop= is given each turn of it has a file of its own in the cluster. This is that of the
 * oldest piece; pieces that are taken together are of one turn. Any thread. */
struct sp_turn {
	uint64_t number; /* from 1 */
	uint64_t keep;	 /* so many turns are kept there, by %n{MAX}; 0: all */
	bool named;	 /* each has a name of its own, by %n or %t */
};
struct sp_turn sp_pieces_turn(struct sp_pieces *p);

/* The name in the cluster of the file for the oldest piece; with @n > 0 a number before the
 * extension. Returns 0; -EAGAIN where the
 * ids are not known yet; -errno with a sentence. Any thread. */
int sp_pieces_remote(struct sp_pieces *p, unsigned n, char *ret, size_t size, struct sp_err *err);

/* The ids by now. Renames what lacks them. */
void sp_pieces_identify(struct sp_pieces *p, const struct sp_identity *id);

/* Is the piece, of @bytes by now, to end? */
bool sp_pieces_due(const struct sp_pieces *p, uint64_t now_ns, uint64_t bytes);

/* Opens the next piece. Returns its descriptor, the caller's, or -errno with a sentence; then the
 * piece in hand goes on, and the next look is a while later. */
int sp_pieces_next(struct sp_pieces *p, uint64_t now_ns, struct sp_err *err);

/* The piece before the one that was opened last is complete: so many bytes and samples. */
void sp_pieces_ended(struct sp_pieces *p, uint64_t bytes, uint64_t samples);

/* Removes the oldest pieces until all of them, with @bytes in hand, fit into maxdisk=. Returns the
 * samples that went with them. */
uint64_t sp_pieces_fit(struct sp_pieces *p, uint64_t bytes);

/* The piece in hand as launchers name outputs (wire/msg.h, START); "" where it cannot be said.
 * Returns @buf. */
const char *sp_pieces_outputs(struct sp_pieces *p, char *buf, size_t size);

/* The directory in which they lie, from the root on; "." where that is not known. Any thread.
 * Returns
 * @buf. */
const char *sp_pieces_where(struct sp_pieces *p, char *buf, size_t size);

/* Removes the piece in hand: the recording did not start. */
void sp_pieces_discard(struct sp_pieces *p);

#endif
