/* The hosts or pods of a call, from their names to connections that are ready, and back to nothing.
 */
#ifndef SP_LAUNCHER_VIA_HOSTS_H
#define SP_LAUNCHER_VIA_HOSTS_H

#include "host.h"

/* What came with hosts that were found later. */
struct sp_via_found {
	char *text;
	struct sp_via_place *places;
};

struct sp_via_hosts {
	char *text;		     /* owned: what the places' texts lie in */
	struct sp_via_place *places; /* owned */
	bool labelled;		     /* they are pods that were chosen by their labels */
	struct sp_via_host *list;    /* owned: one for each place */
	size_t n, connected;	     /* those that were begun */
	size_t cap;		     /* of list and polls */
	struct sp_via_found *later;  /* owned */
	size_t n_later;
	struct sp_via_images images;
	struct pollfd *polls; /* owned */
};

/* Finds where @call is to be done: --hosts (names with commas between, or @FILE with one a line),
 * else the hosts that driver or ResourceManager name, or Spark's pods that kubectl lists. Connects
 * to none of them. Returns 0; -EINVAL for what is no name; -ESRCH where there is none; -errno; with
 * a sentence. */
int sp_via_hosts_find(struct sp_via_hosts *ret, const struct sp_call *call, struct sp_err *err);

/* Connects to all of them, at most @call->parallel at a time, until each is ready or has failed.
 * From then on, until _done, they also hear of us while a child is asked (child.h).
 * Returns 0; -EINTR; -errno; with a sentence. */
int sp_via_hosts_connect(struct sp_via_hosts *hs, const struct sp_call *call, struct sp_err *err);

/* --follow: looks again who there is, where the names did not come from --hosts, and begins to
 * connect to those who are new. Their list keeps its place in memory. Returns 0, or -errno with a
 * sentence. */
int sp_via_hosts_more(struct sp_via_hosts *hs, const struct sp_call *call, struct sp_err *err);

/* --follow: connects again to those that could not be reached: after five seconds, then after twice
 * as long each time, up to a minute. */
void sp_via_hosts_again(struct sp_via_hosts *hs, const struct sp_call *call);

/* Waits up to @ms for any of them, and does what can be done. */
void sp_via_hosts_step(struct sp_via_hosts *hs, int ms);

/* Ends all copies; that takes ten seconds at most. */
void sp_via_hosts_done(struct sp_via_hosts *hs);

#endif
