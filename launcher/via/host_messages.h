/* What copies of this program said on other hosts: each sentence once, with the hosts it came from.
 */
#ifndef SP_LAUNCHER_VIA_HOST_MESSAGES_H
#define SP_LAUNCHER_VIA_HOST_MESSAGES_H

#include "base/buf.h"

struct sp_host_message {
	char *text;	     /* owned */
	struct sp_buf hosts; /* "n1, n2" */
	size_t n;
	const char *last; /* the host that said it last; borrowed */
};

struct sp_host_messages {
	struct sp_host_message *list; /* owned */
	size_t n;
};

/* @host is borrowed until _done. */
void sp_host_messages_add(
	struct sp_host_messages *s, const char *host, const char *text, size_t len);

/* Prints all; the name of the host is left out where @hosts is 1. */
void sp_host_messages_print(const struct sp_host_messages *s, size_t hosts);
void sp_host_messages_done(struct sp_host_messages *s);

#endif
