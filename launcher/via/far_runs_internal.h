/* What the files of far_runs.c share. */
#ifndef SP_LAUNCHER_VIA_FAR_RUNS_INTERNAL_H
#define SP_LAUNCHER_VIA_FAR_RUNS_INTERNAL_H

#include "hosts.h"
#include "progress_table.h"
#include "received_recordings.h"
#include "host_messages.h"

struct sp_far_run {
	struct sp_via_host *host;
	const struct sp_jvm *jvm;      /* borrowed; NULL: the host itself */
	struct sp_jvm *own;	       /* owned: where that is ours; NULL: it is the host's */
	struct sp_buf out;	       /* what it printed */
	int fd;			       /* its recording here; -1: none */
	uint64_t bytes, samples, lost; /* so far, of the last two as it says */
	int code;
	bool ended;
};

struct sp_far_runs {
	struct sp_via_hosts *hs;
	const struct sp_call *call;
	struct sp_far_run *list; /* owned */
	size_t n, cap, ended;
	struct sp_host_messages messages;
	struct sp_received_recordings received;
	struct sp_progress_table table;
	struct sp_progress_row *rows; /* owned, with who: one for each run */
	size_t n_rows;
	uint64_t begun_ns;
	bool interrupted, recording;
	uint64_t looked_ns; /* --follow: when new executors were looked for */
	uint64_t ask_ns;    /* … and when who named the hosts is asked again */
};

/* Appends a run of @jvm on @h. Returns it, NULL where memory or numbers are short. */
struct sp_far_run *sp_far_runs_add(
	struct sp_far_runs *rs, struct sp_via_host *h, const struct sp_jvm *jvm);

/* Sends the call to it, to last @duration_ns (0: as the call says). Returns 0 or -errno with a
 * sentence. */
int sp_far_runs_start(struct sp_far_runs *rs, size_t i, uint64_t duration_ns, struct sp_err *err);

/* --follow: looks for executors that are new, every few seconds, and takes in those that came. */
void sp_via_join_look(struct sp_far_runs *rs);

/* May one still come? */
bool sp_via_join_waits(const struct sp_far_runs *rs);

/* An executor that a host lists by then: a packet of a host that is ready. */
void sp_via_join_take(struct sp_far_runs *rs, struct sp_via_host *h, const struct sp_packet *m);

/* Is it an executor that the words of @call mean? */
bool sp_via_join_means(const struct sp_call *call, const struct sp_jvm *j);

#endif
