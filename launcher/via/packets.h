/* Messages between a launcher and the copy of itself that it has started on another host: packets
 * over two descriptors (pipes to ssh or kubectl; standard input and output of the copy). Both ends
 * never block: what cannot be written waits in memory. The other end is not trusted: a packet has a
 * length and a type that are checked, its text may be anything. */
#ifndef SP_LAUNCHER_VIA_PACKETS_H
#define SP_LAUNCHER_VIA_PACKETS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum sp_packet_type {
	/* to the far side */
	SP_PACKET_LIST = 1,  /* which JVMs are there? */
	SP_PACKET_RUN,	     /* words of a call, each with its NUL: do that; id names the run */
	SP_PACKET_INTERRUPT, /* all runs: end early, as by Ctrl-C */
	SP_PACKET_PING,	     /* comes back, with the id and uint64_t: the clock there */
	/* from the far side */
	SP_PACKET_HELLO,  /* struct sp_hello */
	SP_PACKET_JVM,	  /* struct sp_jvm: both ends are one program */
	SP_PACKET_LISTED, /* that was the last JVM */
	SP_PACKET_OUT,	  /* bytes of a run's standard output */
	SP_PACKET_ERR,	  /* a line of its standard error */
	SP_PACKET_EXIT,	  /* uint32_t: its exit code */
};

enum { SP_PACKET_MAX = 1 << 20, SP_PACKETS_FULL = 4 * SP_PACKET_MAX };

/* What the far side is, first of all. */
struct sp_hello {
	uint64_t size, hash; /* of the program that runs there */
	char host[256];
};

struct sp_packet {
	enum sp_packet_type type;
	uint16_t id;
	const uint8_t *data; /* borrowed until the next call for the same packets */
	uint32_t len;
};

struct sp_packets {
	int in, out; /* owned; -1: closed */
	struct sp_buf rx, tx;
	size_t taken, sent;	    /* of rx, of tx */
	const uint8_t *lent;	    /* borrowed: written before tx */
	size_t lent_len;	    /* … so much of it still */
	uint64_t received, written; /* bytes, ever */
	bool ended;		    /* nothing more comes */
	bool broken;		    /* what came is no packet, or memory is short */
};

/* Takes both descriptors (in every case) and makes them non-blocking. */
void sp_packets_init(struct sp_packets *f, int in, int out);
void sp_packets_done(struct sp_packets *f);

/* Appends a packet to what is to be written. */
void sp_packets_send(
	struct sp_packets *f, enum sp_packet_type type, uint16_t id, const void *data, size_t len);

/* Bytes that are no packet: before the first one. */
void sp_packets_send_raw(struct sp_packets *f, const void *data, size_t len);

/* The same without a copy: @data is borrowed until it is written. Nothing may wait to be written.
 */
void sp_packets_lend(struct sp_packets *f, const void *data, size_t len);

/* Writes and reads what goes without waiting. */
void sp_packets_pump(struct sp_packets *f);

/* The next whole packet. Returns false where there is none yet, or never again (ended, broken). */
bool sp_packets_next(struct sp_packets *f, struct sp_packet *ret);

/* The next line of text before the first packet, without its end; NULL where there is none yet.
 * Lines beyond 64 KiB are dropped. Borrowed until the next call. */
const char *sp_packets_line(struct sp_packets *f);

/* Has so much come that was not taken yet that nothing more is read? Then there is no sense in
 * waiting for more: a far side that sends without end does not fill our memory. */
bool sp_packets_full(const struct sp_packets *f);

/* How much waits to be written. */
size_t sp_packets_waiting(const struct sp_packets *f);

#endif
