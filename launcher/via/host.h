/* One other host or pod: the user's own ssh or kubectl takes a copy of this program there through
 * standard input, and the copy (far.h) is talked to in packets (packets.h). Nothing waits here:
 * sp_via_host_step does what can be done now, and all hosts are waited for together (hosts.c). */
#ifndef SP_LAUNCHER_VIA_HOST_H
#define SP_LAUNCHER_VIA_HOST_H

#include "base/err.h"
#include "cli/options.h"
#include "discover/jvm.h"
#include "via_image.h"
#include "packets.h"
#include "via_place.h"

enum sp_via_state {
	SP_VIA_GREETING, /* ssh or kubectl connects, the shell there looks for a place */
	SP_VIA_SENDING,	 /* our copy is on its way */
	SP_VIA_LISTING,	 /* it runs there */
	SP_VIA_READY,	 /* its JVMs are known */
	SP_VIA_FAILED,	 /* err says why */
};

struct sp_via_host {
	const struct sp_via_place *place; /* borrowed, as are */
	const char *name;
	const struct sp_call *call;
	enum sp_via_state state;
	struct sp_err err;
	bool unreachable; /* … and that it was never reached, which may change */
	bool refused;	  /* it, or a host on the way to it, has refused the user */
	unsigned tries;	  /* that failed so */
	uint64_t failed_ns;
	bool looked_at; /* --follow: its executors are taken in, or it is said why not */
	const struct sp_via_image *image; /* borrowed: what is sent there */
	const struct sp_via_image *other; /* borrowed: what is to be sent instead; NULL: nothing */
	char last[512];	      /* the last line that ssh, kubectl or the shell there said */
	struct sp_buf advice; /* what to try after that */
	bool advice_alone;
	pid_t child;	    /* ssh or kubectl; 0: none */
	int errors;	    /* its standard error; -1: ended */
	struct sp_buf line; /* of that, until its end */
	struct sp_packets packets;
	char marker[40];
	uint64_t pinged_ns;
	uint64_t moved, moved_ns; /* so many bytes by then */
	int64_t asked_ns;	  /* by our clock, when its own was asked for */
	struct sp_hello hello;
	int64_t clock_ns;    /* its clock is ahead of ours by this; 0: by less than matters */
	struct sp_jvm *jvms; /* owned */
	size_t n;
};

/* How far a clock that said @far_ns, after ours said @asked_ns and before it said @heard_ns, is
 * ahead of ours: the best guess where it is off by more than 50 ms for certain, else 0. */
int64_t sp_via_host_clock(int64_t asked_ns, int64_t far_ns, int64_t heard_ns);

/* Starts ssh or kubectl, to send @image first. A failure is kept in the host. */
void sp_via_host_connect(struct sp_via_host *h, const struct sp_via_place *place,
	const struct sp_call *call, const struct sp_via_image *image);

/* Connects again to a host that could not be reached; where ssh still runs it is ended first, and
 * the next call connects. */
void sp_via_host_again(struct sp_via_host *h, const struct sp_via_image *image);

/* Does what can be done without waiting; a host of another machine gets another of @images. Packets
 * of runs come out by sp_via_host_packet. */
void sp_via_host_step(struct sp_via_host *h, struct sp_via_images *images);

/* The next packet of a run. False: none yet. */
bool sp_via_host_packet(struct sp_via_host *h, struct sp_packet *ret);

/* Reads a JVM that @h lists. False: what came is none. */
bool sp_via_host_read_jvm(
	const struct sp_via_host *h, const struct sp_packet *m, struct sp_jvm *ret);

/* Is there nothing more to come, for good or bad? */
bool sp_via_host_ended(const struct sp_via_host *h);

/* Lets go: the copy there ends and is gone. */
void sp_via_host_close(struct sp_via_host *h);

/* Waits until that has happened, at most until then (monotonic), and frees everything. */
void sp_via_host_done(struct sp_via_host *h, uint64_t until_ns);

#endif
