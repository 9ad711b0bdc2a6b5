/* The one recording of this JVM as control connections see it: who may start, stop and ask. A
 * connection has a seat; the seat that started the recording holds it until it stops, detaches or
 * leaves. All calls fill *reply with the message to send; its texts are borrowed from the seat,
 * from @err or static.
 * Context: control threads. Allocates nothing itself. */
#ifndef SP_AGENT_CONTROL_RECORDING_OWNER_H
#define SP_AGENT_CONTROL_RECORDING_OWNER_H

#include "session.h"
#include "wire/msg.h"

#include <stdbool.h>

struct sp_recording_owner_seat {
	bool holds;    /* this connection's recording runs */
	bool detached; /* … and goes on without the launcher */
	bool over;     /* … ended by its own clock; the answer to STOP: */
	int over_code;
	struct sp_counts over_counts;
	struct sp_err over_err;
	_Atomic bool leaving;		       /* … will, once the launcher has confirmed it */
	struct sp_segments *segments;	       /* the files of autostart; NULL: none */
	const struct sp_perf_source *launcher; /* NULL: there is none */
	/* What the launcher samples itself; owned, -1: nothing. Where it goes without a word, that
	 * is put behind the recording here. */
	int beside_fd;
	bool (*is_gone)(void *ctx); /* has the launcher left? NULL: there is none */
	sp_say_fn *say;
	void *say_ctx;
	int pass_fd; /* goes out with the reply; the caller closes it. -1: none */
	int more_fds[SP_FLUSHED_PIECES]; /* … with these behind it, as many as: */
	size_t more;
	char who[232], said[256], outputs[4096], stages[128]; /* copies for replies */
	struct sp_args args;
};

void sp_recording_owner_seat_init(struct sp_recording_owner_seat *s, sp_say_fn *say, void *ctx);
void sp_recording_owner_seat_done(struct sp_recording_owner_seat *s);

/* STARTED, BUSY or FAILED. @out_fd is taken in every case. */
void sp_recording_owner_start(struct sp_recording_owner_seat *s, JavaVM *vm,
	const struct sp_args *args, const char *who, const char *outputs, int out_fd,
	struct sp_msg *reply, struct sp_err *err);

/* The same for a JVM that records by an option of its own: @s belongs to no connection and is
 * detached from the start, so that later ones may ask, dump and stop. Ownership of @segments passes
 * on success. A recording with a time limit needs a thread that calls sp_recording_owner_leave.
 * Returns 0 or -errno with a sentence. */
int sp_recording_owner_autostart(struct sp_recording_owner_seat *s, JavaVM *vm,
	const struct sp_args *args, struct sp_segments *segments, int out_fd, struct sp_err *err);

/* STOPPED, BUSY (another launcher's collect) or FAILED (nothing records). */
void sp_recording_owner_stop(
	struct sp_recording_owner_seat *s, struct sp_msg *reply, struct sp_err *err);
/* FLUSHED or FAILED. Both bring the outputs that START named and, to a seat that did not start the
 * recording, a descriptor of it in pass_fd. */
void sp_recording_owner_flush(
	struct sp_recording_owner_seat *s, struct sp_msg *reply, struct sp_err *err);
/* STATE. */
void sp_recording_owner_state(
	struct sp_recording_owner_seat *s, struct sp_msg *reply, struct sp_err *err);

/* Whether the recording may be detached: DETACHED, or FAILED if nothing is held. */
void sp_recording_owner_may_detach(
	struct sp_recording_owner_seat *s, struct sp_msg *reply, struct sp_err *err);
/* Detaches it and returns 1: the caller closes the socket and calls sp_recording_owner_leave, which
 * keeps the recording until a command stops it or its time is over. 0 if nothing is held. */
int sp_recording_owner_detach(struct sp_recording_owner_seat *s);

/* The other end has opened perf events; the descriptors are taken in any case. */
void sp_recording_owner_perf(struct sp_recording_owner_seat *s, const struct sp_parcel *parcel);

/* Fills a PROGRESS message; false if this seat's recording has ended meanwhile. */
bool sp_recording_owner_progress(struct sp_recording_owner_seat *s, struct sp_msg *ret);

/* Ends the seat's recording where its time is over: its launcher may be stopped, or get no CPU. A
 * STOP that comes later is answered as if it had ended it. */
void sp_recording_owner_look(struct sp_recording_owner_seat *s);

/* The connection is over: stops what the seat holds; waits out what it detached. */
void sp_recording_owner_leave(struct sp_recording_owner_seat *s);

bool sp_recording_owner_active(void);

/* The calling thread, one of ours, is not sampled by the recording that runs, if one does. */
void sp_recording_owner_exclude_self(void);

/* Is there a recording that @s holds? end: ends it, unless that was done already; then false. */
bool sp_recording_owner_holds(const struct sp_recording_owner_seat *s);
bool sp_recording_owner_end(struct sp_recording_owner_seat *s);

#endif
